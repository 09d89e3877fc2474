"""Where the wish for an import came from. The database fills it in for processes that don't know of it yet."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0023_index_of_places_of_passes")]

    operations = [
        migrations.AddField("importjob", "source", models.CharField(max_length=10, default="page", db_default="page")),
    ]

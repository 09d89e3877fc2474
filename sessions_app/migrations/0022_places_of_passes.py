"""The place at which a pass stands in the transcript when no row says so by being archived by it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0021_index_of_session_settings")]

    operations = [
        migrations.AddField("compactionpass", "place_position", models.BigIntegerField(null=True)),
        migrations.AddField("compactionpass", "place_id", models.BigIntegerField(null=True)),
    ]

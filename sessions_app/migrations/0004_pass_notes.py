"""What people should know of a pass beside its outcome."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0003_pass_figures")]

    operations = [
        migrations.AddField(model_name="compactionpass", name="notes", field=models.JSONField(null=True)),
        migrations.AddField(model_name="replaystep", name="notes", field=models.JSONField(null=True)),
    ]

"""When a session was last reset."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0005_turn_steps_and_model_calls")]

    operations = [
        migrations.AddField(model_name="session", name="reset_seq", field=models.BigIntegerField(null=True)),
    ]

"""An index of the turns that are not over, built without locking out the writers of a big table."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("sessions_app", "0009_endpoint_tests")]

    operations = [
        AddIndexConcurrently(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)), fields=["session", "number"], name="turn_not_over"
            ),
        ),
    ]

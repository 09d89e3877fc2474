"""The index by which a window of the transcript finds the passes that archived no row.

Made without locking the table against writes.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0022_places_of_passes")]

    operations = [
        AddIndexConcurrently(
            "compactionpass",
            models.Index(
                fields=["session", "place_position"],
                condition=models.Q(("place_position__isnull", False)),
                name="pass_that_archived_none",
            ),
        ),
    ]

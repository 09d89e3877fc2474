"""The index by which a page counts the live user rows of a session's middle.

Without locking the table against writes.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0027_index_of_deleted_sessions")]

    operations = [
        AddIndexConcurrently(
            "messagerow",
            models.Index(
                fields=["session", "position"],
                condition=models.Q(died_seq__isnull=True, kind="message", role="user"),
                name="row_live_user",
            ),
        ),
    ]

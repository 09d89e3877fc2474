"""The index by which a page of a session that is not there learns whether it was deleted.

Without locking the table against writes.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0026_project_deletions")]

    operations = [
        AddIndexConcurrently(
            "auditentry",
            models.Index(
                fields=["project", "subject"],
                condition=models.Q(action="session.deleted"),
                name="audit_of_deleted_sessions",
            ),
        ),
    ]

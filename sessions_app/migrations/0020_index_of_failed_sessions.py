"""An index of the sessions in which something of ours failed last, which the page on health lists.

Made without locking the table against writes.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0019_cache_accounts")]

    operations = [
        AddIndexConcurrently(
            "session",
            models.Index(
                fields=["project", "-last_error_at"],
                condition=models.Q(("last_error", ""), _negated=True),
                name="session_failed",
            ),
        ),
    ]

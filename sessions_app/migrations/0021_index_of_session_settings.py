"""The index of passes by the session's own settings that they ran under.

Made without locking the table of passes against writes, which the step that adds the column can't. Where that step made
it before, there is nothing to do. One that was left unfinished by an attempt that was broken off is made anew.
"""

from typing import Any

from django.db import migrations

NAME = "sessions_app_compactionpass_session_policy_revision_id_ac937b37"
IS_THERE = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND indisvalid"


def make_index(apps: Any, schema_editor: Any) -> None:
    """Make the index unless it is there."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(IS_THERE, [NAME])
        if cursor.fetchone():
            return
        cursor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{NAME}"')
        cursor.execute(
            f'CREATE INDEX CONCURRENTLY "{NAME}" ON "sessions_app_compactionpass" ("session_policy_revision_id")'
        )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0020_index_of_failed_sessions")]

    # The index goes with its column.
    operations = [migrations.RunPython(make_index, migrations.RunPython.noop)]

"""Links between rows, passes and summaries as foreign keys of the pair (session, id).

Django's own foreign keys know only the id. With the pair a link can't leave its session, the check of a deletion uses
indexes that the session leads, and the tables stay ready to be partitioned by session. The checks wait for the commit,
because a pass and the rows it makes are written one after the other in one transaction.
"""

from typing import Final

from django.db import migrations

# (table, column, table it points to, name of the constraint)
LINKS: Final = (
    ("messagerow", "made_by_id", "compactionpass", "row_made_by_pass"),
    ("messagerow", "archived_by_id", "compactionpass", "row_archived_by_pass"),
    ("messagerow", "replaces_id", "messagerow", "row_replaces_row"),
    ("rowlifetime", "row_id", "messagerow", "lifetime_of_row"),
    ("rowlifetime", "archived_by_id", "compactionpass", "lifetime_archived_by_pass"),
    ("sessionevent", "compaction_pass_id", "compactionpass", "event_of_pass_link"),
    ("summaryrevision", "compaction_pass_id", "compactionpass", "summary_of_pass_link"),
    ("summaryrevision", "row_id", "messagerow", "summary_of_row_link"),
    ("summaryrevision", "superseded_by_id", "compactionpass", "summary_superseded_by_pass"),
)


def add_link(table: str, column: str, target: str, name: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"ALTER TABLE sessions_app_{table} ADD CONSTRAINT {name} FOREIGN KEY (session_id, {column}) "
        f"REFERENCES sessions_app_{target} (session_id, id) DEFERRABLE INITIALLY DEFERRED",
        f"ALTER TABLE sessions_app_{table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0001_initial")]

    operations = [add_link(*link) for link in LINKS]

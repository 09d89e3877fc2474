"""Places for the passes that are stored, and the index by which a window of the transcript finds its own.

In batches of a statement each, so nothing is locked for longer than a moment; an interrupted migration goes through all
of them again. The index is made without locking the table against writes.
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

PASSES_A_BATCH = 2_000

PLACE_STORED_PASSES = """
UPDATE sessions_app_compactionpass made SET place_position = placed.position, place_id = placed.row_id
FROM (
    SELECT
        one.id,
        coalesce((one.exchanges -> 0 -> 'first' ->> 0)::bigint, one.cursor_before_position, newest.position, 0)
            AS position,
        CASE
            WHEN one.exchanges -> 0 IS NOT NULL THEN (one.exchanges -> 0 -> 'first' ->> 1)::bigint
            WHEN one.cursor_before_position IS NOT NULL THEN coalesce(one.cursor_before_id, 0)
            ELSE coalesce(newest.id + 1, 0)
        END AS row_id
    FROM sessions_app_compactionpass one
    LEFT JOIN LATERAL (
        SELECT seen.position, seen.id FROM sessions_app_messagerow seen
        WHERE seen.session_id = one.session_id AND seen.born_seq < one.seq AND seen.kind = 'message'
        ORDER BY seen.born_seq DESC, seen.position DESC LIMIT 1
    ) newest ON one.exchanges -> 0 IS NULL AND one.cursor_before_position IS NULL
    WHERE one.id > %(after)s AND one.id <= %(last)s AND NOT EXISTS (
        SELECT FROM sessions_app_messagerow archived
        WHERE archived.session_id = one.session_id AND archived.archived_by_id = one.id
            AND archived.kind IN ('message', 'prune_stub')
    )
) placed
WHERE placed.id = made.id
"""


def place_stored_passes(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM sessions_app_compactionpass")
        newest = cursor.fetchone()[0]
        for after in range(0, newest, PASSES_A_BATCH):
            cursor.execute(PLACE_STORED_PASSES, {"after": after, "last": after + PASSES_A_BATCH})


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0022_places_of_passes")]

    operations = [
        migrations.RunPython(place_stored_passes, migrations.RunPython.noop),
        AddIndexConcurrently(
            "compactionpass",
            models.Index(
                fields=["session", "place_position"],
                condition=models.Q(("place_position__isnull", False)),
                name="pass_that_archived_none",
            ),
        ),
    ]

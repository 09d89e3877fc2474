"""The place at which a pass stands in the transcript when no row says so by being archived by it.

Until now pages worked it out for all passes of a session; stored, a window reads only its own.
"""

from django.db import migrations, models

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
    WHERE NOT EXISTS (
        SELECT FROM sessions_app_messagerow archived
        WHERE archived.session_id = one.session_id AND archived.archived_by_id = one.id
            AND archived.kind IN ('message', 'prune_stub')
    )
) placed
WHERE placed.id = made.id
"""


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0021_index_of_session_settings")]

    operations = [
        migrations.AddField("compactionpass", "place_position", models.BigIntegerField(null=True)),
        migrations.AddField("compactionpass", "place_id", models.BigIntegerField(null=True)),
        migrations.RunSQL(PLACE_STORED_PASSES, migrations.RunSQL.noop),
    ]

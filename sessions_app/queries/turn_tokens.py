"""How large the live context was when a turn ended.

Must not write or lock. The last row of a turn says in which event it was born (one that an undo brought back: born
first), and the event tells the total after it. Each step goes along an index, where a search for the event by its rows
would read all events of a session. Rows of a branch were born together, in no event of their own: there it is unknown.
"""

from __future__ import annotations

from typing import Final

from django.db import connection

_SQL: Final = """
SELECT event.live_tokens FROM sessions_app_turn AS turn
JOIN sessions_app_messagerow AS last ON last.session_id = turn.session_id AND last.position = turn.last_position
JOIN sessions_app_sessionevent AS event ON event.session_id = turn.session_id AND event.seq = LEAST(last.born_seq,
    (SELECT min(life.born_seq) FROM sessions_app_rowlifetime AS life
        WHERE life.session_id = last.session_id AND life.row_id = last.id))
WHERE turn.session_id = %(session)s AND turn.number = %(number)s AND last.kind = 'message'
    AND event.first_position = turn.last_position
ORDER BY event.seq LIMIT 1
"""


def tokens_after_turn(session_id: int, number: int) -> int | None:
    """Live tokens after the last row of the turn had come; None when there is no such turn or its row is gone."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL, {"session": session_id, "number": number})
        found = cursor.fetchone()
    return None if found is None else int(found[0])

"""Facts for the head of a session's pages that are not on the session itself.

Must not write or lock. One statement, written out: the head is on every page of a session and on every update of one,
and three small questions cost more to put together than to answer.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from django.db import connection

from sessions_app.models import Session

# A version is live when no pass replaced it and no undo or reset took its row away.
_SQL: Final = """
SELECT
    (SELECT number FROM sessions_app_policyrevision WHERE project_id = %(project)s ORDER BY number DESC LIMIT 1),
    (SELECT version.number FROM sessions_app_summaryrevision AS version
        LEFT JOIN sessions_app_messagerow AS carrier ON carrier.id = version.row_id
        WHERE version.session_id = %(session)s AND version.superseded_by_id IS NULL AND carrier.died_seq IS NULL
        ORDER BY version.number DESC LIMIT 1),
    EXISTS (SELECT FROM sessions_app_turn
        WHERE session_id = %(session)s AND number = %(turn)s AND finalizing_at IS NOT NULL AND ended_at IS NULL)
"""


class HeadFacts(NamedTuple):
    """policy_number: of the project's newest revision; summary_number: of the newest live version; None without one.

    is_finalizing: whether the end of the newest turn is being worked at.
    """

    policy_number: int | None
    summary_number: int | None
    is_finalizing: bool


def read_head_facts(session: Session) -> HeadFacts:
    """The facts as they are now."""
    asked = {"project": session.project_id, "session": session.pk, "turn": session.turns_total}
    with connection.cursor() as cursor:
        cursor.execute(_SQL, asked)
        return HeadFacts(*cursor.fetchone())

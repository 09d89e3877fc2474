"""A session's totals, moved by rows that are born, die and live again.

Must not query. The idea: every transaction that touches rows tells this class what it touched, and saves the session
with the totals that result; `recounted` in `queries` must always find the same figures.
"""

from __future__ import annotations

from typing import Final

from compaction.messages import Role, RowKind
from sessions_app.models import Session

COUNTER_COLUMNS: Final = (
    "live_rows",
    "archived_rows",
    "rewound_rows",
    "summary_rows",
    "live_tokens",
    "system_tokens",
    "user_tokens",
    "assistant_tokens",
    "tool_tokens",
    "summary_tokens",
)

_TOKEN_COLUMNS: Final = {
    Role.SYSTEM: "system_tokens",
    Role.DEVELOPER: "system_tokens",
    Role.USER: "user_tokens",
    Role.ASSISTANT: "assistant_tokens",
    Role.TOOL: "tool_tokens",
}


def token_column(kind: RowKind, role: Role) -> str:
    """The session's column in which the tokens of such a row are counted while it is live."""
    return "summary_tokens" if kind.is_summary else _TOKEN_COLUMNS[role]


class Counters:
    """The totals of one locked session. The caller saves it with `COUNTER_COLUMNS`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def born(self, kind: RowKind, role: Role, tokens: int) -> None:
        """A row entered the live context."""
        self._live(kind, role, tokens, 1)

    def archived(self, kind: RowKind, role: Role, tokens: int) -> None:
        """A pass took a row out."""
        self._live(kind, role, tokens, -1)
        self._session.archived_rows += kind is RowKind.MESSAGE

    def rewound(self, kind: RowKind, role: Role, tokens: int) -> None:
        """A row left without a pass."""
        self._live(kind, role, tokens, -1)
        self._session.rewound_rows += kind is RowKind.MESSAGE

    def revived(self, kind: RowKind, role: Role, tokens: int) -> None:
        """An archived row lives again."""
        self._live(kind, role, tokens, 1)
        self._session.archived_rows -= kind is RowKind.MESSAGE

    def _live(self, kind: RowKind, role: Role, tokens: int, sign: int) -> None:
        session = self._session
        column = token_column(kind, role)
        session.live_rows += sign
        session.summary_rows += sign * kind.is_summary
        session.live_tokens += sign * tokens
        setattr(session, column, getattr(session, column) + sign * tokens)

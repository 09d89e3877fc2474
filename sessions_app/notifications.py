"""What is said over PostgreSQL's NOTIFY: ids and kinds, never content.

A notice is sent inside the transaction it tells of, so PostgreSQL delivers it exactly when the change can be seen and
never for a change that was rolled back.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from django.db import connection

CHANNEL: Final = "hermes_sessions"
# PostgreSQL refuses payloads of 8,000 bytes and more; an id has at most 19 digits and a comma.
MAX_IDS: Final = 300
# About a run beside the session: it has no number among the session's events.
REPLAY_KIND: Final = "replay"
# About an answer of the main model that comes piece by piece, and about a turn whose end begins or is over.
ANSWER_KIND: Final = "answer"
TURN_KIND: Final = "turn"
# The session is gone, and with it the numbers of its events.
DELETED_KIND: Final = "deleted"
UNNUMBERED_KINDS: Final = frozenset({REPLAY_KIND, ANSWER_KIND, TURN_KIND, DELETED_KIND})


@dataclass(frozen=True, slots=True)
class Notice:
    """Something happened in a session: its newest seq, the kind of event, and the rows it concerns (may be empty)."""

    session: int
    seq: int
    kind: str
    ids: tuple[int, ...] = ()

    def to_payload(self) -> str:
        """The notice as NOTIFY carries it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_payload(cls, payload: str) -> Notice:
        """The notice in a payload. Raises ValueError when it is none: other programs may use the channel."""
        try:
            stored = json.loads(payload)
            return cls(int(stored["session"]), int(stored["seq"]), str(stored["kind"]), tuple(map(int, stored["ids"])))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a notice: {payload[:100]!r}") from error


def notify(notice: Notice) -> None:
    """Send `notice` to all listeners when the present transaction commits."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, notice.to_payload()])

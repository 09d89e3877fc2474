"""A recorded session, as values: its rows in order, with the times at which they came."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.services import NewMessage


@dataclass(frozen=True, slots=True)
class Recording:
    """What is played.

    key: names the recording, the same whenever it is read, so that a play that was broken off finds its session again.
    rows: everything that was appended and not taken back, in order; `at` is the recorded time, None where it is not
    known; client ids are by place, so a recording that has grown goes on where it ended. interrupted_after: client ids
    of the rows after which the source says that the turn was broken off.
    """

    key: str
    title: str
    rows: tuple[NewMessage, ...]
    model: str | None = None
    window_tokens: int | None = None
    fixed_overhead_tokens: int | None = None
    interrupted_after: frozenset[str] = frozenset()


def client_id_at(place: int) -> str:
    """The id under which the row at `place`, from 0, of a recording is sent."""
    return f"row-{place}"

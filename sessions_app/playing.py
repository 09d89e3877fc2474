"""Playing a told session into the store: turn by turn, through the same services as a session that happens now.

Must not write anything itself. Rows, turns and passes get the times at which they happen in the session; what the
engine decides is decided afresh. A play that was broken off goes on where it stopped when it is started again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from compaction.summarizer import Reply, Summarizer, SummaryRequest
from compaction.tokens import TokenCounter
from sessions_app import clock, services
from sessions_app.clock import PlayedTime
from sessions_app.finalizing import finalize_turns
from sessions_app.samples.transcript import SampleRow, SampleSession
from sessions_app.services import NewMessage

# Between the reply and the pass: what a job takes to start.
JOB_START_SECONDS: Final = 0.2


class PlayedSummarizer:
    """A summarizer whose answers take their time in the played session, not in ours."""

    def __init__(self, inner: Summarizer, time: PlayedTime) -> None:
        self._inner = inner
        self._time = time

    @property
    def model(self) -> str:
        """The name of the summarizer inside."""
        return self._inner.model

    @property
    def window_tokens(self) -> int | None:
        """The window of the summarizer inside."""
        return self._inner.window_tokens

    def ask(self, request: SummaryRequest) -> Reply:
        """The answer, after the time it says it took."""
        reply = self._inner.ask(request)
        self._time.pass_by((reply.duration_ms or 0) / 1_000)
        return reply


def play_session(session_id: int, told: SampleSession, summarizer: Summarizer, counter: TokenCounter) -> Iterator[int]:
    """Append each turn's rows, finish it, and make the pass that is due; yields the turns' numbers as they are done.

    The session is ended with its last turn. Calling this again for the same session changes nothing that is there.
    """
    for number, turn in enumerate(told.turns, 1):
        rows = (told.system, *turn.rows) if number == 1 else turn.rows
        services.append_rows(session_id, messages_of(told, number, rows), counter)
        with clock.played(moment_of(rows[-1])) as time:
            services.finish_turn(session_id, deferring=False)
            time.pass_by(JOB_START_SECONDS)
            finalize_turns(session_id, PlayedSummarizer(summarizer, time), counter)
            if number == len(told.turns):
                services.end_session(session_id, "user_exit")
        yield number


def messages_of(told: SampleSession, turn: int, rows: Sequence[SampleRow]) -> list[NewMessage]:
    """The rows as a client would send them, each with an id by which it is known when it comes again."""
    return [
        NewMessage(
            row.message,
            client_id=f"{told.story.session_id}/{turn}/{place}",
            at=moment_of(row),
            model=told.story.model if row.finish_reason else None,
        )
        for place, row in enumerate(rows)
    ]


def moment_of(row: SampleRow) -> datetime:
    return datetime.fromtimestamp(row.at, UTC)

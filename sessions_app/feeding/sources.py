"""Where recordings come from: a transcript file of any known format, a stored session, a sample.

Reads only. Summaries and stubs that somebody's compaction made are left out, and so is what a rewind took back: what is
played is the conversation, and the engine decides afresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from compaction.errors import InvalidInput
from compaction.feed import appended_rows
from compaction.formats import open_source
from compaction.formats.events import (
    ImportReport,
    RowAppended,
    SourceEvent,
    SourceRow,
    SourceSession,
    TurnEnded,
)
from compaction.tokens import TokenCounter
from sessions_app.feeding.recording import Recording, client_id_at
from sessions_app.mapping import message_of
from sessions_app.models import MessageRow, Session, Turn
from sessions_app.playing import moment_of
from sessions_app.queries.replay_rows import fed_rows
from sessions_app.replay_sources import find_session
from sessions_app.samples.catalogue import NAMES, sample_session
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.transcript import SampleSession
from sessions_app.services import NewMessage

# Any later time can't be stored, so it can't be right.
LATEST_SECONDS = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def recordings_named(name: str, count: int, counter: TokenCounter) -> tuple[Recording, ...]:
    """Up to `count` recordings: of the file at that path, else the sample, else the stored session of that name.

    Raises InvalidInput when there is nothing of that name, or no row in it; InvalidSource for files that can't be read.
    """
    if Path(name).is_file():
        return recordings_of_file(Path(name), count)
    if name in NAMES:
        return (recording_of_sample(name, counter),)
    try:
        return (recording_of_session(find_session(name)),)
    except InvalidInput as error:
        samples = ", ".join(NAMES)
        raise InvalidInput(f"{error} (nor is it a file, or one of the samples {samples})") from error


def recordings_of_file(path: Path, count: int) -> tuple[Recording, ...]:
    """The first `count` sessions of a transcript that hold rows."""
    told = (recording_of_source(session) for session in open_source(path, report=ImportReport(str(path))))
    found = tuple(islice((recording for recording in told if recording.rows), count))
    if not found:
        raise InvalidInput("holds no session with rows", str(path))
    return found


def recording_of_source(session: SourceSession) -> Recording:
    """A session of a file. It may hold no rows."""
    events = tuple(session.events())
    rows = tuple(new_row(place, row) for place, row in appended_rows(events))
    return Recording(
        key=f"{session.source}:{session.foreign_id}",
        title=session.title,
        rows=rows,
        model=session.model,
        window_tokens=session.window_tokens,
        fixed_overhead_tokens=session.fixed_overhead_tokens,
        interrupted_after=frozenset(interruptions(events)),
    )


def interruptions(events: Iterable[SourceEvent]) -> Iterator[str]:
    """Client ids of the rows after which a turn was broken off."""
    appended = 0
    for event in events:
        if isinstance(event, RowAppended):
            appended += 1
        elif isinstance(event, TurnEnded) and event.interrupted:
            yield client_id_at(appended - 1)


def new_row(place: int, row: SourceRow) -> NewMessage:
    """The row at a place of a source."""
    return NewMessage(
        row.message,
        client_id=client_id_at(place),
        by_person=row.by_person,
        at=moment_or_none(row.at),
        model=row.model,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cache_read_tokens,
        cache_write_tokens=row.cache_write_tokens,
    )


def moment_or_none(seconds: float | None) -> datetime | None:
    """The time, None when it is not known or can't be one."""
    if seconds is None or not 0 <= seconds < LATEST_SECONDS:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def recording_of_session(session: Session, until_seq: int | None = None) -> Recording:
    """A stored session, hosted or imported, as it is or was at an event. Raises InvalidInput when it holds no rows."""
    stored = list(fed_rows(session.pk, until_seq).order_by("position", "id").defer("raw"))
    if not stored:
        raise InvalidInput("the session holds no rows", session.public_id)
    return Recording(
        key=f"stored:{session.public_id}",
        title=session.title,
        rows=tuple(stored_row(place, row) for place, row in enumerate(stored)),
        model=session.model,
        window_tokens=session.window_tokens,
        fixed_overhead_tokens=session.fixed_overhead_tokens,
        interrupted_after=stored_interruptions(session, stored),
    )


def stored_row(place: int, row: MessageRow) -> NewMessage:
    """The row at a place of a stored session."""
    return NewMessage(
        message_of(row),
        client_id=client_id_at(place),
        by_person=row.by_person,
        at=row.at,
        model=row.model,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cache_read_tokens,
        cache_write_tokens=row.cache_write_tokens,
    )


def stored_interruptions(session: Session, stored: Sequence[MessageRow]) -> frozenset[str]:
    turns = Turn.objects.filter(session_id=session.pk, interrupted=True)
    ends = frozenset(turns.values_list("last_position", flat=True))
    return frozenset(client_id_at(place) for place, row in enumerate(stored) if row.position in ends)


def recording_of_sample(name: str, counter: TokenCounter) -> Recording:
    """A sample, told from this checkout."""
    return recording_of_told(sample_session(name, Checkout(), counter))


def recording_of_told(told: SampleSession) -> Recording:
    """A session that was told as a sample is. Its model's window is the player's to say."""
    model = told.story.model
    rows = (
        NewMessage(
            row.message,
            client_id=client_id_at(place),
            at=moment_of(row),
            model=model if row.finish_reason else None,
        )
        for place, row in enumerate(told.rows)
    )
    return Recording(f"sample:{told.story.session_id}", told.story.title, tuple(rows), model)

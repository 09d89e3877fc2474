"""What compaction costs with the store: one micro pass, appends and a resume, at four session sizes.

    python scripts/bench_store.py [--repeat N] [--sizes 100,1000,...]

The summarizer's words are a fixed text, so its time is not in the figures; everything else of a pass is: reading,
planning, settling, and the commit with its wait for the disk. Rows written are counted in the database, by the
transaction that wrote each version and by its statistics, and not what the code means to write. Runs on a database of
its own: DATABASE_URL names the server, without it an embedded one with its usual settings is started.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from scratch_site import machine, scratch_site
from spread import Spread, milliseconds

if TYPE_CHECKING:
    from sessions_app.models import Session
    from sessions_app.services import NewMessage

SIZES = (100, 1_000, 10_000, 100_000)
# What a pass with its store took in another implementation, by session size; it wrote every live row again.
RECORDED_PASS_MS = {100: 26, 1_000: 300, 10_000: 2_600}
MOST_ROWS_WRITTEN = 3
LIMIT_MS, LIMIT_ROWS = 10, 10_000
FLAT_WITHIN = 1.5
# A session of 100 rows has about thirty exchanges to absorb; each session is used for this many passes.
PASSES_A_SESSION = 25
WARM_UPS = 5
WINDOW_TOKENS = 16_000
SUMMARY = "## Key Decisions\n- keep the row store\n\n## Files and Commands\n- src/store.py"
WRITTEN_SQL = """
SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE relname = 'sessions_app_messagerow'
"""
SIZE_SQL = """
SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND starts_with(relname, 'sessions_app_')
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """The sessions of one size. bytes_a_row: of all tables and indexes, for each row as it was appended."""

    rows: int
    sessions: tuple[Session, ...]
    bytes_a_row: float


@dataclass(slots=True)
class Measured:
    """What was measured of one size, in milliseconds. written: row versions of the message table, for each pass."""

    subject: Subject
    passes: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    resumes: list[float] = field(default_factory=list)
    appends_of_one: list[float] = field(default_factory=list)
    appends_of_fifty: list[float] = field(default_factory=list)


def main() -> None:
    """Measure every size and print the tables."""
    parser = argparse.ArgumentParser(description="Time a micro pass, appends and a resume with the store.")
    parser.add_argument("--repeat", type=int, default=100, help="passes for each size (100)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="rows, separated by commas")
    options = parser.parse_args()
    with scratch_site():
        print(machine())
        done = [Measured(make_subject(int(size), options.repeat)) for size in options.sizes.split(",")]
        _analyze()
        counted = measure_passes(done, options.repeat)
        measure_others(done, options.repeat)
        print_passes(done, counted)
        print_others(done)


def make_subject(rows: int, repeat: int) -> Subject:
    """As many sessions of `rows` rows as `repeat` passes need."""
    empty = stored_bytes()
    sessions = tuple(make_session(rows) for _ in range(1 if rows > 1_000 else 1 + repeat // PASSES_A_SESSION))
    return Subject(rows, sessions, (stored_bytes() - empty) / rows / len(sessions))


def measure_passes(done: list[Measured], repeat: int) -> float:
    """Make `repeat` passes over each size; returns the row versions written in each by the database's own statistics.

    The sizes take turns, so that whatever else the machine does meets them all alike.
    """
    for one in done:
        list(islice(passes_over(one.subject.sessions[-1:]), WARM_UPS))
    _close()
    before, walks = rows_written(), [passes_over(one.subject.sessions) for one in done]
    for _ in range(repeat):
        for one, walk in zip(done, walks, strict=True):
            taken, written = next(walk)
            one.passes.append(taken)
            one.written.append(written)
    _close()
    return (rows_written() - before) / repeat / len(done)


def measure_others(done: list[Measured], repeat: int) -> None:
    """Resumes and appends, the sizes taking turns again; appends come last, because they make the sessions longer."""
    for _ in range(9):
        for one in done:
            one.resumes.append(milliseconds(partial(resume, one.subject.sessions[0])))
    for _ in range(repeat):
        for one in done:
            one.appends_of_one.append(milliseconds(partial(append, one.subject.sessions[0], 1)))
            one.appends_of_fifty.append(milliseconds(partial(append, one.subject.sessions[0], 50)))


def make_session(rows: int) -> Session:
    """A session of `rows` rows: plain turns of a question and an answer of about sixty tokens."""
    from sessions_app import services
    from sessions_app.models import Project

    project = Project.objects.first() or services.create_project("bench", "Bench")
    if not project.policy_settings:
        blocks = {"compression": {"micro_compact": True, "target_ratio": 0.1}}
        services.save_policy(project.pk, blocks, None, "Micro passes on")
        project.refresh_from_db()
    session = services.create_session(project, f"{rows} rows", window_tokens=WINDOW_TOKENS)
    for first in range(0, rows, 1_000):
        append(session, min(1_000, rows - first))
    return session


def append(session: Session, count: int) -> None:
    """Append `count` rows in one call."""
    from sessions_app import services
    from sessions_app.token_counting import site_counter

    services.append_rows(session.pk, _talk(count), site_counter())


def _talk(count: int) -> list[NewMessage]:
    from compaction.messages import Message, Role
    from sessions_app.services import NewMessage

    question = NewMessage(Message(Role.USER, "and what happens then, in detail?"))
    answer = NewMessage(Message(Role.ASSISTANT, "the row is stamped and stays readable in the archive; " * 5))
    return [answer if number % 2 else question for number in range(count)]


def passes_over(sessions: Sequence[Session]) -> Iterator[tuple[float, int]]:
    """Passes as the end of a turn makes them, one session after the other: the milliseconds that each took, and how
    many row versions it wrote."""
    from compaction.scripted import ScriptedSummarizer
    from compaction.summarizer import Reply
    from sessions_app.models import Turn, TurnStep
    from sessions_app.passes.passing import Passing
    from sessions_app.passes.running import run_pass
    from sessions_app.services import Committed
    from sessions_app.token_counting import site_counter

    summarizer = ScriptedSummarizer([Reply(text=SUMMARY, finish_reason="stop", duration_ms=0)], model="small")
    for session in sessions:
        most = PASSES_A_SESSION if session is not sessions[-1] else None
        for turn in Turn.objects.filter(session=session, step_done=TurnStep.NONE).order_by("number")[:most].iterator():
            newest, started = newest_transaction(), time.perf_counter()
            done = run_pass(session.pk, TurnStep.MICRO, Passing(summarizer, site_counter(), turn))
            taken = (time.perf_counter() - started) * 1_000
            if not isinstance(done, Committed):
                raise SystemExit(f"nothing to measure in {session.title}: {done}")
            yield taken, versions_since(session, newest)


def newest_transaction() -> int:
    """The number of a transaction that is older than all to come."""
    return int(_ask("SELECT txid_current()"))


def versions_since(session: Session, transaction: int) -> int:
    """How many rows of the session a later transaction wrote."""
    sql = "SELECT count(*) FROM sessions_app_messagerow WHERE session_id = %s AND xmin::text::bigint > %s"
    return int(_ask(sql, session.pk, transaction))


def _ask(sql: str, *values: int) -> Any:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]


def resume(session: Session) -> None:
    """Read the live rows as a request to the model needs them."""
    from sessions_app.queries.contexts import context_now

    context_now(session)


def rows_written() -> int:
    """Row versions of the message table written so far, by the database's own statistics."""
    return int(_ask(WRITTEN_SQL))


def stored_bytes() -> int:
    """What the site's tables and their indexes take on the disk."""
    return int(_ask(SIZE_SQL))


def _close() -> None:
    """A connection hands in its counts when it ends."""
    from django.db import connection

    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # missing in the stubs


def _analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def print_passes(done: list[Measured], counted: float) -> None:
    """The passes against what was recorded elsewhere, against each other and against the limits."""
    spreads = [Spread.of(one.passes) for one in done]
    print(f"micro pass with store, {spreads[0].count} passes a size, the sizes taking turns:")
    print(
        f"{'rows':>8} {'median ms':>10} {'p5':>7} {'p95':>7} {'to first':>9} {'most written':>13} {'recorded ms':>12}"
    )
    for one, spread in zip(done, spreads, strict=True):
        rows, recorded = one.subject.rows, RECORDED_PASS_MS.get(one.subject.rows)
        ratio = f"  ({spread.median_ms / recorded:.4f} of it)" if recorded else ""
        figures = f"{spread.median_ms:>10.2f} {spread.p5_ms:>7.2f} {spread.p95_ms:>7.2f}"
        growth = spread.median_ms / spreads[0].median_ms
        print(f"{rows:>8,} {figures} {growth:>9.2f} {max(one.written):>13} {recorded or 'unknown':>12}{ratio}")
    medians = [spread.median_ms for spread in spreads]
    print(f"largest median / smallest median: {max(medians) / min(medians):.2f} (wanted: at most {FLAT_WITHIN})")
    print(f"row versions in a pass by the database's statistics: {counted:.2f} (wanted: {MOST_ROWS_WRITTEN} at most)")
    for one, spread in zip(done, spreads, strict=True):
        if one.subject.rows == LIMIT_ROWS:
            print(f"at {LIMIT_ROWS:,} rows: {spread.median_ms:.2f} ms (wanted: under {LIMIT_MS})")


def print_others(done: list[Measured]) -> None:
    """Appends and the resume of each size."""
    print("\nother work of the store, median (p5 to p95):")
    for one in done:
        rows, resumes = one.subject.rows, Spread.of(one.resumes)
        print(
            f"{rows:>8,} rows: append 1 row {Spread.of(one.appends_of_one)}; 50 rows {Spread.of(one.appends_of_fifty)}"
        )
        each = f"{resumes.median_ms * 1_000 / rows:.1f} µs a row; {one.subject.bytes_a_row:.0f} bytes a row on the disk"
        print(f"{'':>8}       resume {resumes}, {each}")


if __name__ == "__main__":
    main()

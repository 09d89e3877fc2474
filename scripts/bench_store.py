"""What compaction costs with the store: one micro pass, appends and a resume, at four session sizes.

    python scripts/bench_store.py [--repeat N] [--sizes 100,1000,...]

The summarizer's words are a fixed text, so its time is not in the figures; everything else of a pass is: reading,
planning, settling, and the commit with its wait for the disk. Rows written are the database's own count of row
versions (pg_stat_user_tables), not what the code means to write. Runs on a database of its own: DATABASE_URL names the
server, without it an embedded one with its usual settings is started.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

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
# A session of 100 rows has about thirty exchanges to absorb; each is used for this many passes.
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
class Measured:
    """One size. bytes_a_row: of all tables and indexes, for each row of some 200 characters as it was appended.

    rows_written: row versions of the message table for each pass.
    """

    rows: int
    bytes_a_row: float
    passes: Spread
    rows_written: float
    append_one: Spread
    append_fifty: Spread
    resume: Spread


def main() -> None:
    """Measure every size and print the tables."""
    parser = argparse.ArgumentParser(description="Time a micro pass, appends and a resume with the store.")
    parser.add_argument("--repeat", type=int, default=100, help="passes for each size (100)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="rows, separated by commas")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with scratch_site():
        print(machine())
        print(f"micro pass with store, {options.repeat} passes a size, median (p5 to p95):")
        done = [_report(measure(size, options.repeat)) for size in sizes]
        print_passes(done)
        print_other(done)


def _report(measured: Measured) -> Measured:
    print(f"  {measured.rows:>8,} rows {measured.passes}", flush=True)
    return measured


def measure(rows: int, repeat: int) -> Measured:
    """All figures of one size."""
    empty = stored_bytes()
    sessions = [make_session(rows) for _ in range(1 if rows > 1_000 else -(-repeat // PASSES_A_SESSION))]
    bytes_a_row = (stored_bytes() - empty) / rows / len(sessions)
    _analyze()
    for session in sessions[:1]:
        list(make_passes(session, 1, WARM_UPS))
    _close()
    before = rows_written()
    each = -(-repeat // len(sessions))
    first = [WARM_UPS + 1] + [1] * (len(sessions) - 1)
    taken = list(chain.from_iterable(make_passes(s, n, each) for s, n in zip(sessions, first, strict=True)))
    _close()
    written = (rows_written() - before) / len(taken)
    session = sessions[-1]
    resumed = Spread.of([milliseconds(lambda: resume(session)) for _ in range(9)])
    return Measured(
        rows=rows,
        bytes_a_row=bytes_a_row,
        passes=Spread.of(taken),
        rows_written=written,
        append_one=Spread.of([milliseconds(lambda: append(session, 1)) for _ in range(repeat)]),
        append_fifty=Spread.of([milliseconds(lambda: append(session, 50)) for _ in range(repeat // 2)]),
        resume=resumed,
    )


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


def make_passes(session: Session, first_turn: int, count: int) -> Iterator[float]:
    """Milliseconds of each of `count` passes, made as the end of a turn makes them."""
    from compaction.scripted import ScriptedSummarizer
    from compaction.summarizer import Reply
    from sessions_app.models import Turn, TurnStep
    from sessions_app.passes.passing import Passing
    from sessions_app.passes.running import run_pass
    from sessions_app.services import Committed
    from sessions_app.token_counting import site_counter

    summarizer = ScriptedSummarizer([Reply(text=SUMMARY, finish_reason="stop", duration_ms=0)], model="small")
    for turn in Turn.objects.filter(session=session, number__gte=first_turn).order_by("number")[:count]:
        done = []
        yield milliseconds(
            lambda: done.append(run_pass(session.pk, TurnStep.MICRO, Passing(summarizer, site_counter(), turn)))  # noqa: B023 (called at once)
        )
        if not isinstance(done[0], Committed):
            raise SystemExit(f"nothing to measure in {session.title}: {done[0]}")


def resume(session: Session) -> None:
    """Read the live rows as a request to the model needs them."""
    from sessions_app.queries.contexts import context_now

    context_now(session)


def rows_written() -> int:
    """Row versions of the message table written so far, by the database's own count."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(WRITTEN_SQL)
        written: int = cursor.fetchone()[0]
    return written


def stored_bytes() -> int:
    """What the site's tables and their indexes take on the disk."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(SIZE_SQL)
        size = int(cursor.fetchone()[0])
    return size


def _close() -> None:
    """A connection hands in its counts when it ends."""
    from django.db import connection

    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # missing in the stubs


def _analyze() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def print_passes(done: list[Measured]) -> None:
    """The passes against what was recorded elsewhere, against each other and against the limits."""
    print(f"\n{'rows':>8} {'median ms':>10} {'to smallest':>12} {'rows written':>13} {'recorded ms':>12} {'ratio':>8}")
    for one in done:
        recorded = RECORDED_PASS_MS.get(one.rows)
        ratio = f"{one.passes.median_ms / recorded:.4f}" if recorded else "unknown"
        growth = one.passes.median_ms / done[0].passes.median_ms
        row = f"{one.rows:>8,} {one.passes.median_ms:>10.2f} {growth:>12.2f} {one.rows_written:>13.2f}"
        print(f"{row} {recorded or 'unknown':>12} {ratio:>8}")
    medians = [one.passes.median_ms for one in done]
    print(f"largest median / smallest median: {max(medians) / min(medians):.2f} (wanted: at most {FLAT_WITHIN})")
    print(f"most rows written in a pass: {max(one.rows_written for one in done):.2f} (wanted: {MOST_ROWS_WRITTEN})")
    for one in done:
        if one.rows == LIMIT_ROWS:
            print(f"at {LIMIT_ROWS:,} rows: {one.passes.median_ms:.2f} ms (wanted: under {LIMIT_MS})")


def print_other(done: list[Measured]) -> None:
    """Appends and the resume of each size."""
    print("\nother work of the store, median (p5 to p95):")
    for one in done:
        print(f"  {one.rows:>8,} rows: append 1 row {one.append_one}; append 50 rows {one.append_fifty}")
        per_row = one.resume.median_ms * 1_000 / one.rows
        more = f"resume {one.resume}, {per_row:.1f} µs a row; {one.bytes_a_row:.0f} bytes a row on the disk"
        print(f"  {'':>8}       {more}")


if __name__ == "__main__":
    main()

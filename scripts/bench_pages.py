"""What pages cost the server: a session of 100,000 rows against one of 100, and the list and the search of 10,000.

    python scripts/bench_pages.py [--repeat N] [--rows N] [--sessions N] [--strict]

Times are of whole requests inside the server process, without a network and without a browser: middleware, access,
queries, template. The baseline is the session of 100 rows. The long session comes twice: with all its rows live, and
with most of them archived by passes. A figure that misses its limit is marked; with --strict the exit code is then 1.
Runs on a database of its own: DATABASE_URL names the server, without it an embedded one is started.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from scratch_site import machine, scratch_site
from spread import Spread, milliseconds

if TYPE_CHECKING:
    from django.test import Client

    from sessions_app.models import Project, Session

SHORT_ROWS = 100
ROWS_OF_LISTED = 12
ROWS_A_PASS = 50
LIMIT_RATIO, LIMIT_PAGE_MS, LIMIT_JUMP_MS, LIMIT_LIST_MS, LIMIT_SEARCH_MS = 1.3, 60.0, 100.0, 80.0, 1_000.0
LIMIT_HTML_BYTES = 150_000
WARM_UPS = 5
WORDS = ("retry", "window", "cursor", "gauge", "index", "archive", "pass", "summary", "token", "批次", "检索", "上下文")


@dataclass(frozen=True, slots=True)
class Measured:
    """One address, asked again and again. beside: the baseline, asked in turn with it, where it is compared with that;
    a machine that slows down for a while slows down both."""

    name: str
    spread: Spread
    html_bytes: int
    queries: int
    beside: Spread | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as long as the baseline it takes, by the medians; None where nothing is compared."""
        return None if self.beside is None else self.spread.median_ms / self.beside.median_ms


@dataclass(frozen=True, slots=True)
class Limits:
    """What one address may cost; None where nothing is promised. ratio: to the baseline."""

    p95_ms: float
    html_bytes: int | None = None
    ratio: float | None = None


def main() -> None:
    """Make the sessions, measure the pages, print the tables."""
    parser = argparse.ArgumentParser(description="Time the pages of long sessions, the list and the search.")
    parser.add_argument("--repeat", type=int, default=60, help="requests for each address (60)")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the long session (100,000)")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions in the list (10,000)")
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a figure misses its limit")
    options = parser.parse_args()
    with scratch_site():
        print(machine())
        client, project = make_reader()
        is_fine = bench_sessions(client, project, options.rows, options.repeat)
        is_fine &= bench_list(client, project, options.sessions, options.repeat)
    sys.exit(1 if options.strict and not is_fine else 0)


def bench_sessions(client: Client, project: Project, rows: int, repeat: int) -> bool:
    """The pages of a long session against the same pages of a short one."""
    short = make_session(project, SHORT_ROWS)
    long = make_session(project, rows)
    archived = make_session(project, rows)
    archive_most(archived)
    analyze()
    print(f"\npages of a session of {rows:,} rows, median (p5 to p95) of {repeat}; the baseline has {SHORT_ROWS} rows:")
    base = f"/s/{short.public_id}/"
    report(measure(client, base, "baseline, first page", repeat), None)
    whole = Limits(LIMIT_PAGE_MS, LIMIT_HTML_BYTES, LIMIT_RATIO)
    ok = True
    for session, kind in ((long, "all live"), (archived, "mostly archived")):
        path, middle = f"/s/{session.public_id}/", rows // 2
        found = report(measure(client, path, f"{kind}, first page", repeat, base), whole)
        ok &= is_within(found, whole)
        jump = Limits(LIMIT_JUMP_MS, LIMIT_HTML_BYTES)
        for name, query in (
            ("jump to the middle", f"?row={middle}"),
            ("end", f"?row={rows - 1}"),
            ("find, rare word", f"?find=needle&row={rows * 2 // 3}"),
            ("find, common word", f"?find=cursor&row={middle}"),
        ):
            found = report(measure(client, path + query, f"{kind}, {name}", repeat, base), jump)
            ok &= is_within(found, jump)
        count_cache(client, session)
        for name, query in (("cache, passes", "?view=passes"), ("cache, requests", "?view=requests")):
            found = report(measure(client, f"{path}cache/{query}", f"{kind}, {name}", repeat, base), jump)
            ok &= is_within(found, jump)
    return ok


def count_cache(client: Client, session: Session) -> None:
    """What the first look at the cache tab asks a job for, done at once."""
    from sessions_app.cache_counting import carry_on
    from sessions_app.models import CacheAccount

    client.get(f"/s/{session.public_id}/cache/")
    for account in CacheAccount.objects.filter(session=session):
        carry_on(account.pk)


def bench_list(client: Client, project: Project, sessions: int, repeat: int) -> bool:
    """The list in every order and under every filter, and searches over its rows."""
    make_listed(project, sessions)
    analyze()
    print(f"\nlist of {sessions:,} sessions, median (p5 to p95) of {repeat}:")
    limits, ok = Limits(LIMIT_LIST_MS, None), True
    orders = ("activity", "occupancy", "tokens", "archived")
    middle = middle_cursor(project)
    for query in (
        *(f"?sort={order}" for order in orders),
        *("?live=on", "?model=model-3", "?period=week", "?has_failures=on", "?over=95", "?over=95&sort=tokens"),
        *("?source=hermes&has_defrag=on", f"?after={middle}", f"?before={middle}"),
    ):
        found = report(measure(client, "/" + query, query, repeat), limits)
        ok &= is_within(found, limits)
    print("\nsearch over them:")
    search = Limits(LIMIT_SEARCH_MS, None)
    for words in ("needle", "检索", "cursor", '"cursor gauge"', "cur*", "retry -window", "session 77"):
        found = report(measure(client, f"/?q={words}", words, max(repeat // 4, 5)), search)
        ok &= is_within(found, search)
    return ok


def measure(client: Client, path: str, name: str, repeat: int, base: str | None = None) -> Measured:
    """The same address, asked `repeat` times after some warm-ups, in turn with the baseline's if that is given."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def ask(address: str) -> Any:
        response = client.get(address)
        if response.status_code != 200:
            raise SystemExit(f"{address} answered {response.status_code}")
        return response

    for _ in range(WARM_UPS):
        ask(path)
    with CaptureQueriesContext(connection) as captured:
        size = len(ask(path).content)
    # The next request empties the log.
    queries = len(captured)
    own, others = [], []
    for _ in range(repeat):
        own.append(milliseconds(lambda: ask(path)))
        if base is not None:
            others.append(milliseconds(lambda: ask(base)))
    return Measured(name, Spread.of(own), size, queries, Spread.of(others) if others else None)


def report(found: Measured, limits: Limits | None) -> Measured:
    """Print one line."""
    ratio = "" if found.ratio is None else f"  x{found.ratio:.2f}"
    mark = "" if limits is None or is_within(found, limits) else "   <- over the limit"
    print(
        f"  {found.name:34} {found.spread}  {found.html_bytes / 1_000:6.1f} kB  {found.queries:2} queries{ratio}{mark}",
        flush=True,
    )
    return found


def is_within(found: Measured, limits: Limits) -> bool:
    """Whether a page keeps to its limits."""
    is_small = limits.html_bytes is None or found.html_bytes <= limits.html_bytes
    is_flat = limits.ratio is None or found.ratio is None or found.ratio <= limits.ratio
    return is_small and is_flat and found.spread.p95_ms <= limits.p95_ms


def make_reader() -> tuple[Client, Project]:
    """Somebody who is logged in, and the project they own."""
    from django.contrib.auth.models import User
    from django.test import Client

    from sessions_app import services

    reader = User.objects.create_user("reader")
    project = services.create_project("bench", "Bench", reader)
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(reader)
    return client, project


def make_session(project: Project, rows: int) -> Session:
    """A session of turns with tool calls, one row of which holds a word of its own."""
    from sessions_app import services
    from sessions_app.token_counting import site_counter

    session = services.create_session(project, f"{rows} rows", window_tokens=200_000)
    talk = messages(rows)
    while batch := list(islice(talk, 1_000)):
        services.append_rows(session.pk, batch, site_counter())
    session.refresh_from_db()
    return session


def messages(rows: int) -> Iterator[Any]:
    """`rows` messages: a request, a call, its result, an answer, again and again."""
    from compaction.messages import Message, Role, ToolCall
    from sessions_app.services import NewMessage

    for number in range(rows):
        word, other = WORDS[number % len(WORDS)], WORDS[number // 7 % len(WORDS)]
        call_id, step = f"call_{number // 4}", number % 4
        if number == rows * 2 // 3:
            yield NewMessage(Message(Role.USER, "the needle in the middle of it all"))
        elif step == 0:
            yield NewMessage(Message(Role.USER, f"What of the {word} and the {other}, step {number}?"))
        elif step == 1:
            yield NewMessage(Message(Role.ASSISTANT, None, (ToolCall(call_id, "read", f'{{"path": "{word}.py"}}'),)))
        elif step == 2:
            yield NewMessage(
                Message(Role.TOOL, f"def {word}_{other}():\n    return {number}\n" * 6, tool_call_id=call_id)
            )
        else:
            yield NewMessage(Message(Role.ASSISTANT, f"The **{word}** is read; the {other} comes next. " * 3))


def archive_most(session: Session) -> None:
    """Passes over all but the last rows, stored as a source would tell of them."""
    from sessions_app.models import CompactionPass, MessageRow, Session
    from sessions_app.queries.totals import recounted

    rows = MessageRow.objects.filter(session=session).order_by("position")
    ids = list(rows.values_list("id", flat=True))[1:-200]
    groups = [ids[first : first + ROWS_A_PASS] for first in range(0, len(ids), ROWS_A_PASS)]
    made = [
        CompactionPass(
            session=session,
            number=number,
            kind="micro",
            outcome="compressed",
            origin="engine",
            seq=session.last_seq + number,
            at=session.last_activity_at,
            revision_before=number - 1,
            revision_after=number,
            committed=True,
        )
        for number in range(1, len(groups) + 1)
    ]
    CompactionPass.objects.bulk_create(made, 1_000)
    for one, group in zip(made, groups, strict=True):
        MessageRow.objects.filter(id__in=group).update(died_seq=one.seq, archived_by=one)
    summarize(session, made[-1])
    Session.objects.filter(pk=session.pk).update(
        last_seq=session.last_seq + len(made),
        passes_total=len(made),
        micro_passes=len(made),
        **recounted(session.pk),
    )
    session.refresh_from_db()


def summarize(session: Session, made_by: Any) -> None:
    """The live summary of the newest pass, where that pass archived its rows."""
    from sessions_app.models import MessageRow, SummaryRevision

    text = "## Key Decisions\n" + "".join(f"- step {number}: read `window_{number}.py`\n" for number in range(40))
    first = MessageRow.objects.filter(archived_by=made_by).order_by("position").first()
    if first is None:
        raise SystemExit("the newest pass archived no row")
    row = MessageRow.objects.create(
        session=session,
        position=first.position,
        born_seq=made_by.seq,
        kind="micro_summary",
        role="user",
        content=text,
        tokens=600,
        token_counter="o200k_base",
        made_by=made_by,
    )
    SummaryRevision.objects.create(
        session=session, number=1, kind="micro", text=text, tokens=600, compaction_pass=made_by, row=row
    )


def make_listed(project: Project, sessions: int) -> None:
    """`sessions` sessions of a few rows each, with all kinds of figures."""
    from django.utils import timezone

    from sessions_app.models import MessageRow, Session, SessionEvent
    from sessions_app.services.row_words import index_rows

    now = timezone.now()
    for start in range(0, sessions, 1_000):
        made = Session.objects.bulk_create(
            listed(project, number, now) for number in range(start, min(start + 1_000, sessions))
        )
        rows = MessageRow.objects.bulk_create([row for one in made for row in rows_of(one)], 5_000)
        index_rows(project.pk, rows)
        SessionEvent.objects.bulk_create([event for one in made for event in events_of(one)], 5_000)


def listed(project: Project, number: int, now: Any) -> Session:
    from sessions_app.models import Session, SessionStatus

    tokens = number * 7_919 % 190_000
    return Session(
        project=project,
        public_id=f"listed{number:06}",
        foreign_id=f"listed{number:06}",
        title=f"Session {number} about {WORDS[number % len(WORDS)]}",
        source=("hermes", "claude-code", "hosted")[number % 3],
        model=f"model-{number % 9}",
        window_tokens=200_000,
        threshold_tokens=100_000 if number % 11 else None,
        last_activity_at=now - timedelta(minutes=number),
        listed_at=now - timedelta(minutes=number),
        status=(SessionStatus.LIVE if number % 97 == 0 else SessionStatus.IDLE).value,
        live_rows=ROWS_OF_LISTED,
        last_seq=ROWS_OF_LISTED,
        next_position=ROWS_OF_LISTED,
        live_tokens=tokens,
        user_tokens=tokens,
        archived_rows=number * 31 % 500,
        micro_passes=number % 20,
        defrag_passes=number % 4,
        failed_passes=int(number % 13 == 0),
    )


def rows_of(session: Session) -> Iterator[Any]:
    from sessions_app.models import MessageRow

    for position in range(ROWS_OF_LISTED):
        word = WORDS[(session.pk * 7 + position * position) % len(WORDS)]
        other = WORDS[(session.pk + position) % len(WORDS)]
        needle = "a needle, " if session.pk % 1_999 == 0 and position == 3 else ""
        yield MessageRow(
            session=session,
            position=position,
            born_seq=position + 1,
            kind="message",
            role="assistant" if position % 2 else "user",
            content=f"{needle}Row {position} of {session.title}: the {word} {other}, and what comes of it. " * 2,
            tokens=20,
            token_counter="o200k_base",
        )


def events_of(session: Session) -> Iterator[Any]:
    from sessions_app.models import EventKind, SessionEvent

    for seq in range(1, ROWS_OF_LISTED + 1):
        yield SessionEvent(
            session=session,
            seq=seq,
            kind=EventKind.APPENDED,
            live_rows=seq,
            live_tokens=session.live_tokens * seq // ROWS_OF_LISTED,
            threshold_tokens=session.threshold_tokens,
        )


def middle_cursor(project: Project) -> str:
    """The cursor of a session halfway down the list."""
    from urllib.parse import quote

    from sessions_app.models import Session

    sessions = Session.objects.filter(project=project).order_by("-listed_at", "-id")
    found = sessions[sessions.count() // 2]
    return quote(f"{found.listed_at.isoformat()}~{found.pk}")


def analyze() -> None:
    """What autovacuum does after a while: fresh statistics, and no pending index entries."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


if __name__ == "__main__":
    main()

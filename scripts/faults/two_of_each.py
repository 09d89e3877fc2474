#!/usr/bin/env python3
"""Two web processes and two workers on one session: nothing is lost, and of two passes at once one changes nothing.

    python scripts/faults/two_of_each.py [--appends 2000] [--minutes 15] [--seed N] [--keep]

Starts a database, two web processes and two workers of its own in a new folder. Two agents append to the same session,
each through its own web process, one row an append, and finish their turns; every tenth append is sent through both web
processes at the same moment. Passes run all the while, with summaries from a slow model server of the script's own, and
again and again both workers are set to the same session without the lock that usually keeps them apart, as happens
when the job of a worker that was only slow is given to another one.

Then every law is checked: each row stored once, in its agent's order, as it was sent; a pass that came too late (stale)
changed nothing; one live micro summary at most; no row absorbed twice; counters equal to recounted sums; no turn and no
job without an end.

2,000 appends take about three minutes on two processors; --minutes is the most that they may take.
Exit code: 0 when every law holds, 1 when not, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import httpx
from own_parts import OwnParts
from own_site import drain, run_in_folder
from slow_summarizer import SlowSummarizer
from talks import messages_of_turn

TWO: Final = 2
SENT_TWICE_EVERY: Final = 10
# From here on two passes must have met.
ENOUGH_APPENDS: Final = 1_000
# Between two jobs that don't mind the lock.
UNLOCKED_SECONDS: Final = 0.5
WINDOW_TOKENS: Final = 24_000
COMPRESSION: Final = {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}


@dataclass(slots=True)
class Sent:
    """What one agent sent, in order: client ids and messages; and what came back for appends that went out twice."""

    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    turns: int = 0
    problems: list[str] = field(default_factory=list)


class Agent:
    """Appends to the session, row by row, through one web process, at times through both."""

    def __init__(self, number: int, urls: Sequence[str], session: str, secret: str) -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        self._ways = [
            httpx.Client(base_url=f"{url}/api/v1/sessions/{session}", headers=headers, timeout=60.0, trust_env=False)
            for url in (urls[number], urls[1 - number])
        ]
        self._number = number
        self._at_once = ThreadPoolExecutor(TWO)
        self.sent = Sent()

    def work(self, appends: int, chance: random.Random, ends_at: float) -> Sent:
        """Append so many rows, or until the time is over."""
        turn = 0
        while len(self.sent.rows) < appends and time.monotonic() < ends_at:
            turn += 1
            for message in messages_of_turn(self._number, turn, chance):
                if len(self.sent.rows) < appends:
                    self._append(message)
            self._ways[0].post("/turns/finish", json={}).raise_for_status()
            self.sent.turns += 1
        self._at_once.shutdown()
        return self.sent

    def _append(self, message: dict[str, Any]) -> None:
        client_id = f"agent-{self._number}-{len(self.sent.rows)}"
        self.sent.rows.append((client_id, message))
        body = {"rows": [{"client_id": client_id, "message": message}]}
        ways = self._ways if len(self.sent.rows) % SENT_TWICE_EVERY == 0 else self._ways[:1]
        answers = list(self._at_once.map(lambda way: self._post(way, body), ways))
        if sum(answer["added"] for answer in answers) != 1 or len({tuple(one["row_ids"]) for one in answers}) != 1:
            self.sent.problems.append(f"{client_id} was answered with {answers}")

    def _post(self, way: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
        started = time.perf_counter()
        answer = way.post("/rows", json=body)
        answer.raise_for_status()
        self.sent.seconds.append(time.perf_counter() - started)
        told: dict[str, Any] = answer.json()
        return told


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--appends", type=int, default=2_000, help="how many in all (default: %(default)s)")
    minutes = "most that the appends may take (default: %(default)s)"
    parser.add_argument("--minutes", type=float, default=15.0, help=minutes)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of messages and chance")
    parser.add_argument("--keep", action="store_true", help="leave the folder for a look at what happened")
    arguments = parser.parse_args()
    if arguments.appends < TWO or arguments.minutes <= 0:
        parser.error("there are at least two appends, and minutes are a positive number")
    return arguments


def run(arguments: argparse.Namespace, folder: Path) -> int:
    started = time.monotonic()
    summarizer = SlowSummarizer(arguments.seed)
    secret, session = prepare(summarizer)
    parts = OwnParts(folder, TWO, TWO)
    try:
        parts.wait_until_up()
        sent, append_seconds = append_all(arguments, parts, session, secret)
        drained_seconds = drain()
        problems = [*parts.ended(), *broken(arguments, session, sent)]
    finally:
        parts.stop()
        summarizer.stop()
    tell(sent, append_seconds, drained_seconds, summarizer)
    for problem in problems[:50]:
        print(f"BROKEN: {problem}")
    if not problems:
        print(f"Every law holds after {time.monotonic() - started:.0f} s.")
    return 1 if problems else 0


def prepare(summarizer: SlowSummarizer) -> tuple[str, str]:
    """A token, and the public id of a session that is compacted often."""
    import django

    django.setup()
    from django.core.management import call_command

    from sessions_app.services import create_session, default_project, save_policy
    from sessions_app.services.tokens import issue_token

    call_command("migrate", verbosity=0, interactive=False)
    project = default_project()
    save_policy(project.pk, {"compression": COMPRESSION, "auxiliary": summarizer.settings}, None)
    session = create_session(project, "Two of each", window_tokens=WINDOW_TOKENS, foreign_id="two-of-each")
    return issue_token(project, "faults", may_write=True).secret, session.public_id


def append_all(arguments: argparse.Namespace, parts: OwnParts, session: str, secret: str) -> tuple[list[Sent], float]:
    """Let both agents work while jobs without a lock are put in; what they sent, and the seconds it took."""
    from sessions_app.models import Session

    session_id = Session.objects.get(public_id=session).pk
    started, is_over = time.monotonic(), Event()
    ends_at = started + arguments.minutes * 60
    disturbing = Thread(target=defer_without_lock, args=(session_id, is_over))
    disturbing.start()
    try:
        with ThreadPoolExecutor(TWO) as pool:
            working = [
                pool.submit(
                    Agent(number, parts.urls, session, secret).work,
                    share(arguments.appends, number),
                    random.Random(f"{arguments.seed}/{number}"),
                    ends_at,
                )
                for number in range(TWO)
            ]
            return [one.result() for one in working], time.monotonic() - started
    finally:
        is_over.set()
        disturbing.join()


def share(appends: int, number: int) -> int:
    """How many of the appends are the agent's."""
    return (appends + 1 - number) // TWO


def defer_without_lock(session_id: int, is_over: Event) -> None:
    """Put in two jobs for the session again and again, which any worker may take at any time."""
    from procrastinate.contrib.django import app

    from sessions_app.deferring import FINALIZE_TURN

    while not is_over.wait(UNLOCKED_SECONDS):
        for _ in range(TWO):
            app.configure_task(FINALIZE_TURN).defer(session_id=session_id)


def broken(arguments: argparse.Namespace, public_id: str, sent: Sequence[Sent]) -> list[str]:
    """Every law that does not hold, in a sentence."""
    from figures_of_store import overtaken_passes
    from laws import broken_laws, open_jobs

    from sessions_app.models import Session

    session = Session.objects.get(public_id=public_id)
    problems = [problem for one in sent for problem in one.problems]
    problems += [*lost_rows(session, sent), *broken_laws(session)]
    if (count := sum(len(one.rows) for one in sent)) != arguments.appends:
        problems.append(f"only {count} appends were made in {arguments.minutes} minutes")
    if arguments.appends >= ENOUGH_APPENDS and not overtaken_passes():
        problems.append("no pass was overtaken by another one, so this run shows nothing of such passes")
    if jobs := open_jobs():
        problems.append(f"{jobs} jobs are still open")
    return problems


def lost_rows(session: Any, sent: Sequence[Sent]) -> Iterator[str]:
    """Rows that are missing, too many, changed, or out of their agent's order."""
    from compaction.wire import message_to_openai
    from sessions_app.mapping import message_of
    from sessions_app.models import MessageRow

    stored = list(MessageRow.objects.filter(session=session, kind="message").order_by("position"))
    for number, one in enumerate(sent):
        mine = [row for row in stored if str(row.foreign_id).startswith(f"agent-{number}-")]
        if [row.foreign_id for row in mine] != [client_id for client_id, _ in one.rows]:
            yield f"of agent {number} {len(mine)} rows are stored of {len(one.rows)}, or in another order"
            continue
        for row, (client_id, message) in zip(mine, one.rows, strict=True):
            if message_to_openai(message_of(row)) != message:
                yield f"{client_id} is not what was sent"
    if len(stored) != sum(len(one.rows) for one in sent):
        yield f"{len(stored)} rows are stored"


def tell(sent: Sequence[Sent], append_seconds: float, drained_seconds: float, summarizer: SlowSummarizer) -> None:
    """Print the figures."""
    from figures_of_store import figure_lines

    from sessions_app.feeding.figures import percentile_ms

    appends = sum(len(one.rows) for one in sent)
    seconds = sorted(second for one in sent for second in one.seconds)
    print(f"appends      {appends:,} in {append_seconds:.0f} s, {appends / append_seconds:.1f} a second")
    slowest = percentile_ms(seconds, 100)
    print(f"latency      p50 {percentile_ms(seconds, 50)} ms, p95 {percentile_ms(seconds, 95)} ms, max {slowest} ms")
    print(f"turns sent   {sum(one.turns for one in sent):,}; {drained_seconds:.0f} s until nothing was open any more")
    print(f"summarizer   asked {summarizer.asked:,} times")
    for line in figure_lines():
        print(line)


if __name__ == "__main__":
    sys.exit(run_in_folder(read_arguments(), run))

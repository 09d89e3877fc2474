#!/usr/bin/env python3
"""kill -9 at random moments while sessions are fed: nothing may be lost, doubled, or left undone.

    python scripts/faults/kill_nine.py [--kills 200] [--sessions 20] [--minutes 45] [--seed N] [--keep]

Starts a site of its own (`manage.py serve`: web, worker and a PostgreSQL server) in a new folder on a free port, feeds
made-up sessions into it with `manage.py feed`, and meanwhile kills, with SIGKILL: the web process, the worker, the
database's main process, one of its other processes; now and then also the feed itself, which is started again. The
summaries come from a slow model server of the script's own, so that many kills fall into a pass. Kills come in bursts
of one to eight, so that many fall into the recovery from another; after a burst the site may come to itself, which is
timed, and work for a moment. Only processes that it started are signalled.

Then the feed is played to its end, the site is left alone until nothing is to be done any more, and every law is
checked: each row stored exactly once, in order, as it was sent and as the API returns it; counters equal to recounted
sums; at most one live micro summary; no row absorbed by two passes; no turn and no job without an end.

200 kills of 20 sessions take about 15 minutes on two processors; --minutes is the most that the killing may take.
Exit code: 0 when all kills were made and every law holds, 1 when not, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

import psutil
from own_site import CHECKOUT, OwnSite, drain, leave_database, run_in_folder, wait_until
from slow_summarizer import SlowSummarizer
from talks import write_talks

# How often each kind is chosen.
KINDS: Final = {"web": 4, "worker": 4, "postgres": 2, "a process of postgres": 2}
FEED_KILLED_EVERY: Final = 20
LONGEST_BURST: Final = 8
LONGEST_REST_SECONDS: Final = 2.5
# What the site has after a burst to get something done in peace.
LONGEST_WORK_SECONDS: Final = 6.0
RECOVERY_SECONDS: Final = 90.0
FINISH_SECONDS: Final = 900.0
# A turn of these talks, played at the recorded pace of two seconds a step, takes about ten; a kill takes about four.
TURNS_A_KILL: Final = 0.4
WINDOW_TOKENS: Final = 12_000
COMPRESSION: Final = {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}


@dataclass(slots=True)
class Kills:
    """What was killed; and by the kind of the last kill of each burst, how long the site took to be well again."""

    made: Counter[str] = field(default_factory=Counter)
    recovery_seconds: dict[str, list[float]] = field(default_factory=dict)
    feeds: int = 0
    not_recovered: list[str] = field(default_factory=list)


class Feed:
    """`manage.py feed` as a process that can be killed and started again."""

    def __init__(self, site: OwnSite, talks: Path, sessions: int, secret: str, log: Path) -> None:
        self._command = [sys.executable, "manage.py", "feed", str(talks), "--sessions", str(sessions)]
        self._command += ["--at-once", str(sessions), "--url", site.url, "--patience", "300", "--json"]
        self._environment = {**os.environ, "HERMES_TOKEN": secret}
        self._log = log.open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, rate: str) -> None:
        self.process = subprocess.Popen(
            [*self._command, "--rate", rate],
            cwd=CHECKOUT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def kill(self) -> None:
        """End it without a warning, if it still runs."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()

    def finish(self) -> tuple[int, str]:
        """Let it come to its end; its exit code and its report."""
        assert self.process is not None
        output, _ = self.process.communicate(timeout=FINISH_SECONDS)
        return self.process.returncode, output.decode()


class Killer:
    """Kills by chance what belongs to one site."""

    def __init__(self, site: OwnSite, chance: random.Random) -> None:
        self.site = site
        self._chance = chance

    def kill_one(self) -> str:
        """Kill something that lives; its kind."""
        while True:
            kind = self._chance.choices(list(KINDS), weights=list(KINDS.values()))[0]
            victim = self._victim(kind)
            if victim is None:
                time.sleep(0.02)
                continue
            with suppress(psutil.NoSuchProcess):
                victim.kill()
                return kind

    def _victim(self, kind: str) -> psutil.Process | None:
        if kind in ("web", "worker"):
            return self.site.child(kind)
        postmaster = self.site.postmaster()
        if kind == "postgres" or postmaster is None:
            return postmaster
        with suppress(psutil.NoSuchProcess):
            others = postmaster.children()
            return self._chance.choice(others) if others else None
        return None


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many (default: %(default)s)")
    parser.add_argument("--sessions", type=int, default=20, help="how many are fed at once (default: %(default)s)")
    parser.add_argument("--turns", type=int, help="turns of each session (default: as many as last for the kills)")
    parser.add_argument("--rate", default="1", help="speed of the feed during the kills (default: %(default)s)")
    parser.add_argument(
        "--minutes", type=float, default=45.0, help="most that the killing takes (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of talks and chance")
    parser.add_argument("--keep", action="store_true", help="leave the folder for a look at what happened")
    arguments = parser.parse_args()
    if arguments.kills < 1 or arguments.sessions < 1 or arguments.minutes <= 0:
        parser.error("kills, sessions and minutes are positive numbers")
    arguments.turns = arguments.turns or max(8, round(arguments.kills * TURNS_A_KILL))
    return arguments


def run(arguments: argparse.Namespace, folder: Path) -> int:
    started = time.monotonic()
    summarizer = SlowSummarizer(arguments.seed)
    secret = prepare(summarizer)
    talks = folder / "talks.jsonl"
    write_talks(talks, arguments.sessions, arguments.turns, arguments.seed)
    site = OwnSite(folder)
    try:
        site.wait_until_up()
        feed = Feed(site, talks, arguments.sessions, secret, folder / "feed.log")
        feed.start(arguments.rate)
        try:
            kills = kill_for_a_while(site, feed, arguments)
        finally:
            feed.kill()
        killed_seconds = time.monotonic() - started
        feed.start("max")
        code, report = feed.finish()
        drained_seconds = drain()
        problems = [*kills.not_recovered, *feed_problems(code, report), *broken(arguments, talks, site.url, secret)]
        tell(site, kills, report, killed_seconds, drained_seconds)
        print(f"summarizer   asked {summarizer.asked:,} times")
    finally:
        leave_database()
        code = site.stop()
        summarizer.stop()
    if code != 0:
        problems.append(f"the site ended with code {code}")
    if kills.made.total() < arguments.kills:
        problems.append(f"only {kills.made.total()} kills were made in {arguments.minutes} minutes")
    return verdict(problems, site, time.monotonic() - started)


def prepare(summarizer: SlowSummarizer) -> str:
    """A project whose sessions are compacted often, and a token for it. The database is stopped again afterwards."""
    import django

    django.setup()
    from django.core.management import call_command

    from sessions_app.models import Project
    from sessions_app.services import default_project, save_policy
    from sessions_app.services.tokens import issue_token

    call_command("migrate", verbosity=0, interactive=False)
    project = default_project()
    Project.objects.filter(pk=project.pk).update(window_tokens=WINDOW_TOKENS)
    save_policy(project.pk, {"compression": COMPRESSION, "auxiliary": summarizer.settings}, None)
    secret = issue_token(project, "faults", may_write=True).secret
    leave_database()
    return secret


def kill_for_a_while(site: OwnSite, feed: Feed, arguments: argparse.Namespace) -> Kills:
    """Kill until all kills are made or the time is over."""
    chance = random.Random(arguments.seed)
    killer, kills = Killer(site, chance), Kills()
    ends_at = time.monotonic() + arguments.minutes * 60
    while (left := arguments.kills - kills.made.total()) and time.monotonic() < ends_at and not kills.not_recovered:
        kill_in_a_burst(killer, kills, chance, min(left, chance.randint(1, LONGEST_BURST)))
        if kills.made.total() // FEED_KILLED_EVERY > kills.feeds:
            feed.kill()
            feed.start(arguments.rate)
            kills.feeds += 1
        print(f"{kills.made.total()} of {arguments.kills} kills", flush=True)
    return kills


def kill_in_a_burst(killer: Killer, kills: Kills, chance: random.Random, count: int) -> None:
    """Kill so many times, and wait until the site is well again."""
    for _ in range(count):
        time.sleep(chance.uniform(0, LONGEST_REST_SECONDS))
        kind = killer.kill_one()
        kills.made[kind] += 1
    killed_at = time.monotonic()
    if wait_until(lambda: is_well(killer.site), RECOVERY_SECONDS):
        kills.recovery_seconds.setdefault(kind, []).append(time.monotonic() - killed_at)
        time.sleep(chance.uniform(0, LONGEST_WORK_SECONDS))
    else:
        kills.not_recovered.append(f"{RECOVERY_SECONDS:.0f} s after a kill of {kind} the site was not well")


def is_well(site: OwnSite) -> bool:
    """Whether web process and database answer, and a worker is there."""
    try:
        with urlopen(f"{site.url}/healthz", timeout=10) as answer:
            return answer.status == 200 and site.child("worker") is not None
    except (URLError, OSError):
        return False


def feed_problems(code: int, report: str) -> Iterator[str]:
    if code != 0:
        yield f"the feed ended with code {code}: {report}"


def broken(arguments: argparse.Namespace, talks: Path, url: str, secret: str) -> list[str]:
    """Every law that does not hold, in a sentence."""
    from laws import broken_laws, open_jobs, sent_rows
    from returned import returned_rows

    from sessions_app.feeding.http_player import FeedPlan, plays_of
    from sessions_app.feeding.sources import recordings_of_file
    from sessions_app.models import Session

    recordings = recordings_of_file(talks, arguments.sessions)
    problems = []
    for play in plays_of(FeedPlan(recordings, sessions=arguments.sessions)):
        session = Session.objects.get(foreign_id=play.client_id)
        problems += [f"{session.foreign_id}: {one}" for one in sent_rows(session, play.recording.rows)]
        problems += [f"{session.foreign_id}: {one}" for one in returned_rows(url, secret, session, play.recording.rows)]
        problems += broken_laws(session)
    if Session.objects.count() != arguments.sessions:
        problems.append(f"there are {Session.objects.count()} sessions instead of {arguments.sessions}")
    if jobs := open_jobs():
        problems.append(f"{jobs} jobs are still open")
    return problems


def tell(site: OwnSite, kills: Kills, report: str, killed_seconds: float, drained_seconds: float) -> None:
    """Print the figures."""
    from figures_of_store import figure_lines

    told = ", ".join(f"{count} × {kind}" for kind, count in kills.made.most_common())
    print(f"killed       {kills.made.total()}: {told}; and the feed {kills.feeds} ×")
    every = [one for seconds in kills.recovery_seconds.values() for one in seconds]
    for kind, seconds in (*sorted(kills.recovery_seconds.items()), ("anything", every)):
        if seconds:
            wait = f"p50 {middle(seconds):.1f} s, max {max(seconds):.1f} s"
            print(f"well again   {wait} after a burst that ended with {kind} ({len(seconds)} ×)")
    print(f"time         {killed_seconds:.0f} s with kills, {drained_seconds:.0f} s until nothing was open any more")
    print(f"restarts     {site.restarts()} by the parent")
    for line in figure_lines():
        print(line)
    print(f"last feed    {report.strip()}")


def middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def verdict(problems: Sequence[str], site: OwnSite, seconds: float) -> int:
    """Say whether all is well; the exit code."""
    if not problems:
        print(f"Every law holds after {seconds:.0f} s.")
        return 0
    for problem in problems[:50]:
        print(f"BROKEN: {problem}")
    print(f"{len(problems)} laws are broken. The site's last words:", *site.lines[-30:], sep="\n")
    return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(130))
    sys.exit(run_in_folder(read_arguments(), run))

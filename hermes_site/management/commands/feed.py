"""`manage.py feed`: play recorded sessions into a running site, over its API, as agents would.

The demo and the load generator. How far a play has come is kept by the site: the same command goes on where one was
stopped or killed.
"""

import asyncio
import dataclasses
import json
import os
import secrets
import signal
import socket
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from compaction.errors import InvalidInput
from compaction.vocabulary import VocabularyMissing
from hermes_site.management.commands.login_link import NOT_KNOWN, site_address
from hermes_site.serve.address import running_address
from sessions_app.feeding.figures import FeedReport, Figures, report_of
from sessions_app.feeding.http_client import PATIENCE_SECONDS, Target
from sessions_app.feeding.http_player import FeedPlan, feed
from sessions_app.feeding.pace import LONGEST_PAUSE_SECONDS, Pace, rate_named
from sessions_app.feeding.report_text import progress_text, report_text
from sessions_app.feeding.sources import recordings_named
from sessions_app.models import Project
from sessions_app.services import ProjectShut, default_project, find_open_project
from sessions_app.services.tokens import issue_token, revoke_token
from sessions_app.token_counting import site_counter

BAD_INPUT_STATUS: Final = 2
STOPPED_STATUS: Final = 130
MOST_SESSIONS: Final = 10_000
MOST_AT_ONCE: Final = 500
# A terminal shows how it goes on; a log gets a line now and then.
TERMINAL_SECONDS: Final = 0.5
LOG_SECONDS: Final = 10.0
# A site that is being started again listens within this; one that is not there is not waited for any longer.
LISTENER_SECONDS: Final = 3.0
LISTENER_PAUSE_SECONDS: Final = 0.2

# Takes a line, and whether it is the last one.
Tell = Callable[[str, bool], None]


class Command(BaseCommand):
    """Play a recording into a site."""

    help = (
        "Play recorded sessions through the API of a running site, as agents would: rows turn by turn, with the"
        " recorded pauses. Started again with the same words it goes on where it stopped; nothing is stored twice."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The arguments of the command."""
        parser.add_argument("source", help="a transcript file, the id of a stored session, or the name of a sample")
        rate = "how many times faster than recorded; max (or 0): without pauses (default: 1)"
        parser.add_argument("--rate", default="1", metavar="X", help=rate)
        parser.add_argument("--sessions", type=count_up_to(MOST_SESSIONS), default=1, metavar="N", help="how many")
        at_once = "how many of them at a time (default: %(default)s)"
        parser.add_argument("--at-once", type=count_up_to(MOST_AT_ONCE), default=20, metavar="N", help=at_once)
        parser.add_argument("--run", default="", metavar="NAME", help="another name plays the same recording anew")
        pause = "recorded pauses are cut to this (default: %(default)s)"
        parser.add_argument(
            "--longest-pause", type=seconds, default=LONGEST_PAUSE_SECONDS, metavar="SECONDS", help=pause
        )
        patience = "how long one request is tried before its session is given up (default: %(default)s)"
        parser.add_argument("--patience", type=seconds, default=PATIENCE_SECONDS, metavar="SECONDS", help=patience)
        where = "where the site is (default: HERMES_URL, else where `serve` runs in this checkout)"
        parser.add_argument("--url", type=site_address, help=where)
        token = "a token that may write (default: HERMES_TOKEN, else one is made for this feed and revoked afterwards)"
        parser.add_argument("--token", help=token)
        parser.add_argument("--project", metavar="SLUG", help="where that token is made (default: the default project)")
        parser.add_argument("--json", action="store_true", dest="as_json", help="the report as one JSON object")

    def handle(self, *_args: str, **options: Any) -> None:
        """Feed, then report. Ends with 2 for bad input, 1 when a session was given up, 130 after Ctrl-C."""
        try:
            plan = plan_of(options)
            site = address(options["url"])
            wait_for_listener(site, min(LISTENER_SECONDS, options["patience"]))
            self.stderr.write(f"Feeding {site}")
            with token_for(options["token"] or os.environ.get("HERMES_TOKEN"), options["project"]) as token:
                report = self._feed(plan, Target(site, token, options["patience"]))
        except (InvalidInput, ProjectShut, VocabularyMissing, ArgumentTypeError) as error:
            raise CommandError(" ".join(str(error).split()), returncode=BAD_INPUT_STATUS) from error
        self.stdout.write(json.dumps(dataclasses.asdict(report)) if options["as_json"] else report_text(report))
        if report.was_stopped:
            sys.exit(STOPPED_STATUS)
        if report.failed:
            raise CommandError(f"given up: {len(report.failed)} of {report.sessions} sessions")

    def _feed(self, plan: FeedPlan, target: Target) -> FeedReport:
        figures, started = Figures(), time.monotonic()
        asyncio.run(feed_and_tell(plan, target, figures, self._tell))
        return report_of(figures, time.monotonic() - started)

    def _tell(self, line: str, is_last: bool) -> None:
        if not self.stderr.isatty():
            self.stderr.write(line)
            return
        # Written over the line before; the end of a longer one is cleared.
        self.stderr.write(f"\r{line}\x1b[K", ending="\n" if is_last else "")
        self.stderr.flush()


async def feed_and_tell(plan: FeedPlan, target: Target, figures: Figures, tell: Tell) -> None:
    """Feed until done or until Ctrl-C, and tell how it goes. A second Ctrl-C does not wait for answers."""
    stop = asyncio.Event()
    feeding = asyncio.current_task()

    def on_signal() -> None:
        if stop.is_set() and feeding is not None:
            feeding.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    telling = asyncio.create_task(tell_now_and_then(figures, tell))
    try:
        await feed(plan, target, figures, stop)
    except asyncio.CancelledError:
        figures.was_stopped = True
    finally:
        telling.cancel()


async def tell_now_and_then(figures: Figures, tell: Tell) -> None:
    """Tell until cancelled."""
    started = time.monotonic()
    pause = TERMINAL_SECONDS if sys.stderr.isatty() else LOG_SECONDS
    try:
        while True:
            await asyncio.sleep(pause)
            tell(progress_text(report_of(figures, time.monotonic() - started)), False)
    finally:
        if sys.stderr.isatty():
            tell(progress_text(report_of(figures, time.monotonic() - started)), True)


def plan_of(options: dict[str, Any]) -> FeedPlan:
    """What the arguments ask for. Raises InvalidInput."""
    return FeedPlan(
        recordings_named(options["source"], options["sessions"], site_counter()),
        sessions=options["sessions"],
        at_once=options["at_once"],
        pace=Pace(rate_named(options["rate"]), options["longest_pause"]),
        run=options["run"],
    )


def address(url: str | None) -> str:
    """Where the site is. Raises InvalidInput when nobody says, ArgumentTypeError for an address that is none."""
    told = url or os.environ.get("HERMES_URL") or running_address(settings.VAR_DIR)
    if told is None:
        raise InvalidInput(NOT_KNOWN)
    return site_address(told)


def wait_for_listener(site: str, most_seconds: float) -> None:
    """Return as soon as something takes connections at `site`. Raises InvalidInput when nothing does."""
    parts = urlsplit(site)
    place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    give_up_at = time.monotonic() + most_seconds
    while True:
        try:
            socket.create_connection(place, timeout=LISTENER_SECONDS).close()
            return
        except OSError as error:
            if time.monotonic() >= give_up_at:
                raise InvalidInput(f"no site can be reached at {site}: {error.strerror or error}") from error
        time.sleep(LISTENER_PAUSE_SECONDS)


@contextmanager
def token_for(secret: str | None, slug: str | None) -> Iterator[str]:
    """The token that was given, else one of our own for as long as the block runs."""
    if secret is not None:
        yield secret
        return
    project = project_of(slug)
    name = f"feed {secrets.token_hex(4)}"
    issued = issue_token(project, name, may_write=True)
    try:
        yield issued.secret
    finally:
        revoke_token(project, name)


def project_of(slug: str | None) -> Project:
    """The project of that slug, else the default one. Raises InvalidInput and ProjectShut."""
    found = default_project() if slug is None else find_open_project(slug)
    if found is None:
        raise InvalidInput(f"there is no project {slug!r}", "--project")
    return found


def count_up_to(most: int) -> Callable[[str], int]:
    """A reader of whole numbers from 1 to `most`."""

    def count(text: str) -> int:
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
            raise ArgumentTypeError(f"a whole number from 1 to {most:,}, not {text!r}")
        return int(text)

    return count


def seconds(text: str) -> float:
    """A time from 0 to a day."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86_400:
        raise ArgumentTypeError(f"a number of seconds from 0 to 86,400, not {text!r}")
    return value

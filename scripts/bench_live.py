"""How long an event takes from its commit to the browsers, and what happens when the listening connection is cut.

    python scripts/bench_live.py [--clients N] [--events N]

Real web processes (the site's own), real websockets from another process, and PostgreSQL's own NOTIFY. The clock runs
from just before the COMMIT is sent, so the wait for the disk is in the figures. After the cut every client must have
every event, by number; one that has not ends the script with an error.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil
from scratch_site import CHECKOUT, machine, scratch_site
from spread import Spread

if TYPE_CHECKING:
    from sessions_app.models import Session

LISTENERS_SQL = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hermes live updates'"
PAUSE_SECONDS = 0.03


@dataclass(frozen=True, slots=True)
class Web:
    """One web process of the site. address: without a slash at the end."""

    process: subprocess.Popen[bytes]
    address: str

    @property
    def resident_bytes(self) -> int:
        """Memory of the process that no other uses too, shared libraries aside."""
        return int(psutil.Process(self.process.pid).memory_info().rss)


class Watchers:
    """The process with the clients; see `live_watchers.py`."""

    def __init__(self, clients: Sequence[tuple[Web, Session]], cookie: str, token: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHECKOUT / "scripts" / "live_watchers.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        orders = {"clients": [(web.address, session.public_id) for web, session in clients]}
        assert self._ask(json.dumps(orders | {"cookie": cookie, "token": token})) == "ready"

    def seconds_until_all_have(self, seq: int) -> float:
        """Wait until every client has everything up to event `seq` of its session."""
        return float(self._ask(f"when {seq}"))

    def report(self) -> list[dict[str, Any]]:
        """What each client saw."""
        return list(self._ask("report"))

    def end(self) -> None:
        """Disconnect all clients."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _ask(self, line: str) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def web_processes(count: int) -> Iterator[list[Web]]:
    """`count` web processes, ready to answer."""
    webs = [_start_web() for _ in range(count)]
    try:
        yield webs
    finally:
        for web in webs:
            web.process.terminate()
        for web in webs:
            web.process.wait(30)


def _start_web() -> Web:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
    ready, said = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_site.serve.web", str(listener.fileno()), str(said)],
        cwd=CHECKOUT,
        stdin=subprocess.PIPE,
        pass_fds=(listener.fileno(), said),
    )
    os.close(said)
    port = listener.getsockname()[1]
    listener.close()
    if os.read(ready, 1) != b"1":
        raise SystemExit("a web process did not start")
    os.close(ready)
    return Web(process, f"http://127.0.0.1:{port}")


@dataclass(frozen=True, slots=True)
class Scene:
    """A project with sessions, and somebody who may watch them."""

    sessions: list[Session]
    cookie: str
    token: str


def make_scene(sessions: int) -> Scene:
    """A new project with `sessions` sessions, watched by its owner."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    from sessions_app import services
    from sessions_app.services.tokens import issue_token

    owner = User.objects.create_user("watcher")
    project = services.create_project("live", "Live", owner)
    client = Client()
    client.force_login(owner)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    token = issue_token(project, "bench")
    return Scene([services.create_session(project, f"{n}") for n in range(sessions)], cookie, token.secret)


def commit_one(session: Session) -> tuple[int, int]:
    """Append a row; returns its event and when its COMMIT was sent."""
    from django.db import transaction

    from compaction.messages import Message, Role
    from sessions_app import services
    from sessions_app.services import NewMessage
    from sessions_app.token_counting import site_counter

    with transaction.atomic():
        done = services.append_rows(session.pk, [NewMessage(Message(Role.USER, "and then?"))], site_counter())
        sent_at = time.monotonic_ns()
    return done.last_seq, sent_at


def commit_many(sessions: Sequence[Session], count: int) -> dict[str, dict[int, int]]:
    """Append `count` rows, to each session in turn; returns by public id when each event was sent."""
    sent: dict[str, dict[int, int]] = {session.public_id: {} for session in sessions}
    for number in range(count):
        session = sessions[number % len(sessions)]
        seq, at = commit_one(session)
        sent[session.public_id][seq] = at
        time.sleep(PAUSE_SECONDS)
    return sent


def cut_listeners() -> int:
    """End the listening connections of all web processes, as a failing network would; returns how many."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM (SELECT pg_terminate_backend(pid) {LISTENERS_SQL}) AS ended")
        return int(cursor.fetchone()[0])


def run(title: str, webs: list[Web], scene: Scene, watched: Sequence[Session], clients: int, events: int) -> None:
    """Latency of `events` events at `clients` clients, then the cut. The sessions are new and get equally many rows."""
    places = [(webs[n % len(webs)], watched[n % len(watched)]) for n in range(clients)]
    watchers = Watchers(places, scene.cookie, scene.token)
    try:
        # The first event of a process pays for what is loaded once.
        commit_many(watched, len(watched))
        watchers.seconds_until_all_have(newest(watched))
        _latency(title, watchers, watched, events)
        _cut(watchers, watched)
    finally:
        watchers.end()


def newest(sessions: Sequence[Session]) -> int:
    """The newest event of each of the sessions, which got equally many rows."""
    from sessions_app.models import Session

    return int(Session.objects.get(pk=sessions[0].pk).last_seq)


def _latency(title: str, watchers: Watchers, sessions: Sequence[Session], events: int) -> None:
    sent = commit_many(sessions, events)
    watchers.seconds_until_all_have(newest(sessions))
    taken: list[float] = []
    last: dict[tuple[str, int], float] = {}
    unheard = 0
    for client in watchers.report():
        for seq, at in sent[client["public_id"]].items():
            heard = client["heard"].get(str(seq))
            if heard is None:
                unheard += 1
                continue
            taken.append((heard - at) / 1e6)
            key = (client["public_id"], seq)
            last[key] = max(last.get(key, 0.0), taken[-1])
    every, slowest = Spread.of(taken), Spread.of(list(last.values()))
    print(f"\n{title}: {events} events, {every.count:,} arrivals, {unheard} missed and fetched")
    print(f"  at each client:   p50 {every.median_ms:.1f} ms, p95 {every.p95_ms:.1f} ms, max {every.max_ms:.1f} ms")
    print(f"  at the last one:  p50 {slowest.median_ms:.1f} ms, p95 {slowest.p95_ms:.1f} ms")


def _cut(watchers: Watchers, sessions: Sequence[Session]) -> None:
    """Cut the listening connections while events go on, and hold what each client has against what was committed."""
    first = newest(sessions) + 1
    commit_many(sessions, 10 * len(sessions))
    cut = cut_listeners()
    at = time.monotonic()
    while time.monotonic() - at < 1:
        commit_many(sessions, len(sessions))
    watchers.seconds_until_all_have(newest(sessions))
    seconds = time.monotonic() - at
    last, missed, fetched = newest(sessions), 0, 0
    for client in watchers.report():
        seen = {int(seq) for seq in (*client["heard"], *client["fetched"])}
        missed += len(set(range(first, last + 1)) - seen)
        fetched += sum(int(seq) >= first for seq in client["fetched"])
    print(f"  {cut} listening connection(s) cut while events went on for a second: all clients up to date after")
    print(f"  {seconds:.2f} s; {missed} events missed, {fetched} caught up with over HTTP, the others heard")
    if missed:
        raise SystemExit("events were missed")


def memory(web: Web, scene: Scene, clients: int) -> None:
    """What one idle client costs a web process."""
    before = web.resident_bytes
    watchers = Watchers(
        [(web, scene.sessions[n % len(scene.sessions)]) for n in range(clients)], scene.cookie, scene.token
    )
    grown = web.resident_bytes - before
    watchers.end()
    each_kb = grown / clients / 1e3
    print(
        f"\nmemory: {before / 1e6:.0f} MB for a web process, {each_kb:.0f} kB more for each of {clients} idle clients"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time events from commit to websocket, and cut the listener.")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--events", type=int, default=200)
    options = parser.parse_args()
    # A hundred clients that catch up at once are one token's requests here.
    os.environ["HERMES_SITE_API_REQUESTS_A_MINUTE"] = "1000000"
    clients, events = options.clients, options.events
    with scratch_site():
        scene = make_scene(12)
        one, ten, shared = scene.sessions[:1], scene.sessions[1:11], scene.sessions[11:]
        with web_processes(1) as webs:
            print(machine())
            run(f"one web process, {clients} clients on one session", webs, scene, one, clients, events)
            run(f"one web process, {clients} clients over ten sessions", webs, scene, ten, clients, events)
            memory(webs[0], scene, 5 * clients)
        with web_processes(2) as webs:
            run(f"two web processes, {clients} clients on one session", webs, scene, shared, clients, events)


if __name__ == "__main__":
    main()

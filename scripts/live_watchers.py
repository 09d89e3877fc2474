"""The clients of `bench_live.py`, in a process of their own: many websockets that do what a page does.

Reads one line of JSON from standard input (`Orders`), connects, and says "ready" once every client knows where it
stands. Then it answers each further line: "when N" waits until every client has everything up to event N of its
session and says how long that took, "report" says what each client saw and when. Times are CLOCK_MONOTONIC in
nanoseconds, the same in all processes of a machine. A client that hears of a gap or is told to resync asks over HTTP
for everything after the last event it has, as the page does.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed


@dataclass(frozen=True, slots=True)
class Orders:
    """clients: one (address of the site, public id of the session) each. token: for the API. cookie: the login."""

    clients: list[list[str]]
    cookie: str
    token: str


@dataclass(slots=True)
class Watcher:
    """One client. newest: the last event up to which it has everything. heard, fetched: event -> when it came."""

    site: str
    public_id: str
    newest: int = -1
    heard: dict[int, int] = field(default_factory=dict)
    fetched: dict[int, int] = field(default_factory=dict)
    resyncs: int = 0
    reconnects: int = -1

    async def watch(self, orders: Orders, http: httpx.AsyncClient) -> None:
        """Stay connected for ever."""
        while True:
            self.reconnects += 1
            try:
                address = f"{self.site.replace('http', 'ws', 1)}/ws/s/{self.public_id}/"
                headers = {"Cookie": orders.cookie}
                async with connect(address, additional_headers=headers, origin=self.site, proxy=None) as socket:  # type: ignore[arg-type]  # a plain str is an origin
                    await self._listen(socket, orders, http)
            except (ConnectionClosed, OSError):
                await asyncio.sleep(0.25 + random.random())

    async def _listen(self, socket: ClientConnection, orders: Orders, http: httpx.AsyncClient) -> None:
        async for text in socket:
            at = time.monotonic_ns()
            message: dict[str, Any] = json.loads(text)
            seq = message.get("seq", 0)
            if message["type"] == "snapshot" and self.newest < 0:
                self.newest = seq
            elif message["type"] == "event" and seq == self.newest + 1:
                self.newest = seq
                self.heard[seq] = at
            elif message["type"] == "resync" or seq > self.newest:
                self.resyncs += 1
                await self._fetch(orders, http)

    async def _fetch(self, orders: Orders, http: httpx.AsyncClient) -> None:
        more = True
        while more:
            answer = await http.get(
                f"{self.site}/api/v1/sessions/{self.public_id}/events",
                params={"after": max(self.newest, 0)},
                headers={"Authorization": f"Bearer {orders.token}"},
            )
            page = answer.raise_for_status().json()
            at = time.monotonic_ns()
            for event in page["events"]:
                self.fetched[event["seq"]] = at
                self.newest = max(self.newest, event["seq"])
            more = page["more"]


async def main() -> None:
    """Obey until standard input ends."""
    loop = asyncio.get_running_loop()

    async def line() -> str:
        return await loop.run_in_executor(None, sys.stdin.readline)

    orders = Orders(**json.loads(await line()))
    watchers = [Watcher(site, public_id) for site, public_id in orders.clients]
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        tasks = [asyncio.create_task(watcher.watch(orders, http)) for watcher in watchers]
        await until(watchers, 0)
        say("ready")
        while words := (await line()).split():
            if words[0] == "when":
                say(await until(watchers, int(words[1])))
            else:
                say([asdict(watcher) for watcher in watchers])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(watchers: list[Watcher], seq: int) -> float:
    """Wait until every client has everything up to `seq`; returns the seconds that took."""
    started = time.monotonic()
    while any(watcher.newest < seq for watcher in watchers):
        await asyncio.sleep(0.002)
    return time.monotonic() - started


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

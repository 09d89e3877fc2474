"""What happens in a session, from PostgreSQL to the browsers that watch it.

One LISTEN connection per event loop feeds the channel layer, with one group per session. Nothing here is the truth:
a notice only says that there is something to fetch. So every loss is harmless as long as it is noticed: when the
connection breaks the hub reconnects and tells all watchers to resync, and a regular heartbeat carries the newest
sequence number, by which a watcher sees that it missed something.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.db import connections

from sessions_app.notifications import CHANNEL, Notice

HEARTBEAT_SECONDS: float = 15.0
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
# What Django adds for its own cursors; a plain connection takes the rest.
_DJANGO_ONLY: Final = frozenset({"cursor_factory", "context", "prepare_threshold"})

logger = logging.getLogger(__name__)


def group_of(session_id: int) -> str:
    """The channel-layer group of everybody who watches a session."""
    return f"session-{session_id}"


class LiveHub:
    """Listens while anybody watches. All methods belong to one event loop."""

    def __init__(self) -> None:
        self._watchers: Counter[int] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._has_listened = False
        self.is_listening = asyncio.Event()

    async def watch(self, session_id: int) -> None:
        """Count a watcher in. Returns when the hub listens, so nothing that happens later is missed."""
        self._watchers[session_id] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="live-hub")
        await self.is_listening.wait()

    def unwatch(self, session_id: int) -> None:
        """Count a watcher out."""
        self._watchers[session_id] -= 1
        if self._watchers[session_id] <= 0:
            del self._watchers[session_id]

    async def _run(self) -> None:
        """Listen for ever, through every broken connection."""
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                pause_seconds = FIRST_PAUSE_SECONDS if self.is_listening.is_set() else pause_seconds
                self.is_listening.clear()
                logger.warning("live updates: connection lost, trying again in %.1f s: %s", pause_seconds, error)
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(pause_seconds * 2, LONGEST_PAUSE_SECONDS)

    async def _listen(self) -> None:
        parameters = await sync_to_async(_connection_parameters)()
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self.is_listening.set()
            if self._has_listened:
                await self._tell_all({"type": "session.resync"})
            self._has_listened = True
            while True:
                async for notification in connection.notifies(timeout=HEARTBEAT_SECONDS):
                    await self._pass_on(notification.payload)
                await self._beat(connection)

    async def _pass_on(self, payload: str) -> None:
        try:
            notice = Notice.from_payload(payload)
        except ValueError as error:
            logger.warning("live updates: %s", error)
            return
        if notice.session in self._watchers:
            message = {"type": "session.notice", "seq": notice.seq, "kind": notice.kind, "ids": list(notice.ids)}
            await _send(notice.session, message)

    async def _beat(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Tell all watchers the newest sequence number. Asking for it also shows whether the connection still lives."""
        cursor = await connection.execute(
            "SELECT id, last_seq FROM sessions_app_session WHERE id = ANY(%s)", [list(self._watchers)]
        )
        for session_id, seq in await cursor.fetchall():
            await _send(session_id, {"type": "session.heartbeat", "seq": seq})

    async def _tell_all(self, message: dict[str, Any]) -> None:
        for session_id in list(self._watchers):
            await _send(session_id, message)


async def _send(session_id: int, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(group_of(session_id), message)


def _connection_parameters() -> dict[str, Any]:
    parameters = connections["default"].get_connection_params()
    return {name: value for name, value in parameters.items() if name not in _DJANGO_ONLY}


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, LiveHub] = WeakKeyDictionary()


def live_hub() -> LiveHub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = LiveHub()
    return _hubs[loop]

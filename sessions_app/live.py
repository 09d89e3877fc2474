"""What happens in a session, from PostgreSQL to the browsers that watch it.

One LISTEN connection per event loop feeds the channel layer, with one group per session. Nothing here is the truth:
a notice only says that there is something to fetch. So every loss is harmless as long as it is noticed: when the
connection breaks the hub reconnects and tells all watchers to resync, and a regular heartbeat carries the newest
sequence number, by which a watcher sees that it missed something. Before a heartbeat the hub asks who may still read,
once for all, so that no watcher has to ask for itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.db import DatabaseError, connections

from sessions_app import access
from sessions_app.fan_out import RESYNC
from sessions_app.notifications import CHANNEL, Notice
from sessions_app.watchers import Watcher

HEARTBEAT_SECONDS: float = 15.0
# A database that takes longer to answer a heartbeat is taken for gone: a cut network says nothing.
ANSWER_SECONDS: Final = 10.0
# What the connection is called among those of the database server.
APPLICATION_NAME: Final = "hermes live updates"
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
        self._watchers: Counter[Watcher] = Counter()
        self._shut_out: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._has_listened = False
        self.is_listening = asyncio.Event()

    async def watch(self, watcher: Watcher) -> None:
        """Count a watcher in. Returns when the hub listens, so nothing that happens later is missed."""
        self._watchers[watcher] += 1
        self._shut_out.discard(watcher)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="live-hub")
        await self.is_listening.wait()

    def unwatch(self, watcher: Watcher) -> None:
        """Count a watcher out."""
        self._watchers[watcher] -= 1
        if self._watchers[watcher] <= 0:
            del self._watchers[watcher]
            self._shut_out.discard(watcher)

    def may_watch(self, watcher: Watcher) -> bool:
        """Whether the watcher had access when the last heartbeat was sent."""
        return watcher not in self._shut_out

    @property
    def watchers(self) -> int:
        """How many connections watch now."""
        return self._watchers.total()

    @property
    def _watched(self) -> set[int]:
        return {watcher.session_id for watcher in self._watchers}

    async def _run(self) -> None:
        """Listen for ever, through every broken connection."""
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen()
            except (psycopg.Error, DatabaseError, OSError) as error:
                logger.warning("live updates: connection lost (%s: %s)", type(error).__name__, str(error).strip())
            except Exception:
                logger.exception("live updates: a fault of ours; listening anew")
            pause_seconds = FIRST_PAUSE_SECONDS if self.is_listening.is_set() else pause_seconds
            self.is_listening.clear()
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, LONGEST_PAUSE_SECONDS)

    async def _listen(self) -> None:
        parameters = await sync_to_async(_connection_parameters)()
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self.is_listening.set()
            if self._has_listened:
                await self._tell_all({"type": RESYNC})
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
        if notice.session in self._watched:
            message = {"type": "session.notice", "seq": notice.seq, "kind": notice.kind, "ids": list(notice.ids)}
            await _send(notice.session, message)

    async def _beat(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Ask for the newest numbers, which also shows whether the connection still lives, and tell them."""
        watched = list(self._watched)
        async with asyncio.timeout(ANSWER_SECONDS):
            cursor = await connection.execute(
                "SELECT id, last_seq FROM sessions_app_session WHERE id = ANY(%s)", [watched]
            )
            newest = dict(await cursor.fetchall())
        # Beside the listening, which must not wait for it: while many connect at once, questions take their time.
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_newest(watched, newest), name="live-heartbeat")

    async def _tell_newest(self, watched: list[int], newest: dict[int, int]) -> None:
        """Send a heartbeat to all who may still read, after asking who may."""
        watchers = set(self._watchers)
        try:
            allowed = await database_sync_to_async(access.still_watching, thread_sensitive=False)(watchers)
        except DatabaseError as error:
            logger.warning("live updates: a heartbeat is left out (%s: %s)", type(error).__name__, str(error).strip())
            return
        self._shut_out = (watchers - allowed) & set(self._watchers)
        for session_id in watched:
            # A session that is gone has no newest number any more, and nobody may read it.
            await _send(session_id, {"type": "session.heartbeat", "seq": newest.get(session_id, 0)})

    async def _tell_all(self, message: dict[str, Any]) -> None:
        for session_id in self._watched:
            await _send(session_id, message)


async def _send(session_id: int, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(group_of(session_id), message)


def _connection_parameters() -> dict[str, Any]:
    parameters = connections["default"].get_connection_params()
    plain = {name: value for name, value in parameters.items() if name not in _DJANGO_ONLY}
    return plain | {"application_name": APPLICATION_NAME}


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, LiveHub] = WeakKeyDictionary()


def live_hub() -> LiveHub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = LiveHub()
    return _hubs[loop]

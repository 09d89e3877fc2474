"""The websocket of a session's page: what is new, by number and id, never by content.

A client is told the newest sequence number when it connects and each event after it; it fetches what it wants to show
by HTTP, where access is decided again. Messages:

    {"type": "snapshot", "seq": 41}                                 once, when connected
    {"type": "event", "seq": 44, "kind": "appended", "ids": [7]}    kind is an EventKind, or one without a number:
                                                                    "replay" (ids: the run), "answer" (ids: the answer
                                                                    that comes), "turn" (ids: the turn that ends)
    {"type": "heartbeat", "seq": 44}                                what the newest number is
    {"type": "resync"}                                              something was lost

A number greater than the last one seen means: fetch everything after the last one seen. `ids` are only a hint; there
are none when they would be too many. A client that is slow gets one resync instead of what it could not take. Nothing
heard for two heartbeats means that the connection is dead although nobody said so. Clients have nothing to say; what
they send is ignored. Close codes: 4404 no such session, or not for you; 4410 it was deleted; 1013 try again later.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import DatabaseError
from django.http import Http404

from sessions_app import access
from sessions_app.live import group_of, live_hub
from sessions_app.models import Session
from sessions_app.notifications import DELETED_KIND, UNNUMBERED_KINDS
from sessions_app.queries.logins import is_login_in_force
from sessions_app.watchers import Watcher

# As HTTP's 404: there is no such session, or not for you.
CLOSE_NOT_FOUND: Final = 4404
# As HTTP's 410: it was deleted, and who watches belongs to its project.
CLOSE_DELETED: Final = 4410
CLOSE_TRY_AGAIN: Final = 1013
# A client that waits longer for the hub to listen had better be told that nobody tells it anything.
HUB_PATIENCE_SECONDS: float = 10.0


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """One browser watching one session."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.watcher: Watcher | None = None
        self.seq = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve until the client is gone, however it went: also when this task is cancelled or fails."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._leave()

    async def dispatch(self, message: Any) -> None:
        """Messages of the hub go straight on: Channels would look after database connections in a thread for each."""
        if not message["type"].startswith("session."):
            await super().dispatch(message)
            return
        if self.watcher is not None:
            handler = getattr(self, message["type"].replace(".", "_"))
            await handler(message)

    async def connect(self) -> None:
        """Let members in. Strangers get the close code of something that does not exist."""
        await self.accept()
        try:
            await self._enter()
        except access.SessionDeleted:
            await self._shut_out(CLOSE_DELETED)
        except Session.DoesNotExist:
            await self._shut_out(CLOSE_NOT_FOUND)
        except (DatabaseError, TimeoutError):
            await self._shut_out(CLOSE_TRY_AGAIN)

    async def _enter(self) -> None:
        user, session = self.scope["user"], await self._find()
        if user is None or session is None:
            await self._shut_out(CLOSE_NOT_FOUND)
            return
        self.watcher = Watcher(session.pk, user.pk, self.scope["session"].session_key or "")
        async with asyncio.timeout(HUB_PATIENCE_SECONDS):
            await live_hub().watch(self.watcher)
        await self.channel_layer.group_add(group_of(session.pk), self.channel_name)
        # Read after joining: what happens from here on is told, what happened before is in the number.
        self.seq = await _newest_seq(session.pk)
        await self.send_json({"type": "snapshot", "seq": self.seq})

    async def _shut_out(self, code: int) -> None:
        """Close from this side. Leave first: nothing may be sent behind the close."""
        await self._leave()
        await self.close(code)

    async def _leave(self) -> None:
        """Leave hub and group. A client that is gone must not be counted, or told anything, ever after."""
        if self.watcher is None:
            return
        watcher, self.watcher = self.watcher, None
        live_hub().unwatch(watcher)
        await self.channel_layer.group_discard(group_of(watcher.session_id), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Ignore what a client says."""

    async def session_notice(self, message: dict[str, Any]) -> None:
        """Pass an event on, once: with a shared channel layer each process sends every notice."""
        if message["kind"] == DELETED_KIND:
            await self._shut_out(CLOSE_DELETED)
            return
        if message["kind"] not in UNNUMBERED_KINDS:
            if message["seq"] <= self.seq:
                return
            self.seq = message["seq"]
        await self.send_json({"type": "event", "seq": message["seq"], "kind": message["kind"], "ids": message["ids"]})

    async def session_heartbeat(self, message: dict[str, Any]) -> None:
        """Pass the newest number on, unless the person has lost access or their login has ended meanwhile."""
        if self.watcher is None or not live_hub().may_watch(self.watcher):
            await self._shut_out(CLOSE_NOT_FOUND)
            return
        await self.send_json({"type": "heartbeat", "seq": message["seq"]})

    async def session_resync(self, message: dict[str, Any]) -> None:
        """Tell the client to catch up."""
        await self.send_json({"type": "resync"})

    @database_sync_to_async
    def _find(self) -> Session | None:
        user = self.scope["user"]
        if user is None or not is_login_in_force(self.scope["session"].session_key, user.pk):
            return None
        try:
            return access.get_session(user, self.scope["url_route"]["kwargs"]["public_id"])
        except access.SessionDeleted:
            raise
        except Http404:
            return None


@database_sync_to_async
def _newest_seq(session_id: int) -> int:
    return Session.objects.values_list("last_seq", flat=True).get(pk=session_id)

"""The websocket of a session's page: what is new, by number and id, never by content.

A client is told the newest sequence number when it connects and each event after it; it fetches what it wants to show
by HTTP, where access is decided again. Messages:

    {"type": "snapshot", "seq": 41}                                 once, when connected
    {"type": "event", "seq": 44, "kind": "appended", "ids": [7]}    kind is an EventKind, or "replay" (ids: the run)
    {"type": "heartbeat", "seq": 44}                                what the newest number is
    {"type": "resync"}                                              something may be lost

A number greater than the last one seen means: fetch everything after the last one seen. `ids` are only a hint; there
are none when they would be too many, and a client that is slow may miss messages but never the next heartbeat.
Clients have nothing to say; what they send is ignored.
"""

from __future__ import annotations

from typing import Any, Final

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.http import Http404

from sessions_app import access
from sessions_app.live import group_of, live_hub
from sessions_app.models import Session
from sessions_app.notifications import REPLAY_KIND
from sessions_app.queries.logins import is_login_in_force

# As HTTP's 404: there is no such session, or not for you.
CLOSE_NOT_FOUND: Final = 4404


class SessionConsumer(AsyncJsonWebsocketConsumer):
    """One browser watching one session."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.session_id: int | None = None
        self.seq = 0

    async def connect(self) -> None:
        """Let members in. Strangers get the close code of something that does not exist."""
        await self.accept()
        session = await self._find()
        if session is None:
            await self.close(CLOSE_NOT_FOUND)
            return
        self.session_id = session.pk
        await live_hub().watch(session.pk)
        await self.channel_layer.group_add(group_of(session.pk), self.channel_name)
        # Read after joining: what happens from here on is told, what happened before is in the number.
        self.seq = await _newest_seq(session.pk)
        await self.send_json({"type": "snapshot", "seq": self.seq})

    async def disconnect(self, code: int) -> None:
        """Leave the group."""
        if self.session_id is not None:
            live_hub().unwatch(self.session_id)
            await self.channel_layer.group_discard(group_of(self.session_id), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Ignore what a client says."""

    async def session_notice(self, message: dict[str, Any]) -> None:
        """Pass an event on, once: with a shared channel layer each process sends every notice."""
        if message["kind"] != REPLAY_KIND:
            if message["seq"] <= self.seq:
                return
            self.seq = message["seq"]
        await self.send_json({"type": "event", "seq": message["seq"], "kind": message["kind"], "ids": message["ids"]})

    async def session_heartbeat(self, message: dict[str, Any]) -> None:
        """Pass the newest number on, unless the person has lost access or their login has ended meanwhile."""
        if await self._find() is None:
            await self.close(CLOSE_NOT_FOUND)
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
        except Http404:
            return None


@database_sync_to_async
def _newest_seq(session_id: int) -> int:
    return Session.objects.values_list("last_seq", flat=True).get(pk=session_id)

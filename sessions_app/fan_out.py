"""The channel layer of one process: from one message to the buffers of all who belong to a group.

Every web process listens to the database itself, so a message never has to leave the process. The idea: a buffer holds
few messages, and for a client that does not keep up it holds one: that the client must catch up. So a client that
reads nothing costs no more memory than any other, hears the truth once it reads again, and keeps nobody waiting.
Django Channels' own layer for one process copies each message for each client and looks through all clients for each
of them; a hundred clients on one session waited for seconds.

All methods of one instance belong to one event loop at a time. Messages are shared between buffers: receivers must not
change them.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final

from channels.layers import BaseChannelLayer

Message = dict[str, Any]
RESYNC: Final = "session.resync"


class ProcessLayer(BaseChannelLayer):
    """Groups of channels within this process, each channel with a bounded buffer."""

    extensions = ["groups", "flush"]

    def __init__(self, expiry: int = 60, capacity: int = 100, channel_capacity: Any = None) -> None:
        super().__init__(expiry=expiry, capacity=capacity, channel_capacity=channel_capacity)
        self._buffers: dict[str, asyncio.Queue[Message]] = {}
        self._groups: dict[str, set[str]] = {}

    async def new_channel(self, prefix: str = "specific") -> str:
        """A name for the channel of one client."""
        return f"{prefix}.process!{secrets.token_hex(8)}"

    async def send(self, channel: str, message: Message) -> None:
        """Put `message` into the buffer of `channel`, or a resync for all when that is full."""
        self._put(channel, message)

    async def receive(self, channel: str) -> Message:
        """The next message for `channel`, when there is one."""
        buffer = self._buffer(channel)
        try:
            return await buffer.get()
        finally:
            # Like the group, the buffer of a channel that is gone must not stay.
            if buffer.empty():
                self._buffers.pop(channel, None)

    async def group_add(self, group: str, channel: str) -> None:
        """Let `channel` get what is sent to `group`."""
        self._groups.setdefault(group, set()).add(channel)

    async def group_discard(self, group: str, channel: str) -> None:
        """Take `channel` out of `group`, and drop what it has not received."""
        members = self._groups.get(group, set())
        members.discard(channel)
        if not members:
            self._groups.pop(group, None)
        self._buffers.pop(channel, None)

    async def group_send(self, group: str, message: Message) -> None:
        """Put `message` into the buffers of all members of `group`. Waits for nobody."""
        for channel in self._groups.get(group, ()):
            self._put(channel, message)

    async def flush(self) -> None:
        """Forget everything."""
        self._buffers.clear()
        self._groups.clear()

    async def close(self) -> None:
        """There is nothing to close."""

    def _put(self, channel: str, message: Message) -> None:
        buffer = self._buffer(channel)
        if buffer.full():
            while not buffer.empty():
                buffer.get_nowait()
            message = {"type": RESYNC}
        buffer.put_nowait(message)

    def _buffer(self, channel: str) -> asyncio.Queue[Message]:
        return self._buffers.setdefault(channel, asyncio.Queue(self.capacity))

"""An answer as server-sent events: its text rendered afresh each time more of it has come, then its end.

    event: text    data: {"html": "...", "thinking": false}     what has come so far, as the transcript would show it
    event: end     data: {"status": "done"}                     nothing more comes; the page fetches what is stored

A notice only wakes the stream; what it tells is read from the database, so a notice that is lost costs a moment and no
word, and a browser that comes back is told everything there is. Long texts are rendered less often.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from sessions_app.live import group_of, live_hub
from sessions_app.models import AnswerStatus, ChatAnswer
from sessions_app.notifications import ANSWER_KIND
from sessions_app.rendering.markdown import render_markdown
from sessions_app.watchers import Watcher

# A lost notice costs no more than this.
LONGEST_WAIT_SECONDS: Final = 1.0
HUB_PATIENCE_SECONDS: Final = 2.0
LEAST_PAUSE_SECONDS: Final = 0.15
# Of a text of so many characters one picture per second is sent.
CHARS_A_SECOND: Final = 100_000


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer at one moment."""

    status: str
    text: str
    is_thinking: bool

    @property
    def is_over(self) -> bool:
        return self.status != AnswerStatus.RUNNING


async def answer_events(watcher: Watcher, answer_id: int) -> AsyncIterator[str]:
    """The events of an answer until its end, or until the watcher loses access. Their access was checked before."""
    if (seen := await _look(answer_id)) is None or seen.is_over:
        yield _end(seen)
        return
    layer = get_channel_layer()
    assert layer is not None
    group, channel = group_of(watcher.session_id), await layer.new_channel()
    try:
        # A hub that does not listen yet only means that nothing wakes this stream early.
        with suppress(TimeoutError):
            async with asyncio.timeout(HUB_PATIENCE_SECONDS):
                await live_hub().watch(watcher)
        await layer.group_add(group, channel)
        async for event in _events(watcher, answer_id, layer, channel):
            yield event
    finally:
        live_hub().unwatch(watcher)
        await layer.group_discard(group, channel)


async def _events(watcher: Watcher, answer_id: int, layer: Any, channel: str) -> AsyncIterator[str]:
    told: Seen | None = None
    # So that a proxy and the browser know at once that they are connected.
    yield "retry: 1000\n\n"
    while live_hub().may_watch(watcher):
        seen = await _look(answer_id)
        if seen is None or seen.is_over:
            yield _end(seen)
            return
        if seen != told:
            told = seen
            yield event("text", {"html": render_markdown(seen.text), "thinking": seen.is_thinking})
            await asyncio.sleep(max(LEAST_PAUSE_SECONDS, len(seen.text) / CHARS_A_SECOND))
        await _wait(layer, channel, answer_id)


async def _wait(layer: Any, channel: str, answer_id: int) -> None:
    """Wait until the answer moves, or for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_WAIT_SECONDS):
            while True:
                message = await layer.receive(channel)
                if message.get("kind") == ANSWER_KIND and answer_id in message.get("ids", ()):
                    return


def _end(seen: Seen | None) -> str:
    """The end of an answer; one that is gone has failed."""
    return event("end", {"status": AnswerStatus.FAILED.value if seen is None else seen.status})


def event(name: str, data: dict[str, Any]) -> str:
    """One event as it goes over the line."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


@database_sync_to_async
def _look(answer_id: int) -> Seen | None:
    found = ChatAnswer.objects.filter(pk=answer_id).values_list("status", "text", "is_thinking").first()
    return None if found is None else Seen(*found)

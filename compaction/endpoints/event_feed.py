"""Server-sent events out of a body that is still coming, piece by piece."""

from __future__ import annotations

from compaction.endpoints.event_stream import ServerEvent, read_events

# Blank lines end an event; a break may be written in three ways and may be cut in two by the line.
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class EventFeed:
    """Takes pieces of a body and gives the events that are complete. A piece may end inside a character."""

    def __init__(self) -> None:
        self._held = b""
        self._given_bytes = 0

    def feed(self, piece: bytes) -> tuple[ServerEvent, ...]:
        """The events that `piece` completes, in order."""
        self._held += piece
        end = max(self._held.rfind(mark) + len(mark) if mark in self._held else 0 for mark in _ENDS)
        return self._give(end)

    def end(self) -> tuple[ServerEvent, ...]:
        """The event that the end of the body completes, if its last line was whole."""
        return self._give(len(self._held))

    def _give(self, end: int) -> tuple[ServerEvent, ...]:
        ready, self._held = self._held[:end], self._held[end:]
        events = tuple(
            ServerEvent(event.name, event.data, event.end_bytes + self._given_bytes) for event in read_events(ready)
        )
        self._given_bytes += end
        return events

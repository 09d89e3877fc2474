"""Source rows gathered until there are enough of them to write: memory stays bounded however long a session is."""

from __future__ import annotations

from typing import Final

from compaction.formats.events import RowAppended, TurnEnded

MAX_ROWS: Final = 1_000
# A record can hold a megabyte of picture; characters bound what rows alone don't.
MAX_CHARACTERS: Final = 8_000_000


class Chunk:
    """Appended rows and turn ends in their order."""

    def __init__(self) -> None:
        self.events: list[RowAppended | TurnEnded] = []
        self._rows = 0
        self._characters = 0

    def add(self, event: RowAppended | TurnEnded) -> None:
        """Take one more event."""
        self.events.append(event)
        if isinstance(event, RowAppended):
            self._rows += 1
            self._characters += len(event.row.raw) + len(event.row.message.text)

    @property
    def is_full(self) -> bool:
        """Whether it should be written before more is taken."""
        return self._rows >= MAX_ROWS or self._characters >= MAX_CHARACTERS

"""Reading in chunks that grow: who needs little reads little, and who goes on makes few statements."""

from __future__ import annotations

from collections.abc import Iterator


def chunk_sizes(first: int, largest: int) -> Iterator[int]:
    """How many rows to read at a time: `first`, then twice as many each time, up to `largest`."""
    size = first
    while True:
        yield size
        size = min(size * 2, largest)

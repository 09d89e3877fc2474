"""Long answers, handed out piece by piece.

What makes the pieces may query, but holds nothing between two of them: before a piece goes out, the connection to the
database is given back. So a reader who takes an hour costs no connection but while the next piece is made.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

from sessions_app.main_model.releasing import release_connection

BLOCK_BYTES: Final = 64 * 1024


def streamed(request: HttpRequest, pieces: Iterator[bytes]) -> AsyncIterator[bytes] | Iterator[bytes]:
    """The pieces for a streaming response to `request`."""
    return _in_background(pieces) if isinstance(request, ASGIRequest) else pieces


async def _in_background(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, some at a time, made in the thread of the request."""
    take = sync_to_async(_next_block)
    while block := await take(pieces):
        yield block


def _next_block(pieces: Iterator[bytes]) -> bytes:
    """The next pieces joined, so that a record is not a hop between threads each; empty at the end."""
    block = bytearray()
    try:
        for piece in pieces:
            block += piece
            if len(block) >= BLOCK_BYTES:
                break
    finally:
        release_connection()
    return bytes(block)

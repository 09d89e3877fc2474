"""Rows as the API takes them: JSON, in portions that it accepts.

Figures and names that the API would refuse are left out: they are a recording's side notes, the messages are what
counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from compaction.wire import message_to_openai
from sessions_app.feeding.recording import Recording
from sessions_app.services import NewMessage

MOST_ROWS: Final = 500
MOST_BYTES: Final = 4 * 2**20
LONGEST_NAME: Final = 200
LONGEST_TITLE: Final = 500
MOST_TOKENS: Final = 100_000_000


def portions(rows: Iterable[NewMessage]) -> Iterator[bytes]:
    """The rows, in order, as bodies of appends. A row over the limit stands alone."""
    portion: list[bytes] = []
    size_bytes = 0
    for text in map(row_json, rows):
        if portion and (len(portion) == MOST_ROWS or size_bytes + len(text) > MOST_BYTES):
            yield body_of(portion)
            portion, size_bytes = [], 0
        portion.append(text)
        size_bytes += len(text)
    if portion:
        yield body_of(portion)


def body_of(rows: Iterable[bytes]) -> bytes:
    return b'{"rows":[' + b",".join(rows) + b"]}"


def row_json(row: NewMessage) -> bytes:
    """One row. It has no time: it comes now."""
    told: dict[str, Any] = {
        "client_id": row.client_id,
        "message": message_to_openai(row.message),
        "by_person": row.by_person,
        "usage": {
            "input_tokens": count_or_none(row.input_tokens),
            "output_tokens": count_or_none(row.output_tokens),
            "cache_read_tokens": count_or_none(row.cache_read_tokens),
            "cache_write_tokens": count_or_none(row.cache_write_tokens),
        },
    }
    return as_json(told | named(row.model))


def session_json(recording: Recording, title: str, client_id: str) -> bytes:
    """The session of a recording."""
    told: dict[str, Any] = {"title": title[:LONGEST_TITLE], "client_id": client_id}
    window, overhead = recording.window_tokens, recording.fixed_overhead_tokens
    if window is not None and 0 < window <= MOST_TOKENS:
        told["window_tokens"] = window
    if overhead is not None and 0 <= overhead <= MOST_TOKENS:
        told["fixed_overhead_tokens"] = overhead
    return as_json(told | named(recording.model))


def named(model: str | None) -> dict[str, str]:
    return {"model": model} if model and len(model) <= LONGEST_NAME else {}


def count_or_none(tokens: int | None) -> int | None:
    return tokens if tokens is not None and 0 <= tokens < 2**63 else None


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

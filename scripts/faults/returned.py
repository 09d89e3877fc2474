"""Rows as the API gives them back, held against what was sent, to the byte."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.request import Request, urlopen

from compaction.wire import message_to_openai
from sessions_app.models import Session
from sessions_app.services import NewMessage

PAGE_ROWS = 200


def returned_rows(url: str, secret: str, session: Session, sent: Sequence[NewMessage]) -> Iterator[str]:
    """What the API returns otherwise than it was sent."""
    returned = [row for row in rows_of(url, secret, session.public_id) if row["kind"] == "message"]
    if len(returned) != len(sent):
        yield f"the API returns {len(returned)} rows of {len(sent)}"
        return
    for row, new in zip(returned, sent, strict=True):
        if as_bytes(row["message"]) != as_bytes(message_to_openai(new.message)):
            yield f"{row['client_id']} comes back from the API otherwise than it was sent"


def rows_of(url: str, secret: str, public_id: str) -> Iterator[dict[str, Any]]:
    """All rows of a session, page by page."""
    after: str | None = ""
    while after is not None:
        address = f"{url}/api/v1/sessions/{public_id}/rows?state=all&limit={PAGE_ROWS}&after={after}"
        with urlopen(Request(address, headers={"Authorization": f"Bearer {secret}"}), timeout=60) as answer:
            page = json.load(answer)
        yield from page["rows"]
        after = page["next"]


def as_bytes(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, sort_keys=True).encode()

"""A key that somebody stored for one place, as opposed to one that an environment variable holds.

Whoever may change an address must not thereby be able to have a key sent there: a stored key names the one origin
(scheme, host and port) it is for, and is sent nowhere else. Where it is stored is not the engine's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from compaction.errors import InvalidInput
from compaction.wording import worded

_USUAL_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key and its place. problem: why it can't be used, in words; empty when it can."""

    value: str = field(repr=False)
    origin: str = ""
    problem: str = ""


def origin_of(address: str) -> str:
    """Scheme, host and port of an address; https when it names no scheme. The usual port is left out.

    Raises InvalidInput for what is no address, or has more than a place in it.
    """
    text = address.strip()
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        port = parts.port
    except ValueError:
        raise InvalidInput(worded("this is not an address"), "origin") from None
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme not in _USUAL_PORTS or not host or not text.isascii() or any(one.isspace() for one in text):
        raise InvalidInput(worded("expected a host, or an address that starts with https:// or http://"), "origin")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(worded("an address must not contain a user name or password"), "origin")
    shown = f"[{host}]" if ":" in host else host
    is_usual = port is None or port == _USUAL_PORTS[parts.scheme]
    return f"{parts.scheme}://{shown}" if is_usual else f"{parts.scheme}://{shown}:{port}"

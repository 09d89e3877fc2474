"""A streamed answer that has been put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """document: the answer as if it had come whole. first_bytes: how much of the body had come with the first token,
    None when there was none."""

    document: Mapping[str, Any]
    first_bytes: int | None

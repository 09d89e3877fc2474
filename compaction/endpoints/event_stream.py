"""Server-sent events out of a body, each with the place where it ended, so its time of arrival can be looked up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_object
from compaction.wording import worded

DONE: Final = "[DONE]"
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. end_bytes: how much of the body had come when it was complete."""

    name: str
    data: str
    end_bytes: int

    @property
    def is_done(self) -> bool:
        """Whether this is the word with which a stream of chat completions ends."""
        return self.data.strip() == DONE

    def document(self) -> Mapping[str, Any]:
        """The JSON object in the data. Raises EndpointFault when there is none."""
        try:
            return as_object(json.loads(self.data))
        except (ValueError, RecursionError):
            raise EndpointFault(FaultName.INVALID_JSON, worded("an event of the answer is not valid JSON")) from None


def read_events(body: bytes) -> Iterator[ServerEvent]:
    """The complete events of `body`. Comments are skipped, and so is an event that was cut off."""
    name, begin = "", 0
    data: list[str] = []
    for ending in _LINE_END.finditer(body):
        line = body[begin : ending.start()].decode("utf-8", "replace")
        begin = ending.end()
        if not line:
            if data:
                yield ServerEvent(name, "\n".join(data), begin)
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
    # Some servers end with the last line's break and no blank line behind it.
    if data and begin == len(body):
        yield ServerEvent(name, "\n".join(data), begin)

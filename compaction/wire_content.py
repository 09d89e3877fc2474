"""Content of a provider message: text, a list of parts, or nothing, in both directions.

Reading is lenient: whatever stands in `content` becomes content of ours, and what was odd about it is noted. What the
parts can't say (keys beside a text, a null, an empty list) is returned as a leftover, so that writing gives it back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from compaction.formats.events import ProblemKind
from compaction.messages import Content, ImagePart, OtherPart, Part, TextPart
from compaction.storable import json_text

Note = Callable[[ProblemKind, str], None]

TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
IMAGE_TYPES = frozenset({"image_url", "input_image", "image"})


def read_content(value: object, note: Note) -> tuple[Content, object]:
    """Content and its leftover (None when the content says it all).

    The leftover of list content is a list with one entry per part: the text part's other keys, or None.
    """
    if value is None or isinstance(value, str):
        return value, None
    if isinstance(value, list):
        if not value:
            note(ProblemKind.ODD_SHAPE, "the content is an empty list")
        pairs = [_read_part(item, note) for item in value]
        leftovers = [leftover for _, leftover in pairs]
        return tuple(part for part, _ in pairs), leftovers if any(leftovers) else None
    note(ProblemKind.ODD_SHAPE, f"the content is {_shape(value)}")
    if isinstance(value, Mapping):
        part, leftover = _read_part(value, note)
        return (part,), [leftover] if leftover else None
    return json_text(value), None


def write_content(content: Content, leftover: object) -> object:
    """The provider's content. `leftover` is what `read_content` gave, ignored when the content was rewritten since."""
    if content is None or isinstance(content, str):
        return content
    rests = leftover if isinstance(leftover, list) and len(leftover) == len(content) else [None] * len(content)
    return [_write_part(part, rest) for part, rest in zip(content, rests, strict=True)]


def _read_part(item: object, note: Note) -> tuple[Part, dict[str, object] | None]:
    if isinstance(item, str):
        note(ProblemKind.ODD_SHAPE, "a content part is bare text")
        return TextPart(item), None
    if not isinstance(item, Mapping):
        note(ProblemKind.ODD_SHAPE, f"a content part is {_shape(item)}")
        return OtherPart("", json_text(item)), None
    kind = item.get("type")
    if kind is None and "text" in item:
        note(ProblemKind.MISSING_KEY, "a content part has no type")
        kind = "text"
    if isinstance(kind, str) and kind in TEXT_TYPES:
        return _read_text(kind, item, note)
    if not isinstance(kind, str):
        note(ProblemKind.ODD_SHAPE, "a content part has no type")
        return OtherPart("", json_text(item)), None
    return (ImagePart(json_text(item)) if kind in IMAGE_TYPES else OtherPart(kind, json_text(item))), None


def _read_text(kind: str, item: Mapping[str, object], note: Note) -> tuple[Part, dict[str, object] | None]:
    text = item.get("text")
    if not isinstance(text, str):
        note(ProblemKind.ODD_SHAPE, f"the text of a content part is {_shape(text)}")
        text = "" if text is None else json_text(text)
    rest = {key: value for key, value in item.items() if key not in ("type", "text")}
    if kind != "text":
        rest["type"] = kind
    return TextPart(text), rest or None


def _write_part(part: Part, rest: object) -> object:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text, **(rest if isinstance(rest, dict) else {})}
    return json.loads(part.raw)


def _shape(value: object) -> str:
    """What a value is, in words for people."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"

"""Text that a database and a JSON column can hold.

Two things break storing: a NUL character, and half of a surrogate pair standing alone. Both come from outside and both
are replaced by U+FFFD at the edge, once, so that one bad character never blocks a save. Nothing else is touched: line
separators, form feeds and byte order marks inside a text are text.
"""

from __future__ import annotations

import json

from compaction.wording import Wording, reworded

REPLACEMENT = "\ufffd"


def is_storable(text: str) -> bool:
    """Whether `text` has neither a NUL nor a lone surrogate."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable_text(text: str) -> str:
    """`text` with NULs and lone surrogates replaced; two halves that belong together become their character. A wording
    stays one."""
    if is_storable(text):
        return text
    if isinstance(text, Wording):
        return reworded(text, storable_text)
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", REPLACEMENT)


def storable_value(value: object) -> object:
    """A JSON value with every string in it made storable, keys included. The same object when nothing changes.

    Raises RecursionError on a value nested deeper than the interpreter can walk.
    """
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, dict):
        changed = {storable_text(str(key)): storable_value(item) for key, item in value.items()}
        return value if _same_items(changed, value) else changed
    if isinstance(value, list | tuple):
        items = [storable_value(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _same_items(new: dict[str, object], old: dict[object, object]) -> bool:
    return len(new) == len(old) and all(old.get(key, REPLACEMENT) is item for key, item in new.items())


def json_text(value: object) -> str:
    """Compact JSON of a value that came from JSON. Numbers JSON can't say (NaN, infinity) are written as text."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_speakable(value), ensure_ascii=False, separators=(",", ":"))


def _speakable(value: object) -> object:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: _speakable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_speakable(item) for item in value]
    return value

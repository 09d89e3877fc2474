"""Differences between settings: what changed from one revision to the next, and two people's changes brought together.

Settings are compared by what was written, path by path: what is not written is absent, which is not the same as a
value that happens to equal the default. Pure; knows nothing of forms and pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from compaction.policy_reading import AUXILIARY, COMPRESSION


class _Absent:
    """Stands for a key that is not written."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One key with its value before and after; ABSENT where it is not written. path: dotted, as people see it."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Meeting:
    """One key that at least one of two people changed since `base`."""

    path: str
    base: Any
    theirs: Any
    yours: Any

    @property
    def is_conflict(self) -> bool:
        """Whether both changed it, and not to the same value."""
        return not (_same(self.base, self.theirs) or _same(self.base, self.yours) or self.is_agreed)

    @property
    def is_agreed(self) -> bool:
        """Whether both have it now, whoever changed it."""
        return _same(self.theirs, self.yours)

    @property
    def is_theirs_only(self) -> bool:
        return _same(self.base, self.yours)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """What is different in `after`, in the order in which keys stand in the two."""
    old, new = flat(before), flat(after)
    paths = {**old, **new}
    found = ((path, old.get(path, ABSENT), new.get(path, ABSENT)) for path in paths)
    return tuple(Change(path, was, now) for path, was, now in found if not _same(was, now))


def meet(base: Mapping[str, Any], theirs: Mapping[str, Any], yours: Mapping[str, Any]) -> tuple[Meeting, ...]:
    """Every key that was changed on either side, in order."""
    three = (flat(base), flat(theirs), flat(yours))
    paths = {path: None for one in three for path in one}
    met = (Meeting(path, *(one.get(path, ABSENT) for one in three)) for path in paths)
    return tuple(one for one in met if not (_same(one.base, one.theirs) and _same(one.base, one.yours)))


def merged(theirs: Mapping[str, Any], meetings: Iterable[Meeting], yours: Iterable[str]) -> dict[str, Any]:
    """Their settings with the values of yours at the paths of `yours`."""
    chosen, taken = deepcopy(dict(theirs)), set(yours)
    for one in meetings:
        if one.path in taken:
            put(chosen, one.path, one.yours)
    return chosen


def flat(blocks: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the two blocks by path. Ratios by model are one value, like whatever other programs keep here."""
    return {".".join(path): value for path, value in _leaves(blocks)}


def _leaves(blocks: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for block, held in blocks.items():
        if not isinstance(held, Mapping):
            yield (block,), held
            continue
        for key, value in held.items():
            if (block, key) == (AUXILIARY, COMPRESSION) and isinstance(value, Mapping):
                yield from (((block, key, str(name)), inner) for name, inner in value.items())
            else:
                yield (block, str(key)), value


def put(blocks: dict[str, Any], path: str, value: Any) -> None:
    """Write `value` at a path, or take the key away for ABSENT. Behind the block stands one key, dots included."""
    block, key = split_path(path)
    held = blocks
    for name in block:
        inner = held.get(name)
        inner = dict(inner) if isinstance(inner, Mapping) else {}
        held[name] = inner
        held = inner
    if value is ABSENT:
        held.pop(key, None)
    else:
        held[key] = value


def split_path(path: str) -> tuple[Path, str]:
    """The blocks in which a path's key stands, and the key."""
    prefix = f"{AUXILIARY}.{COMPRESSION}."
    if path.startswith(prefix):
        return (AUXILIARY, COMPRESSION), path.removeprefix(prefix)
    block, dot, key = path.partition(".")
    return ((block,), key) if dot else ((), block)


def _same(first: Any, second: Any) -> bool:
    """Python takes true for 1; settings do not."""
    if first is ABSENT or second is ABSENT:
        return first is second
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)

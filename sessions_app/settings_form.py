"""The settings form: what was typed, per setting, and the blocks it stands for.

An empty field writes nothing, so the value of the weaker scope holds. Keys of other programs that stand in the settings
are kept unless somebody ticks them away. Whether any of it can be saved is judged elsewhere (`policy_checking`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict

from compaction.main_model import MODEL
from sessions_app.mapping import storable_json
from sessions_app.policy_changes import ABSENT, flat, put
from sessions_app.setting_paths import EVERY_SETTING, SETTING_BY_PATH, NamedSetting, typed, written

MOST_NOTE_CHARS: Final = 1_000
_MOST_VALUE_CHARS: Final = 20_000
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class SettingsForm:
    """Settings as they stand in a form. texts: what was typed, by path. base: the revision the form was filled from."""

    texts: Mapping[str, str]
    blocks: dict[str, Any]
    base: int
    note: str = ""
    accept_nearest: bool = False
    removed: frozenset[str] = frozenset()

    def text_of(self, path: str) -> str:
        """What stands in the field of a setting."""
        return self.texts.get(path, "")


def filled_form(blocks: Mapping[str, Any], base: int) -> SettingsForm:
    """The form as it is shown first: what the newest revision writes."""
    values = flat(blocks)
    texts = {one.path: typed(values.get(one.path, ABSENT)) for one in EVERY_SETTING}
    return SettingsForm(texts, {**blocks}, base)


def read_form(
    data: QueryDict, held: Mapping[str, Any], settings: Iterable[NamedSetting] = EVERY_SETTING
) -> SettingsForm:
    """What was posted. held: the blocks of the revision the form was filled from; fields that were not posted, and keys
    that are no setting of ours, stay as they are there."""
    removed = frozenset(data.getlist("remove")) - SETTING_BY_PATH.keys()
    blocks: dict[str, Any] = {}
    held_values = flat(held)
    texts = {}
    for one in settings:
        text = data.get(one.path)
        value = held_values.get(one.path, ABSENT) if text is None else written(one.setting, text[:_MOST_VALUE_CHARS])
        texts[one.path] = typed(value) if text is None else text
        _write(blocks, one.path, value)
    for path, value in held_values.items():
        if path not in SETTING_BY_PATH and path not in removed:
            _write(blocks, path, value)
    if MODEL in held:
        # Said, so that a main model whose fields were emptied is none any more.
        blocks.setdefault(MODEL, {})
    return SettingsForm(
        texts=texts,
        blocks=storable_json(blocks),
        base=_number(data.get("base", "")),
        note=data.get("note", "").strip()[:MOST_NOTE_CHARS],
        accept_nearest=data.get("accept") == "nearest",
        removed=removed,
    )


def unchosen_paths(data: QueryDict) -> list[str]:
    """Settings that two people changed and of which nobody said yet which value holds."""
    return [path for path in data.getlist("choose") if path not in data]


def chosen_values(data: QueryDict) -> QueryDict:
    """What was posted; where something is still to be chosen, as it was before the choice was asked for."""
    unchosen = unchosen_paths(data)
    if not unchosen:
        return data
    before = data.copy()
    before["base"] = data.get("from", "")
    for path in unchosen:
        before[path] = data.get(f"yours:{path}", "")
    return before


def kept_keys(blocks: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Keys that stand in the settings and are none of ours, with their values."""
    return tuple((path, value) for path, value in flat(blocks).items() if path not in SETTING_BY_PATH)


def _write(blocks: dict[str, Any], path: str, value: Any) -> None:
    if value is not ABSENT:
        put(blocks, path, value)


def _number(text: str) -> int:
    """A revision's number from a form; 0 for whatever is none, which is never the newest of a project."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0

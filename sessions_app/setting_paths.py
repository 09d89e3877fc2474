"""Every setting there is, under the path by which files, forms and the API name it, and its values as people type them.

Typing and reading are inverse: the text that a field shows for a value is read back as that value. What can't be read
is handed on as it was typed, because it is the engine that refuses it, with its own words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from compaction.main_model import MAIN_MODEL_SETTINGS, MODEL, MainModel
from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS, CompactionPolicy
from compaction.policy_reading import AUXILIARY_COMPRESSION, COMPRESSION
from compaction.settings import Setting, SettingKind, SettingValue, read_setting
from sessions_app.policy_changes import ABSENT

# How "no limit" is written in a field, where an empty one means "as elsewhere".
NOTHING: Final = "none"
UNNAMED_MODEL: Final = MainModel()


@dataclass(frozen=True, slots=True)
class NamedSetting:
    """A setting with its path and the field that holds its value, in the policy or in the main model."""

    path: str
    field: str
    setting: Setting

    @property
    def key(self) -> str:
        """Its last word."""
        return self.setting.key

    @property
    def short_path(self) -> str:
        """The path without the block that most settings stand in."""
        return self.path.removeprefix(f"{COMPRESSION}.")

    @property
    def anchor(self) -> str:
        """Its place on a page, unique over all settings."""
        prefix = "main-" if self.is_of_main_model else "auxiliary-" if self.is_auxiliary else ""
        return f"{prefix}{self.key}"

    @property
    def group(self) -> str:
        """The heading it stands under."""
        return "main" if self.is_of_main_model else self.setting.group

    @property
    def is_of_main_model(self) -> bool:
        return self.path.startswith(f"{MODEL}.")

    @property
    def is_auxiliary(self) -> bool:
        return self.path.startswith(AUXILIARY_COMPRESSION)

    def value_in(self, policy: CompactionPolicy, main: MainModel = UNNAMED_MODEL) -> SettingValue:
        """Its value in a policy, or in a main model."""
        holder = main if self.is_of_main_model else policy.auxiliary if self.is_auxiliary else policy
        value: SettingValue = getattr(holder, self.field)
        return value


EVERY_SETTING: Final = (
    *(NamedSetting(f"{COMPRESSION}.{one.key}", name, one) for name, one in COMPRESSION_SETTINGS),
    *(NamedSetting(f"{AUXILIARY_COMPRESSION}.{one.key}", name, one) for name, one in AUXILIARY_SETTINGS),
    *(NamedSetting(f"{MODEL}.{one.key}", name, one) for name, one in MAIN_MODEL_SETTINGS),
)
POLICY_SETTINGS: Final = tuple(one for one in EVERY_SETTING if not one.is_of_main_model)
# What may be set for one session: whoever may write there must not send its rows, or a key, somewhere else.
SESSION_SETTINGS: Final = tuple(one for one in POLICY_SETTINGS if not one.is_auxiliary)
SETTING_BY_PATH: Final = {one.path: one for one in EVERY_SETTING}


def named_setting(path: str) -> NamedSetting | None:
    """The setting at a path, or of which the path names a part (the ratio of one model); None when there is none."""
    found = SETTING_BY_PATH.get(path)
    if found is None and path.startswith(f"{COMPRESSION}.model_thresholds."):
        return SETTING_BY_PATH[f"{COMPRESSION}.model_thresholds"]
    return found


def typed(value: Any) -> str:
    """A written value as a field shows it; empty for a value that is not written."""
    if value is ABSENT:
        return ""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return "\n".join(f"{model}: {share}" for model, share in value.items())
    return str(value)


def written(setting: Setting, text: str) -> Any:
    """What was typed as it is written into settings; ABSENT for nothing typed."""
    text = text.strip()
    if not text:
        return ABSENT
    if setting.is_optional and text.lower() in (NOTHING, "null"):
        return None
    if setting.kind is SettingKind.RATIOS:
        return _ratios(text)
    if setting.kind in (SettingKind.SWITCH, SettingKind.WHOLE, SettingKind.NUMBER):
        read = read_setting(setting, text, setting.key)
        return _number(text) if read.problems else read.value
    return text


def _number(text: str) -> int | float | str:
    """A number that is out of range, or the text that is none."""
    for kind in (int, float):
        try:
            return kind(text.replace(",", ""))
        except (ValueError, OverflowError):
            continue
    return text


def _ratios(text: str) -> dict[str, float | int | str | None]:
    """Lines of `model: share`. A line without a share, and a model named twice, are left for the engine to refuse."""
    ratios: dict[str, float | int | str | None] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        model, colon, share = line.rpartition(":")
        name, value = (model.strip(), _number(share.strip())) if colon else (line, None)
        ratios[name] = f"{ratios[name]} and {value}" if name in ratios else value
    return ratios

"""Settings as such: what one is, and how a value that somebody wrote becomes a value of the right type.

Knows nothing of which settings exist (see `policy` and `unused_settings`) nor of files. Reading never raises: a value
that can't be used gives the default and a problem that says what was written, what is used instead and why. Nothing is
corrected in silence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from compaction.wording import worded

SettingValue = bool | int | float | str | None | tuple[tuple[str, float], ...]

# Thousands as pages show them: 12,000.
_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+")
_ON_WORDS = frozenset({"true", "yes", "on", "1"})
_OFF_WORDS = frozenset({"false", "no", "off", "0"})


class Severity(StrEnum):
    """How a written value was treated. A note is about a value that was taken as it stands."""

    ERROR = "error"
    CLAMPED = "clamped"
    NOT_USED = "not_used"
    UNKNOWN = "unknown"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One message about one key. `given` and `effective` are shown as they would be written in a settings file.

    message: why the value can't be taken and what is done instead. cause: why alone, for those who refuse and use
    nothing instead; empty when the message has no second half.
    line: where the key stands in that file, from 1; None when the value did not come from a text.
    """

    key: str
    message: str
    severity: Severity
    given: str
    effective: str = ""
    line: int | None = None
    cause: str = ""

    @property
    def refusal(self) -> str:
        """The key and what is wrong with it, for whoever stops here."""
        return f"{self.key}: {self.cause or self.message}"


class SettingKind(StrEnum):
    """The type of a setting's value."""

    SWITCH = "switch"
    WHOLE = "whole number"
    NUMBER = "number"
    WORD = "word"
    TEXT = "text"
    RATIOS = "ratios by model"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key, type, default and bounds, and for people what it means and why the default is what it is.

    label, group: its name and the heading it stands under on a page.
    lowest, highest: inclusive; None is unbounded. words: the allowed words with what they stand for.
    is_optional: whether null is a value of its own ("no limit").
    low_is_unset: whether a value below `lowest` is read as not set, rather than as `lowest`.
    """

    key: str
    kind: SettingKind
    default: SettingValue
    meaning: str
    why: str = ""
    label: str = ""
    group: str = ""
    unit: str = ""
    lowest: float | None = None
    highest: float | None = None
    words: tuple[tuple[str, str], ...] = ()
    is_optional: bool = False
    low_is_unset: bool = False


@dataclass(frozen=True, slots=True)
class ReadValue:
    """What a written value was read as, with the problems found on the way (none when it was taken as it stands)."""

    value: SettingValue
    problems: tuple[SettingProblem, ...] = ()


def read_setting(setting: Setting, given: object, path: str) -> ReadValue:
    """Read `given` as a value of `setting`. `path` is the key as people see it, `compression.threshold` for one."""
    if given is None:
        return _read_null(setting, path)
    match setting.kind:
        case SettingKind.SWITCH:
            return _read_switch(setting, given, path)
        case SettingKind.WHOLE | SettingKind.NUMBER:
            return _read_number(setting, given, path)
        case SettingKind.WORD:
            return _read_word(setting, given, path)
        case SettingKind.TEXT:
            return _read_text(setting, given, path)
        case SettingKind.RATIOS:
            return _read_ratios(setting, given, path)


def shown(value: object) -> str:
    """A value as it would be written in a settings file, on one line and cut to a readable length."""
    if isinstance(value, tuple):
        value = dict(value)
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of more than 38 digits"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False, skipkeys=True)
    return text if len(text) <= 120 else text[:117] + "..."


def _refused(setting: Setting, given: object, path: str, expected: str) -> ReadValue:
    cause = worded("{!r} is not {}", shown(given), expected)
    message = worded("{}; {} is used instead", cause, shown(setting.default) or worded("nothing"))
    return _with_problem(setting.default, given, path, message, Severity.ERROR, cause)


def _with_problem(
    value: SettingValue, given: object, path: str, message: str, severity: Severity, cause: str = ""
) -> ReadValue:
    return ReadValue(value, (SettingProblem(path, message, severity, shown(given), shown(value), cause=cause),))


def _read_null(setting: Setting, path: str) -> ReadValue:
    if setting.is_optional:
        return ReadValue(None)
    cause = worded("the key has no value")
    message = worded("{}; {} is used", cause, shown(setting.default) or worded("nothing"))
    return _with_problem(setting.default, None, path, message, Severity.ERROR, cause)


def _read_switch(setting: Setting, given: object, path: str) -> ReadValue:
    if isinstance(given, bool):
        return ReadValue(given)
    if isinstance(given, str) and given.strip().lower() in _ON_WORDS | _OFF_WORDS:
        return ReadValue(given.strip().lower() in _ON_WORDS)
    if isinstance(given, int | float) and math.isfinite(given):
        if given in (0, 1):
            return ReadValue(given == 1)
        message = worded("{} is read as on; write true or false", shown(given))
        return _with_problem(True, given, path, message, Severity.CLAMPED)
    return _refused(setting, given, path, worded("a switch (true or false)"))


def _read_number(setting: Setting, given: object, path: str) -> ReadValue:
    whole = setting.kind is SettingKind.WHOLE
    number = _number(given)
    if number is None or (whole and number != int(number)):
        return _refused(setting, given, path, worded("a whole number") if whole else worded("a number"))
    if setting.low_is_unset and setting.lowest is not None and number < setting.lowest:
        message = worded("{} is below {} and read as not set", shown(given), shown(setting.lowest))
        return _with_problem(setting.default, given, path, message, Severity.CLAMPED)
    return _within_bounds(setting, number, given, path)


def _number(given: object) -> int | float | None:
    """The number that was written, also as text; None for everything else, truth values and infinities included."""
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return given
    if isinstance(given, float):
        return given if math.isfinite(given) else None
    if not isinstance(given, str) or len(given) > 40:
        return None
    if _GROUPED.fullmatch(given.strip()):
        given = given.replace(",", "")
    try:
        return int(given)
    except ValueError:
        pass
    try:
        number = float(given)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _within_bounds(setting: Setting, number: int | float, given: object, path: str) -> ReadValue:
    as_kind = int if setting.kind is SettingKind.WHOLE else float
    if setting.lowest is not None and number < setting.lowest:
        used = as_kind(setting.lowest)
        message = worded("{} is out of range; the lowest value {} is used", shown(given), shown(used))
        cause = worded("{} is out of range; the lowest value is {}", shown(given), shown(used))
        return _with_problem(used, given, path, message, Severity.CLAMPED, cause)
    if setting.highest is not None and number > setting.highest:
        used = as_kind(setting.highest)
        too_high, why = _too_high(setting, number, given, shown(used))
        return _with_problem(used, given, path, too_high, Severity.CLAMPED, why)
    return ReadValue(as_kind(number))


def _too_high(setting: Setting, number: int | float, given: object, used: str) -> tuple[str, str]:
    """The message and its cause, with a hint where somebody has most likely written percent."""
    if setting.highest == 1 and 2 <= number <= 100:
        told = (shown(given), used, number / 100, number)
        return (
            worded("{} is out of range; the highest value {} is used (write {:g} for {:g} %)", *told),
            worded("{} is out of range; the highest value is {} (write {:g} for {:g} %)", *told),
        )
    return (
        worded("{} is out of range; the highest value {} is used", shown(given), used),
        worded("{} is out of range; the highest value is {}", shown(given), used),
    )


def _read_word(setting: Setting, given: object, path: str) -> ReadValue:
    words = dict(setting.words)
    word = given.strip().lower() if isinstance(given, str) else ""
    if word in words:
        return ReadValue(words[word])
    return _refused(setting, given, path, worded("one of {}", ", ".join(words)))


def _read_text(setting: Setting, given: object, path: str) -> ReadValue:
    if not isinstance(given, str):
        return _refused(setting, given, path, worded("text (write it in quotes)"))
    return ReadValue(given.strip())


def _read_ratios(setting: Setting, given: object, path: str) -> ReadValue:
    if not isinstance(given, Mapping):
        return _refused(setting, given, path, worded("a list of models with their ratios"))
    ratios: list[tuple[str, float]] = []
    problems: list[SettingProblem] = []
    for name, ratio in given.items():
        place = f"{path}.{name}"
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not math.isfinite(ratio):
            cause = worded("{!r} is not {}", shown(ratio), worded("a number"))
            message = worded("{}; this entry is left out", cause)
            problems.append(SettingProblem(place, message, Severity.ERROR, shown(ratio), cause=cause))
            continue
        read = _within_bounds(setting, float(ratio), ratio, place)
        problems.extend(read.problems)
        if isinstance(read.value, float):
            ratios.append((str(name), read.value))
    return ReadValue(tuple(ratios), tuple(problems))

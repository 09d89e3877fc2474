"""The settings as options of a form: each with its meaning, unit, what was typed, its default, the value in force,
where that comes from, what follows from it in tokens, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from compaction.budgets import TailBudget
from compaction.main_model import MODEL, MainModel
from compaction.policy import CompactionPolicy, TailMode
from compaction.policy_reading import COMPRESSION, PolicyReading
from compaction.settings import Setting, SettingKind, SettingProblem, SettingValue, Severity
from compaction.threshold import Threshold
from sessions_app.policy_changes import ABSENT, flat
from sessions_app.session_policy import Scope
from sessions_app.setting_paths import EVERY_SETTING, UNNAMED_MODEL, NamedSetting, named_setting
from sessions_app.setting_words import GROUPS
from sessions_app.settings_form import SettingsForm
from sessions_app.summarizers import is_offline
from sessions_app.translated import translated


class Control(StrEnum):
    """With what a value is given."""

    CHOICE = "choice"
    LINE = "line"
    NUMBER = "number"
    LINES = "lines"


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a choice."""

    value: str
    words: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Note:
    """What is to be said about one value. is_error: it stands in the way of saving."""

    message: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Option:
    """One setting in the form.

    text: what stands in the field; placeholder: what holds while it is empty. effect: what follows in tokens; empty
    where nothing does. is_changed: differs from the newest revision; is_set: the form says something. idle: why it has
    no effect now; empty when it has one.
    """

    named: NamedSetting
    control: Control
    text: str
    placeholder: str
    choices: tuple[Choice, ...]
    default: str
    effective: str
    source: str
    effect: str
    is_changed: bool
    is_set: bool
    idle: str
    notes: tuple[Note, ...]

    @property
    def has_error(self) -> bool:
        return any(note.is_error for note in self.notes)


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options under one heading."""

    name: str
    title: str | Promise
    about: str | Promise
    options: tuple[Option, ...]

    @property
    def errors(self) -> int:
        """How many of its options are in the way of saving."""
        return sum(option.has_error for option in self.options)


@dataclass(frozen=True, slots=True)
class OptionFacts:
    """Everything options are made of. inherited: what holds while the form says nothing; saved: the newest revision's
    blocks; revision: its number, None before the first."""

    form: SettingsForm
    reading: PolicyReading
    main: MainModel
    inherited: PolicyReading
    saved: Mapping[str, object]
    revision: int | None
    scope: Scope
    threshold: Threshold
    tail: TailBudget
    head_tokens: int
    refusals: tuple[SettingProblem, ...]
    remarks: tuple[SettingProblem, ...]


def read_groups(facts: OptionFacts) -> tuple[OptionGroup, ...]:
    """All options in their groups, in the order of the page."""
    changed = changed_paths(facts.saved, facts.form.blocks)
    notes = notes_by_path(facts.refusals, facts.remarks)
    options = [option_of(one, facts, one.path in changed, tuple(notes.get(one.path, ()))) for one in EVERY_SETTING]
    return tuple(
        OptionGroup(name, title, about, tuple(one for one in options if one.named.group == name))
        for name, title, about in GROUPS
    )


def changed_paths(saved: Mapping[str, object], now: Mapping[str, object]) -> frozenset[str]:
    """The paths at which two pairs of blocks differ."""
    old, new = flat(saved), flat(now)
    return frozenset(
        path for path in old.keys() | new.keys() if repr(old.get(path, ABSENT)) != repr(new.get(path, ABSENT))
    )


def notes_by_path(refusals: Iterable[SettingProblem], remarks: Iterable[SettingProblem]) -> dict[str, list[Note]]:
    """What is said about each setting, what stands in the way of saving first."""
    found: dict[str, list[Note]] = {}
    for problems, is_error in ((refusals, True), (remarks, False)):
        for problem in problems:
            named = named_setting(problem.key)
            if named is not None:
                message = translated(problem.cause or problem.message if is_error else problem.message)
                found.setdefault(named.path, []).append(Note(sentence(message), is_error))
    return found


def sentence(message: str) -> str:
    """The engine's words as a sentence of the page."""
    text = message[:1].upper() + message[1:]
    return text if text.endswith((".", ")", "!", "?")) else f"{text}."


def option_of(named: NamedSetting, facts: OptionFacts, is_changed: bool, notes: tuple[Note, ...]) -> Option:
    setting, text = named.setting, facts.form.text_of(named.path)
    inherited = words_of(named.value_in(facts.inherited.policy))
    from_where = scope_words(facts.inherited.source_of(named.path))
    return Option(
        named=named,
        control=control_of(setting),
        text=text,
        placeholder=inherited,
        choices=choices_of(setting, text, unset_words(inherited, from_where)),
        default=words_of(setting.default),
        effective=words_of(named.value_in(facts.reading.policy, facts.main)),
        source=source_words(named.path, facts, is_changed),
        effect=effect_words(named.path, facts),
        is_changed=is_changed,
        is_set=bool(text.strip()),
        idle=idle_words(named, facts.reading.policy, facts.main),
        notes=notes,
    )


def control_of(setting: Setting) -> Control:
    match setting.kind:
        case SettingKind.SWITCH | SettingKind.WORD:
            return Control.CHOICE
        case SettingKind.WHOLE | SettingKind.NUMBER:
            return Control.NUMBER
        case SettingKind.RATIOS:
            return Control.LINES
        case SettingKind.TEXT:
            return Control.LINE


def choices_of(setting: Setting, text: str, inherited: str) -> tuple[Choice, ...]:
    """The entries of a choice: first the value that holds without one. A word that is none stays in sight."""
    if setting.kind is SettingKind.SWITCH:
        entries = [("true", _("on")), ("false", _("off"))]
    elif setting.kind is SettingKind.WORD:
        # Another spelling of the same word is read, not offered.
        entries = [(word, word_words(word)) for word, meant in setting.words if str(meant) == word]
    else:
        return ()
    chosen = text.strip().lower()
    if setting.kind is SettingKind.SWITCH:
        chosen = {"yes": "true", "on": "true", "1": "true", "no": "false", "off": "false", "0": "false"}.get(
            chosen, chosen
        )
    if chosen and chosen not in dict(entries):
        spelled = dict(setting.words).get(chosen)
        chosen = str(spelled) if spelled is not None else chosen
        entries += [] if chosen in dict(entries) else [(text, text)]
        chosen = chosen if chosen in dict(entries) else text
    unset = Choice("", inherited, not chosen)
    return (unset, *(Choice(value, words, value == chosen) for value, words in entries))


_WORDS: Final = {
    "every_turn": lambda: _("every turn"),
    "cache_cold": lambda: _("cache cold"),
    "last_turn": lambda: _("last turn"),
    "ratio": lambda: _("ratio"),
    "lean": lambda: _("lean"),
    "none": lambda: _("none"),
    "all": lambda: _("all"),
}


def word_words(word: str) -> str:
    return _WORDS[word]() if word in _WORDS else word


def words_of(value: SettingValue) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if value is None or value == () or value == "":
        return _("none")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}" if round(value, 2) == value else f"{value:g}"
    if isinstance(value, tuple):
        return ", ".join(f"{name} {share:g}" for name, share in value)
    return word_words(str(value))


def source_words(path: str, facts: OptionFacts, is_changed: bool) -> str:
    """Where the value in force comes from."""
    source = facts.reading.source_of(path)
    if path.startswith(f"{MODEL}."):
        source = facts.scope.value if path in flat(facts.form.blocks) else "default"
    if source == facts.scope:
        if is_changed:
            return _("this edit")
        if facts.scope is Scope.PROJECT and facts.revision is not None:
            return _("project, revision {number}").format(number=facts.revision)
    return scope_words(source)


def scope_words(source: str) -> str:
    """What people call a scope."""
    names = {
        "default": _("default"),
        Scope.SITE: _("site"),
        Scope.PROJECT: _("project"),
        Scope.SESSION: _("this session"),
    }
    return names.get(source, source)


def unset_words(inherited: str, from_where: str) -> str:
    """The first entry of a choice: what holds when nothing is chosen, and who says so."""
    return _("{value} ({scope})").format(value=inherited, scope=from_where)


def effect_words(path: str, facts: OptionFacts) -> str:
    """What follows from a value, in tokens."""
    tokens, key = facts.threshold.tokens, path.rpartition(".")[2]
    if key == "threshold":
        if tokens is None:
            return _("window unknown, so no threshold")
        rule = translated(facts.threshold.steps[-1].what)
        return _("{tokens} tokens: {rule}").format(tokens=f"{tokens:,}", rule=rule)
    if key == "threshold_tokens" and tokens is not None and facts.reading.policy.threshold_tokens is not None:
        is_cap = facts.reading.policy.threshold_tokens == tokens
        return _("decides") if is_cap else _("no effect: the threshold is {tokens} anyway").format(tokens=f"{tokens:,}")
    tail = f"{facts.tail.budget_tokens:,}"
    if key == "target_ratio" and facts.reading.policy.tail_mode is TailMode.RATIO:
        return _("tail of {tokens} tokens").format(tokens=tail)
    if key == "tail_mode" and facts.reading.policy.tail_mode is TailMode.LEAN:
        return _("tail of {tokens} tokens").format(tokens=tail)
    if key == "protect_first_n":
        return _("head up to {tokens} tokens").format(tokens=f"{facts.head_tokens:,}")
    return ""


def idle_words(named: NamedSetting, policy: CompactionPolicy, main: MainModel = UNNAMED_MODEL) -> str:
    """Why a setting has no effect under `policy`; empty when it has one."""
    if named.is_of_main_model:
        needs_endpoint = named.key in ("key_env", "timeout", "read_timeout") and not main.is_reachable
        return _("No effect: no provider and no address is set.") if needs_endpoint else ""
    if named.is_auxiliary:
        needs_endpoint = named.key not in ("provider", "model", "base_url", "context_length")
        return _("No effect: summaries are written offline.") if needs_endpoint and is_offline(policy.auxiliary) else ""
    group, key = named.group, named.key
    if not policy.enabled and key not in ("enabled", "resend_reasoning"):
        return _("No effect while compression.enabled is off.")
    is_of_micro = key != "micro_compact" and (group in ("micro", "defrag") or key == "anchor_index_tokens_micro")
    if is_of_micro and not policy.micro_compact:
        return _("No effect while micro compaction is off.")
    if key == "micro_compact_max_exchanges" and policy.micro_compact_min_reclaim_tokens:
        return _("No effect: a pass that waited takes all of them.")
    if key == "target_ratio" and policy.tail_mode is TailMode.LEAN:
        return _("No effect while the tail is lean.")
    if key == "threshold_minimum_tokens" and not policy.threshold_floor:
        return _("No effect while the floor is off.")
    if key.startswith("proactive_prune_min") and not policy.proactive_prune_tokens:
        return _("No effect while pruning is off.")
    return ""


def kept_remarks(remarks: Iterable[SettingProblem]) -> tuple[SettingProblem, ...]:
    """Remarks about keys that are no setting of this engine."""
    return tuple(one for one in remarks if named_setting(one.key) is None and one.severity is not Severity.ERROR)


def setting_label(path: str) -> str:
    """What people call a setting; the path itself for a key that is none."""
    named = named_setting(path)
    return _(named.setting.label) if named is not None and named.setting.label else path


THRESHOLD_PATH: Final = f"{COMPRESSION}.threshold"

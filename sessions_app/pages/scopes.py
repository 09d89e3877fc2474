"""Every setting in all its scopes, side by side: what each one says, and which of them wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from compaction.policy_reading import PolicyReading, read_layers
from sessions_app.models import Project, Session
from sessions_app.pages.setting_options import (
    Choice,
    Control,
    Note,
    choices_of,
    control_of,
    idle_words,
    scope_words,
    unset_words,
    words_of,
)
from sessions_app.policy_changes import ABSENT, flat
from sessions_app.session_policy import Layer, Scope, layers_of
from sessions_app.setting_paths import POLICY_SETTINGS, NamedSetting, typed
from sessions_app.setting_words import GROUPS


@dataclass(frozen=True, slots=True)
class ScopeValue:
    """What one scope says about a setting; None when it says nothing."""

    scope: str
    words: str | None
    is_winner: bool


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One setting. values: the default and then each scope, weakest first. text, inherited, choices: of the field in
    which the last scope can be changed."""

    named: NamedSetting
    values: tuple[ScopeValue, ...]
    effective: str
    idle: str
    control: Control
    text: str
    inherited: str
    choices: tuple[Choice, ...]
    notes: tuple[Note, ...]

    @property
    def has_error(self) -> bool:
        return any(note.is_error for note in self.notes)

    @property
    def weaker(self) -> tuple[ScopeValue, ...]:
        """The values of all scopes but the strongest, which a form shows as a field."""
        return self.values[:-1]

    @property
    def is_own(self) -> bool:
        """Whether the strongest scope wins."""
        return self.values[-1].is_winner

    @property
    def is_set(self) -> bool:
        """Whether anybody has set it."""
        return not self.values[0].is_winner


@dataclass(frozen=True, slots=True)
class ScopeGroup:
    """Settings under one heading."""

    name: str
    title: str
    rows: tuple[ScopeRow, ...]


def read_scopes(
    place: Project | Session,
    own: Mapping[str, object] | None = None,
    texts: Mapping[str, str] | None = None,
    notes: Mapping[str, tuple[Note, ...]] | None = None,
    settings: tuple[NamedSetting, ...] = POLICY_SETTINGS,
) -> tuple[ScopeGroup, ...]:
    """All settings with their scopes. own: other blocks than the stored ones for the strongest scope, as a form holds
    them; texts and notes: what stands in its fields and is to be said about it."""
    layers = list(layers_of(place))
    if own is not None:
        layers[-1] = (layers[-1][0], own)
    reading = read_layers(layers)
    weaker = read_layers(layers[:-1])
    rows = [scope_row(one, layers, reading, weaker, texts or {}, (notes or {}).get(one.path, ())) for one in settings]
    grouped = ((name, str(title), tuple(row for row in rows if row.named.group == name)) for name, title, _a in GROUPS)
    return tuple(ScopeGroup(name, title, found) for name, title, found in grouped if found)


def scope_row(
    named: NamedSetting,
    layers: list[Layer],
    reading: PolicyReading,
    weaker: PolicyReading,
    texts: Mapping[str, str],
    notes: tuple[Note, ...],
) -> ScopeRow:
    winner = reading.source_of(named.path)
    inherited = words_of(named.value_in(weaker.policy))
    unset = unset_words(inherited, scope_words(weaker.source_of(named.path)))
    text = texts.get(named.path, typed(flat(layers[-1][1]).get(named.path, ABSENT)))
    default = ScopeValue("default", words_of(named.setting.default), winner == "default")
    return ScopeRow(
        named=named,
        values=(default, *(scope_value(named, layer, winner) for layer in layers)),
        effective=words_of(named.value_in(reading.policy)),
        idle=idle_words(named, reading.policy),
        control=control_of(named.setting),
        text=text,
        inherited=inherited,
        choices=choices_of(named.setting, text, unset),
        notes=notes,
    )


def scope_value(named: NamedSetting, layer: Layer, winner: str) -> ScopeValue:
    scope, blocks = layer
    if named.path not in flat(blocks):
        return ScopeValue(scope, None, False)
    value = named.value_in(read_layers((layer,)).policy)
    return ScopeValue(scope, words_of(value), scope == winner)


def scope_titles(place: Project | Session) -> tuple[str, ...]:
    """The heads of the columns."""
    titles = {Scope.SITE: _("Site"), Scope.PROJECT: _("Project"), Scope.SESSION: _("This session")}
    return (_("Default"), *(titles[Scope(scope)] for scope, _blocks in layers_of(place)))

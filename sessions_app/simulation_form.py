"""The form that starts a simulation: a policy, a window, and the settings that matter for it.

Fields that are left as they are take the project's values, so a run shows what the project would do unless something
was changed. The engine reads the result; whatever it refuses is said beside the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compaction.policy import COMPRESSION_SETTINGS, CompactionPolicy
from compaction.replay import ReplayPolicy
from compaction.settings import Setting, SettingKind
from compaction.threshold import Window, effective_threshold
from sessions_app.models import Session
from sessions_app.pages.outlook import Outlook
from sessions_app.session_policy import blocks_of
from sessions_app.translated import translated

POLICY_WORDS: Final = {
    ReplayPolicy.MICRO: gettext_lazy("micro: after each turn, absorb the oldest exchange into a rolling summary"),
    ReplayPolicy.WINDOW: gettext_lazy("window: drop the oldest turns when the threshold is reached"),
    ReplayPolicy.NONE: gettext_lazy("none: send everything, compact nothing"),
    ReplayPolicy.BATCH: gettext_lazy("batch: summarise the middle when the threshold is reached"),
    ReplayPolicy.MICRO_AND_BATCH: gettext_lazy("micro and batch together"),
    ReplayPolicy.PRUNE: gettext_lazy("prune: shorten old tool results, no model"),
}
SETTINGS: Final = (
    "micro_compact_every_n_turns",
    "micro_compact_max_exchanges",
    "micro_compact_defrag_threshold_tokens",
    "micro_compact_min_reclaim_tokens",
    "threshold",
    "threshold_floor",
    "target_ratio",
    "protect_first_n",
)
MOST_TOKENS: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Simulation:
    """What was asked for. settings: the `compression:` and `auxiliary:` blocks of the run."""

    policy: str
    window_tokens: int | None
    settings: Mapping[str, Any]


class SimulationForm(forms.Form):
    """Policy, window and settings of a run."""

    policy = forms.ChoiceField(label=gettext_lazy("Policy"))
    window_tokens = forms.IntegerField(
        label=gettext_lazy("Window, tokens"), required=False, min_value=1_000, max_value=MOST_TOKENS
    )

    def __init__(self, *arguments: Any, session: Session, outlook: Outlook, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._session = session
        self._window = outlook.window
        choices = [(name.value, words) for name, words in POLICY_WORDS.items()]
        self.fields["policy"].choices = choices  # type: ignore[attr-defined]
        known = outlook.window.context_tokens
        self.fields["window_tokens"].initial = known
        self.fields["window_tokens"].help_text = window_help(session, known)
        for name, setting in COMPRESSION_SETTINGS:
            if setting.key in SETTINGS:
                self.fields[setting.key] = setting_field(setting, getattr(outlook.policy, name))
                self.fields[setting.key].label = _(setting.label) if setting.label else setting.key
                self.fields[setting.key].help_text = setting.meaning

    def clean(self) -> dict[str, Any]:
        """Let the engine read the settings, and say beside a field what it refuses."""
        asked = super().clean() or {}
        if (
            asked.get("window_tokens") is None
            and self._window.context_tokens is None
            and "window_tokens" not in self.errors
        ):
            self.add_error("window_tokens", _("The window of this model is unknown: say how large it is."))
        reading = CompactionPolicy.from_mapping(self._blocks(asked))
        for problem in reading.errors:
            key = problem.key.rpartition(".")[2]
            self.add_error(key if key in self.fields else None, translated(problem.cause or problem.message))
        refusal = self._refusal(reading.policy, asked.get("window_tokens") or self._window.context_tokens)
        if refusal and not self.errors:
            self.add_error("threshold", refusal)
        return asked

    def _refusal(self, policy: CompactionPolicy, window_tokens: int | None) -> str:
        """Why no pass could ever work: the threshold lies below what every request carries anyway."""
        overhead = self._session.fixed_overhead_tokens or 0
        window = Window(window_tokens)
        threshold = effective_threshold(policy, window, model=self._session.model, fixed_overhead_tokens=overhead)
        return translated(threshold.refusal)

    def simulation(self) -> Simulation:
        """What a valid form asks for."""
        asked = self.cleaned_data
        window = asked.get("window_tokens")
        return Simulation(
            asked["policy"], None if window == self._window.context_tokens else window, self._blocks(asked)
        )

    def _blocks(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The blocks in force with the fields that were filled in on top."""
        blocks: dict[str, Any] = deepcopy(blocks_of(self._session))
        compression = dict(blocks.get("compression") or {})
        compression.update({key: asked[key] for key in SETTINGS if asked.get(key) is not None})
        return {**blocks, "compression": compression}

    @property
    def setting_fields(self) -> list[forms.BoundField]:
        """The fields of the settings, for the template."""
        return [self[key] for key in self.fields if key in SETTINGS]


def setting_field(setting: Setting, value: object) -> forms.Field:
    """A field for a setting, filled with the project's value and bound as the engine bounds it."""
    if setting.kind is SettingKind.SWITCH:
        return forms.TypedChoiceField(
            required=False,
            choices=[("true", gettext_lazy("on")), ("false", gettext_lazy("off"))],
            initial="true" if value else "false",
            coerce=lambda word: word == "true",
            empty_value=None,
        )
    if setting.kind is SettingKind.WHOLE:
        lowest, highest = whole_or_none(setting.lowest), whole_or_none(setting.highest)
        field: forms.Field = forms.IntegerField(required=False, initial=value, min_value=lowest, max_value=highest)
        field.error_messages["invalid"] = _("This is not a whole number.")
    else:
        field = forms.FloatField(required=False, initial=value, min_value=setting.lowest, max_value=setting.highest)
        field.error_messages["invalid"] = _("This is not a number.")
    for validator in field.validators:
        validator.message = bounds_words(setting)  # type: ignore[attr-defined]  # only bounds stand here
    return field


def whole_or_none(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def bounds_words(setting: Setting) -> str:
    """What a number may be."""
    lowest, highest = bound_words(setting.lowest), bound_words(setting.highest)
    if lowest and highest:
        return _("Out of range: it goes from {} to {}.").format(lowest, highest)
    if lowest:
        return _("Too low: the lowest is {}.").format(lowest)
    return _("Too high: the highest is {}.").format(highest)


def bound_words(bound: float | None) -> str:
    return "" if bound is None else f"{int(bound):,}" if bound == int(bound) else f"{bound:g}"


def window_help(session: Session, known: int | None) -> str:
    """Where the window that stands in the field comes from."""
    model = session.model or _("unknown")
    if known is None:
        return _("Nobody has said how large the window of {} is.").format(model)
    return _("What is known of {}; change it to try another one.").format(model)

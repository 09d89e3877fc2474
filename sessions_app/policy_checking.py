"""Whether settings can be saved: the one place that says so, for the form, the API and YAML alike.

The engine reads the values; what it can't use is refused with its words. A number beyond its bounds is refused too,
unless whoever saves has agreed to the nearest one that is allowed. Beside single values the whole is judged: a
threshold that the fixed part of every request fills by itself can never work. Nothing is corrected in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compaction.main_model import MODEL, MainModel, MainModelReading, read_main_model
from compaction.policy import CompactionPolicy
from compaction.policy_reading import AUXILIARY_COMPRESSION, COMPRESSION, PolicyReading, read_layers
from compaction.settings import SettingProblem, Severity
from compaction.threshold import Threshold, ThresholdSource, effective_threshold
from compaction.wording import worded
from sessions_app.models import Project, Session
from sessions_app.session_policy import (
    Layer,
    blocks_of_project,
    layers_of,
    main_model_of,
    overhead_of,
    threshold_of,
    window_of_project,
    with_main_model,
)

THRESHOLD_KEY: Final = f"{COMPRESSION}.threshold"
FIXED_THRESHOLD_KEY: Final = f"{COMPRESSION}.threshold_tokens"
_WINDOW_KEY: Final = f"{AUXILIARY_COMPRESSION}.context_length"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was read, what stands in the way of saving it, and what is worth knowing all the same.

    place: the project or session as it would be, with the main model that was read; not to be saved.
    """

    reading: PolicyReading
    main: MainModel
    place: Project | Session
    refusals: tuple[SettingProblem, ...]
    remarks: tuple[SettingProblem, ...]

    @property
    def is_only_out_of_range(self) -> bool:
        """Whether agreeing to the nearest allowed values would be enough."""
        return bool(self.refusals) and all(one.severity is Severity.CLAMPED for one in self.refusals)


def judge(place: Project | Session, blocks: Mapping[str, Any], *, accept_nearest: bool = False) -> Verdict:
    """The verdict on `blocks` as the settings of a project, or as a session's own on top of its project's.

    Blocks without a `model` leave the main model as it is. accept_nearest: numbers out of range become the nearest
    allowed ones, and are remarked on.
    """
    *weaker, (scope, _held) = layers_of(place)
    reading = read_layers((*weaker, (scope, blocks)))
    main = _read_main(place, blocks)
    found = (*_own_problems(reading, weaker), *main.problems)
    refused = {Severity.ERROR} if accept_nearest else {Severity.ERROR, Severity.CLAMPED}
    refusals = tuple(one for one in found if one.severity in refused)
    if isinstance(place, Project) and MODEL in blocks and isinstance(blocks[MODEL], Mapping):
        place = with_main_model(place, blocks[MODEL])
    if not refusals:
        refusals = _room_refusals(place, reading.policy)
    return Verdict(reading, main.model, place, refusals, tuple(one for one in found if one not in refusals))


def _read_main(place: Project | Session, blocks: Mapping[str, Any]) -> MainModelReading:
    if isinstance(place, Session):
        return MainModelReading(main_model_of(place.project))
    return read_main_model(blocks.get(MODEL, blocks_of_project(place).get(MODEL)))


def _own_problems(reading: PolicyReading, weaker: Sequence[Layer]) -> tuple[SettingProblem, ...]:
    """The problems of the newest layer: those of the weaker ones are told where they are set."""
    others = list(read_layers(weaker).problems)
    own = []
    for problem in reading.problems:
        if problem in others:
            others.remove(problem)
        else:
            own.append(problem)
    return tuple(own)


def project_threshold(project: Project, policy: CompactionPolicy) -> Threshold:
    """The threshold of a session that takes everything from its project."""
    return effective_threshold(
        policy,
        window_of_project(project),
        model=project.main_model,
        aux_window_tokens=policy.auxiliary.window_tokens,
        fixed_overhead_tokens=project.fixed_overhead_tokens or 0,
    )


def _room_refusals(place: Project | Session, policy: CompactionPolicy) -> tuple[SettingProblem, ...]:
    if isinstance(place, Session):
        threshold, overhead = threshold_of(place, policy), overhead_of(place) or 0
    else:
        threshold, overhead = project_threshold(place, policy), place.fixed_overhead_tokens or 0
    if threshold.tokens is None or not threshold.refusal:
        return ()
    message = worded(
        "{:,} is too low: each request already carries {:,} tokens of system prompt and tool schemas, which can't be"
        " compacted. The lowest threshold that can work is {:,}",
        threshold.tokens,
        overhead,
        overhead + 1,
    )
    return (SettingProblem(_deciding_key(threshold), message, Severity.ERROR, f"{threshold.tokens:,}", cause=message),)


def _deciding_key(threshold: Threshold) -> str:
    """The key whose value made the threshold what it is."""
    if threshold.source is ThresholdSource.AUXILIARY_WINDOW:
        return _WINDOW_KEY
    if threshold.source is ThresholdSource.CAP and "threshold_tokens" in threshold.steps[-1].what:
        return FIXED_THRESHOLD_KEY
    if threshold.source is ThresholdSource.MODEL_OVERRIDE:
        return f"{COMPRESSION}.model_thresholds"
    return THRESHOLD_KEY

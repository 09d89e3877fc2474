"""The compaction policy: every setting the engine honours, as one immutable value.

Each default stands here once, with its reason. Settings of a Hermes config.yaml that this engine has no use for are in
`unused_settings`; how a written value is read is in `settings`; how whole files and layers are read is in
`policy_reading`. The policy never holds a secret: the summarizer's key is named by an environment variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from compaction.settings import Setting, SettingKind

if TYPE_CHECKING:
    from compaction.policy_reading import PolicyReading


class MicroWhen(StrEnum):
    """When a micro pass may run."""

    EVERY_TURN = "every_turn"
    CACHE_COLD = "cache_cold"


class TailMode(StrEnum):
    """What the tail budget is worked out from: the threshold, or the window."""

    RATIO = "ratio"
    LEAN = "lean"


class ResendReasoning(StrEnum):
    """Which turns' reasoning is sent to the model again, and so counts as context."""

    NONE = "none"
    LAST_TURN = "last_turn"
    ALL = "all"


def _setting(default: object, kind: SettingKind, label: str, meaning: str, why: str, **details: object) -> Any:
    """A dataclass field whose metadata is what people are told about the setting."""
    return field(default=default, metadata={"kind": kind, "label": label, "meaning": meaning, "why": why, **details})


_SWITCH: Final = SettingKind.SWITCH
_WHOLE: Final = SettingKind.WHOLE
_NUMBER: Final = SettingKind.NUMBER


@dataclass(frozen=True, slots=True)
class AuxiliaryModel:
    """The model that writes summaries: the `auxiliary.compression` block. Its own window wins over any catalogue's."""

    provider: str = _setting(
        "auto",
        SettingKind.TEXT,
        "Summarizer",
        "Which summarizer is used; auto takes the one this installation is set up with.",
        "The installation knows which endpoints exist.",
        group="models",
    )
    model: str = _setting(
        "",
        SettingKind.TEXT,
        "Model",
        "Model that writes the summaries; empty takes the provider's own choice.",
        "A small fast model without reasoning suits best, and only you know which one you have.",
        group="models",
    )
    base_url: str = _setting(
        "",
        SettingKind.TEXT,
        "Endpoint address",
        "Address of an OpenAI-compatible endpoint; empty takes the provider's.",
        "Nothing is contacted unless an address was set.",
        group="models",
    )
    timeout_seconds: int = _setting(
        120,
        _WHOLE,
        "Time limit",
        "How long one summary may take before the pass counts as failed.",
        "Slow local models need about a minute for a batch summary; a hung one must not hold a session.",
        group="models", unit="seconds", lowest=1, highest=3_600, key="timeout",
    )
    window_tokens: int | None = _setting(
        None,
        _WHOLE,
        "Summarizer window",
        "Input window of the summarizer; empty looks it up.",
        "A value set here wins over every catalogue.",
        group="models", unit="tokens", lowest=1, highest=100_000_000, is_optional=True, low_is_unset=True,
        key="context_length",
    )
    key_env: str = _setting(
        "",
        SettingKind.TEXT,
        "Key variable",
        "Name of the environment variable that holds the endpoint's key.",
        "Keys are never stored with settings.",
        group="models",
    )
    key_secret: str = _setting(
        "",
        SettingKind.TEXT,
        "Stored key",
        "Name of a key that the project stores, instead of an environment variable.",
        "The value lies encrypted beside the settings, never in them, and goes to one address only.",
        group="models", key="api_key_secret",
    )


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """Everything a pass needs to know beside rows, state and window. Build it from files with `from_mapping`."""

    enabled: bool = _setting(
        True,
        _SWITCH,
        "Batch compaction",
        "Batch compaction when the threshold is reached. Off makes all settings of this block inert.",
        "Without it a session ends when its window is full.",
        group="batch",
    )
    micro_compact: bool = _setting(
        False,
        _SWITCH,
        "Micro compaction",
        "After each finished turn, fold the oldest exchange into a rolling summary.",
        "It moves a cost rather than saving one: each pass breaks the provider's prompt cache.",
        group="micro",
    )
    micro_compact_every_n_turns: int = _setting(
        1,
        _WHOLE,
        "Every n turns",
        "Run a micro pass every n finished turns.",
        "1 reclaims most; 5 pays a fifth of the cache breaks for a fifth of the reclaim.",
        group="micro", unit="turns", lowest=1, highest=10_000,
    )
    micro_compact_max_exchanges: int = _setting(
        1,
        _WHOLE,
        "Exchanges per pass",
        "Exchanges one micro pass may absorb in one call.",
        "One keeps passes short; more lets a backlog shrink when passes are rarer than turns.",
        group="micro", unit="exchanges", lowest=1, highest=100,
    )
    micro_compact_defrag_threshold_tokens: int = _setting(
        2_000,
        _WHOLE,
        "Defrag at",
        "Size of the rolling summary from which a pass rewrites it compactly instead of absorbing.",
        "About the length a small model can still rewrite without losing facts.",
        group="defrag", unit="tokens", lowest=1, highest=1_000_000,
    )
    micro_compact_min_reclaim_tokens: int = _setting(
        0,
        _WHOLE,
        "Wait for",
        "Wait until this much would be given back, then absorb all of it in one call; 0 does not wait.",
        "Off, because waiting makes passes larger; it pays where cache breaks are dear.",
        group="micro", unit="tokens", lowest=0, highest=100_000_000,
    )
    micro_compact_when: MicroWhen = _setting(
        MicroWhen.EVERY_TURN,
        SettingKind.WORD,
        "When",
        "When a micro pass may run: every_turn, or cache_cold (only once the provider's prompt cache has expired).",
        "Occupancy then falls steadily; cache_cold avoids cache breaks but may wait for ever in a busy session.",
        group="micro",
        words=(("every_turn", MicroWhen.EVERY_TURN), ("cache_cold", MicroWhen.CACHE_COLD)),
    )
    threshold: float = _setting(
        0.50,
        _NUMBER,
        "Share of the window",
        "Share of the input window at which a batch compaction starts.",
        "Models answer worse well before the window is full, and a summary needs room.",
        group="threshold", unit="share of the input window", lowest=0.05, highest=1,
    )
    threshold_floor: bool = _setting(
        True,
        _SWITCH,
        "Floor for small windows",
        "Raise the threshold of windows under 512,000 tokens to 75 %, and any below the minimum to it.",
        "At 50 % a small window would compact with half of it free.",
        group="threshold",
    )
    threshold_minimum_tokens: int = _setting(
        64_000,
        _WHOLE,
        "Lowest threshold",
        "Lowest threshold while the floor is on; at most 85 % of the input window.",
        "Below it the fixed prompt and one long turn fill the context, and compactions follow each other.",
        group="threshold", unit="tokens", lowest=1, highest=100_000_000, low_is_unset=True,
    )
    threshold_tokens: int | None = _setting(
        None,
        _WHOLE,
        "Fixed threshold",
        "Absolute cap: compact at this many tokens even if the ratio allows more. Empty is no cap.",
        "No cap: what you set as a ratio is what you get.",
        group="threshold", unit="tokens", lowest=1, highest=100_000_000, is_optional=True, low_is_unset=True,
    )
    model_thresholds: tuple[tuple[str, float], ...] = _setting(
        (),
        SettingKind.RATIOS,
        "Shares by model",
        "Ratios by model: the longest match with part of a model's name replaces `threshold`.",
        "None: one ratio suits most models.",
        group="threshold", unit="share of the input window", lowest=0.05, highest=1,
    )
    target_ratio: float = _setting(
        0.20,
        _NUMBER,
        "Tail share",
        "Share of the threshold kept verbatim as the tail (tail_mode ratio).",
        "Keeps the last few turns whole; more leaves little to compact.",
        group="zones", unit="share of the threshold", lowest=0.10, highest=0.80,
    )
    tail_mode: TailMode = _setting(
        TailMode.RATIO,
        SettingKind.WORD,
        "Tail follows",
        "What the tail budget follows: ratio (target_ratio of the threshold; also spelled legacy), or lean (2.5 % of "
        "the window, 10,000 to 25,000 tokens).",
        "More verbatim context; lean sends about a third of it after a batch.",
        group="zones",
        words=(("ratio", TailMode.RATIO), ("lean", TailMode.LEAN), ("legacy", TailMode.RATIO)),
    )
    protect_first_n: int = _setting(
        3,
        _WHOLE,
        "Opening rows kept",
        "Opening rows after the system prompt that are never compacted; extended to the end of their turn.",
        "The first request often states what the whole session is about.",
        group="zones", unit="rows", lowest=0, highest=1_000,
    )
    min_tail_user_messages: int = _setting(
        1,
        _WHOLE,
        "User rows in the tail",
        "User rows that stay verbatim in the tail whatever the budget says.",
        "The newest request must be read as it was put.",
        group="zones", unit="rows", lowest=1, highest=100,
    )
    summary_tokens_ceiling: int = _setting(
        12_000,
        _WHOLE,
        "Longest summary",
        "Longest batch summary that is asked for.",
        "Longer summaries are read less well than they are paid for.",
        group="batch", unit="tokens", lowest=2_000, highest=100_000,
    )
    anchor_index_tokens_batch: int = _setting(
        2_000,
        _WHOLE,
        "Anchors, batch",
        "Room for exact strings (paths, ids, commands) taken from compacted rows by a batch.",
        "Exact strings are what summaries lose first.",
        group="anchors", unit="tokens", lowest=0, highest=50_000,
    )
    anchor_index_tokens_micro: int = _setting(
        300,
        _WHOLE,
        "Anchors, micro",
        "The same room in the rolling summary of micro passes.",
        "It is re-sent with every request, so it stays small.",
        group="anchors", unit="tokens", lowest=0, highest=50_000,
    )
    proactive_prune_tokens: int = _setting(
        0,
        _WHOLE,
        "Prune from",
        "Shorten old tool results, without a model, from this many live tokens on; 0 is off.",
        "Off, because each prune breaks the prompt cache once.",
        group="prune", unit="tokens", lowest=0, highest=100_000_000,
    )
    proactive_prune_min_result_chars: int = _setting(
        8_000,
        _WHOLE,
        "Prune results above",
        "Only tool results longer than this become one line in a proactive prune.",
        "Short results cost little and are read again.",
        group="prune", unit="characters", lowest=200, highest=100_000_000,
    )
    proactive_prune_min_reclaim_tokens: int = _setting(
        4_096,
        _WHOLE,
        "Prune only if it frees",
        "A proactive prune commits only if it frees this much, and re-arms after as much regrowth.",
        "A smaller gain does not pay for the cache break.",
        group="prune", unit="tokens", lowest=0, highest=100_000_000,
    )
    resend_reasoning: ResendReasoning = _setting(
        ResendReasoning.NONE,
        SettingKind.WORD,
        "Reasoning sent again",
        "Which reasoning is sent again and counted: none, last_turn, all.",
        "Most providers drop it; counting what is not sent would compact too early.",
        group="models", words=tuple((word.value, word) for word in ResendReasoning),
    )
    finalize_wait_seconds: int = _setting(
        30,
        _WHOLE,
        "Wait for a pass",
        "How long the next request of a session waits for a running micro pass.",
        "Longer stalls people; shorter sends more requests with the old rows.",
        group="micro", unit="seconds", lowest=0, highest=3_600,
    )
    auxiliary: AuxiliaryModel = AuxiliaryModel()

    @property
    def runs_batch(self) -> bool:
        """Whether automatic batch compaction is on."""
        return self.enabled

    @property
    def runs_micro(self) -> bool:
        """Whether micro passes are on: children of a disabled section are inert."""
        return self.enabled and self.micro_compact

    @property
    def runs_prune(self) -> bool:
        """Whether old tool results are shortened before the threshold is reached."""
        return self.enabled and self.proactive_prune_tokens > 0

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> PolicyReading:
        """Read the `compression:` and `auxiliary:` blocks of a configuration; other blocks are left alone.

        Never raises for what is in the mapping: each key that can't be taken as it stands has a problem in the answer.
        """
        from compaction.policy_reading import read_policy

        return read_policy(mapping)

    def with_settings(self, assignments: Iterable[str]) -> PolicyReading:
        """This policy with `key=value` assignments from a command line applied.

        Keys may be written with or without `compression.`; the summarizer's are `auxiliary.compression.KEY`, ratios by
        model `model_thresholds.MODEL`. Clamps are reported in the answer. Raises InvalidPolicy, and changes nothing,
        when an assignment has no `=`, an unknown or unused key, or a value of the wrong type.
        """
        from compaction.policy_reading import read_assignments

        return read_assignments(self, assignments)

    def to_mapping(self) -> dict[str, Any]:
        """The policy as the two blocks of a configuration; `from_mapping` reads it back to an equal policy."""
        compression = {setting.key: _plain(getattr(self, name)) for name, setting in COMPRESSION_SETTINGS}
        compression = {"enabled": compression.pop("enabled"), **compression}
        auxiliary = {setting.key: getattr(self.auxiliary, name) for name, setting in AUXILIARY_SETTINGS}
        return {"compression": compression, "auxiliary": {"compression": auxiliary}}


def _plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return value.value
    return dict(value) if isinstance(value, tuple) else value


def _described(owner: type[CompactionPolicy] | type[AuxiliaryModel]) -> tuple[tuple[str, Setting], ...]:
    """Field names of `owner` with their settings, in order of declaration."""
    described = []
    for item in fields(owner):
        if "kind" in item.metadata and item.default is not MISSING:
            details = {"key": item.name, **item.metadata}
            described.append((item.name, Setting(default=item.default, **details)))
    return tuple(described)


COMPRESSION_SETTINGS: Final = _described(CompactionPolicy)
AUXILIARY_SETTINGS: Final = _described(AuxiliaryModel)

"""Runners for settings, thresholds and budgets: what the engine gives for the recorded input, by recorded key."""

from __future__ import annotations

from typing import Any

from compaction.budgets import longest_summary_tokens, summary_budget_tokens, tail_budget
from compaction.policy import CompactionPolicy, TailMode
from compaction.policy_reading import PolicyReading, read_layers
from compaction.threshold import Window, effective_threshold
from compaction.unused_settings import UNUSED_COMPRESSION_SETTINGS
from tests.compaction.reference_vectors.cases import Case

# Defaults of the recorded implementation that differ from ours, written out beneath each case's own settings.
OLD_DEFAULTS = {"compression": {"tail_mode": "lean", "summary_tokens_ceiling": 10_000}}
MODEL, PROVIDER = "stub-model", "stub"

_POLICY_NAMES = {
    "threshold": "threshold",
    "enabled": "enabled",
    "target_ratio": "target_ratio",
    "min_tail_users": "min_tail_user_messages",
    "proactive_prune_tokens": "proactive_prune_tokens",
    "proactive_prune_min_chars": "proactive_prune_min_result_chars",
    "proactive_prune_min_reclaim": "proactive_prune_min_reclaim_tokens",
    "protect_first": "protect_first_n",
    "threshold_tokens": "threshold_tokens",
    "micro_compact": "micro_compact",
    "micro_compact_every_n_turns": "micro_compact_every_n_turns",
    "micro_compact_defrag_tokens": "micro_compact_defrag_threshold_tokens",
}
_UNUSED_NAMES = {
    "autoraise_notice_enabled": "codex_gpt55_autoraise_notice",
    "protect_last": "protect_last_n",
    "max_attempts": "max_attempts",
    "abort_on_summary_failure": "abort_on_summary_failure",
    "checkpoint_required": "checkpoint_required",
    "in_place": "in_place",
    "codex_app_server_auto": "codex_app_server_auto",
    "codex_responses_native": "codex_responses_native",
    "idle_compact_after_seconds": "idle_compact_after_seconds",
}
_THRESHOLD_SETTINGS = {
    "threshold_percent": "threshold",
    "threshold_tokens_cap": "threshold_tokens",
    "summary_target_ratio": "target_ratio",
    "tail_mode": "tail_mode",
    "model_thresholds": "model_thresholds",
    "minimum_context_length": "threshold_minimum_tokens",
}


def read(mapping: dict[str, Any]) -> PolicyReading:
    """A reading over the old defaults."""
    return read_layers((("old defaults", OLD_DEFAULTS), ("case", mapping)))


def run_config(case: Case) -> dict[str, Any]:
    """Every recorded key of a configuration; "error" tells whether one of its values was refused."""
    reading = read(dict(case.input))
    if "error" in case.expected:
        return {"error": case.expected["error"] if reading.errors else None}
    return {
        **{key: getattr(reading.policy, name) for key, name in _POLICY_NAMES.items()},
        **_unused_values(reading),
        "tail_mode": "legacy" if reading.policy.tail_mode is TailMode.RATIO else "lean",
        "model_thresholds": dict(reading.policy.model_thresholds),
        "codex_responses_compact_threshold": dict(reading.unused).get("compression.codex_responses_compact_threshold"),
    }


def _unused_values(reading: PolicyReading) -> dict[str, Any]:
    """Settings that are accepted and not acted on, as they were read."""
    values = {f"compression.{setting.key}": setting.default for setting in UNUSED_COMPRESSION_SETTINGS}
    values |= dict(reading.unused)
    return {key: values[f"compression.{name}"] for key, name in _UNUSED_NAMES.items()}


def run_threshold(case: Case) -> dict[str, Any]:
    """Threshold, tail and longest summary of a window."""
    settings = {name: case.config[key] for key, name in _THRESHOLD_SETTINGS.items() if key in case.config}
    policy = read({"compression": settings}).policy
    window = Window(case.config["config_context_length"], case.config.get("max_tokens") or 0)
    threshold = effective_threshold(policy, window, model=MODEL, provider=PROVIDER)
    tail = tail_budget(policy, threshold, window)
    return {
        "context_length": window.context_tokens,
        "threshold_tokens": threshold.tokens,
        "threshold_percent": threshold.ratio,
        "tail_token_budget": tail.budget_tokens,
        "tail_soft_ceiling": tail.ceiling_tokens,
        "max_summary_tokens": longest_summary_tokens(policy, window),
    }


def run_summary_budget(case: Case) -> dict[str, Any]:
    """The size asked of a batch summary. What it summarises is taken as counted by the recorded implementation."""
    policy, window = read({}).policy, Window(case.config["context_length"])
    return {
        "content_tokens": case.expected["content_tokens"],
        "summary_budget_tokens": summary_budget_tokens(policy, window, case.expected["content_tokens"]),
        "max_summary_tokens": longest_summary_tokens(policy, window),
    }


def window_of(case: Case) -> Window:
    """The case's window."""
    return Window(case.config.get("context_length"))


def policy_of(case: Case) -> CompactionPolicy:
    """The policy a case with explicit settings runs under."""
    names = {setting for setting in case.config if setting in CompactionPolicy.__dataclass_fields__}
    return read({"compression": {name: case.config[name] for name in names}}).policy

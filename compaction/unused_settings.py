"""Settings of a Hermes config.yaml that this engine accepts and does not act on, each with the reason.

They are checked like the others, so a typing error in a shared file shows here too, and kept for the way back.
"""

from __future__ import annotations

from typing import Final

from compaction.settings import Setting, SettingKind, SettingValue
from compaction.wording import worded

_SWITCH: Final = SettingKind.SWITCH
_WHOLE: Final = SettingKind.WHOLE

_BUDGET_DECIDES = worded("the tail is chosen by its token budget and starts with a whole turn, not by a number of rows")
_BREAKER = worded("attempts are limited by the breaker and its cool-downs")
_NEVER_DROPS = worded("a failed summary changes nothing; only above 95 % of the window is an extractive summary used")
_NO_ROTATION = worded("rows are never rewritten, so a session always keeps its id")
_NO_CHECKPOINT = worded("a pass can be undone from stored rows, so no checkpoint is needed first")
_JOBS_WAIT = worded("passes are jobs of their own, limited by auxiliary.compression.timeout and finalize_wait_seconds")
_NO_IDLE = worded("passes run when a turn ends, not while a session is idle")
_NO_GATEWAY = worded("there is no message gateway here that compacts before the agent does")
_NO_CODEX = worded("the engine compacts by itself and does not drive a provider's own compaction")
_NO_NOTICE = worded("effective values are always shown with their source")


def _unused(key: str, kind: SettingKind, default: SettingValue, reason: str, **bounds: float) -> Setting:
    lowest, highest = bounds.get("lowest"), bounds.get("highest")
    return Setting(key, kind, default, reason, lowest=lowest, highest=highest, low_is_unset=key == "max_attempts")


UNUSED_COMPRESSION_SETTINGS: Final = (
    _unused("protect_last_n", _WHOLE, 20, _BUDGET_DECIDES),
    _unused("max_attempts", _WHOLE, 3, _BREAKER, lowest=1, highest=10),
    _unused("abort_on_summary_failure", _SWITCH, False, _NEVER_DROPS),
    _unused("in_place", _SWITCH, True, _NO_ROTATION),
    _unused("checkpoint_required", _SWITCH, False, _NO_CHECKPOINT),
    _unused("idle_compact_after_seconds", _WHOLE, 0, _NO_IDLE, lowest=0),
    _unused("context_timeout_seconds", SettingKind.NUMBER, 120.0, _JOBS_WAIT, lowest=0),
    _unused("context_total_ceiling_seconds", SettingKind.NUMBER, 600.0, _JOBS_WAIT, lowest=0),
    _unused("hygiene_hard_message_limit", _WHOLE, 5_000, _NO_GATEWAY, lowest=1),
    _unused("hygiene_timeout_seconds", SettingKind.NUMBER, 30.0, _NO_GATEWAY, lowest=0),
    _unused("hygiene_total_ceiling_seconds", SettingKind.NUMBER, 600.0, _NO_GATEWAY, lowest=0),
    _unused("hygiene_failure_cooldown_seconds", SettingKind.NUMBER, 300.0, _NO_GATEWAY, lowest=0),
    _unused("hygiene_max_turn_hold_seconds", SettingKind.NUMBER, 10.0, _NO_GATEWAY, lowest=0),
    _unused("codex_app_server_auto", SettingKind.TEXT, "native", _NO_CODEX),
    _unused("codex_responses_native", _SWITCH, False, _NO_CODEX),
    _unused("codex_responses_compact_threshold", _WHOLE, 200_000, _NO_CODEX, lowest=1),
    _unused("codex_gpt55_autoraise", _SWITCH, True, _NO_CODEX),
    _unused("codex_gpt55_autoraise_notice", _SWITCH, True, _NO_NOTICE),
    _unused("progress_notices", _SWITCH, False, worded("the pages show a running pass by themselves")),
)

# Keys of `auxiliary.compression` that have no place here. The key itself must not be kept: settings hold no secrets.
UNUSED_AUXILIARY_KEYS: Final = (
    (
        "api_key",
        worded("keys are never read from settings: name the variable (key_env) or stored key (api_key_secret) to use"),
    ),
    ("extra_body", worded("requests to the summarizer are fixed, so that every pass can be replayed")),
    ("fallback_chain", worded("when the summarizer fails the transcript stays as it is; there is no second model")),
    ("reasoning_effort", worded("summarizers are asked without reasoning")),
)
SECRET_KEYS: Final = frozenset({"api_key"})

"""Runner for telemetry: the recorded facts of a pass, written out by this engine.

Lines of recorded scenarios can't be replayed, because their transcripts are not part of the cases. Their raw facts
are given to our emitter, and every figure that is worked out from them has to come out the same.
"""

from __future__ import annotations

import json
import re
from typing import Any

from compaction.batch_telemetry import BATCH_PREFIX, BatchAttempt, Trigger, batch_mapping
from compaction.budgets import TailBudget
from compaction.edits import Edit, NewRow
from compaction.messages import Message, Role, RowKey, RowKind
from compaction.records import Outcome, PassKind, PassRecord
from compaction.summarizer import Purpose, Reply, SummaryRequest, Usage
from compaction.telemetry import LOGGER_NAME, MICRO_PREFIX, MicroFigures, compact_json, log_lines
from compaction.threshold import occupancy_pct
from compaction.tokens import RoughCounter
from compaction.zones import Zones
from tests.compaction.reference_vectors.cases import Case

_NO_EDIT = Edit()
_SPELLINGS = {"stale_generation": "stale", "watermark_unavailable": "stale"}
_OUTCOMES = {"committed": Outcome.COMPACTED, "aborted": Outcome.ABORTED, "blocked": Outcome.BLOCKED}


def run_micro_emitter(case: Case) -> dict[str, Any]:
    """The line that our figures give for the emitter's arguments."""
    given, args = case.input, case.input["args"]
    before, after = args["tokens_before"], args["tokens_after"]
    delta = None if before is None or after is None else after - before
    figures = MicroFigures(
        outcome=args["outcome"],
        session_id=given["session_id"],
        aux_model=given["summary_model"],
        context_limit=given["context_length_cache"],
        cursor=given["cursor"],
        duration_ms=args["duration_ms"],
        exchange_tokens=args.get("exchange_tokens"),
        main_model=given["model"],
        messages_after=args["messages_after"],
        messages_before=args["messages_before"],
        occupancy_pct=None if after is None else occupancy_pct(after, given["threshold_tokens_cache"]),
        passes_total=given["passes_before"] + 1,
        rolling_summary_tokens=RoughCounter().count(given["rolling_summary"]),
        threshold_tokens=given["threshold_tokens_cache"],
        tokens_after=after,
        tokens_before=before,
        tokens_delta=delta,
        tokens_saved_total=given["tokens_saved_total_before"] - (delta or 0),
    )
    return {"line": _with_keys_of(case.expected["line"], figures.line), "lines": 1}


def run_line(case: Case) -> dict[str, Any]:
    """Keys, derived values and types of a line with the recorded raw facts."""
    values = case.expected["values"]
    is_batch = case.config["prefix"] == BATCH_PREFIX
    fields = _batch_fields(values, case.expected["types"]) if is_batch else _micro_fields(values)
    return {
        "keys": [name for name in sorted(fields) if name in case.expected["keys"]],
        "values": {name: _as_recorded(recorded, fields.get(name)) for name, recorded in values.items()},
        "types": {name: _type_name(fields.get(name)) for name in values},
        "logger": LOGGER_NAME,
    }


def run_human(case: Case) -> dict[str, Any]:
    """The line for people whose form was recorded, with its numbers and names taken out."""
    for line in _HUMAN_LINES:
        form = re.sub(r"(?<=failed: )\w+$", "%s", re.sub(r"\d+", "%d", line))
        if case.expected["format"].startswith(f"{form} ("):
            return {"format": case.expected["format"]}
    return {"format": f"none of {_HUMAN_LINES}"}


def _with_keys_of(recorded: str, line: str) -> str:
    """Our line with the keys of the recorded one only: cases are compared by the keys they expect."""
    wanted = json.loads(recorded.removeprefix(MICRO_PREFIX))
    fields = {name: value for name, value in json.loads(line.removeprefix(MICRO_PREFIX)).items() if name in wanted}
    assert line == MICRO_PREFIX + compact_json(json.loads(line.removeprefix(MICRO_PREFIX)))
    return MICRO_PREFIX + compact_json(fields)


def _micro_fields(values: dict[str, Any]) -> dict[str, Any]:
    record = PassRecord(
        kind=PassKind.DEFRAG if values["exchange_tokens"] is None else PassKind.MICRO,
        outcome=Outcome(_SPELLINGS.get(values["outcome"], values["outcome"])),
        cursor_after=RowKey(values["cursor"], 0),
        edit=_edit_for(values["messages_before"] - values["messages_after"], values["tokens_delta"]),
        rolling_summary_tokens=values["rolling_summary_tokens"],
        exchange_tokens=values["exchange_tokens"],
        tokens_before=values["tokens_before"],
        tokens_after=values["tokens_after"],
        rows_before=values["messages_before"],
        rows_after=values["messages_after"],
        threshold_tokens=values["threshold_tokens"],
        context_limit_tokens=values["context_limit"],
        main_model=values["main_model"],
        aux_model=values["aux_model"],
        duration_ms=0,
        passes_total=values["passes_total"],
        tokens_saved_total=values["tokens_saved_total"],
    )
    line = log_lines(record, "s")[0].text
    fields: dict[str, Any] = json.loads(line.removeprefix(MICRO_PREFIX))
    return fields


def _edit_for(rows_less: int, tokens_delta: int) -> Edit:
    """Some edit that changes the number of rows as recorded; an empty one where nothing changed."""
    if not rows_less and not tokens_delta:
        return _NO_EDIT
    born = NewRow(RowKind.MICRO_SUMMARY, 1, Message(Role.ASSISTANT, "x"), 1)
    return Edit(tuple(range(rows_less + 1)), (), (born,))


def _batch_fields(values: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    focus = "x" if values.get("has_focus_topic") else ""
    is_committed = values["commit_status"] == "committed"
    request = SummaryRequest(Purpose.BATCH, "", "x", "", (Message(Role.USER, "x"),), 1, focus=focus)
    reclaimed = values.get("tokens_reclaimed") or 0
    before = values.get("tokens_before") or values["current_estimated_tokens"]
    rows_before = values.get("messages_before") or 1
    outcome = Outcome.FALLBACK if values["fallback_used"] else _OUTCOMES[values["commit_status"]]
    record = PassRecord(
        kind=PassKind.BATCH,
        outcome=outcome,
        reason=_reason(values["failure_class"]),
        zones=_zones(values, rows_before),
        request=request if values["commit_status"] != "blocked" else None,
        reply=Reply(usage=Usage(input_tokens=values.get("aux_prompt_tokens"))),
        edit=_edit_for(rows_before - values["messages_after"], 1) if is_committed else _NO_EDIT,
        tokens_before=before,
        tokens_after=before - reclaimed,
        fixed_overhead_tokens=_overhead(values, before),
        rows_before=rows_before,
        rows_after=values.get("messages_after", rows_before),
        threshold_tokens=values["effective_threshold"],
        context_limit_tokens=values["main_context_limit"],
        main_model=values["main_model"],
        aux_model=values.get("aux_model", ""),
        duration_ms=0,
    )
    attempt = BatchAttempt(
        "0" * 32,
        Trigger(values["trigger_source"]),
        values.get("token_count_method") or "rough",
        values["main_provider"],
        values.get("aux_provider", ""),
        **{name: 0 for name in ("commit_ms", "prompt_build_ms", "queue_wait_ms") if types.get(name) == "int"},
        total_ms=0,
    )
    return batch_mapping(record, "s", attempt)


def _reason(failure_class: str | None) -> str:
    """A reason of ours that falls into the recorded class."""
    known = {
        "summary_auth_failure": "http_401",
        "summary_network_failure": "timeout",
        "summary_truncated_failure": "length",
        "summary_empty_content_failure": "empty",
        "summary_overload_failure": "http_503",
    }
    return known.get(failure_class or "", (failure_class or "").removeprefix("blocked:"))


def _zone_tokens(values: dict[str, Any]) -> tuple[int, int, int] | None:
    if values.get("middle_window_tokens") is None:
        return None
    return values["protected_head_tokens"], values["middle_window_tokens"], values["protected_tail_tokens"]


def _zones(values: dict[str, Any], rows: int) -> Zones | None:
    """Zones of the recorded sizes."""
    tokens = _zone_tokens(values)
    if tokens is None:
        return None
    head, middle, tail = tokens
    return Zones(RowKey(0, 0), 1, head, rows - 2, middle, RowKey(rows, 0), 1, tail, TailBudget(tail, tail))


def _overhead(values: dict[str, Any], before: int) -> int:
    """What the recorded zones, which were counted by two estimates, don't sum up to."""
    return before - sum(_zone_tokens(values) or (before,))


def _as_recorded(recorded: Any, value: Any) -> Any:
    """The recorded placeholder where our value is one of the kind it stands for, else our value."""
    if recorded in ("<int>=0>", "<int|null>", "<int>=0|null>"):
        fits = isinstance(value, int) and value >= 0 or (value is None and "null" in recorded)
        return recorded if fits else value
    if recorded in ("<string>", "<32 hex or uuid>"):
        return recorded if isinstance(value, str) else value
    return value


def _type_name(value: Any) -> str:
    return type(value).__name__


def _human_lines() -> tuple[str, ...]:
    base = PassRecord(PassKind.MICRO, Outcome.ABSORBED, rows_before=37, rows_after=36, summary_after="x" * 1843)
    absorbed = PassRecord(PassKind.MICRO, Outcome.ABSORBED, rows_before=37, rows_after=36, edit=_edit_for(1, -1))
    defrag = PassRecord(PassKind.DEFRAG, Outcome.DEFRAG, summary_after=base.summary_after, edit=_edit_for(0, -1))
    failed = PassRecord(PassKind.MICRO, Outcome.SUMMARIZE_FAILED, reason="timeout")
    skipped = PassRecord(
        PassKind.MICRO, Outcome.EXCHANGE_SKIPPED, reason="timeout", cursor_before=RowKey(12, 0), reply=Reply()
    )
    records = (absorbed, defrag, failed, skipped)
    return tuple(line.text for record in records for line in log_lines(record, "s")[1:])


_HUMAN_LINES = _human_lines()

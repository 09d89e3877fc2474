"""Runners for token costs, zones, exchanges, tool pairs and serialising: what the engine makes of recorded messages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from compaction.batch_window import batch_window
from compaction.budgets import TailBudget, head_limit_tokens, tail_budget
from compaction.exchanges import exchanges_from, resolve_cursor
from compaction.markers import PREAMBLE, body_of
from compaction.messages import Message, Role, Row, RowKey, RowKind
from compaction.model_view import Profile, model_view
from compaction.serialise import TOTAL_LIMIT_CHARS, bound, serialise
from compaction.threshold import effective_threshold
from compaction.tokens import RoughCounter, reasoning_tokens, row_tokens
from compaction.transcript import ListTranscript
from compaction.wire import message_from_openai, message_to_openai
from compaction.zones import Zones, find_zones, opening_rows
from tests.compaction.reference_vectors.cases import SENTENCES, Case
from tests.compaction.reference_vectors.settings_runners import policy_of, window_of

COUNTER = RoughCounter()
_MARK = re.compile(r"\n\[\.\.\. [\d,]+ characters of older records left out \.\.\.\]\n")


def messages_of(case: Case) -> list[Message]:
    """The case's messages; the foreign private keys stay in `extras`."""
    return [read_message(raw) for raw in case.input["messages"]]


def read_message(raw: dict[str, Any]) -> Message:
    """One message, whatever its shape."""
    return message_from_openai(raw, lambda problem: None)


def kind_of(raw: dict[str, Any]) -> RowKind:
    """The kind an importer stores for a message of the recorded implementation: by its flags, else by its opening."""
    content = raw.get("content")
    text = content if isinstance(content, str) else ""
    if raw.get("_micro_compact_marker"):
        return RowKind.MICRO_SUMMARY
    is_summary = raw.get("_compressed_summary") or text.startswith((PREAMBLE, SENTENCES["LEGACY"], "{{HISTORICAL"))
    return RowKind.BATCH_SUMMARY if is_summary else RowKind.MESSAGE


def rows_of(raws: Sequence[dict[str, Any]]) -> tuple[Row, ...]:
    """Rows numbered from 0."""
    return tuple(_row(n, raw, read_message(raw)) for n, raw in enumerate(raws))


def _row(number: int, raw: dict[str, Any], message: Message) -> Row:
    tokens, reasoning = row_tokens(message, COUNTER), reasoning_tokens(message, COUNTER)
    return Row(number, number, message, tokens, kind_of(raw), reasoning_tokens=reasoning)


def run_boundaries(case: Case) -> dict[str, Any]:
    """By what the case is about: a text's tokens, a message's cost, the head, an edge, the tail, the middle."""
    if "text" in case.input:
        return {"tokens": COUNTER.count(case.input["text"])}
    if "tail_budget_tokens" in case.expected:
        return _message_cost(case)
    if "protect_head_size" in case.expected:
        return _head(case)
    if "backward" in case.expected:
        return _edges(case)
    return _tail(case) if "tail_start" in case.expected else _middle(case)


def _message_cost(case: Case) -> dict[str, Any]:
    (row,) = rows_of(case.input["messages"])
    return {
        "tail_budget_tokens": row.tokens + (row.reasoning_tokens or 0),
        "tail_budget_tokens_no_stale_thinking": row.tokens,
    }


def _head(case: Case) -> dict[str, Any]:
    """The least the head holds, and where the middle begins once the head is extended to the end of its turn."""
    rows = rows_of(case.input["messages"])
    first_n = policy_of(case).protect_first_n
    zones = find_zones(ListTranscript(rows), first_n, 1, 10**6, TailBudget(1, 1))
    has_system = bool(rows) and rows[0].role is Role.SYSTEM
    return {"protect_head_size": opening_rows(has_system, first_n), "aligned_start": zones.head_rows}


def _edges(case: Case) -> dict[str, Any]:
    """The nearest places, backward and forward, at which no call is parted from its results."""
    messages = messages_of(case)
    index = case.input["index"]
    edges = [place for place in range(len(messages) + 1) if place == len(messages) or not _is_in_round(messages, place)]
    return {
        "backward": max(edge for edge in edges if edge <= index),
        "forward": min(edge for edge in edges if edge >= index),
    }


def _is_in_round(messages: Sequence[Message], place: int) -> bool:
    """Whether the view of the messages from `place` on has to drop results whose call stands before it."""
    rows = tuple(Row(n, n, message, 1) for n, message in enumerate(messages[place:]))
    return any(repair.kind == "dropped_result" for repair in model_view(rows, Profile.FREE).repairs)


def budget_of(case: Case) -> TailBudget:
    """The case's tail budget: overridden, or worked out from its settings."""
    policy, window = policy_of(case), window_of(case)
    override = case.config.get("tail_token_budget_override", case.config.get("tail_token_budget"))
    if override is None:
        return tail_budget(policy, effective_threshold(policy, window), window)
    largest = int((window.context_tokens or 40_960) * 0.20)
    return TailBudget(override, max(override, min(int(1.5 * override), largest)))


def zones_of(case: Case, rows: Sequence[Row]) -> Zones:
    """The zones of the case's rows under its settings."""
    policy, window = policy_of(case), window_of(case)
    limit = head_limit_tokens(policy, effective_threshold(policy, window))
    wanted = policy.min_tail_user_messages
    return find_zones(ListTranscript(rows), policy.protect_first_n, wanted, limit, budget_of(case))


def _tail(case: Case) -> dict[str, Any]:
    """The tail's budget and start behind a head that ends where the case says; no start where a micro pass waits."""
    rows = rows_of(case.input["messages"])
    budget = budget_of(case)
    return {
        "tail_start": _tail_start(rows[case.input["head_end"] :], case, budget) if rows else 0,
        "tail_token_budget": budget.budget_tokens,
        "soft_ceiling": budget.ceiling_tokens,
        "row_tokens": [row.tokens for row in rows],
    }


def _tail_start(behind_head: Sequence[Row], case: Case, budget: TailBudget) -> int | None:
    transcript = ListTranscript(behind_head)
    if not behind_head:
        return len(case.input["messages"])
    zones = find_zones(transcript, 0, policy_of(case).min_tail_user_messages, 0, budget)
    if zones.is_tail_cut and case.config.get("allow_split_turn"):
        zones = batch_window(transcript, replace(zones, head_end=None)).zones
    return None if zones.tail_start is None else zones.tail_start.position


def _middle(case: Case) -> dict[str, Any]:
    rows = rows_of(case.input["messages"])
    transcript = ListTranscript(rows)
    zones = batch_window(transcript, zones_of(case, rows)).zones
    return {
        "compress_start": zones.head_rows,
        "compress_end": zones.head_rows + zones.middle_rows,
        "has_content_to_compress": zones.has_middle,
    }


def run_exchange_selection(case: Case) -> dict[str, Any]:
    """The cursor, the exchange and the recovered summary for zones that the case sets by hand."""
    raws = case.input["messages"]
    rows = rows_of(raws)
    transcript = ListTranscript(rows)
    start, tail_start = RowKey(case.input["head_end"], 0), RowKey(case.input["tail_start"], 0)
    cursor = resolve_cursor(transcript, RowKey(case.input["cursor"], 0), start, tail_start)
    exchange = next(exchanges_from(transcript, cursor, tail_start), None)
    micro = [row for row in transcript.summaries() if row.kind is RowKind.MICRO_SUMMARY]
    return {
        "resolved_cursor": cursor.position + (cursor.id > 0),
        "exchange": exchange and [exchange.first.position, exchange.last.position + 1],
        "rolling_summary_after": body_of(micro[-1].message.text) if micro else case.input["rolling_summary"],
        "rehydrated_indices": [],
    }


@dataclass(frozen=True)
class View:
    """A case's messages as the view leaves them, and which of them are in it."""

    messages: tuple[Message, ...]
    row_ids: tuple[int, ...]


def view_of(case: Case) -> View:
    """The view of the case's messages, with neighbours left apart."""
    rows = tuple(Row(n, n, read_message(raw), 1) for n, raw in enumerate(case.input["messages"]))
    view = model_view(rows, Profile.FREE)
    return View(view.messages, tuple(sorted(row_id for entry in view.entries for row_id in entry.row_ids)))


def run_tool_pairs(case: Case) -> dict[str, Any]:
    """What the view keeps of the messages."""
    view = view_of(case)
    return {
        "kept_indices": list(view.row_ids),
        "dropped_indices": [n for n in range(len(case.input["messages"])) if n not in view.row_ids],
        "messages": [_brief(message_to_openai(message)) for message in view.messages],
    }


def _brief(message: dict[str, Any]) -> dict[str, Any]:
    """A message in the spelling of the cases: calls by id, name and length of their arguments."""
    brief = {key: message[key] for key in ("role", "content", "tool_call_id") if key in message}
    if message.get("tool_calls") is not None:
        brief["tool_calls"] = [_brief_call(call) for call in message["tool_calls"]]
    return brief


def _brief_call(call: dict[str, Any]) -> dict[str, Any]:
    called = call["function"]
    return {"id": call.get("id") or None, "name": called["name"], "args_len": len(called["arguments"])}


def run_serialise(case: Case) -> dict[str, Any]:
    """Messages as text for a summarizer."""
    text = serialise(messages_of(case))
    return {"text": text, "len": len(text)}


def run_bound(case: Case) -> dict[str, Any]:
    """A long text under the cap: how much of its beginning and end is left."""
    text = case.input["text"]
    bounded = bound(text, 160_000)
    unit = text[0]
    return {
        "len": len(bounded),
        "head_kept": len(bounded) - len(bounded.lstrip(unit)),
        "tail_kept": len(bounded) - len(bounded.rstrip(unit)),
        "truncated": bounded != text,
    }


def run_sample(case: Case) -> dict[str, Any]:
    """Many records under the cap: how much of them is left, and which of them can be seen at all."""
    records = _records(case.input["records"])
    whole = "\n\n".join(records)
    bounded = bound(whole, TOTAL_LIMIT_CHARS)
    seen = [n for n, record in enumerate(records) if record[:6] in bounded]
    chars = sum(map(len, records))
    omitted = chars - len(_MARK.sub("", bounded).replace("\n", ""))
    return {
        "len": len(bounded),
        "coverage": {
            "input_chars": chars,
            "sampled_chars": chars - omitted,
            "omitted_chars": omitted,
            "record_count": len(records),
            "sampled_record_count": len(seen),
            "elided_record_count": len(records) - len(seen),
        },
        "records_shown": _ends(seen) if isinstance(case.expected["records_shown"], dict) else seen,
    }


def _records(given: dict[str, Any]) -> list[str]:
    length = int(given["format"].rpartition("+ ")[2].partition(" ")[0])
    return [f"{number:06}" + "r" * length for number in range(given["count"])]


def _ends(numbers: list[int]) -> dict[str, Any]:
    return {"count": len(numbers), "first": numbers[:5], "last": numbers[-5:]}


def shown(value: Any) -> str:
    """A value for a message about a difference."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < 300 else text[:297] + "..."

"""Engine rules worked out anew, in the plainest way, to check what a deviation claims.

Nothing here calls the code it checks: these are the rules as they read, over lists and in no hurry.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from compaction.budgets import TailBudget
from compaction.messages import Role, Row
from tests.compaction.reference_vectors.cases import Case, vectors_folder

MICRO_MARK = "micro compaction telemetry: "
BATCH_MARK = "context compression attempt telemetry: "


def opening_rows(messages: Sequence[dict[str, Any]], protect_first_n: int) -> int:
    """The system prompt and the rows protected behind it."""
    return int(bool(messages) and messages[0].get("role") == "system") + protect_first_n


def starts_turn(rows: Sequence[Row], place: int) -> bool:
    """Whether a person's request begins at `place`."""
    return rows[place].opens_turn and not (place > 0 and rows[place - 1].opens_turn)


def head_end(rows: Sequence[Row], opening: int) -> int:
    """The first place at or behind `opening` where a turn begins. A summary ends the head wherever it stands."""
    for place, row in enumerate(rows):
        if row.is_summary or (place >= opening and starts_turn(rows, place)):
            return place
    return len(rows)


def tail_start(rows: Sequence[Row], head_rows: int, budget: TailBudget, min_user_rows: int) -> int | None:
    """Where the tail of whole turns begins; None when the newest turn alone exceeds the ceiling.

    Turns are taken from the newest back while the budget is not full; the one that crosses it is taken if the ceiling
    allows, or if the wanted number of user rows is not reached yet. What lies right behind the head, or behind the
    last summary, counts as a turn.
    """
    summaries = [place for place, row in enumerate(rows) if row.is_summary]
    head_rows = max(head_rows, summaries[-1] + 1 if summaries else 0)
    places = [place for place in range(head_rows, len(rows)) if place == head_rows or starts_turn(rows, place)]
    start: int | None = None
    for place in reversed(places):
        taken = rows[len(rows) if start is None else start :]
        tokens = sum(row.tokens for row in rows[place:])
        wants_more = sum(row.opens_turn for row in taken) < min_user_rows
        if start is not None and not wants_more and sum(row.tokens for row in taken) >= budget.budget_tokens:
            break
        if tokens > budget.ceiling_tokens and (start is None or not wants_more):
            break
        start = place
    return start if start is not None or places else len(rows)


def edge_within(rows: Sequence[Row], head_rows: int, budget_tokens: int) -> int:
    """The oldest edge between complete groups whose rows to the end fit the budget; the newest group at least."""
    edges = [place for place in range(head_rows, len(rows)) if rows[place].role is not Role.TOOL]
    fitting = [place for place in edges if sum(row.tokens for row in rows[place:]) <= budget_tokens]
    return fitting[0] if fitting else edges[-1]


def log_lines_of(case: Case) -> list[str]:
    """The lines of the case's logs."""
    if "file" in case.input:
        return (vectors_folder() / case.input["file"]).read_text(encoding="utf-8").splitlines()
    lines: list[str] = []
    for content in case.input["files"].values():
        texts = bytes.fromhex(content["bytes_hex"]).decode("utf-8", "replace") if isinstance(content, dict) else content
        lines.extend(texts.splitlines() if isinstance(texts, str) else texts)
    return lines


def commit_status(line: str) -> str | None:
    """The commit status of a batch line; None when it can't be read."""
    try:
        fields = json.loads(line.partition(BATCH_MARK)[2])
    except ValueError:
        return None
    return fields.get("commit_status") if isinstance(fields, dict) else None

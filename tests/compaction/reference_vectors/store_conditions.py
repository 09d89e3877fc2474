"""Conditions of deviations in what the rows of a store mean."""

from __future__ import annotations

from typing import Any

from compaction.messages import RowKind
from tests.compaction.reference_vectors.cases import Case
from tests.compaction.reference_vectors.condition_names import condition
from tests.compaction.reference_vectors.store_runner import number_of, read_store

Said = tuple[str, str]


def _said(pairs: Any) -> set[Said]:
    return {(role, text.strip()) for role, text in pairs}


def _stored(case: Case) -> list[Said]:
    return [(row["role"], row["content"].strip()) for row in case.expected["rows"]]


def _is_joined(said: Said, all_said: set[Said]) -> bool:
    """Whether the text is made of several others of its role, a blank line between."""
    role, text = said
    pieces = text.split("\n\n")
    return len(pieces) > 1 and all((role, piece) in all_said for piece in pieces)


@condition
def rows_are_kept_once(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The store holds a kept row again for every compaction. Ours has each of them once, under its first number, and
    nothing that was said is missing: a text the store joined out of several rows is held as these rows."""
    stored = _stored(case)
    if len(set(stored)) == len(stored):
        return False
    ours = [(str(row.message.role), row.message.text.strip()) for row in read_store(case).rows]
    has_all = all(said in ours or _is_joined(said, set(ours)) for said in stored)
    return has_all and len(ours) < len(stored) and _follows(case, key, expected, got)


def _follows(case: Case, key: str, expected: Any, got: Any) -> bool:
    store = read_store(case)
    if key == "watermark":
        return bool(got == max(number_of(row) for row in store.live) <= expected)
    if key == "display_load":
        shown = _said(got)
        return all(said in shown or _is_joined(said, shown) for said in _said(expected))
    live = {(str(row.message.role), row.message.text.strip()) for row in store.live}
    stored_live = {(row["role"], row["content"].strip()) for row in expected if row["active"]}
    return all(said in live or _is_joined(said, live) for said in stored_live)


@condition
def view_picks_the_role_of_a_summary(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The same texts in the same order; the summary of a batch opens the list, so it speaks as the user."""
    has_summary = any(row.kind is RowKind.BATCH_SUMMARY for row in read_store(case).live)
    texts = ["\n\n".join(text for _role, text, _flags in side) for side in (expected, got)]
    return has_summary and texts[0] == texts[1] and got[0][0] == "user"


@condition
def refused_writer_left_no_trace(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Another program's writer was refused. What it meant to write is not in the store, and reading it is no error."""
    rows = case.expected["rows"]
    initial = [(role, text) for role, text in case.input["initial"]]
    is_untouched = [(row["role"], row["content"]) for row in rows] == initial and all(row["active"] for row in rows)
    return isinstance(expected, str) and got is None and is_untouched

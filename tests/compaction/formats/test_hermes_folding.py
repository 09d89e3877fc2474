"""The law of folding: whatever was done to a store, the live rows after the last event are its active rows.

A small store does what the real one does: rows are appended, undone and compacted in place, in the way of stores that
give rows an identity and in the way of older ones. What was appended is known, so that a row that comes twice shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from source_reading import live_rows, texts

from compaction.formats.events import ImportReport, PassRecorded, RowAppended
from compaction.formats.hermes_sessions import hermes_session
from compaction.formats.hermes_snapshot import MemoryRows

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted."


@dataclass
class Store:
    """Rows of one session, written as a version of the program writes them."""

    has_identity: bool
    rows: list[dict] = field(default_factory=list)
    appended: int = 0
    compacted: int = 0
    undone: int = 0

    def live(self) -> list[dict]:
        return [row for row in self.rows if row["active"]]

    def insert(self, role: str, content: str, uid: str) -> None:
        row = {"role": role, "content": content, "active": 1, "compacted": 0}
        self.rows.append({**row, "message_uid": uid} if self.has_identity else row)

    def append(self, text: str) -> None:
        self.appended += 1
        self.insert("user" if self.appended % 2 else "assistant", text, f"uid{self.appended:029}")

    def undo(self, count: int) -> None:
        live = self.live()
        gone = live[len(live) - count :] if count < len(live) else []
        if not any(row["content"].startswith(SUMMARY) for row in gone):
            self.undone += len(gone)
            for row in gone:
                row["active"] = 0

    def compact(self, head: int, tail: int) -> None:
        live = self.live()
        summaries = [index for index, row in enumerate(live) if row["content"].startswith(SUMMARY)]
        head = min(head, *summaries) if summaries else head
        if len(live) - max(summaries, default=-1) - 1 < tail or head + tail >= len(live):
            return
        self.compacted += 1
        kept = [*live[:head], None, *live[len(live) - tail :]]
        for row in live:
            is_carried = self.has_identity and any(row is one for one in kept)
            row["active"], row["compacted"] = 0, 0 if is_carried else 1
        for row in kept:
            if row is None:
                self.insert("assistant", f"{SUMMARY} {self.compacted}", f"summary{self.compacted}")
            else:
                self.insert(row["role"], row["content"], row.get("message_uid", ""))


def fold(store: Store) -> list:
    records = [dict(row) for row in store.rows]
    session = hermes_session("s", {}, MemoryRows(records), ImportReport("x"))
    return list(session.events())


def stores(words: st.SearchStrategy[str], has_identity: bool | None = None) -> st.SearchStrategy[Store]:
    append = st.tuples(st.just("append"), words)
    undo = st.tuples(st.just("undo"), st.integers(1, 4))
    compact = st.tuples(st.just("compact"), st.integers(0, 3), st.integers(1, 5))
    opening = st.lists(append, min_size=4, max_size=12)
    later = st.lists(st.one_of(append, append, undo, compact), max_size=30)
    steps = st.builds(lambda first, then: [*first, *then], opening, later)
    return st.builds(play, st.booleans() if has_identity is None else st.just(has_identity), steps)


def play(has_identity: bool, steps: list[tuple]) -> Store:
    store = Store(has_identity)
    for name, *given_values in steps:
        getattr(store, name)(*given_values)
    return store


numbered = st.integers(0, 10**9).map(lambda number: f"words {number}")
few_words = st.sampled_from(["ok", "continue", "yes"])


@given(stores(numbered | few_words))
def test_the_live_rows_are_the_active_rows_whatever_was_done(store):
    events = fold(store)
    assert texts(live_rows(events)) == [row["content"] for row in store.live()]


@given(stores(numbered | few_words, has_identity=True))
def test_rows_with_an_identity_come_once_and_every_compaction_is_a_pass(store):
    events = fold(store)
    assert sum(isinstance(event, RowAppended) for event in events) == store.appended
    assert sum(isinstance(event, PassRecorded) for event in events) == store.compacted


@given(st.data())
def test_rows_that_all_say_something_else_come_once_without_an_identity_too(data):
    numbers = iter(range(10**6))
    store = data.draw(stores(st.builds(lambda: f"words {next(numbers)}")))
    events = fold(store)
    assert sum(isinstance(event, RowAppended) for event in events) == store.appended
    assert sum(isinstance(event, PassRecorded) for event in events) == store.compacted

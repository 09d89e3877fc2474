"""Laws that hold for any order of appends, passes, failures, prunes and undos."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from row_builder import RowBuilder, assistant, call, passes_out_of_place, result, user

from compaction.edits import Edit, NewRow, apply_edit
from compaction.messages import Message, Role, RowKind
from compaction.records import Outcome, PassKind, PassRecord
from sessions_app import services
from sessions_app.mapping import message_of, row_of
from sessions_app.models import MessageRow, Session
from sessions_app.queries.moments import rows_as_of
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import Committed
from sessions_app.stored_transcript import StoredTranscript

pytestmark = pytest.mark.django_db
STEPS = ("append", "absorb", "absorb", "prune", "batch", "fail", "stale", "undo", "defrag", "reset")


class Model:
    """What the session should hold, kept in memory by the engine's own `apply_edit`."""

    def __init__(self, session_id):
        self.rows = RowBuilder(session_id)
        self.session_id = session_id
        self.sent = []
        self.seen = {}
        self.absorbed = {}

    def step(self, name, number):
        getattr(self, name)(number)
        live = StoredTranscript.open(self.session_id)
        self.seen[self.rows.session.last_seq] = tuple(live.forward())

    def append(self, number):
        messages = [user(f"question {number}"), call(f"c{number}"), result(f"c{number}", "out " * number)]
        messages = [*messages, assistant(f"answer {number}")]
        self.sent += [new.message for new in messages]
        self.rows.append(*messages)

    def candidates(self, *kinds):
        return [row for row in self.rows.live() if row.kind in kinds and row.role != "user"]

    def absorb(self, number):
        old = [row.pk for row in self.candidates("message", "prune_stub")][:3]
        if old:
            self.commit(*self.rows.absorbing(old, f"summary {number}"))

    def defrag(self, number):
        summary = self.rows.live_micro()
        if summary is not None:
            new = NewRow(RowKind.MICRO_SUMMARY, summary.position, Message(Role.ASSISTANT, f"short {number}"), 12)
            edit = Edit((), (summary.pk,), (new,))
            self.commit(edit, PassRecord(PassKind.DEFRAG, Outcome.DEFRAG, edit=edit, summary_after="short"))

    def prune(self, number):
        results = [row for row in self.candidates("message") if row.role == "tool"][:2]
        stubs = tuple(
            NewRow(
                RowKind.PRUNE_STUB,
                row.position,
                Message(Role.TOOL, "[gone]", tool_call_id=row.tool_call_id),
                11,
                row.pk,
            )
            for row in results
        )
        edit = Edit(tuple(row.pk for row in results), (), stubs)
        self.commit(edit, PassRecord(PassKind.PRUNE, Outcome.PRUNED, edit=edit))

    def batch(self, number):
        middle = self.rows.live()[1:-4]
        if middle:
            new = NewRow(RowKind.BATCH_SUMMARY, middle[0].position, Message(Role.ASSISTANT, f"batch {number}"), 20)
            dead = tuple(row.pk for row in middle if not row.kind.endswith("summary"))
            old = tuple(row.pk for row in middle if row.kind.endswith("summary"))
            edit = Edit(dead, old, (new,))
            self.commit(edit, PassRecord(PassKind.BATCH, Outcome.COMPACTED, edit=edit, summary_after="batch"))

    def commit(self, edit, record):
        before = [row_of(row) for row in self.rows.live()]
        done = self.rows.commit(edit, record)
        assert isinstance(done, Committed)
        if edit.is_empty:
            return
        first_id = min(done.row_ids, default=0)
        assert list(apply_edit(before, edit, first_id)) == [row_of(row) for row in self.rows.live()]
        self.absorbed[done.pass_id] = set(edit.archived)

    def fail(self, number):
        before = list(MessageRow.objects.filter(session_id=self.session_id).order_by("pk").values())
        self.commit(Edit(), PassRecord(PassKind.MICRO, Outcome.SUMMARIZE_FAILED, "empty"))
        assert list(MessageRow.objects.filter(session_id=self.session_id).order_by("pk").values()) == before

    def stale(self, number):
        old = [row.pk for row in self.candidates("message")][:1]
        if old:
            edit, record = self.rows.absorbing(old)
            assert not isinstance(self.rows.commit(edit, record, revision=10**6), Committed)

    def undo(self, number):
        try:
            undone = services.undo_last_pass(self.session_id)
        except services.NothingToUndo:
            return
        del self.absorbed[undone.pass_id]

    def reset(self, number):
        services.reset_session(self.session_id)


def without_ids(rows):
    """Rows as they are apart from their ids."""
    return [replace(row, id=0) for row in rows]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(STEPS), min_size=4, max_size=18))
def test_rows_counters_and_moments_agree_after_any_course_of_events(project, steps):
    model = Model(services.create_session(project).pk)
    for number, name in enumerate(["append", *steps]):
        model.step(name, number)
    session_id = model.session_id
    stored = MessageRow.objects.filter(session_id=session_id)
    assert [message_of(row) for row in stored.filter(kind="message").order_by("position")] == model.sent
    assert counted(model.rows.session) == recounted(session_id)
    assert passes_out_of_place(session_id) == []
    assert stored.filter(kind="micro_summary", died_seq__isnull=True).count() <= 1
    assert {seq: rows_as_of(session_id, seq) for seq in model.seen} == model.seen
    absorbed = [row_id for ids in model.absorbed.values() for row_id in ids]
    assert len(absorbed) == len(set(absorbed))
    assert set(stored.filter(archived_by__isnull=False, kind="message").values_list("pk", flat=True)) == {
        row_id for row_id in absorbed if stored.get(pk=row_id).kind == "message"
    }
    for seq in list(model.seen)[-3:]:
        branch = services.branch_session(session_id, seq)
        assert without_ids(rows_as_of(branch.pk, branch.last_seq)) == without_ids(model.seen[seq])
        assert counted(Session.objects.get(pk=branch.pk)) == recounted(branch.pk)
    transcript = StoredTranscript.open(session_id)
    assert [row.key for row in transcript.backward()] == [row.key for row in transcript.forward()][::-1]
    assert transcript.live_rows == len(list(transcript.forward()))

"""A prune of the engine on stored rows: planned by reading, committed in one statement each, readable for ever."""

import pytest
from row_builder import COUNTER, assistant, call, result, user

from compaction.edits import apply_edit
from compaction.messages import RowKind
from compaction.micro import plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.pass_context import make_context
from compaction.policy import CompactionPolicy
from compaction.prune import plan_prune
from compaction.summarizer import Reply
from compaction.threshold import Window
from sessions_app import services
from sessions_app.models import CompactionPass, MessageRow
from sessions_app.queries.moments import rows_as_of
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import Committed
from sessions_app.stored_transcript import StoredTranscript

pytestmark = pytest.mark.django_db

CONTEXT = make_context(
    CompactionPolicy(
        micro_compact=True,
        proactive_prune_tokens=100,
        proactive_prune_min_result_chars=200,
        proactive_prune_min_reclaim_tokens=50,
        protect_first_n=1,
        target_ratio=0.10,
    ),
    Window(1_000),
    COUNTER,
)


def fill(rows, turns=6):
    """Turns with a long result each; the same text comes back in every second one."""
    rows.append(user("begin"), assistant("begun"))
    for n in range(turns):
        text = "the same line\n" * 30 if n % 2 else f"{n} line\n" * 60
        rows.append(user(f"question {n}"), call(f"c{n}"), result(f"c{n}", text), assistant("done"))
    rows.append(user("thanks"), assistant("welcome"))


def prune(rows):
    transcript = StoredTranscript.open(rows.session_id)
    before = tuple(transcript.forward())
    settled = plan_prune(transcript, transcript.state, CONTEXT)
    done = rows.commit(settled.record.edit, settled.record, transcript.revision, settled.state)
    assert isinstance(done, Committed)
    return before, settled, done


def messages(rows):
    return [(row.key.position, row.kind, row.message, row.tokens) for row in rows]


def test_what_is_stored_is_what_the_edit_does_in_memory(rows):
    fill(rows)
    before, settled, done = prune(rows)
    after = tuple(StoredTranscript.open(rows.session_id).forward())
    assert messages(after) == messages(apply_edit(before, settled.record.edit, 1_000_000))
    assert len(done.row_ids) == len(settled.record.edit.inserted) >= 4
    assert counted(rows.session) == recounted(rows.session_id)
    assert rows.session.live_tokens == settled.record.tokens_after
    assert rows.session.prune_passes == 1
    stored = CompactionPass.objects.get(pk=done.pass_id)
    assert (stored.kind, stored.outcome, stored.committed) == ("prune", "pruned", True)


def test_the_originals_are_archived_whole_and_named_by_their_stubs(rows):
    fill(rows)
    before, settled, done = prune(rows)
    texts = {row.id: row.message.content for row in before}
    for stub in MessageRow.objects.filter(pk__in=done.row_ids).select_related("replaces"):
        original = stub.replaces
        assert (original.position, original.tool_call_id) == (stub.position, stub.tool_call_id)
        assert (original.archived_by_id, original.died_seq, stub.born_seq) == (done.pass_id, done.seq, done.seq)
        assert original.content == texts[original.pk] != stub.content


def test_what_the_model_saw_before_is_still_known_and_undo_brings_it_back(rows):
    fill(rows)
    before, _settled, done = prune(rows)
    assert messages(rows_as_of(rows.session_id, done.seq - 1)) == messages(before)
    services.undo_last_pass(rows.session_id)
    transcript = StoredTranscript.open(rows.session_id)
    assert messages(transcript.forward()) == messages(before)
    assert transcript.state.prune_rearm_tokens is None
    assert counted(rows.session) == recounted(rows.session_id)


def test_after_a_prune_micro_passes_absorb_stubs_like_any_result(rows):
    fill(rows, turns=12)
    prune(rows)
    transcript = StoredTranscript.open(rows.session_id)
    plan = plan_micro(transcript, transcript.state, CONTEXT)
    absorbed = [row for exchange in plan.exchanges for row in exchange.rows]
    assert RowKind.PRUNE_STUB in {row.kind for row in absorbed}
    settled = settle_micro(plan, Reply(text="## Key Decisions\n- read it", finish_reason="stop"))
    rows.commit(settled.record.edit, settled.record, transcript.revision, settled.state)
    live = tuple(StoredTranscript.open(rows.session_id).forward())
    assert not model_view(live).repairs
    assert counted(rows.session) == recounted(rows.session_id)

"""A pass is one short transaction: everything of it is stored, or nothing."""

import threading
from dataclasses import replace
from importlib import import_module

import pytest
from django.apps import apps
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from row_builder import CIRCUMSTANCES, assistant, call, result, user

from compaction.edits import Edit, NewRow
from compaction.messages import Message, Role, RowKey, RowKind
from compaction.records import Outcome, PassKind, PassRecord, Span
from compaction.state import CompactionState
from compaction.summarizer import Reply, Usage
from sessions_app import services
from sessions_app.mapping import state_of
from sessions_app.models import CompactionPass, MessageRow, Session, SessionEvent, SummaryRevision
from sessions_app.queries.moments import row_ids_as_of
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import Committed, Stale

pytestmark = pytest.mark.django_db


def everything(session_id):
    """All that is stored of a session, for comparing before and after."""
    tables = (MessageRow, CompactionPass, SessionEvent, SummaryRevision)
    return Session.objects.filter(pk=session_id).values().get(), [
        list(table.objects.filter(session_id=session_id).order_by("pk").values()) for table in tables
    ]


def test_a_pass_stamps_the_absorbed_rows_and_inserts_one_summary_at_the_first_ones_place(rows):
    ids = rows.append(user("a"), call("c"), result("c", "out"), assistant("done"), user("next"))
    done = rows.absorb(ids[1:4])
    assert isinstance(done, Committed)
    assert rows.texts() == ["a", "what happened so far", "next"]
    summary = rows.live_micro()
    assert (summary.position, summary.made_by_id, summary.born_seq) == (1, done.pass_id, done.seq)
    absorbed = MessageRow.objects.filter(pk__in=ids[1:4])
    assert {(row.died_seq, row.archived_by_id) for row in absorbed} == {(done.seq, done.pass_id)}
    assert counted(rows.session) == recounted(rows.session_id)


def test_the_next_pass_supersedes_the_summary_and_keeps_its_text_as_a_version(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    first = rows.absorb(ids[1:2], "one")
    second = rows.absorb(ids[3:4], "two")
    assert rows.texts() == ["a", "c", "two", "e"]
    versions = SummaryRevision.objects.filter(session_id=rows.session_id).order_by("number")
    assert [(one.number, one.text, one.compaction_pass_id, one.superseded_by_id) for one in versions] == [
        (1, "one", first.pass_id, second.pass_id),
        (2, "two", second.pass_id, None),
    ]


def test_a_micro_pass_writes_two_rows_beside_the_stamps_however_long_the_session_is(rows):
    rows.turns(30)
    ids = [row.pk for row in rows.live()]
    rows.absorb(ids[1:4])
    before = {row.pk: (row.died_seq, row.archived_by_id) for row in MessageRow.objects.all()}
    with CaptureQueriesContext(connection) as short:
        rows.absorb(ids[5:8])
    changed = [row for row in MessageRow.objects.all() if before.get(row.pk) != (row.died_seq, row.archived_by_id)]
    assert len(changed) == 3 + 2
    rows.turns(60)
    with CaptureQueriesContext(connection) as long:
        rows.absorb(ids[9:12])
    assert len(short) == len(long)


def test_a_stale_pass_changes_nothing(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    rows.absorb(ids[1:2])
    before = everything(rows.session_id)
    assert rows.absorb(ids[3:4], revision=0) == Stale(expected_revision=0, found_revision=1)
    assert everything(rows.session_id) == before


def test_an_append_between_plan_and_commit_is_kept_and_the_pass_is_committed(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    edit, record = rows.absorbing(ids[1:2])
    rows.append(assistant("while the summarizer thought"))
    assert isinstance(rows.commit(edit, record, revision=0), Committed)
    assert rows.texts() == ["a", "what happened so far", "c", "while the summarizer thought"]


def test_an_edit_for_rows_that_are_not_live_is_refused_and_changes_nothing(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    edit, record = rows.absorbing(ids[1:2])
    before = everything(rows.session_id)
    with pytest.raises(ValueError, match="not live"):
        rows.commit(replace(edit, archived=(*edit.archived, 10**9)), record)
    assert everything(rows.session_id) == before


def test_a_failed_pass_leaves_every_row_as_it_was_and_is_recorded(rows):
    rows.append(user("a"), assistant("b"), user("c"))
    before = list(MessageRow.objects.order_by("pk").values())
    record = PassRecord(
        PassKind.MICRO,
        Outcome.SUMMARIZE_FAILED,
        "timeout",
        reply=Reply(error="timeout", usage=Usage(input_tokens=900)),
        duration_ms=30_000,
    )
    done = rows.commit(Edit(), record, state=CompactionState(exchange_failures=1, last_error="timeout"))
    assert list(MessageRow.objects.order_by("pk").values()) == before
    stored = CompactionPass.objects.get(pk=done.pass_id)
    assert (stored.committed, stored.outcome, stored.reason, stored.reply_error) == (
        False,
        "summarize_failed",
        "timeout",
        "timeout",
    )
    assert (stored.input_tokens, stored.output_tokens, stored.prompt_user) == (900, None, None)
    session = rows.session
    assert (session.failed_passes, session.micro_passes, session.passes_total) == (1, 0, 1)
    assert state_of(session.state).exchange_failures == 1


def test_what_people_should_know_of_a_pass_is_stored_with_it(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    edit, record = rows.absorbing(ids[1:2])
    done = rows.commit(edit, replace(record, notes=("user rows archived: 0", "torn \ud800")))
    assert CompactionPass.objects.get(pk=done.pass_id).notes == ["user rows archived: 0", "torn \ufffd"]


def test_the_state_of_the_engine_comes_back_equal(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    state = CompactionState(
        cursor=RowKey(2, ids[2]), rolling_summary="s", rolling_summary_tokens=3, paused_until=1.5, passes_total=4
    )
    rows.absorb(ids[1:2], state=state)
    assert state_of(rows.session.state) == state


def test_a_prune_stub_takes_the_place_of_its_original_and_names_it(rows):
    ids = rows.append(user("a"), call("c"), result("c", "long " * 100), assistant("done"))
    stub = NewRow(RowKind.PRUNE_STUB, 2, Message(Role.TOOL, "[pruned]", tool_call_id="c"), 12, replaces=ids[2])
    edit = Edit(archived=(ids[2],), inserted=(stub,))
    rows.commit(edit, PassRecord(PassKind.PRUNE, Outcome.PRUNED, edit=edit))
    assert rows.texts() == ["a", None, "[pruned]", "done"]
    assert rows.live()[2].replaces_id == ids[2]
    assert counted(rows.session) == recounted(rows.session_id)


def test_s01_twenty_passes_add_one_row_each_and_the_tail_keeps_its_ids(rows):
    rows.turns(20)
    tail = rows.append(*(user(f"tail {number}") for number in range(10)))
    exchanges = [[row.pk for row in rows.live() if row.position // 4 == n and row.position % 4] for n in range(20)]
    for exchange in exchanges:
        rows.absorb(exchange)
    assert MessageRow.objects.filter(session_id=rows.session_id).count() == 90 + 20
    assert tuple(row.pk for row in rows.live()[-10:]) == tail
    assert MessageRow.objects.filter(session_id=rows.session_id, content="tail 3").count() == 1


def test_s02_when_the_commit_fails_storage_is_as_before_and_the_session_goes_on(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    before = everything(rows.session_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'disk full'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER fail BEFORE INSERT ON sessions_app_summaryrevision"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.fail()"
        )
    with pytest.raises(DatabaseError, match="disk full"):
        rows.absorb(ids[1:2])
    assert everything(rows.session_id) == before
    rows.append(assistant("later"))
    assert rows.texts() == ["a", "b", "c", "later"]


@pytest.mark.django_db(transaction=True)
def test_s03_of_two_passes_at_once_one_wins_and_the_other_writes_nothing(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    plans = [rows.absorbing(ids[1:2], "one"), rows.absorbing(ids[1:4:2], "two")]
    start, ends = threading.Barrier(2), []

    def commit(plan):
        try:
            start.wait()
            ends.append(rows.commit(*plan, revision=0))
        finally:
            connection.close()

    threads = [threading.Thread(target=commit, args=(plan,)) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(end).__name__ for end in ends) == ["Committed", "Stale"]
    assert MessageRow.objects.filter(kind="micro_summary").count() == 1
    assert CompactionPass.objects.count() == 1
    assert counted(rows.session) == recounted(rows.session_id)


def test_s05_rows_by_role_are_conserved_when_a_pass_comes_in_mid_turn(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), call("x"), result("x", "1"), call("y"))
    rows.absorb(ids[1:2])
    rows.append(result("y", "2"), assistant("done"))
    stored = MessageRow.objects.filter(session_id=rows.session_id, kind="message").values_list("role", flat=True)
    assert sorted(stored) == sorted(
        ["user", "assistant", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    )


def test_undo_brings_the_rows_back_and_keeps_what_was_seen_before(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    rows.absorb(ids[1:2], "one", state=CompactionState(rolling_summary="one"))
    state_before = rows.session.state
    seen = {seq: row_ids_as_of(rows.session_id, seq) for seq in range(rows.session.last_seq + 1)}
    live_before = [row.pk for row in rows.live()]
    second = rows.absorb(ids[3:4], "two", state=CompactionState(rolling_summary="two"))
    seen[second.seq] = tuple(row.pk for row in rows.live())
    undone = services.undo_last_pass(rows.session_id)
    assert undone.pass_id == second.pass_id
    assert [row.pk for row in rows.live()] == live_before
    assert rows.session.state == state_before
    assert rows.session.is_held
    assert {seq: row_ids_as_of(rows.session_id, seq) for seq in seen} == seen
    assert row_ids_as_of(rows.session_id, undone.seq) == tuple(live_before)
    assert counted(rows.session) == recounted(rows.session_id)


def test_undo_goes_back_pass_by_pass_until_nothing_is_left(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    rows.absorb(ids[1:2], "one")
    rows.absorb(ids[3:4], "two")
    services.undo_last_pass(rows.session_id)
    services.undo_last_pass(rows.session_id)
    assert tuple(row.pk for row in rows.live()) == ids
    with pytest.raises(services.NothingToUndo):
        services.undo_last_pass(rows.session_id)


def test_a_pass_planned_before_an_undo_is_stale(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    rows.absorb(ids[1:2])
    edit, record = rows.absorbing(ids[3:4])
    revision = rows.session.compaction_revision
    services.undo_last_pass(rows.session_id)
    assert isinstance(rows.commit(edit, record, revision), Stale)


def test_the_record_of_a_pass_is_stored_with_its_circumstances(rows, project):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    edit, record = rows.absorbing(ids[1:2])
    revision = services.save_policy(project.pk, {"micro_compact": True}, None)
    done = services.archive_and_compact(
        rows.session_id,
        edit=edit,
        state=CompactionState(),
        record=replace(record, tokens_before=150, tokens_after=90, threshold_tokens=900, aux_model="small"),
        expected_revision=0,
        circumstances=replace(CIRCUMSTANCES, policy_revision_id=revision.pk, telemetry={"event": "x\x00"}, turn=1),
    )
    stored = CompactionPass.objects.get(pk=done.pass_id)
    assert (stored.policy_revision_id, stored.telemetry, stored.turn) == (revision.pk, {"event": "x\ufffd"}, 1)
    assert (stored.occupancy_pct, stored.aux_model, stored.main_model) == (10.0, "small", None)
    assert stored.edit["archived"] == [ids[1]]
    assert stored.edit["inserted"][0]["id"] == done.row_ids[0]
    assert (stored.revision_before, stored.revision_after) == (0, 1)


def places(session_id):
    made = CompactionPass.objects.filter(session_id=session_id).order_by("number")
    return list(made.values_list("number", "place_position", "place_id"))


def test_passes_that_archived_nothing_have_a_place_and_those_of_older_databases_get_the_same(rows):
    rows.turns(6)
    ids = [row.pk for row in rows.live()]
    looked_at = Span(RowKey(5, ids[5]), RowKey(6, ids[6]), rows=2, tokens=40)
    rows.commit(Edit(), PassRecord(PassKind.MICRO, Outcome.SUMMARIZE_FAILED, "timeout", exchanges=(looked_at,)))
    rows.commit(Edit(), PassRecord(PassKind.BATCH, Outcome.BLOCKED))
    rows.absorb(ids[1:4])
    rows.absorb(ids[9:12], "both")
    services.undo_last_pass(rows.session_id)
    stored = places(rows.session_id)
    assert stored == [(1, 5, ids[5]), (2, 23, ids[23] + 1), (3, None, None), (4, 23, ids[23] + 1)]
    CompactionPass.objects.filter(session_id=rows.session_id).update(place_position=None, place_id=None)
    with connection.schema_editor() as editor:
        import_module("sessions_app.migrations.0023_index_of_places_of_passes").place_stored_passes(apps, editor)
    assert places(rows.session_id) == stored

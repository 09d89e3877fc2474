"""Branches: a session that goes on from any event of another, and shares nothing with it."""

import pytest
from row_builder import COUNTER, NewMessage, RowBuilder, assistant, call, result, user
from talk import MICRO_PASSES, Talk, passes, with_settings

from compaction.errors import InvalidInput
from compaction.messages import Message, Role
from compaction.state import CompactionState
from sessions_app import services
from sessions_app.mapping import state_of
from sessions_app.models import CompactionPass, MessageRow, RowLifetime, Session, SummaryRevision, Turn
from sessions_app.queries.moments import rows_as_of
from sessions_app.queries.totals import counted, recounted

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project):
    return with_settings(project, MICRO_PASSES)


@pytest.fixture
def session(project):
    return services.create_session(project, "A long talk", window_tokens=8_000, model="main")


@pytest.fixture
def talk(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows)
    talk.turns(12)
    return talk


def seen(session_id, seq):
    return [(row.position, row.kind, row.message, row.tokens, row.by_person) for row in rows_as_of(session_id, seq)]


def test_a_branch_at_any_event_begins_with_what_the_model_saw_there(talk, rows):
    services.undo_last_pass(rows.session_id)
    last = rows.session.last_seq
    for seq in (1, 2, last // 2, last - 1, last):
        branch = services.branch_session(rows.session_id, seq)
        assert seen(branch.pk, branch.last_seq) == seen(rows.session_id, seq)
        stored = Session.objects.get(pk=branch.pk)
        assert counted(stored) == recounted(branch.pk)
        assert stored.last_seq == 1


def test_a_branch_points_to_its_parent_and_takes_over_its_settings(talk, rows):
    branch = services.branch_session(rows.session_id, rows.session.last_seq, "Another way")
    parent = rows.session
    assert (branch.parent_id, branch.parent_link, branch.title) == (parent.pk, "branch", "Another way")
    assert branch.parent_row_id == rows.live()[-1].pk
    assert (branch.model, branch.window_tokens, branch.source) == ("main", 8_000, "hosted")
    assert branch.threshold_tokens == parent.threshold_tokens
    assert branch.public_id != parent.public_id


def test_a_branch_goes_on_from_the_newest_summary(talk, rows):
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    summary = SummaryRevision.objects.filter(session_id=rows.session_id).order_by("-number").first()
    assert state_of(branch.state) == CompactionState()
    other = RowBuilder(branch.pk)
    inherited = other.live_micro()
    first = Talk(other)
    first.turns(3, first=12)
    later = passes(other)
    assert later[0].summary_before == summary.text
    assert later[0].edit["superseded"] == [inherited.pk]
    assert counted(other.session) == recounted(branch.pk)
    assert other.live_micro().pk != inherited.pk


def test_a_branch_numbers_its_turns_on_and_none_of_them_waits(talk, rows):
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    assert branch.turns_total == rows.session.turns_total
    assert not Turn.objects.filter(session_id=branch.pk, ended_at__isnull=True).exists()
    other = RowBuilder(branch.pk)
    other.append(user("and now?"), assistant("so"))
    assert services.finish_turn(branch.pk) == rows.session.turns_total + 1


def test_a_branch_in_the_middle_of_a_turn_can_finish_it_in_its_own_way(talk, rows):
    rows.append(user("which way?"), call("c99"), result("c99", "left"), assistant("left then"))
    services.finish_turn(rows.session_id)
    talk.finalize()
    number = rows.session.turns_total
    answer = MessageRow.objects.get(session_id=rows.session_id, content="left then")
    branch = services.branch_session(rows.session_id, answer.born_seq - 1)
    turn = Turn.objects.get(session_id=branch.pk, number=number)
    assert (turn.is_finished, turn.reply_sent_at, turn.ended_at) == (False, None, None)
    RowBuilder(branch.pk).append(assistant("right then"))
    assert services.finish_turn(branch.pk) == number
    assert Turn.objects.get(session_id=branch.pk, number=number).is_finished
    assert Talk(RowBuilder(branch.pk)).finalize() == 1


def test_the_parent_can_be_deleted_and_the_branch_stays_whole(talk, rows):
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    before = seen(branch.pk, 1)
    deletion = services.delete_session(rows.session_id)
    assert deletion.kept == (branch.public_id,)
    stored = Session.objects.get(pk=branch.pk)
    assert (stored.parent_id, stored.parent_row_id) == (None, None)
    assert seen(branch.pk, 1) == before
    assert counted(stored) == recounted(branch.pk)
    Talk(RowBuilder(branch.pk)).turns(3, first=12)
    assert passes(RowBuilder(branch.pk))


def test_the_branch_can_be_deleted_and_the_parent_stays_whole(talk, rows):
    before = list(MessageRow.objects.filter(session_id=rows.session_id).order_by("pk").values())
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    services.delete_session(branch.pk)
    assert list(MessageRow.objects.filter(session_id=rows.session_id).order_by("pk").values()) == before
    assert not Session.objects.filter(pk=branch.pk).exists()


def test_nothing_of_a_branch_names_a_row_or_pass_of_its_parent(talk, rows):
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    own = MessageRow.objects.filter(session_id=branch.pk)
    assert not own.exclude(made_by=None, archived_by=None, replaces=None).exists()
    assert not CompactionPass.objects.filter(session_id=branch.pk).exists()
    assert not RowLifetime.objects.filter(session_id=branch.pk).exists()
    with pytest.raises(services.NothingToUndo):
        services.undo_last_pass(branch.pk)


def test_a_row_that_a_client_sends_again_to_the_branch_is_known_there(rows):
    rows.append(user("hello", client_id="m1"), assistant("hi", client_id="m2"))
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    again = services.append_rows(branch.pk, [user("hello", client_id="m1")], COUNTER)
    assert (again.added, again.already_present) == (0, 1)


def test_a_branch_of_a_branch_works_like_any(talk, rows):
    first = services.branch_session(rows.session_id, rows.session.last_seq)
    second = services.branch_session(first.pk, 1)
    assert seen(second.pk, 1) == seen(rows.session_id, rows.session.last_seq)
    assert second.parent_id == first.pk


@pytest.mark.parametrize("seq", [0, -1, 10_000])
def test_an_event_that_the_session_does_not_have_is_refused(talk, rows, seq):
    with pytest.raises(InvalidInput, match="the session has events 1 to"):
        services.branch_session(rows.session_id, seq)
    assert Session.objects.count() == 1

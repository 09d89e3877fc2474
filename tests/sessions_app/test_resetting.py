"""Resetting and ending a session: what is cleared, what stays, and that nothing comes back by itself."""

import pytest
from row_builder import COUNTER, NewMessage, assistant, user
from talk import MICRO_PASSES, Talk, passes, with_settings

from compaction.messages import Message, Role
from compaction.state import CompactionState
from sessions_app import services
from sessions_app.mapping import state_of
from sessions_app.models import MessageRow, SessionEvent, SummaryRevision, Turn
from sessions_app.queries.moments import rows_as_of
from sessions_app.queries.replay_rows import rows_for_replay
from sessions_app.queries.totals import counted, recounted

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project):
    return with_settings(project, MICRO_PASSES)


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=8_000, model="main")


@pytest.fixture
def talk(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows)
    talk.turns(12)
    assert len(passes(rows)) > 2
    return talk


def test_a_reset_leaves_the_system_prompt_and_an_engine_that_knows_nothing(talk, rows):
    services.note_failure(rows.session_id, "the disk was full")
    stored = MessageRow.objects.filter(session_id=rows.session_id).count()
    left = rows.session.live_rows - 1
    done = services.reset_session(rows.session_id)
    assert rows.texts() == ["rules"]
    assert done.rows == left
    assert state_of(rows.session.state) == CompactionState()
    assert (rows.session.last_error, rows.session.last_error_at) == ("", None)
    assert counted(rows.session) == recounted(rows.session_id)
    assert MessageRow.objects.filter(session_id=rows.session_id).count() == stored
    assert SessionEvent.objects.get(session_id=rows.session_id, kind="reset").seq == done.seq


def test_what_the_model_saw_before_a_reset_can_still_be_looked_at(talk, rows):
    before, seq = rows_as_of(rows.session_id, rows.session.last_seq), rows.session.last_seq
    services.reset_session(rows.session_id)
    assert rows_as_of(rows.session_id, seq) == before


def test_after_a_reset_passes_begin_anew_and_the_old_summary_does_not_come_back(talk, rows):
    services.reset_session(rows.session_id)
    number, last_seq = len(passes(rows)), rows.session.last_seq
    talk.turns(12, first=20)
    later = passes(rows)[number:]
    assert later
    assert later[0].summary_before == ""
    assert [one.number for one in later] == list(range(number + 1, number + 1 + len(later)))
    assert state_of(rows.session.state).passes_total == len(later)
    archived = MessageRow.objects.filter(pk__in=[row for one in later for row in one.edit["archived"]])
    assert min(archived.values_list("born_seq", flat=True)) > last_seq
    assert counted(rows.session) == recounted(rows.session_id)


def test_passes_from_before_a_reset_cannot_be_undone(talk, rows):
    services.reset_session(rows.session_id)
    with pytest.raises(services.NothingToUndo):
        services.undo_last_pass(rows.session_id)
    assert rows.texts() == ["rules"]


def test_a_request_that_waits_for_its_answer_is_not_continued_after_a_reset(talk, rows):
    rows.append(user("never answered"))
    turns = rows.session.turns_total
    services.reset_session(rows.session_id)
    assert Turn.objects.get(session_id=rows.session_id, number=turns).interrupted
    rows.append(user("something else"), assistant("an answer"))
    assert rows.session.turns_total == turns + 1
    assert services.finish_turn(rows.session_id) == turns + 1


def test_a_replay_after_a_reset_is_fed_with_the_new_conversation(talk, rows):
    services.reset_session(rows.session_id)
    rows.append(user("something else"), assistant("an answer"))
    fed = rows_for_replay(rows.session_id, COUNTER)
    assert [row.message.text for row in fed] == ["rules", "something else", "an answer"]


def test_a_pass_that_was_under_way_during_a_reset_is_stale(talk, rows):
    old = [row.pk for row in rows.live() if row.role == "assistant"][-1:]
    revision = rows.session.compaction_revision
    services.reset_session(rows.session_id)
    assert isinstance(rows.absorb(old, revision=revision), services.Stale)


def test_resetting_twice_changes_nothing_more(talk, rows):
    services.reset_session(rows.session_id)
    assert services.reset_session(rows.session_id).rows == 0
    assert rows.texts() == ["rules"]


def test_ending_a_session_clears_all_state_but_the_totals_and_no_row(talk, rows):
    before, live = state_of(rows.session.state), rows.live()
    services.end_session(rows.session_id, "user_exit")
    after = state_of(rows.session.state)
    assert after == CompactionState(passes_total=before.passes_total, tokens_saved_total=before.tokens_saved_total)
    assert before.passes_total > 0
    assert rows.live() == live


def test_a_session_that_goes_on_after_its_end_starts_from_its_newest_summary(talk, rows):
    services.end_session(rows.session_id, "user_exit")
    newest = SummaryRevision.objects.filter(session_id=rows.session_id).order_by("-number").first()
    number = len(passes(rows))
    absorbed = {row for one in passes(rows) for row in one.edit["archived"]}
    talk.turns(2, first=30)
    later = passes(rows)[number:]
    assert rows.session.status == "idle"
    assert later[0].summary_before == newest.text
    assert not absorbed & {row for one in later for row in one.edit["archived"]}

"""An answer and the end of its turn are one change of the session."""

import pytest
from row_builder import COUNTER, assistant

from compaction.messages import Message, Role
from sessions_app.models import MessageRow, SessionEvent, ToldMessage, Turn
from sessions_app.services import answers
from sessions_app.services.answers import TurnEnd, store_answer
from sessions_app.services.telling import reconcile
from sessions_app.told_history import told_history

pytestmark = pytest.mark.django_db


class ProcessEnded(BaseException):
    pass


def end_the_process(*_, **__):
    raise ProcessEnded


@pytest.fixture
def base(session):
    told = told_history([(Message(Role.USER, "hello"), "{}")])
    return reconcile(session.pk, told, COUNTER).last_prefix


@pytest.mark.parametrize("is_told", [True, False])
def test_a_process_that_ends_before_the_turn_is_over_has_not_stored_the_answer_either(
    session, base, monkeypatch, is_told
):
    before = SessionEvent.objects.count()
    monkeypatch.setattr(answers, "finish_turn", end_the_process)
    with pytest.raises(ProcessEnded):
        store_answer(session.pk, assistant("hi"), TurnEnd.OVER, COUNTER, base=base if is_told else None)
    assert [row.content for row in MessageRow.objects.all()] == ["hello"]
    assert (SessionEvent.objects.count(), ToldMessage.objects.count()) == (before, 1)
    monkeypatch.undo()
    assert store_answer(session.pk, assistant("hi"), TurnEnd.OVER, COUNTER, base=base if is_told else None)
    turn = Turn.objects.get()
    assert turn.is_finished and turn.reply_sent_at is not None


@pytest.mark.parametrize(
    ("turn_end", "sent", "interrupted"), [("goes_on", 0, 0), ("over", 1, 0), ("interrupted", 1, 1)]
)
def test_the_turn_ends_as_the_answer_says(session, base, turn_end, sent, interrupted):
    store_answer(session.pk, assistant("hi"), TurnEnd(turn_end), COUNTER, base=base)
    turn = Turn.objects.get()
    assert (turn.reply_sent_at is not None, turn.interrupted) == (bool(sent), bool(interrupted))


def test_an_answer_that_comes_second_ends_no_turn(session, base):
    assert store_answer(session.pk, assistant("a"), TurnEnd.GOES_ON, COUNTER, base=base) is not None
    assert store_answer(session.pk, assistant("b"), TurnEnd.OVER, COUNTER, base=base) is None
    assert Turn.objects.get().reply_sent_at is None

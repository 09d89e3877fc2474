"""How fast a session grew: what the head says of when the threshold is reached."""

import pytest

from sessions_app import services
from sessions_app.models import MessageRow, Turn
from sessions_app.queries.turn_tokens import tokens_after_turn

pytestmark = pytest.mark.django_db


def number_five_back(session):
    session.refresh_from_db()
    return session.turns_total - 5


def test_the_size_after_a_turn_is_that_after_its_last_row(session, rows):
    rows.turns(6)
    session.refresh_from_db()
    then = session.live_tokens
    rows.turns(5)
    assert tokens_after_turn(session.pk, number_five_back(session)) == then < session.live_tokens
    assert tokens_after_turn(session.pk, 99) is None


def test_in_a_branch_it_is_unknown_until_there_are_turns_of_its_own(session, rows):
    rows.turns(12)
    branch = services.branch_session(session.pk, rows.session.last_seq)
    assert branch.turns_total == 12
    assert tokens_after_turn(branch.pk, number_five_back(branch)) is None


def test_a_row_that_an_undo_brought_back_still_tells_of_when_it_came(session, rows):
    rows.turns(12)
    number = number_five_back(session)
    before = tokens_after_turn(session.pk, number)
    position = Turn.objects.get(session=session, number=number).last_position
    rows.absorb([MessageRow.objects.get(session=session, position=position).pk])
    services.undo_last_pass(session.pk)
    assert MessageRow.objects.get(session=session, position=position, kind="message").born_seq > position + 1
    assert tokens_after_turn(session.pk, number) == before

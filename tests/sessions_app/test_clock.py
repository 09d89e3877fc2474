"""Times that services store: the real ones, except where a session is played again."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from compaction.messages import Message, Role
from compaction.tokens import RoughCounter
from sessions_app import clock, services
from sessions_app.models import SessionEvent, Turn
from sessions_app.queries.waiting import waiting_turns
from sessions_app.services import NewMessage

THEN = datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
REQUEST_AND_ANSWER = (NewMessage(Message(Role.USER, "Go.")), NewMessage(Message(Role.ASSISTANT, "Done.")))


def test_now_is_now():
    before = timezone.now()
    assert before <= clock.now() <= timezone.now()


def test_played_time_stands_still_until_it_is_moved_on():
    with clock.played(THEN) as time:
        assert clock.now() == clock.now() == THEN
        time.pass_by(1.5)
        assert clock.now() == THEN + timedelta(seconds=1.5)
    assert clock.now() > THEN


def test_the_real_time_comes_back_after_an_error():
    with pytest.raises(RuntimeError), clock.played(THEN):
        raise RuntimeError
    assert clock.now() > THEN


def test_what_is_played_is_stored_with_the_time_it_is_played_at(project):
    with clock.played(THEN) as time:
        session = services.create_session(project, "Played", window_tokens=100_000)
        services.append_rows(session.pk, REQUEST_AND_ANSWER, RoughCounter())
        time.pass_by(60)
        services.finish_turn(session.pk)
        services.end_session(session.pk, "done")
    session.refresh_from_db()
    assert (session.started_at, session.ended_at) == (THEN, THEN + timedelta(minutes=1))
    assert {row.at for row in session.rows.all()} == {THEN}
    assert Turn.objects.get(session=session).reply_sent_at == THEN + timedelta(minutes=1)
    assert SessionEvent.objects.filter(session=session, at__gt=THEN + timedelta(minutes=1)).count() == 0


def test_a_turn_can_be_finished_without_asking_for_a_job(project):
    from procrastinate.contrib.django.models import ProcrastinateJob

    session = services.create_session(project, "By hand")
    services.append_rows(session.pk, REQUEST_AND_ANSWER, RoughCounter())
    assert services.finish_turn(session.pk, deferring=False) == 1
    assert ProcrastinateJob.objects.count() == 0
    assert [turn.number for turn in waiting_turns(session.pk)] == [1]


def test_a_name_for_a_hosted_session_is_taken_once_per_project(project):
    services.create_session(project, foreign_id="sample")
    with pytest.raises(IntegrityError), transaction.atomic():
        services.create_session(project, foreign_id="sample")
    assert (
        services.create_session(services.create_project("other", "Other"), foreign_id="sample").foreign_id == "sample"
    )

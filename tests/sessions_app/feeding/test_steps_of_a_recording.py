"""What an agent does with a recorded session: when it appends what, when it finishes a turn, how long it waits."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from row_builder import COUNTER, RowBuilder, assistant, call, result, user

from compaction.errors import InvalidInput
from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.feeding.pace import Pace, rate_named
from sessions_app.feeding.recording import Recording, client_id_at
from sessions_app.feeding.sources import recording_of_session, recordings_named
from sessions_app.feeding.steps import MOST_ROWS, AppendRows, FinishTurn, steps_of
from sessions_app.models import Turn
from sessions_app.samples.catalogue import FAILING
from sessions_app.services import NewMessage

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def system(text):
    return NewMessage(Message(Role.SYSTEM, text))


def recorded(*rows, interrupted_after=()):
    """The rows as a recording: ten seconds apart, with ids by place."""
    timed = [
        NewMessage(row.message, client_id_at(place), row.by_person, START + timedelta(seconds=10 * place))
        for place, row in enumerate(rows)
    ]
    return Recording("test", "A test", tuple(timed), interrupted_after=frozenset(interrupted_after))


def shape(recording):
    """The steps in short: the roles that are appended, or how a turn ends."""
    return [
        (step.turn, "".join(row.message.role[0] for row in step.rows))
        if isinstance(step, AppendRows)
        else (step.turn, "interrupted" if step.interrupted else "finished")
        for step in steps_of(recording)
    ]


def test_rows_are_appended_as_they_come_into_being_and_each_turn_is_finished():
    rows = (system("Be brief."), user("why?"), call("a"), result("a", "x"), result("b", "y"), assistant("so"))
    assert shape(recorded(*rows, user("and?"), assistant("no"))) == [
        (1, "su"),
        (1, "a"),
        (1, "tt"),
        (1, "a"),
        (1, "finished"),
        (2, "u"),
        (2, "a"),
        (2, "finished"),
    ]


def test_a_turn_that_ends_without_an_answer_or_that_the_source_calls_broken_off_is_finished_as_interrupted():
    rows = (user("one"), call("a"), result("a", "x"), user("two"), assistant("half an ans"), user("three"))
    ends = [
        step.interrupted
        for step in steps_of(recorded(*rows, assistant("all"), interrupted_after=["row-4"]))
        if isinstance(step, FinishTurn)
    ]
    assert ends == [True, True, False]


def test_requests_that_follow_each_other_are_one_turn_and_what_a_program_wrote_as_user_opens_none():
    injected = user("the hook says", by_person=False)
    assert shape(recorded(user("one"), user("more"), assistant("ok"), injected, assistant("fine"))) == [
        (1, "uu"),
        (1, "a"),
        (1, "u"),
        (1, "a"),
        (1, "finished"),
    ]


def test_rows_before_any_request_are_appended_but_finish_no_turn():
    assert shape(recorded(system("Be brief."), assistant("Hello!"))) == [(1, "s"), (1, "a")]


def test_many_rows_that_come_at_once_are_appended_in_portions():
    results = [result(f"c{number}", "x") for number in range(2 * MOST_ROWS + 1)]
    steps = list(steps_of(recorded(user("all"), *results)))
    assert [len(step.rows) for step in steps if isinstance(step, AppendRows)] == [1, MOST_ROWS, MOST_ROWS, 1]


def test_every_row_is_appended_once_in_order_without_its_recorded_time():
    recording = recorded(system("s"), user("u"), call("a"), result("a", "r"), assistant("x"), user("v"))
    rows = [row for step in steps_of(recording) if isinstance(step, AppendRows) for row in step.rows]
    assert [row.client_id for row in rows] == [f"row-{place}" for place in range(6)]
    assert [row.message for row in rows] == [row.message for row in recording.rows]
    assert {row.at for row in rows} == {None}


def test_pauses_are_those_between_rows_as_recorded_and_unknown_where_a_time_is():
    recording = recorded(user("u"), assistant("x"), user("v"), assistant("y"))
    rows = list(recording.rows)
    rows[2] = NewMessage(rows[2].message, "row-2", at=None)
    rows[1] = NewMessage(rows[1].message, "row-1", at=START - timedelta(hours=1))
    pauses = [step.pause_seconds for step in steps_of(Recording("k", "t", tuple(rows))) if isinstance(step, AppendRows)]
    assert pauses == [0.0, 0.0, None, None]


def test_a_pace_cuts_long_pauses_stands_in_for_unknown_ones_and_divides_by_the_rate():
    pace = Pace(rate=2.0, longest_pause_seconds=30.0, unknown_pause_seconds=3.0)
    assert [pace.wait_seconds(pause) for pause in (10.0, 3_600.0, None, 0.0)] == [5.0, 15.0, 1.5, 0.0]
    assert Pace(rate=math.inf).wait_seconds(20.0) == 0.0


def test_a_rate_is_a_number_from_nought_or_max():
    assert (rate_named("2.5"), rate_named("0"), rate_named("max")) == (2.5, math.inf, math.inf)
    for text in ("-1", "nan", "fast", ""):
        with pytest.raises(InvalidInput, match="a rate is a number from 0, or max"):
            rate_named(text)


@pytest.mark.django_db
def test_a_stored_session_is_played_without_what_passes_made_and_with_what_they_archived(rows):
    rows.turns(3)
    old = [row.pk for row in rows.live()[1:4]]
    rows.commit(*rows.absorbing(old))
    Turn.objects.filter(session_id=rows.session_id, number=3).update(interrupted=True)
    recording = recording_of_session(rows.session)
    assert [row.message.text for row in recording.rows if row.message.role is Role.USER] == [
        "question 0",
        "question 1",
        "question 2",
    ]
    assert len(recording.rows) == 12
    assert (recording.window_tokens, recording.key) == (200_000, f"stored:{rows.session.public_id}")
    assert recording.interrupted_after == {"row-11"}


@pytest.mark.django_db
def test_steps_played_through_the_services_number_the_turns_as_the_store_does(project):
    recording = recordings_named(FAILING, 1, COUNTER)[0]
    session = RowBuilder(services.create_session(project).pk)
    for step in steps_of(recording):
        if isinstance(step, AppendRows):
            services.append_rows(session.session_id, step.rows, COUNTER)
            assert session.session.turns_total == step.turn
        else:
            assert services.finish_turn(session.session_id, deferring=False) == step.turn
    assert [row.content for row in session.live()] == [row.message.content for row in recording.rows]


def test_a_file_with_several_sessions_gives_as_many_as_are_asked_for_but_none_without_rows(tmp_path):
    path = tmp_path / "export.jsonl"
    told = {"one": [{"role": "user", "content": "hi"}], "empty": [], "two": [{"role": "user", "content": "ho"}]}
    lines = [json.dumps({"id": name, "source": "cli", "messages": messages}) for name, messages in told.items()]
    path.write_text("\n".join(lines) + "\n")
    found = recordings_named(str(path), 5, COUNTER)
    assert [one.rows[0].message.text for one in found] == ["hi", "ho"]
    assert found[0].key != found[1].key
    assert recordings_named(str(path), 1, COUNTER) == found[:1]


@pytest.mark.django_db
def test_a_name_of_nothing_is_refused_with_what_there_is():
    with pytest.raises(InvalidInput, match="nothing-here: there is no such session.* flaky_summarizer"):
        recordings_named("nothing-here", 1, COUNTER)

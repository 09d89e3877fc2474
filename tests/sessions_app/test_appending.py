import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from row_builder import COUNTER, assistant, call, result, user

from compaction.messages import ImagePart, Message, OtherPart, Role, TextPart, ToolCall
from compaction.tokens import row_tokens
from sessions_app import services
from sessions_app.mapping import message_of
from sessions_app.models import MessageRow, Session, SessionEvent, Turn
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import NewMessage

BUGS = Path(settings.BASE_DIR) / "tests" / "data" / "bugs"
pytestmark = pytest.mark.django_db


def test_rows_get_rising_positions_and_one_event_each(rows):
    rows.append(user("a"), assistant("b"))
    rows.append(user("c"))
    stored = list(MessageRow.objects.filter(session_id=rows.session_id).order_by("id"))
    assert [(row.position, row.born_seq, row.content) for row in stored] == [(0, 1, "a"), (1, 2, "b"), (2, 3, "c")]
    events = SessionEvent.objects.filter(session_id=rows.session_id).order_by("seq")
    assert [(event.seq, event.kind, event.first_position, event.live_rows) for event in events] == [
        (1, "appended", 0, 1),
        (2, "appended", 1, 2),
        (3, "appended", 2, 3),
    ]
    assert events[2].live_tokens == rows.session.live_tokens == sum(row.tokens for row in stored)


MESSAGES = [
    Message(Role.SYSTEM, "rules"),
    Message(Role.USER, (TextPart("look"), ImagePart('{"type":"image_url","b":1,"a":2}'), OtherPart("audio", "{}"))),
    Message(
        Role.ASSISTANT,
        None,
        (ToolCall("c1", "bash", "not json {", ("c1|fc",), '{"index":0}'), ToolCall(None, "x", "")),
        reasoning="because",
    ),
    Message(Role.TOOL, "", tool_call_id="c1", name="bash", extras='{"is_error":true}'),
    Message(Role.ASSISTANT, ()),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.role)
def test_a_message_comes_back_as_it_went_in(rows, message):
    (row_id,) = rows.append(NewMessage(message))
    row = MessageRow.objects.get(pk=row_id)
    assert message_of(row) == message
    assert row.tokens == row_tokens(message, COUNTER)
    assert not row.is_repaired


def test_sending_the_same_client_id_again_changes_nothing(rows):
    first = services.append_rows(rows.session_id, [user("a", client_id="1"), assistant("b", client_id="2")], COUNTER)
    before = counted(rows.session)
    again = services.append_rows(rows.session_id, [user("a", client_id="1"), assistant("c", client_id="3")], COUNTER)
    assert (again.added, again.already_present) == (1, 1)
    assert again.row_ids[0] == first.row_ids[0]
    assert rows.texts() == ["a", "b", "c"]
    assert rows.session.live_rows == before["live_rows"] + 1


def test_a_client_id_twice_in_one_append_is_one_row(rows):
    sent = services.append_rows(rows.session_id, [user("a", client_id="1"), user("a", client_id="1")], COUNTER)
    assert sent.added == 1
    assert sent.row_ids[0] == sent.row_ids[1]


def test_s07_half_a_surrogate_pair_is_replaced_and_later_rows_are_saved(rows):
    lines = (BUGS / "S07_lone_surrogate.jsonl").read_text(encoding="utf-8").splitlines()
    messages = [json.loads(line) for line in lines]
    rows.append(
        *(
            NewMessage(Message(Role(one["role"]), one["content"], tool_call_id=one.get("tool_call_id")))
            for one in messages
        )
    )
    stored = rows.live()
    assert [row.content for row in stored] == [
        "before",
        "bad \ufffd half and \ufffd other",
        "title \ufffd nul",
        "after one",
        "after two",
    ]
    assert [row.is_repaired for row in stored] == [False, True, True, False, False]


def test_s11_the_same_fifty_rows_posted_again_after_a_pass_change_nothing(rows):
    def fifty(hour):
        at = datetime(2026, 1, 1, hour, tzinfo=UTC)
        return [(user if n % 2 == 0 else assistant)(f"row {n}", client_id=f"seq-{n}", at=at) for n in range(50)]

    row_ids = rows.append(*fifty(1))
    rows.absorb(row_ids[3:4])
    before, texts = counted(rows.session), rows.texts()
    again = services.append_rows(rows.session_id, fifty(5), COUNTER)
    assert (again.added, again.already_present, again.row_ids) == (0, 50, row_ids)
    assert (counted(rows.session), rows.texts()) == (before, texts)


def test_s18_order_is_by_position_whatever_the_clocks_say(rows):
    late, early = datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC), datetime(2026, 1, 1, 12, 0, 3, tzinfo=UTC)
    ids = rows.append(user("old question", at=late), assistant("old answer", at=late))
    rows.absorb(ids[1:], "summary of old")
    rows.append(user("REAL newest question", at=late), assistant("clock went back", at=early))
    assert rows.texts() == ["old question", "summary of old", "REAL newest question", "clock went back"]
    newest_user = [row for row in rows.live() if row.role == "user"][-1]
    assert (newest_user.content, newest_user.kind) == ("REAL newest question", "message")
    assert rows.session.last_activity_at == late


def test_s17_rows_are_stored_as_they_arrive_and_the_session_shows_as_live(rows):
    rows.append(user("a"), call("c"), result("c", "out"))
    assert MessageRow.objects.filter(session_id=rows.session_id).count() == 3
    session = Session.objects.get(pk=rows.session_id)
    assert session.status == "live"
    assert session.last_activity_at is not None
    assert session.ended_at is None


def test_a_turn_opens_at_a_persons_row_and_neighbouring_ones_share_it(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")), user("a"), user("and b"), call("c"), result("c", "out"))
    rows.append(user("note of a tool", by_person=False), assistant("done"))
    rows.append(user("next"))
    turns = Turn.objects.filter(session_id=rows.session_id).order_by("number")
    assert [(turn.number, turn.first_position, turn.last_position, turn.is_finished) for turn in turns] == [
        (1, 1, 6, True),
        (2, 7, 7, False),
    ]
    assert [row.turn for row in rows.live()] == [None, 1, 1, 1, 1, 1, 1, 2]


def test_a_turn_that_nobody_finished_ends_as_interrupted_when_the_next_one_begins(rows):
    rows.append(user("a"), assistant("b"))
    rows.append(user("c"), call("x"))
    rows.append(user("d"))
    turns = Turn.objects.filter(session_id=rows.session_id).order_by("number")
    assert [(turn.interrupted, turn.ended_at is None) for turn in turns] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_two_persons_rows_in_two_appends_are_one_turn(rows):
    rows.append(user("a"))
    rows.append(user("b"))
    assert rows.session.turns_total == 1


def test_finishing_a_turn_asks_for_its_pass_once(rows):
    rows.append(user("a"), assistant("b"))
    assert services.finish_turn(rows.session_id) == 1
    assert services.finish_turn(rows.session_id) is None
    with connection.cursor() as cursor:
        cursor.execute("SELECT args->>'session_id', lock FROM procrastinate_jobs WHERE task_name LIKE '%finalize_turn'")
        assert cursor.fetchall() == [(str(rows.session_id), f"session-{rows.session_id}")]


@pytest.mark.django_db(transaction=True)
def test_appends_of_many_threads_get_positions_without_gap_or_repeat(rows):
    def append_ten():
        try:
            for number in range(10):
                rows.append(user(f"{threading.get_ident()} {number}"))
        finally:
            connection.close()

    threads = [threading.Thread(target=append_ten) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = MessageRow.objects.filter(session_id=rows.session_id).order_by("position")
    assert [row.position for row in stored] == list(range(50))
    assert [row.born_seq for row in stored] == list(range(1, 51))
    assert [row.pk for row in stored] == sorted(row.pk for row in stored)
    assert counted(rows.session) == recounted(rows.session_id)

"""A told history brought together with what is stored: what is kept, appended, taken back, branched."""

import json
import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from gateway_client import assistant, call, live_texts, result, texts_of, user
from row_builder import COUNTER, RowBuilder

from compaction.errors import InvalidInput
from compaction.wire import message_from_openai
from sessions_app import services
from sessions_app.gateway.asking import read_asked
from sessions_app.gateway.places import place
from sessions_app.models import MessageRow, Session, SessionEvent, ToldMessage, Turn
from sessions_app.queries.told import known_prefixes
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import NewMessage
from sessions_app.services.rewinding import rewind_session
from sessions_app.services.telling import MustBranch, reconcile, store_told_answer

pytestmark = pytest.mark.django_db


def asked(*messages, session=None, retry="0"):
    headers = {"X-Stainless-Retry-Count": retry, **({} if session is None else {"X-Hermes-Session": session})}
    return read_asked(json.dumps({"messages": messages}).encode(), headers)


def read(mapping):
    return message_from_openai(mapping, lambda problem: None)


def tell(session, *messages):
    return reconcile(session.pk, asked(*messages).told, COUNTER)


def answer(project, text, *messages, **named):
    """One request as the gateway handles it, with a scripted answer; returns the session."""
    placed = place(project, asked(*messages, **named))
    new = NewMessage(read(assistant(text)))
    store_told_answer(placed.session.pk, placed.reconciled.last_prefix, new, COUNTER)
    services.finish_turn(placed.session.pk, deferring=False)
    return placed.session


def absorb(session, *positions):
    rows = RowBuilder(session.pk)
    rows.absorb(list(MessageRow.objects.filter(session=session, position__in=positions).values_list("pk", flat=True)))


def is_consistent(session):
    session.refresh_from_db()
    return counted(session) == recounted(session.pk)


ASKED = call("c1", arguments='{"a":2,"b":[1]}')
TALK = (user("one"), assistant("first"), user("two"), assistant("second"), user("three"), assistant("third"))


def test_the_same_history_again_adds_nothing(session):
    first = tell(session, *TALK)
    again = tell(session, *TALK)
    assert (first.added, again.added, again.kept) == (6, 0, 6)
    assert first.row_keys == again.row_keys
    assert len(live_texts(session)) == 6


def test_a_history_that_goes_on_adds_its_end(session):
    tell(session, *TALK[:3])
    assert tell(session, *TALK).added == 3
    assert live_texts(session) == ["one", "first", "two", "second", "three", "third"]


def test_rows_that_a_pass_folded_away_count_as_told(session):
    tell(session, *TALK)
    absorb(session, 1, 3)
    done = tell(session, *TALK, user("four"))
    assert (done.added, done.rewound) == (1, 0)
    assert texts_of(session) == ["one", "first", "two", "second", "three", "third", "four"]


def test_what_a_client_no_longer_says_is_taken_back_and_stays_readable(session):
    tell(session, *TALK)
    done = tell(session, *TALK[:4], user("three, but otherwise"))
    assert (done.kept, done.rewound, done.added) == (4, 2, 1)
    assert live_texts(session) == ["one", "first", "two", "second", "three, but otherwise"]
    assert texts_of(session, died_seq__isnull=False) == ["three", "third"]
    assert [event.kind for event in SessionEvent.objects.order_by("seq")][6:] == ["rewound", "appended"]
    assert is_consistent(session) and session.compaction_revision == 1 and session.rewound_rows == 2


def test_an_answer_that_is_taken_back_lets_its_turn_go_on(project):
    session = answer(project, "first", user("one"), session="mine")
    assert Turn.objects.get().reply_sent_at is not None
    placed = place(project, asked(user("one"), session="mine"))
    assert placed.reconciled.rewound == 1
    turn = Turn.objects.get()
    assert (turn.reply_sent_at, turn.is_finished, turn.last_position) == (None, False, 0)
    answer(project, "better", user("one"), session="mine")
    assert live_texts(session) == ["one", "better"]
    assert Turn.objects.get().is_finished


def test_nothing_that_a_pass_folded_away_is_taken_back_in_place(session):
    tell(session, *TALK)
    absorb(session, 1, 3)
    assert tell(session, user("one"), assistant("first"), user("something else")) == MustBranch(2)
    assert live_texts(session) == ["one", "two", "three", "third"]
    with pytest.raises(InvalidInput, match="branch"):
        rewind_session(session.pk, 2)


def test_a_named_session_that_goes_back_behind_a_pass_goes_on_in_a_branch_and_stays_there(project):
    session = answer(project, "third", *TALK[:5], session="mine")
    absorb(session, 1, 3)
    back = [user("one"), assistant("first"), user("two, but otherwise")]
    branch = answer(project, "otherwise", *back, session="mine")
    assert branch != session and branch.parent == session
    assert live_texts(branch) == ["one", "first", "two, but otherwise", "otherwise"]
    assert live_texts(session) == ["one", "two", "three", "third"]
    again = answer(project, "more", *back, assistant("otherwise"), user("go on"), session="mine")
    assert again == branch and Session.objects.count() == 2
    assert is_consistent(branch) and is_consistent(session)


def test_a_branch_of_a_compacted_session_knows_the_history_its_parent_keeps(project):
    session = answer(project, "third", *TALK[:5], session="mine")
    absorb(session, 1)
    tell(session, *TALK, user("four"))
    back = [*TALK, user("four, but otherwise")]
    absorb(session, 3)
    tell(session, *TALK, user("four"), assistant("fourth"), user("five"), assistant("fifth"))
    absorb(session, 5, 7)
    branch = answer(project, "otherwise", *back, session="mine")
    assert branch.parent == session
    kinds = list(MessageRow.objects.filter(session=branch).order_by("position").values_list("kind", flat=True))
    assert "micro_summary" in kinds
    longer = answer(project, "done", *back, assistant("otherwise"), user("on"), session=branch.public_id)
    assert longer == branch
    assert ToldMessage.objects.filter(session=branch).count() == 10
    assert live_texts(branch)[-4:] == ["four, but otherwise", "otherwise", "on", "done"]


@pytest.mark.parametrize(
    "sent_back",
    [
        {"role": "assistant", "content": "", "tool_calls": ASKED["tool_calls"], "refusal": None, "audio": None},
        {"role": "assistant", "tool_calls": [{**ASKED["tool_calls"][0], "index": 0}]},
        call("c1", arguments='{"b": [1], "a": 2}'),
    ],
)
def test_an_answer_is_recognised_in_the_words_of_its_client(session, sent_back):
    tell(session, user("look"), ASKED)
    done = tell(session, user("look"), sent_back, result("c1", "a cat"))
    assert (done.kept, done.added) == (2, 1)


def test_blanks_around_an_answer_and_a_single_part_of_text_are_no_difference(session):
    tell(session, user("hello"), assistant(" hi \n"))
    parts = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
    assert tell(session, parts, assistant("hi"), user("more")).kept == 2
    assert tell(session, user("hello "), assistant("hi"), user("more")).kept == 0


def test_a_client_that_drops_its_oldest_messages_by_itself_goes_on_with_its_session(project):
    session = answer(project, "third", *TALK[:5], session="mine")
    again = answer(project, "fourth", *TALK[2:], user("four"), session="mine")
    assert again == session
    assert live_texts(session) == ["one", "first", "two", "second", "three", "third", "four", "fourth"]


def test_rows_that_came_by_another_way_belong_to_the_history(session):
    rows = RowBuilder(session.pk)
    rows.append(NewMessage(read({"role": "system", "content": "rules"})), *(NewMessage(read(one)) for one in TALK[:2]))
    assert tell(session, *TALK[:3]).added == 1
    rows.append(NewMessage(read(TALK[3])))
    assert tell(session, *TALK).added == 2
    services.reset_session(session.pk)
    assert tell(session, user("anew")).added == 1
    assert live_texts(session) == ["rules", "anew"]


def test_an_answer_that_comes_second_is_not_stored(session):
    base = tell(session, user("one")).last_prefix
    first = store_told_answer(session.pk, base, NewMessage(read(assistant("a"))), COUNTER)
    second = store_told_answer(session.pk, base, NewMessage(read(assistant("b"))), COUNTER)
    assert first is not None and second is None
    assert live_texts(session) == ["one", "a"]


def test_a_session_that_is_not_named_is_found_by_the_history_it_continues(project):
    session = answer(project, "first", user("one"))
    assert answer(project, "second", *TALK[:3]) == session
    assert live_texts(session) == ["one", "first", "two", "second"]


def test_two_conversations_that_begin_with_the_same_words_stay_two(project):
    first = answer(project, "first", user("one"))
    second = answer(project, "other", user("one"))
    assert first != second
    assert answer(project, "a", user("one"), assistant("first"), user("and?")) == first
    assert answer(project, "b", user("one"), assistant("other"), user("and?")) == second
    assert live_texts(first) == ["one", "first", "and?", "a"]


def test_two_conversations_that_are_the_same_up_to_an_answer_part_where_they_part(project):
    first = answer(project, "first", user("one"))
    second = answer(project, "first", user("one"))
    assert first != second
    third = answer(project, "x", user("one"), assistant("first"), user("left"))
    fourth = answer(project, "y", user("one"), assistant("first"), user("right"))
    assert third != fourth
    assert live_texts(third) == ["one", "first", "left", "x"]
    assert live_texts(fourth) == ["one", "first", "right", "y"]


def test_going_back_without_a_name_leaves_the_session_alone_and_goes_on_in_a_branch(project):
    session = answer(project, "third", *TALK[:5])
    branch = answer(project, "else", *TALK[:2], user("two, but otherwise"))
    assert branch.parent == session
    assert len(live_texts(session)) == 6
    assert live_texts(branch) == ["one", "first", "two, but otherwise", "else"]
    assert answer(project, "fourth", *TALK, user("four")) == session


def test_a_long_history_is_found_at_its_end_and_where_it_was_left_long_ago(project):
    long = tuple(make(f"{number}") for number in range(30) for make in (user, assistant))
    session = answer(project, "so", *long, user("last"))
    others = [answer(project, "elsewhere", long[0], session=f"other {number}") for number in range(25)]
    known = known_prefixes(project.pk, [one.prefix for one in asked(*long, user("last"), assistant("so")).told])
    with CaptureQueriesContext(connection) as sought:
        first = next(known)
    assert (first.session_id, first.known, first.length, first.ends_in_answer) == (session.pk, 62, 62, True)
    assert len(sought) == 2, "what many sessions begin with is not looked at"
    left = answer(project, "branch", *long[:10], *(user(f"anew {number}") for number in range(40)))
    assert left.parent == session and left not in others
    newest_first = list(known_prefixes(project.pk, [asked(long[0]).told[0].prefix], most=3))
    assert [one.session_id for one in newest_first] == [left.pk, others[-1].pk, others[-2].pk]


def test_asking_the_last_question_again_replaces_its_answer(project):
    session = answer(project, "second", *TALK[:3])
    assert answer(project, "better", *TALK[:3]) == session
    assert live_texts(session) == ["one", "first", "two", "better"]


@pytest.mark.parametrize(("retry", "is_same"), [("1", True), ("0", False)])
def test_a_first_question_that_comes_again_is_the_same_conversation_only_if_it_says_so(project, retry, is_same):
    session = answer(project, "first", user("one"))
    assert (answer(project, "again", user("one"), retry=retry) == session) is is_same


def test_another_project_has_other_conversations(project):
    other = services.create_project("elsewhere", "Elsewhere")
    session = answer(project, "second", *TALK[:3], session="mine")
    for named in ({}, {"session": "mine"}, {"session": session.public_id}):
        assert answer(other, "third", *TALK[:5], **named) != session
    assert len(live_texts(session)) == 4


def test_a_session_that_is_deleted_takes_its_told_history_with_it(project):
    session = answer(project, "second", *TALK[:3])
    services.delete_session(session.pk)
    assert not ToldMessage.objects.exists()


def test_whatever_is_told_the_live_rows_end_as_the_told_history(project):
    """Random clients: they go on, ask again, edit, drop answers, while passes fold rows away."""
    chance = random.Random(5)
    for name in ("a", "b"):
        history = []
        for step in range(20):
            if history and chance.random() < 0.25:
                history = history[: chance.randrange(0, len(history), 2)]
            history.append(user(f"{name} {step} {chance.randrange(3)}"))
            session = answer(project, f"answer {step}", *history, session=name)
            told = [one["content"] for one in history] + [f"answer {step}"]
            entries = ToldMessage.objects.filter(session=session).order_by("number")
            rows = {row.pk: row.content for row in MessageRow.objects.filter(pk__in=[one.row_key for one in entries])}
            assert [rows[one.row_key] for one in entries] == told
            live = live_texts(session)
            assert live == told[len(told) - len(live) :] or set(live) <= set(told)
            history.append(assistant(f"answer {step}"))
            agents = [row for row in RowBuilder(session.pk).live() if row.role == "assistant" and row.kind == "message"]
            if len(agents) > 4 and chance.random() < 0.5:
                RowBuilder(session.pk).absorb([agents[0].pk])
            assert is_consistent(session)

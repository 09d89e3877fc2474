"""Searching sessions and their rows, over real HTTP requests of the test client and the real index."""

import re
from html import unescape
from io import StringIO

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from row_builder import RowBuilder, assistant, call, result, user

from compaction.messages import Message, Role, TextPart
from sessions_app import services
from sessions_app.models import MemberRole, MessageRow, RowWords
from sessions_app.pages import session_list
from sessions_app.services import NewMessage
from sessions_app.services.branching import branch_session
from sessions_app.services.deleting import delete_session

HIT = re.compile(r'<span class="hit-line"><span class="tag[^"]*">([^<]*)</span><a [^>]*href="([^"]*)">.*?(<q.*?</q>)')

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(project):
    return client_of(project, "olga")


def client_of(project, name):
    person = User.objects.create_user(name)
    services.add_member(project, person, MemberRole.OWNER)
    client = Client()
    client.force_login(person)
    return client


def found(client, words, **filters):
    """Public ids of the sessions that a search lists."""
    return re.findall(r'data-session="([^"]+)"', searched(client, words, **filters))


def searched(client, words, **filters):
    response = client.get("/", {"q": words, **filters})
    assert response.status_code == 200
    return response.content.decode()


def hits(html):
    """The hits a page shows: what became of the row, its address, its text."""
    return [
        (fate, unescape(address), unescape(re.sub("<[^>]+>", "", text))) for fate, address, text in HIT.findall(html)
    ]


def rows_without_words():
    return MessageRow.objects.filter(words__isnull=True).count()


def test_a_session_is_found_by_the_text_of_an_archived_row_and_the_hit_opens_it(client, session, rows):
    rows.turns(6)
    first = rows.append(user("where did the flamingo go?"), assistant("It flew to the lagoon."))
    rows.turns(2)
    rows.absorb(list(first), text="## Key Decisions\n- birds were discussed")
    html = searched(client, "flamingo")
    ((fate, address, text),) = hits(html)
    assert (fate, text) == ("archived, pass 1", "where did the flamingo go?")
    assert "<mark>flamingo</mark>" in html
    position = MessageRow.objects.get(pk=first[0]).position
    page = client.get(address.partition("#")[0]).content.decode()
    assert address.endswith(f"#r{position}")
    assert f'id="r{position}"' in page


def test_two_chinese_characters_find_their_session_and_no_other(client, project, session, rows):
    rows.append(user("这里的检索没有结果"))
    other = services.create_session(project, "Another")
    RowBuilder(other.pk).append(user("检查索引"))
    assert found(client, "检索") == [session.public_id]
    assert found(client, "检查") == [other.public_id]
    assert set(found(client, "检")) == {session.public_id, other.public_id}


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        ("lagoon flamingo", True),
        ('"flamingo lagoon"', False),
        ('"the lagoon"', True),
        ("flam", True),
        ('"flam"', False),
        ("flamingo -lagoon", False),
        ("flamingo -desert", True),
        ("sessions_app/pages/walk.py", True),
        ("pages/walk", True),
        ("pages/walker", False),
        ("call_9f3ab7c2", True),
        ("error[E0382]:", True),
        ("550e8400-e29b-41d4-a716-446655440000", True),
        ("AttributeError: 'NoneType'", True),
        ("attributeerror", True),
        ("read_file", True),
    ],
)
def test_what_people_type_and_paste_finds_what_it_should(client, session, rows, words, is_found):
    rows.append(
        user("the flamingo of the lagoon, see sessions_app/pages/walk.py and 550e8400-e29b-41d4-a716-446655440000"),
        call("call_9f3ab7c2", "read_file", '{"path": "x"}'),
        result("call_9f3ab7c2", "error[E0382]: borrow of moved value\nAttributeError: 'NoneType' object"),
    )
    assert found(client, words) == ([session.public_id] if is_found else [])


def test_titles_and_ids_are_found_by_any_part_of_them(client, session, rows):
    rows.turns(1)
    assert found(client, "ong revi") == [session.public_id]
    assert found(client, session.public_id[3:12]) == [session.public_id]
    assert found(client, "long -review") == []


def test_texts_in_parts_reasoning_and_arguments_are_searched(client, session, rows):
    rows.append(
        NewMessage(Message(Role.USER, (TextPart("first pelican"), TextPart("second heron")))),
        NewMessage(Message(Role.ASSISTANT, "yes", reasoning="thinking of an albatross")),
        call("c1", "write_file", '{"text": "a kingfisher"}'),
    )
    for word in ("pelican", "heron", "albatross", "kingfisher"):
        html = searched(client, word)
        assert f"<mark>{word}</mark>" in html


def test_nobody_finds_rows_of_a_project_they_are_no_member_of(client, session, rows):
    rows.append(user("the secret flamingo"))
    elsewhere = client_of(services.create_project("other", "Other"), "stranger")
    RowBuilder(services.create_session(services.create_project("third", "Third"), "t").pk).append(user("flamingo"))
    assert found(client, "flamingo") == [session.public_id]
    html = searched(elsewhere, "flamingo")
    assert "secret" not in html and hits(html) == []


def test_a_search_keeps_to_the_filters_and_says_how_much_it_found(client, project, session, rows):
    other = services.create_session(project, "Another")
    RowBuilder(other.pk).append(user("flamingo"), user("one more flamingo"), user("flamingo flamingo"))
    first = rows.append(user("flamingo"), assistant("gone"))
    rows.append(user("next"), assistant("yes"))
    rows.absorb(list(first), text="## Key Decisions\n- none")
    html = searched(client, "flamingo")
    assert "<b>4 rows</b> match" in html and "<b>1 of them archived</b>, in 2 sessions" in html
    assert "+1 more" in html
    assert found(client, "flamingo", has_batch="on") == []


def test_hits_of_a_superseded_summary_lead_to_its_version(client, session, rows):
    rows.turns(8)
    live = [row for row in rows.live() if row.kind == "message"]
    rows.absorb([row.pk for row in live[4:8]], text="## Key Decisions\n- a heron was seen")
    live = [row for row in rows.live() if row.kind == "message"]
    rows.absorb([row.pk for row in live[4:8]], text="## Key Decisions\n- a pelican was seen")
    assert [(fate, address) for fate, address, _ in hits(searched(client, "heron"))] == [
        ("summary v1, superseded", f"/s/{session.public_id}/summary/1/")
    ]
    ((fate, address, _),) = hits(searched(client, "pelican"))
    assert (fate, address.rpartition("#")[2]) == ("summary v2", "v2")


def test_a_search_with_too_many_hits_to_gather_finds_the_same_sessions(client, project, session, rows, monkeypatch):
    rows.turns(3)
    other = services.create_session(project, "Another")
    RowBuilder(other.pk).turns(3)
    services.create_session(project, "Empty")
    gathered = found(client, "question")
    monkeypatch.setattr("sessions_app.queries.found_rows.MOST_GATHERED", 2)
    assert found(client, "question") == gathered == [other.public_id, session.public_id]


def test_a_search_that_takes_too_long_is_stopped_and_says_so(client, session, rows, monkeypatch):
    rows.append(user("flamingo"))

    def slow(*_):
        with connection.cursor() as cursor:
            cursor.execute("select pg_sleep(30)")

    monkeypatch.setattr(session_list, "SEARCH_MS", 50)
    monkeypatch.setattr(session_list, "sessions_with_hits", slow)
    html = searched(client, "review")
    assert "took too long and was stopped" in html
    assert session.public_id in html
    with connection.cursor() as cursor:
        cursor.execute("show statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_query_that_says_nothing_is_answered_by_a_sentence(client, session):
    assert "needs a letter or a digit" in searched(client, "!!!")
    assert "Everything here is excluded" in searched(client, "-flamingo")


def test_a_search_costs_as_many_queries_for_many_hits_as_for_one(client, project, session, rows):
    rows.append(user("flamingo"))
    searched(client, "flamingo")
    with CaptureQueriesContext(connection) as one:
        searched(client, "flamingo")
    for number in range(12):
        RowBuilder(services.create_session(project, f"s{number}").pk).append(*[user("flamingo")] * 30)
    with CaptureQueriesContext(connection) as many:
        searched(client, "flamingo")
    assert len(many) == len(one)


def test_markup_and_direction_marks_of_rows_come_out_of_a_snippet_as_text(client, session, rows):
    rows.append(user("<img src=x onerror=alert(1)> \u202eflamingo\u202c </td></tr><script>alert(2)</script>"))
    html = searched(client, "flamingo")
    assert "<img" not in html and "<script>alert" not in html
    assert "<bdi>" in html and "&lt;script&gt;" in html


def test_every_way_in_which_rows_come_in_makes_them_searchable(project, session, rows):
    rows.turns(6)
    live = [row for row in rows.live() if row.kind == "message"]
    rows.absorb([row.pk for row in live[4:8]], text="## Key Decisions\n- a heron was seen")
    branch = branch_session(session.pk, rows.session.last_seq)
    assert rows_without_words() == 0
    assert RowWords.objects.filter(session=branch).count() == branch.rows.count()


def test_the_rows_of_a_branch_are_found_in_the_branch(client, session, rows):
    rows.append(user("flamingo"), assistant("yes"))
    branch = branch_session(session.pk, rows.session.last_seq, "Branch")
    rows.append(user("heron"))
    assert set(found(client, "flamingo")) == {session.public_id, branch.public_id}
    assert found(client, "heron") == [session.public_id]


def test_deleting_a_session_deletes_its_words(session, rows):
    rows.turns(2)
    delete_session(session.pk)
    assert not RowWords.objects.exists()


def test_the_words_go_with_their_row_whoever_deletes_it(session, rows):
    row_id, *_ = rows.append(user("flamingo"))
    with connection.cursor() as cursor:
        cursor.execute("delete from sessions_app_messagerow where id = %s", [row_id])
    assert not RowWords.objects.exists()


def test_rows_without_words_are_indexed_in_batches_and_an_interrupted_run_goes_on(client, session, rows, monkeypatch):
    rows.turns(5)
    RowWords.objects.all()._raw_delete("default")
    assert found(client, "question") == []
    monkeypatch.setattr("sessions_app.services.row_words.BATCH_ROWS", 7)
    batches = services.row_words.index_missing_rows()
    assert next(batches).rows == 7
    batches.close()
    assert rows_without_words() == 13
    said = StringIO()
    call_command("index_rows", stdout=said)
    assert (rows_without_words(), said.getvalue()) == (0, "13 rows indexed.\n")
    call_command("index_rows", stdout=said)
    assert said.getvalue().endswith("Every row is indexed already.\n")
    assert found(client, "question") == [session.public_id]


@pytest.mark.django_db(transaction=True)
def test_a_row_that_a_pass_was_just_taking_out_is_indexed_by_another_walk(session, rows, database_url):
    rows.turns(1)
    RowWords.objects.all()._raw_delete("default")
    with psycopg.connect(database_url) as passing:
        passing.execute("update sessions_app_messagerow set died_seq = 99 where position = 1")
        batches = services.row_words.index_missing_rows()
        assert next(batches).rows == 3
        passing.rollback()
    assert [batch.rows for batch in batches] == [1]
    assert rows_without_words() == 0


def test_a_result_of_five_megabytes_is_found_by_its_beginning_and_its_end(client, session, rows):
    rows.append(call("c1"), result("c1", "flamingo " + "filler text here " * 300_000 + " heron"))
    assert found(client, "flamingo") == found(client, "heron") == [session.public_id]
    assert "<mark>heron</mark>" in searched(client, "heron")


def test_a_query_in_quotes_is_told_in_its_own_quotes_alone(client, session, rows):
    rows.append(user("a pink flamingo"))
    assert '<b>1 row</b> matches "flamingo", in 1 session' in searched(client, "flamingo")
    html = unescape(searched(client, '"pink flamingo"'))
    assert '<b>1 row</b> matches "pink flamingo", in 1 session' in html
    assert '<span class="chip">"pink flamingo" <a' in html
    assert '<span class="chip">“pink flamingo” -“heron” <a' in unescape(searched(client, "“pink flamingo” -“heron”"))
    html = searched(client, "<b>flamingo</b>")
    assert "&lt;b&gt;" in html and "<b>flamingo" not in html

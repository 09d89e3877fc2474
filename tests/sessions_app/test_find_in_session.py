"""Finding in one session: which hit of how many, the hits around it, and what stands in the way of looking."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from page_reading import client_of
from row_builder import assistant, call, result, user

from sessions_app import services
from sessions_app.importing.linking import find_call
from sessions_app.models import MessageRow
from sessions_app.pages import find as find_page
from sessions_app.pages.find import read_find

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(owner):
    return client_of(owner)


def position_of(row_id):
    return MessageRow.objects.get(pk=row_id).position


def test_hits_are_counted_over_all_rows_and_lead_to_each_other(session, rows):
    rows.turns(3)
    first, *_ = rows.append(user("the flamingo"))
    rows.turns(2)
    second, *_ = rows.append(user("two flamingos"))
    third, *_ = rows.append(assistant("a flamingo"))
    at = read_find(rows.session, "flamingo", position_of(second))
    assert (at.number, at.total) == (2, 3)
    assert at.previous == f"?find=flamingo&row={position_of(first)}#r{position_of(first)}"
    assert at.following == f"?find=flamingo&row={position_of(third)}#r{position_of(third)}"
    assert at.hit.row_id == second
    between = read_find(rows.session, "flamingo", position_of(first) + 1)
    assert (between.number, between.hit) == (1, None)
    last = read_find(rows.session, "flamingo", position_of(third))
    assert (last.number, last.following) == (3, "")


def test_the_live_summary_is_found_and_superseded_ones_are_not(session, rows):
    rows.turns(8)
    for text in ("- a heron was seen", "- a heron flew away"):
        live = [row for row in rows.live() if row.kind == "message"]
        rows.absorb([row.pk for row in live[4:8]], text=f"## Key Decisions\n{text}")
    found = read_find(rows.session, "heron", None)
    assert found.total == 1


def test_looking_for_words_leads_to_the_first_hit(client, session, rows):
    rows.turns(2)
    row_id, *_ = rows.append(user("the flamingo"))
    response = client.get(f"/s/{session.public_id}/", {"find": "flamingo"})
    where = position_of(row_id)
    assert (response.status_code, response.url) == (302, f"/s/{session.public_id}/?find=flamingo&row={where}#r{where}")
    html = client.get(response.url).content.decode()
    assert "1 of 1" in html and "<mark>flamingo</mark>" in html


def test_a_search_without_hits_or_sense_says_so_and_shows_the_rows(client, session, rows):
    rows.turns(1)
    path = f"/s/{session.public_id}/"
    assert "no row found" in client.get(path, {"find": "flamingo"}).content.decode()
    nonsense = client.get(path, {"find": "!!!"}).content.decode()
    assert "needs a letter or a digit" in nonsense and 'id="r0"' in nonsense


def test_a_hit_far_inside_a_long_row_leads_to_the_whole_text_there(session, rows):
    rows.append(user("filler words " * 1_000 + "flamingo"))
    found = read_find(rows.session, "flamingo", 0)
    row = MessageRow.objects.get(session=session)
    assert found.full_text == f"/s/{session.public_id}/row/{row.pk}/?first=12500"


def test_strangers_learn_nothing_of_a_session_by_looking_into_it(session, rows):
    rows.append(user("flamingo"))
    stranger = Client()
    stranger.force_login(User.objects.create_user("stranger"))
    assert stranger.get(f"/s/{session.public_id}/", {"find": "flamingo"}).status_code == 404


def test_finding_costs_as_many_queries_for_many_hits_as_for_few(client, session, rows):
    rows.append(*[user("common rare")] * 3, *[user("common")] * 60)
    counts = []
    for word in ("rare", "common"):
        path = f"/s/{session.public_id}/?find={word}&row=1"
        client.get(path)
        with CaptureQueriesContext(connection) as captured:
            client.get(path)
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_search_in_a_session_that_takes_too_long_is_stopped_and_says_so(session, rows, monkeypatch):
    def slow(*_):
        with connection.cursor() as cursor:
            cursor.execute("select pg_sleep(30)")

    monkeypatch.setattr(find_page, "FIND_MS", 50)
    monkeypatch.setattr(find_page, "hit_at", slow)
    assert "took too long" in read_find(session, "flamingo", None).note


@pytest.mark.parametrize("call_id", ["call_9f3ab7c2", "toolu_01AbC", "-:-", 'a"b'])
def test_the_row_of_a_tool_call_is_found_by_its_id(session, rows, call_id):
    rows.turns(2)
    asked, *_ = rows.append(call(call_id), result(call_id, "done"))
    assert find_call(session.pk, call_id) == asked
    assert find_call(session.pk, call_id + "x") is None


def test_every_tab_of_a_session_leads_to_its_neighbours(client, project, session, rows):
    rows.turns(1)
    other = services.create_session(project, "Another")
    for tab in ("", "summary/", "passes/", "occupancy/", "act/"):
        html = client.get(f"/s/{session.public_id}/{tab}").content.decode()
        assert re.search(rf'href="/s/{other.public_id}/" data-key="[\[\]]"', html), tab

"""The ledger of passes: every figure of its head narrows the list to the passes behind it."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from page_reading import client_of
from talk import EARLY_MICRO_PASSES, Talk, with_settings

from sessions_app import services
from sessions_app.models import CompactionPass, Turn

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project):
    return with_settings(project, EARLY_MICRO_PASSES)


@pytest.fixture
def session(project):
    return services.create_session(project, "A long talk", window_tokens=16_000, model="main")


@pytest.fixture
def client(owner):
    return client_of(owner)


@pytest.fixture
def path(session, rows):
    Talk(rows).turns(9, words=200)
    for made_by in CompactionPass.objects.filter(session=session):
        made_by.duration_ms = 1_000 * made_by.number
        made_by.exchange_tokens = 100 * made_by.number
        made_by.occupancy_pct = 10.0 * made_by.number
        made_by.save()
    return f"/s/{session.public_id}/passes/"


def numbers(client, path):
    response = client.get(path)
    assert response.status_code == 200
    return [int(one) for one in re.findall(r'<tr id="p(\d+)"', response.content.decode())]


def test_each_figure_of_the_head_narrows_the_list(client, path):
    every = numbers(client, path)
    assert len(every) >= 4
    assert numbers(client, f"{path}?over=30") == [one for one in every if one >= 3]
    assert numbers(client, f"{path}?slower=2000") == [one for one in every if one >= 2]
    assert numbers(client, f"{path}?larger=400") == [one for one in every if one >= 4]
    assert numbers(client, f"{path}?over=30&slower=5000") == [one for one in every if one >= 5]


def test_the_links_of_the_head_lead_to_passes(client, path):
    html = client.get(path).content.decode()
    links = re.findall(r'href="(\?(?:over|slower|larger|freed)=[^"]+)"', html[: html.index('<nav class="seg seg-wrap')])
    assert len(links) == 6
    for link in links:
        assert numbers(client, path + link), link


def test_passes_that_freed_something_leave_out_those_that_were_undone(client, session, path):
    freed = numbers(client, f"{path}?freed=1")
    CompactionPass.objects.filter(session=session, number=freed[0]).update(undone_seq=99)
    assert numbers(client, f"{path}?freed=1") == freed[1:]


def test_a_filter_that_finds_nothing_offers_the_way_back(client, path):
    html = client.get(f"{path}?over=99999").content.decode()
    assert "No pass like this" in html
    assert "occupancy from 99,999.0 %" in html


def test_a_turn_is_told_as_reply_and_work_after_it(client, session, path):
    start = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
    made_by = CompactionPass.objects.filter(session=session).first()
    Turn.objects.filter(session=session, number=made_by.turn).update(
        started_at=start, reply_sent_at=start + timedelta(seconds=41), ended_at=start + timedelta(seconds=72)
    )
    assert "41.0 s + 31.0 s" in client.get(path).content.decode()
    Turn.objects.filter(session=session, number=made_by.turn).update(started_at=None)
    assert "– + 31.0 s" in client.get(path).content.decode()


@pytest.mark.parametrize("nonsense", ["over=x", "slower=-1", "larger=1e9", "freed=", "over=nan", "before=0"])
def test_an_address_that_says_something_impossible_shows_all_passes(client, path, nonsense):
    assert numbers(client, f"{path}?{nonsense}") == numbers(client, path)

"""What the next pass would do, shown as a replay before it is made; and where a replay begins."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from page_reading import page
from row_builder import RowBuilder
from talk import EARLY_MICRO_PASSES, Talk, passes, with_settings

from sessions_app import services
from sessions_app.models import MemberRole, MessageRow, SessionEvent

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project):
    return with_settings(project, EARLY_MICRO_PASSES)


@pytest.fixture
def session(project):
    return services.create_session(project, "A long talk", window_tokens=16_000, model="main")


@pytest.fixture
def client(project):
    person = User.objects.create_user("olga")
    services.add_member(project, person, MemberRole.VIEWER)
    client = Client()
    client.force_login(person)
    return client


def steps_of(html):
    part = html[html.index('<nav class="steps"') :]
    return re.findall(r">([A-Z][a-z ]+?)(?: <svg.*?</svg>)?<small>", part[: part.index("</nav>")], re.S)


def both_sides(html):
    """The cells of an edit, those of before and those of after, each in one piece."""
    cells = html[html.index("<h2>Before") : html.index('<div class="split-foot">')].split('<div class="cell')[1:]
    return ["".join(cell for cell in cells if cell.startswith(" cell-after") is is_after) for is_after in (False, True)]


def a_talk(rows, turns=6):
    talk = Talk(rows)
    for number in range(turns):
        talk.turn(number, words=200)
    return talk


def test_without_asking_anybody_the_next_pass_is_shown_up_to_the_text_it_would_send(client, session, rows):
    a_talk(rows)
    html = page(client, f"/s/{session.public_id}/next/1/")
    assert steps_of(html) == ["Zones", "Exchange", "Sent text"]
    assert "planned, no model asked, nothing is stored" in html
    assert "depends on the summary, and nobody was asked" in html and 'class="effects"' not in html
    sent = page(client, f"/s/{session.public_id}/next/3/")
    assert "line of c1" in sent


def test_with_an_extractive_summary_it_goes_on_to_the_edit_and_both_sides_are_filled(client, session, rows):
    a_talk(rows)
    html = page(client, f"/s/{session.public_id}/next/5/?with=extractive")
    assert steps_of(html) == ["Zones", "Exchange", "Sent text", "Reply", "Edit", "Database", "Telemetry"]
    before, after = both_sides(html)
    assert (before.count("out-row"), before.count("in-row")) == (3, 0)
    assert (after.count("out-row"), after.count("in-row")) == (0, 1)
    assert 'href="/s/' in html
    for step in (4, 6, 7):
        assert "with=extractive" in page(client, f"/s/{session.public_id}/next/{step}/?with=extractive")
    assert client.get(f"/s/{session.public_id}/next/8/?with=extractive").status_code == 404


def test_looking_at_the_next_pass_stores_nothing(client, session, rows):
    a_talk(rows)
    before = (MessageRow.objects.count(), SessionEvent.objects.count(), rows.session.state, passes(rows))
    for tail in ("1/", "3/", "5/?with=extractive", "5/?kind=batch&with=extractive"):
        page(client, f"/s/{session.public_id}/next/{tail}")
    assert (MessageRow.objects.count(), SessionEvent.objects.count(), rows.session.state, passes(rows)) == before


def test_what_is_shown_is_what_the_pass_then_does(client, session, rows):
    talk = a_talk(rows)
    html = page(client, f"/s/{session.public_id}/next/2/")
    first, last = re.search(r"<b>(\d+)–(\d+)</b>", html).groups()
    talk.finalize()
    made = passes(rows)[0]
    assert (made.exchanges[0]["first"][0], made.exchanges[0]["last"][0]) == (int(first), int(last))


def test_a_batch_can_be_looked_at_before_somebody_asks_for_it(client, session, rows):
    a_talk(rows, turns=10)
    html = page(client, f"/s/{session.public_id}/next/1/?kind=batch&with=extractive")
    assert steps_of(html) == ["Zones", "Earlier summary", "Sent text", "Reply", "Edit", "Database", "Telemetry"]


def test_where_nothing_would_happen_the_page_says_why(client, session, rows):
    rows.turns(1)
    html = page(client, f"/s/{session.public_id}/next/1/")
    assert "nothing would happen now" in html
    assert "No pass:" in html


def test_the_zones_are_shown_where_nothing_is_due_because_passes_are_off(client, session, rows):
    services.save_policy(session.project_id, {"compression": {"enabled": False}}, None, "off")
    a_talk(rows)
    html = page(client, f"/s/{session.public_id}/next/1/")
    assert "nothing would happen now" in html
    assert "from row" in html and "newest whole turns within" in html
    assert "not recorded" not in html


def test_without_a_window_the_page_says_that_zones_cant_be_told_and_what_to_do(client, project):
    services.save_policy(project.pk, {}, None, "as a new project has it")
    session = services.create_session(project, "no window")
    a_talk(RowBuilder(session.pk))
    html = page(client, f"/s/{session.public_id}/next/1/")
    assert "The zones can't be told" in html and "Nobody has said how large" in html
    assert "not recorded" not in html


def test_an_empty_session_has_a_page_for_its_next_pass(client, session):
    assert "nothing would happen now" in page(client, f"/s/{session.public_id}/next/")


def test_a_replay_without_a_step_leads_to_where_looking_begins(client, session, rows):
    talk = a_talk(rows)
    talk.finalize()
    answer = client.get(f"/s/{session.public_id}/replay/1/")
    assert answer.status_code == 302
    assert answer["Location"] == f"/s/{session.public_id}/replay/1/1/"
    assert client.get(f"/s/{session.public_id}/replay/99/").status_code == 404


def test_strangers_see_no_pass_to_come(session, rows):
    stranger = Client()
    stranger.force_login(User.objects.create_user("nobody"))
    assert stranger.get(f"/s/{session.public_id}/next/1/").status_code == 404


def test_the_queries_for_the_next_pass_do_not_grow_with_the_session(client, project):
    counts = []
    for turns in (8, 40):
        session = services.create_session(project, f"{turns} turns", window_tokens=16_000, model="main")
        a_talk(RowBuilder(session.pk), turns)
        with CaptureQueriesContext(connection) as captured:
            page(client, f"/s/{session.public_id}/next/5/?with=extractive")
        counts.append(len(captured))
    assert counts[1] <= counts[0] + 2 <= 45

"""The settings of one session: its scopes side by side, its own saved additively, by those who may write."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from row_builder import RowBuilder
from talk import EARLY_MICRO_PASSES, Talk

from sessions_app import services
from sessions_app.models import MemberRole, Session, SessionPolicyRevision
from sessions_app.pages.revisions import PAGE_SIZE

pytestmark = pytest.mark.django_db


def person(project, role, name):
    found = User.objects.create_user(name)
    services.add_member(project, found, role)
    client = Client()
    client.force_login(found)
    return client


@pytest.fixture
def client(project):
    return person(project, MemberRole.EDITOR, "edda")


@pytest.fixture
def url(session):
    return f"/s/{session.public_id}/settings/"


def row_of(response, key):
    """The cells of a setting's row, as people read them."""
    html = response.content.decode()
    rows = re.findall(r"(?s)<tr[^>]*>(.*?)</tr>", html)
    found = next(row for row in rows if f'<code class="dim">{key}</code>' in row)
    cells = re.findall(r"(?s)<td[^>]*>(.*?)</td>", found)
    return [" ".join(unescape(re.sub(r"(?s)<select.*?</select>|<[^>]+>", " ", cell)).split()) for cell in cells]


def test_all_scopes_stand_side_by_side_with_the_winner_marked(client, session, url, settings):
    settings.SITE_POLICY = {"compression": {"threshold": 0.6, "protect_first_n": 7}}
    services.save_policy(session.project_id, {"compression": {"threshold": 0.7}}, None)
    services.save_session_policy(session.pk, {"compression": {"target_ratio": 0.3}}, None)
    page = client.get(url)
    assert row_of(page, "threshold")[1:] == ["0.50", "0.60", "0.70 wins", "", "0.70"]
    assert row_of(page, "protect_first_n")[1:] == ["3", "7 wins", "–", "", "7"]
    assert row_of(page, "target_ratio")[1:] == ["0.20", "–", "–", "wins", "0.30"]
    assert row_of(page, "min_tail_user_messages")[1:] == ["1 wins", "–", "–", "", "1"]
    project = client.get("/p/review/settings/scopes/")
    assert row_of(project, "threshold")[1:] == ["0.50", "0.60", "0.70 wins", "0.70"]


def test_a_writer_sets_a_value_for_this_session_alone(client, session, url):
    values = {"base": 0, "compression.threshold_tokens": "90,000", "note": "a long one"}
    response = client.post(url, values, follow=True)
    assert "Saved. The next pass of this session runs under it." in response.content.decode()
    session.refresh_from_db()
    assert session.policy_settings == {"compression": {"threshold_tokens": 90_000}}
    assert session.threshold_tokens == 90_000
    revision = SessionPolicyRevision.objects.get()
    assert (revision.number, revision.author.username, revision.note) == (1, "edda", "a long one")
    session.project.refresh_from_db()
    assert session.project.policy_settings == {}


def test_a_mistake_is_explained_at_its_field_and_nothing_is_lost(client, session, url):
    values = {"base": 0, "compression.threshold": "plenty", "compression.target_ratio": "0.3"}
    response = client.post(url, values)
    assert response.status_code == 422
    html = unescape(response.content.decode())
    assert "'plenty' is not a number." in html
    assert 'name="compression.threshold" value="plenty"' in html
    assert 'name="compression.target_ratio" value="0.3"' in html
    assert not SessionPolicyRevision.objects.exists()


def test_who_writes_the_summaries_can_not_be_set_for_a_session(client, session, url):
    """A writer could send the rows, or a key, to an address of their own."""
    client.post(url, {"base": 0, "auxiliary.compression.base_url": "https://elsewhere.example/", "model.default": "x"})
    session.refresh_from_db()
    assert session.policy_settings == {}
    assert "auxiliary.compression" not in client.get(url).content.decode()


def test_two_writers_meet_instead_of_overwriting_each_other(client, session, url):
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.6}}, None)
    response = client.post(url, {"base": 0, "compression.threshold": "0.7"})
    assert response.status_code == 409
    html = response.content.decode()
    assert "Both of you changed 1 value" in html
    assert f'action="{url}"' in html
    done = client.post(url, {"base": 1, "choose": "compression.threshold", "compression.threshold": "0.7"})
    assert done.status_code == 302
    assert Session.objects.get(pk=session.pk).policy_settings == {"compression": {"threshold": 0.7}}


def test_emptied_fields_give_the_session_back_to_its_project(client, session, url):
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.6}}, None)
    client.post(url, {"base": 1, "compression.threshold": ""})
    assert Session.objects.get(pk=session.pk).policy_settings == {}
    assert SessionPolicyRevision.objects.count() == 2


def test_a_reader_looks_and_changes_nothing(project, session, url):
    client = person(project, MemberRole.VIEWER, "vera")
    page = client.get(url)
    assert page.status_code == 200
    assert "<fieldset disabled>" in page.content.decode()
    assert client.post(url, {"base": 0, "compression.threshold": "0.7"}).status_code == 403
    assert not SessionPolicyRevision.objects.exists()


def test_a_revision_that_a_session_or_a_pass_names_leads_to_that_revision(client, project):
    services.save_policy(project.pk, EARLY_MICRO_PASSES, None)
    session = services.create_session(project, window_tokens=4_000)
    services.save_session_policy(session.pk, {"compression": {"protect_first_n": 1}}, None)
    Talk(RowBuilder(session.pk)).turns(8)
    number = project.policy_revisions.count()
    project_link = f'href="/p/review/settings/revisions/{number}/">'
    page = f"/s/{session.public_id}/"
    own_link = f'href="{page}settings/?before=2#own-1">own settings 1</a>'
    assert f"{project_link}revision {number}</a>" in client.get(page).content.decode()
    ledger = client.get(f"{page}passes/").content.decode()
    assert f"{project_link}revision {number}</a>" in ledger
    assert own_link in ledger
    replay = client.get(f"{page}replay/1/1/").content.decode()
    assert f"{project_link}policy revision {number}</a>" in replay
    assert own_link in replay


def test_every_revision_of_a_session_can_be_reached(client, session, url):
    for number in range(PAGE_SIZE + 2):
        services.save_session_policy(session.pk, {"compression": {"protect_first_n": number}}, None)
    newest = client.get(url).content.decode()
    assert f'id="own-{PAGE_SIZE + 2}"' in newest and 'id="own-2"' not in newest
    [older] = re.findall(r'rel="next" href="(\?before=\d+)"', newest)
    rest = client.get(url + older).content.decode()
    assert 'id="own-2"' in rest and 'id="own-1"' in rest and "in force" not in rest.partition('id="own-2"')[2]
    assert 'id="own-1"' in client.get(f"{url}?before=2").content.decode()

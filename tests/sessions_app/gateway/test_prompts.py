"""What clients send beside the conversation: kept, counted, shown on the page of the model view, told by the API."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app import services
from sessions_app.models import MemberRole
from sessions_app.queries.prompts import prompt_at
from sessions_app.services.prompts import note_prompt
from sessions_app.services.tokens import issue_token

pytestmark = pytest.mark.django_db
FIRST = json.dumps({"role": "system", "content": "Be **brief**. The key is sk-proj-" + "Ab3dEf6hIj9kLm2n" * 3})
SECOND = json.dumps({"role": "system", "content": "Be exact."})
TOOLS = json.dumps([{"type": "function", "function": {"name": "fetch_page"}}, {"type": "web_search"}])


@pytest.fixture
def prompted(session, rows):
    rows.turns(1)
    note_prompt(session.pk, [FIRST], TOOLS, "one", 50, None)
    rows.turns(1)
    note_prompt(session.pk, [SECOND], "", "two", 20, "another")
    return session


@pytest.fixture
def api(project):
    secret = issue_token(project, "reader").secret

    def get(path):
        answer = Client().get(f"/api/v1{path}", headers={"Authorization": f"Bearer {secret}"})
        return json.loads(b"".join(answer) if answer.streaming else answer.content)

    return get


def test_each_version_is_stored_once_and_the_newest_is_the_fixed_overhead(prompted):
    note_prompt(prompted.pk, [SECOND], "", "two", 20, "another")
    prompted.refresh_from_db()
    assert prompted.prompts.count() == 2
    assert (prompted.fixed_overhead_tokens, prompted.model) == (20, "another")


def test_at_each_event_the_version_of_that_moment_is_found(prompted):
    assert [prompt_at(prompted.pk, seq).number for seq in (0, 1, 4, 7, 8, None)] == [1, 1, 1, 1, 2, 2]
    assert prompt_at(0, None) is None


def test_the_page_of_the_model_view_shows_what_goes_in_front_of_the_rows(prompted, project):
    person = User.objects.create_user("mira")
    services.add_member(project, person, MemberRole.VIEWER)
    browser = Client()
    browser.force_login(person)
    now = browser.get(f"/s/{prompted.public_id}/?show=model").content.decode()
    assert "Be exact." in now and "fetch_page" not in now and "version 2" in now
    then = browser.get(f"/s/{prompted.public_id}/?show=model&at=4").content.decode()
    assert "<strong>brief</strong>" in then and "fetch_page" in then and "2 tools go along" in then


def test_the_api_lists_every_version(prompted, api):
    first = api(f"/sessions/{prompted.public_id}/prompts?limit=1")
    assert first["prompts"][0]["tools"] == json.loads(TOOLS) and first["next"] == 1
    [second] = api(f"/sessions/{prompted.public_id}/prompts?after=1")["prompts"]
    assert (second["messages"], second["tools"], second["tokens"]) == ([json.loads(SECOND)], None, 20)


def test_an_export_holds_them_without_their_secrets(prompted, api):
    exported = api(f"/sessions/{prompted.public_id}/export")
    assert [one["number"] for one in exported["prompts"]] == [1, 2]
    assert "[REDACTED]" in exported["prompts"][0]["messages"][0]["content"]
    assert exported["prompts"][0]["tools"] == json.loads(TOOLS)

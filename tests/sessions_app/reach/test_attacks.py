"""What other sites, and members with less rights than they want, try: forms sent from elsewhere, frames, fields that
nobody offered, and addresses that only this machine can reach."""

import json
import re

import pytest
from django.conf import settings as site_settings
from django.contrib.auth.models import User
from django.test import Client
from reach_table import OPERATIONS, PAGES
from reach_world import SECRETS_KEYS, Browser, World, operations

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.gates import PROCESS_GATES
from sessions_app import services
from sessions_app.endpoint_tests import run_endpoint_test
from sessions_app.importing import import_paths
from sessions_app.models import ApiToken, EndpointTest, MessageRow, Project, ProjectMember, Session
from sessions_app.services.tokens import issue_token
from sessions_app.session_policy import policy_of
from sessions_app.summarizers import summarizer_for_policy
from sessions_app.token_counting import site_counter
from tests.compaction.loopback import REQUEST, completion, serving

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"
# What needs no protection: it changes nothing, or asks for a token of the API.
WITHOUT_CSRF = {"healthz", "api/v1/", "^api/v1(?:/|$)", "api/v1/openapi.json"}


@pytest.fixture
def world(settings):
    settings.SECRETS_KEYS = SECRETS_KEYS
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    return World("review")


@pytest.fixture
def owner(world):
    client = Client(raise_request_exception=False)
    client.force_login(world.people["owner"])
    return client


def test_every_form_that_another_site_sends_is_refused(world):
    """X04, X06: logging out too; without the token of the form, with a wrong one, and without a body."""
    checked = 0
    for route, expected in PAGES.items():
        if "o" not in expected.post or route in WITHOUT_CSRF:
            continue
        for body in ({}, {"csrfmiddlewaretoken": "a" * 64}):
            strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
            strict.force_login(world.people["owner"])
            path = world.address(route)
            answer = strict.post(path, body, headers={"Origin": "https://evil.example"})
            assert answer.status_code == 403, route
            assert b"The form was out of date" in answer.content, route
            assert strict.get("/account/").status_code == 200, f"{route} ended the login"
            checked += 1
    assert checked > 40


def test_a_logout_from_another_site_ends_nothing(world):
    """X06: a form on another port of this machine posts to the logout."""
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.people["owner"])
    for origin in ("http://testserver:9999", "https://evil.example", "null"):
        assert strict.post("/logout/", headers={"Origin": origin}).status_code == 403
        assert strict.post("/logout/", {"next": "/"}, headers={"Origin": origin}).status_code == 403
    assert strict.get("/account/").status_code == 200


def test_a_stolen_token_of_a_form_does_not_serve_another_site(world):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.people["owner"])
    html = strict.get("/account/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', html).group(1)
    sent = {"csrfmiddlewaretoken": token}
    assert strict.post("/account/logins/end/", sent, headers={"Origin": "https://evil.example"}).status_code == 403
    assert strict.post("/account/logins/end/", sent, headers={"Origin": "http://testserver"}).status_code == 302


def test_cookies_are_kept_from_scripts_and_from_other_sites(client):
    User.objects.create_user("mira", password=PASSWORD)
    answer = client.post("/login/", {"username": "mira", "password": PASSWORD})
    cookie = answer.cookies[site_settings.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert answer.cookies[site_settings.CSRF_COOKIE_NAME]["samesite"] == "Lax"


def test_no_answer_may_be_framed_and_each_has_the_strict_policy(world):
    """Clickjacking: pages, parts of pages, files, errors, and the answers of the API."""
    browser = Browser(world.people["owner"])
    paths = [world.address(route) for route in PAGES] + ["/nothing/here/", "/static/css/base.css"]
    paths += [world.address(route) for _, method, route in operations() if method == "GET"]
    for path in paths:
        headers = browser.ask("get", path).headers
        assert path.startswith("/static/") or headers["X-Frame-Options"] == "DENY", path
        assert headers["X-Content-Type-Options"] == "nosniff", path
        if "html" in headers.get("Content-Type", ""):
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
            assert "unsafe" not in headers["Content-Security-Policy"], path
        assert "Access-Control-Allow-Origin" not in headers or path.startswith("/static/"), path


def test_fields_that_no_form_offers_change_nothing(world, owner):
    """Mass assignment: roles, rights, owners and hashes are not taken from what a browser sends."""
    person = world.people["owner"]
    rights = {"is_superuser": "1", "is_staff": "on", "is_active": "", "groups": "1", "password": "x", "id": "1"}
    owner.post("/account/name/", {"username": "renamed", **rights})
    person.refresh_from_db()
    assert (person.username, person.is_superuser, person.is_staff, person.is_active) == ("renamed", False, False, True)
    owner.post("/p/new/", {"name": "Mine", "slug": "mine", "owner": "1", "policy_settings": "{}", "id": "1"})
    assert [one.user for one in Project.objects.get(slug="mine").memberships.all()] == [person]
    other = World("other")
    sent = {"name": "agent", "scope": "read", "days": "30", "project": str(other.project.pk), "token_hash": "0" * 64}
    owner.post("/p/review/tokens/", {**sent, "last_used_at": "2020-01-01", "revoked_at": "2020-01-01"})
    token = ApiToken.objects.get(name="agent")
    assert (token.project, token.revoked_at) == (world.project, None)
    assert token.token_hash != "0" * 64


def test_an_invitation_gives_the_role_it_says_whatever_is_sent_with_it(world, owner):
    page = owner.post("/p/review/people/invitations/", {"role": "viewer", "days": "1", "uses": "1"})
    link = re.search(r"/invitation/[\w-]+", page.content.decode()).group()
    sent = {"username": "mira", "password": PASSWORD, "password_again": PASSWORD}
    Client().post(link, {**sent, "role": "owner", "is_superuser": "1", "project": "1"})
    mira = User.objects.get(username="mira")
    assert ProjectMember.objects.get(user=mira).role == "viewer"
    assert not mira.is_superuser and not mira.is_staff


def test_a_body_of_the_api_with_a_field_of_its_own_is_refused_or_changes_nothing(world):
    client = Client(headers={"Authorization": f"Bearer {issue_token(world.project, 'w', may_write=True).secret}"})
    for name, method, route in operations():
        body = OPERATIONS[name].body
        if body is None or name == "save_settings":
            continue
        foreign = {**body, "project": "other", "project_id": 1, "public_id": "x", "is_superuser": True}
        answer = client.generic(method, world.address(route), json.dumps(foreign), "application/json")
        assert answer.status_code == 422, name


def test_a_viewer_can_not_raise_themselves(world):
    viewer = Client()
    viewer.force_login(world.people["viewer"])
    own = ProjectMember.objects.get(project=world.project, user=world.people["viewer"])
    assert viewer.post(f"/p/review/people/{own.pk}/role/", {"role": "owner"}).status_code == 403
    own.refresh_from_db()
    assert own.role == "viewer"


def test_an_editor_can_not_make_tokens_that_outlive_them(world):
    editor = Client()
    editor.force_login(world.people["editor"])
    before = ApiToken.objects.count()
    assert editor.post("/p/review/tokens/", {"name": "mine", "scope": "write"}).status_code == 403
    assert ApiToken.objects.count() == before


# Addresses that only this machine can reach, typed into settings (SSRF).

INSIDE = (
    "http://127.0.0.1:{port}/v1",
    "http://localhost:{port}/v1",
    "http://[::1]:{port}/v1",
    "http://[::ffff:127.0.0.1]:{port}/v1",
    "http://2130706433:{port}/v1",
    "http://0x7f000001:{port}/v1",
    "http://0177.0.0.1:{port}/v1",
    "http://127.1:{port}/v1",
    "http://127.0.0.1.:{port}/v1",
    "http://0.0.0.0:{port}/v1",
    "http://[::]:{port}/v1",
    "http://user@127.0.0.1:{port}/v1",
    "http://api.example.com@127.0.0.1:{port}/v1",
    "http://169.254.169.254/latest/meta-data",
    "http://metadata.google.internal/computeMetadata/v1",
    "http://[fd00:ec2::254]/latest",
    "http://[64:ff9b::7f00:1]:{port}/v1",
    "http://10.0.0.1/v1",
    "http://192.168.1.1/v1",
    "http://100.100.100.200/v1",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_x",
    "unix:///var/run/docker.sock",
)
REFUSED = {"address_refused", "dns_failed", "no_endpoint"}


@pytest.mark.parametrize("address", INSIDE)
def test_an_endpoint_inside_of_the_network_is_never_asked(project, settings, address):
    """Whoever may change settings must not be able to make the site ask its own neighbours."""
    settings.OUTBOUND_RULES = OutboundRules()
    PROCESS_GATES.forget()
    with serving(completion("x")) as server:
        block = {"base_url": address.format(port=server.port), "model": "m", "provider": "custom", "timeout": 5}
        services.save_policy(project.pk, {"auxiliary": {"compression": block}}, None)
        project.refresh_from_db()
        summarizer = summarizer_for_policy(policy_of(project), site_counter(), project.pk)
        reply = summarizer.ask(REQUEST)
        assert server.asked == []
    PROCESS_GATES.forget()
    assert reply.error in REFUSED, reply
    assert "root:" not in (reply.error_detail or "")


def test_the_page_that_tests_endpoints_can_not_be_used_to_look_around_either(world, owner, settings):
    settings.OUTBOUND_RULES = OutboundRules()
    PROCESS_GATES.forget()
    with serving(completion("x")) as server:
        sent = {"other1-base_url": f"http://127.0.0.1:{server.port}/v1", "other1-model": "m", "session": ""}
        assert owner.post("/p/review/endpoints/", sent).status_code == 302
        test = EndpointTest.objects.order_by("-pk").first()
        run_endpoint_test(test.pk, site_counter())
        test.refresh_from_db()
        assert server.asked == []
    PROCESS_GATES.forget()
    assert "address_refused" in str(test.report)


def test_settings_saved_with_a_token_can_not_name_an_environment_variable_that_is_no_key(project, settings):
    settings.OUTBOUND_RULES = OutboundRules(allow_loopback=True)
    PROCESS_GATES.forget()
    with serving(completion("x")) as server:
        block = {"base_url": server.url, "model": "m", "key_env": "HERMES_SITE_SECRET_KEY"}
        services.save_policy(project.pk, {"auxiliary": {"compression": block}}, None)
        project.refresh_from_db()
        reply = summarizer_for_policy(policy_of(project), site_counter(), project.pk).ask(REQUEST)
        assert (reply.error, server.asked) == ("key_refused", [])
    PROCESS_GATES.forget()


def test_an_import_that_names_a_session_of_another_project_adds_nothing_to_it(world, tmp_path):
    """X02: by id, a stranger could otherwise put words into somebody else's session."""
    other = services.create_project("other", "Other")
    path = tmp_path / "session.jsonl"
    lines = [{"role": "user", "content": "mine now"}, {"role": "assistant", "content": "as you say"}]
    path.write_text("\n".join(json.dumps({"session_id": world.session.public_id, **line}) for line in lines))
    Session.objects.filter(pk=world.session.pk).update(source="openai", foreign_id="session")
    before = list(MessageRow.objects.filter(session=world.session).values_list("pk", flat=True))
    for _ in range(2):
        list(import_paths([path], other, site_counter()))
    assert list(MessageRow.objects.filter(session=world.session).values_list("pk", flat=True)) == before
    assert Session.objects.filter(project=other).count() == 1

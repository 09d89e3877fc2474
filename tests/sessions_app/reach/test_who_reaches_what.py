"""Every address, operation and websocket, asked by everybody. The lists come from the site itself, so that a new one
without a line in the table fails here."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from reach_table import OPERATIONS, PAGES, QUERIES, SOCKETS
from reach_world import PEOPLE, ROLES, SECRETS_KEYS, Browser, Program, World, operations, routes, sign_of

from sessions_app import services
from sessions_app.routing import websocket_urlpatterns
from sessions_app.services.tokens import issue_token, revoke_token

pytestmark = pytest.mark.django_db
OPERATION_ROUTES = {route for _, _, route in operations()}
# Numbers that are counted over the whole site, not within a session.
GLOBAL_IDS = {
    "row_id",
    "run_id",
    "job_id",
    "test_id",
    "answer_id",
    "member_id",
    "invitation_id",
    "token_id",
    "secret_id",
}


@pytest.fixture
def world(settings):
    settings.SECRETS_KEYS = SECRETS_KEYS
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    return World("review")


@pytest.fixture
def browsers(world):
    stranger = World("elsewhere").people["owner"]
    return {"nobody": Browser(None), "stranger": Browser(stranger)} | {
        role: Browser(world.people[role]) for role in ROLES
    }


def test_every_address_operation_and_websocket_has_its_line_and_no_line_is_left_over():
    """X01: protection that each route has to ask for is forgotten; here a forgotten one fails."""
    assert set(PAGES) == set(routes()) - OPERATION_ROUTES
    assert set(OPERATIONS) == {name for name, _, _ in operations()}
    assert {str(one.pattern) for one in websocket_urlpatterns} == SOCKETS


def test_every_page_answers_everybody_as_its_line_says(world, browsers):
    """X01, X02: being logged in is not enough, the session or project must be one's own."""
    wrong = []
    for route, expected in PAGES.items():
        path = world.address(route) + QUERIES.get(route, "")
        for method, signs in (("get", expected.get), ("post", expected.post)):
            found = "".join(sign_of(browsers[who].ask(method, path)) for who in PEOPLE)
            if found != signs:
                wrong.append(f"{method} {route}: {found} instead of {signs}")
    assert not wrong, "\n".join(wrong)


def test_parts_of_pages_that_htmx_fetches_answer_like_the_pages(world, browsers):
    wrong = []
    for route, expected in PAGES.items():
        path = world.address(route) + QUERIES.get(route, "")
        for number, who in enumerate(PEOPLE[:3]):
            found = sign_of(browsers[who].ask("get", path, **{"HX-Request": "true"}))
            if found != expected.get[number]:
                wrong.append(f"{route} for {who}: {found} instead of {expected.get[number]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "head"])
def test_no_other_method_opens_a_page_to_strangers(world, browsers, method):
    """X01: by every method."""
    for route, expected in PAGES.items():
        for number, who in enumerate(PEOPLE[:2]):
            found = sign_of(browsers[who].ask(method, world.address(route)))
            is_open = expected.get[number] == "o" or expected.post[number] == "o"
            assert is_open or found in ("L", "4", "M", "K"), f"{method} {route} for {who}"


def test_what_strangers_get_never_names_what_they_may_not_see(world, browsers):
    """X02: 404 for all, with one page that says nothing."""
    hidden = (world.session.title, world.project.name, world.people["owner"].username)
    pages = set()
    for route, expected in PAGES.items():
        if expected.get[1] == "4" and not route.startswith(("api/", "^api", "^v1")):
            html = browsers["stranger"].ask("get", world.address(route)).content.decode()
            assert not any(f">{word}<" in html for word in hidden), route
            pages.add(html.partition("<main")[2].partition("</main>")[0].replace(world.address(route), "its address"))
    assert len(pages) == 1


def test_an_id_of_another_project_under_an_address_of_ones_own_is_404(world, browsers):
    """X02: the owner of one project takes ids from another, in every address that has two."""
    other = World("third")
    checked = 0
    for route, expected in PAGES.items():
        taken = [name for name in GLOBAL_IDS if f":{name}>" in route]
        if not taken or not ("<slug" in route or "public_id" in route):
            continue
        path = world.address(route, **{name: other.values[name] for name in taken})
        for method, signs in (("get", expected.get), ("post", expected.post)):
            found = sign_of(browsers["owner"].ask(method, path))
            assert found == ("M" if signs[-1] == "M" else "4"), f"{method} {path}"
            checked += 1
    assert checked > 15


def test_every_operation_answers_every_token_as_its_line_says(world):
    """X01, X02: nothing without a token, nothing outside of its project, no writing with one that reads."""
    elsewhere = services.create_project("elsewhere", "Elsewhere")
    programs = {
        "nothing": Program(),
        "an invented token": Program("hms_invented"),
        "a revoked token": Program(revoked(world.project)),
        "a foreign reading token": Program(issue_token(elsewhere, "reads").secret),
        "a foreign writing token": Program(issue_token(elsewhere, "writes", may_write=True).secret),
        "a reading token": Program(issue_token(world.project, "reads").secret),
        "a writing token": Program(issue_token(world.project, "writes", may_write=True).secret),
    }
    wrong = []
    for name, method, route in operations():
        writes, body = OPERATIONS[name]
        address = world.address(route, number=1)
        has_place = "<" in route
        expected = (401, 401, 401, 403 if writes else 404, 404, 403 if writes else 200, 200)
        for (who, program), status in zip(programs.items(), expected, strict=True):
            found = program.ask(method, address, None if body is None else json.dumps(body))
            # The list of projects is the token's own, whoever asks.
            right = {status, 200} if status == 404 and not has_place else {status}
            if found not in right and not (status == 200 and found in (201, 202)):
                wrong.append(f"{name} with {who}: {found} instead of {status}")
    assert not wrong, "\n".join(wrong)


def revoked(project):
    issued = issue_token(project, "old", may_write=True)
    revoke_token(project, "old")
    return issued.secret


def test_the_login_of_an_owner_opens_no_operation(world, browsers):
    """X04: whoever sits in the browser is no token, so no other page can act in their name."""
    for _, method, route in operations():
        answer = browsers["owner"].ask(method.lower(), world.address(route))
        assert answer.status_code == 401, route


def test_a_token_opens_no_page(world):
    token = issue_token(world.project, "writes", may_write=True).secret
    for route, expected in PAGES.items():
        if expected.get[0] == "L":
            answer = Client(headers={"Authorization": f"Bearer {token}"}).get(world.address(route))
            assert sign_of(answer) == "L", route


@pytest.mark.parametrize(
    "path",
    [
        "/static/../manage.py",
        "/static/%2e%2e/hermes_site/settings.py",
        "/static/..%2f..%2fetc/passwd",
        "/static//etc/passwd",
        "/static/js/%2e%2e/%2e%2e/manage.py",
        "/var/secret_key",
        "/.env",
        "/.git/config",
        "/media/",
        "/uploads/",
        "/s/{id}.json",
        "/s/{id}/export.json",
        "/s/{id}/occupancy.csv.gz",
        "/s/{id}/%2e%2e/{id}/occupancy.csv",
        "/api/v1/sessions/{id}/export.json",
        "/admin/",
    ],
)
def test_paths_that_look_like_files_lead_nowhere(world, browsers, path):
    for who in ("nobody", "stranger"):
        answer = browsers[who].ask("get", path.format(id=world.session.public_id))
        if answer.status_code == 301:
            answer = browsers[who].ask("get", answer.headers["Location"])
        assert sign_of(answer) in ("4", "L"), who
        assert b"root:" not in answer.content and b"SECRET_KEY" not in answer.content


def test_a_superuser_is_a_stranger_in_every_project_and_alone_sees_the_log_of_the_site(world):
    administrator = Browser(User.objects.create_superuser("ada"))
    for route, expected in PAGES.items():
        if expected.get == "L4444":
            assert sign_of(administrator.ask("get", world.address(route))) == "o"
        elif expected.get[1] == "4":
            assert sign_of(administrator.ask("get", world.address(route))) == "4", route


def test_who_leaves_a_project_sees_nothing_of_it_from_then_on(world):
    viewer = world.people["viewer"]
    client = Client()
    client.force_login(viewer)
    assert client.get(f"/s/{world.session.public_id}/").status_code == 200
    assert client.post(f"/p/{world.project.slug}/people/leave/").status_code == 302
    assert client.get(f"/s/{world.session.public_id}/").status_code == 404
    assert client.get(f"/p/{world.project.slug}/").status_code == 404

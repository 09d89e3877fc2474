"""Who gets in, and with what protection: the site is closed unless a page says otherwise."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import get_resolver, reverse

from hermes_site.login.links import make_owner_link
from sessions_app.models import LoginLink
from sessions_app.services.login_links import issue_login_link, redeem_login_link
from sessions_app.services.owner import ensure_local_owner

pytestmark = pytest.mark.django_db

# Pages that strangers may see; everything else sends them to the login.
OPEN_PAGES = {"login", "login_once", "health"}


@pytest.fixture
def person():
    return User.objects.create_user("person")


def path_of(link):
    return link.url.removeprefix("http://site")


def test_a_link_logs_in_once_and_then_never_again(client):
    path = path_of(make_owner_link("http://site"))
    answer = client.get(path)
    assert (answer.status_code, answer.url) == (302, "/")
    assert int(client.session["_auth_user_id"]) == ensure_local_owner().pk
    client.logout()
    assert client.get(path).status_code == 410
    assert "_auth_user_id" not in client.session


def test_asking_for_another_link_leaves_the_first_one_valid(client):
    first, second = make_owner_link("http://site"), make_owner_link("http://site")
    assert client.get(path_of(second)).status_code == 302
    assert client.get(path_of(first)).status_code == 302


def test_a_browser_that_only_guesses_does_not_use_the_link_up(client):
    path = path_of(make_owner_link("http://site"))
    assert client.get(path, headers={"Sec-Purpose": "prefetch;prerender"}).status_code == 204
    assert client.head(path).status_code == 405
    assert client.post(path).status_code == 405
    assert client.get(path).status_code == 302


def test_expired_spent_and_invented_links_look_the_same(client, person):
    expired = issue_login_link(person, timedelta(seconds=-1))
    spent = issue_login_link(person, timedelta(hours=1))
    assert redeem_login_link(spent) == person
    answers = {token: client.get(f"/login/once/{token}") for token in (expired, spent, "invented", "x" * 500)}
    assert {answer.status_code for answer in answers.values()} == {410}
    assert len({without_tokens(answer.content, token) for token, answer in answers.items()}) == 1
    assert all("no-store" in answer.headers["Cache-Control"] for answer in answers.values())


def without_tokens(page, token):
    """The page without its own address and without the protection of its forms, which differ each time."""
    return re.sub(rb"[A-Za-z0-9]{64}", b"", page.replace(token.encode(), b""))


def test_a_link_of_somebody_who_was_shut_out_does_not_work(person):
    token = issue_login_link(person, timedelta(hours=1))
    person.is_active = False
    person.save()
    assert redeem_login_link(token) is None


def test_the_database_does_not_hold_the_secret_of_a_link(person):
    token = issue_login_link(person, timedelta(hours=1))
    stored = LoginLink.objects.get(user=person)
    assert token not in str(stored.__dict__)


def test_links_that_expired_are_dropped_when_a_new_one_is_made(person):
    issue_login_link(person, timedelta(seconds=-1))
    issue_login_link(person, timedelta(hours=1))
    assert LoginLink.objects.filter(user=person).count() == 1


def test_the_owner_is_made_once_and_has_no_password():
    owner = ensure_local_owner()
    assert ensure_local_owner() == owner
    assert owner.username == "owner" and owner.is_superuser and not owner.has_usable_password()


def test_an_owner_who_was_shut_out_is_followed_by_another_of_another_name():
    User.objects.create_superuser("owner", is_active=False)
    User.objects.create_user("owner2")
    assert ensure_local_owner().username == "owner3"


def test_a_password_lets_in_and_a_wrong_one_does_not(client, person):
    person.set_password("long enough and odd")
    person.save()
    wrong = client.post("/login/", {"username": "person", "password": "guess"})
    assert wrong.status_code == 200 and "_auth_user_id" not in client.session
    right = client.post("/login/", {"username": "person", "password": "long enough and odd"})
    assert (right.status_code, right.url) == (302, "/")


def test_logging_out_takes_a_post(client, person):
    client.force_login(person)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").url == "/login/"
    assert "_auth_user_id" not in client.session


def test_every_page_without_arguments_sends_strangers_to_the_login_unless_it_is_open(client):
    names = [name for name in get_resolver().reverse_dict if isinstance(name, str)]
    assert {"login", "health"} <= set(names)
    for name in set(names) - OPEN_PAGES:
        for possibility, *_ in get_resolver().reverse_dict.getlist(name):
            if any(parameters for _, parameters in possibility):
                continue
            answer = client.get(reverse(name))
            is_sent_to_login = answer.headers.get("Location", "").startswith("/login/")
            assert is_sent_to_login or answer.status_code in (401, 403, 404, 405), name


def test_the_health_check_tells_strangers_ok_and_nothing_else(client):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_pages_carry_a_policy_that_allows_no_inline_code_and_no_foreign_source(client):
    policy = client.get("/login/").headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == directives["base-uri"] == directives["object-src"] == "'none'"
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy


def test_pages_may_not_be_framed_and_tell_other_sites_nothing(client):
    headers = client.get("/login/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_a_form_without_its_token_is_refused(person):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    assert strict.post("/login/", {"username": "person", "password": "x"}).status_code == 403


def test_a_host_the_site_is_not_called_by_is_refused(client):
    assert settings.ALLOWED_HOSTS
    assert client.get("/login/", headers={"Host": "evil.example"}).status_code == 400

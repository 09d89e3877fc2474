"""Keys that a project stores: who may set them, where they go, and that they come out nowhere else.

The canary is a key that exists nowhere but here: wherever it is found, something has leaked.
"""

import json
import logging

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from row_builder import COUNTER, NewMessage
from talk import Talk, passes

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.stored_key import StoredKey, origin_of
from compaction.errors import InvalidInput
from compaction.messages import Message, Role
from compaction.policy import CompactionPolicy
from sessions_app import services
from sessions_app.models import AuditAction, AuditEntry, MemberRole, ModelCall, ProjectSecret
from sessions_app.origins import command_origin
from sessions_app.secret_keys import stored_key
from sessions_app.services.tokens import issue_token
from sessions_app.session_policy import policy_of
from sessions_app.summarizers import summarizer_for_policy
from tests.compaction.loopback import completion, failure, serving

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a9c51e2d84b06-never-leaves"
NAME = "TEAM_API_KEY"
ORIGIN = command_origin("a test")
SITE_KEY = Fernet.generate_key().decode()
WINDOW_TOKENS = 8_000


@pytest.fixture(autouse=True)
def site(settings, loopback_is_allowed):
    settings.SECRETS_KEYS = (SITE_KEY,)


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=WINDOW_TOKENS, model="main")


@pytest.fixture
def page(owner):
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    return client


def store(page, place="https://api.example.com", value=CANARY, name=NAME):
    return page.post("/p/review/keys/", {"name": name, "place": place, "value": value})


def everything_stored():
    """All rows of all tables, as text."""
    with connection.cursor() as cursor:
        cursor.execute("select tablename from pg_tables where schemaname = 'public'")
        texts = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'select t::text from "{table}" t')
            texts += [text for (text,) in cursor.fetchall()]
    return "\n".join(texts)


def test_a_stored_key_is_encrypted_and_the_page_shows_all_but_the_key(page, project):
    assert store(page).status_code == 302
    html = page.get("/p/review/keys/").content.decode()
    assert NAME in html and "https://api.example.com" in html and "olga" in html
    assert CANARY not in html and CANARY not in everything_stored()
    assert stored_key(project.pk, NAME).value == CANARY
    assert CANARY not in repr(stored_key(project.pk, NAME))


def test_a_mistake_beside_the_key_does_not_send_the_key_back(page):
    answer = store(page, place="not a place at all")
    assert answer.status_code == 422
    assert "not a place at all" in answer.content.decode()
    assert CANARY not in answer.content.decode()


def test_without_a_site_key_storing_is_refused_with_words(page, settings):
    settings.SECRETS_KEYS = ()
    html = page.get("/p/review/keys/").content.decode()
    assert "HERMES_SITE_SECRETS_KEY" in html and '<form class="panel-body' not in html
    answer = store(page)
    assert answer.status_code == 422
    assert not ProjectSecret.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_owners_see_that_there_are_keys(page, project, role):
    store(page)
    person = User.objects.create_user("eddi")
    services.add_member(project, person, MemberRole(role))
    client = Client()
    client.force_login(person)
    assert client.get("/p/review/keys/").status_code == 403
    assert client.post("/p/review/keys/", {"name": NAME, "place": "evil.example", "value": "x"}).status_code == 403
    assert stored_key(project.pk, NAME).value == CANARY


def test_a_key_copied_to_another_project_or_name_can_not_be_read_there(page, project):
    store(page)
    other = services.create_project("other", "Other")
    copied = ProjectSecret.objects.get()
    ProjectSecret.objects.create(
        project=other, name=NAME, origin=copied.origin, ciphertext=copied.ciphertext, set_at=copied.set_at
    )
    found = stored_key(other.pk, NAME)
    assert found.value == "" and "another place" in found.problem


def test_a_key_of_one_project_does_not_exist_in_another(page):
    store(page)
    other = services.create_project("other", "Other")
    assert stored_key(other.pk, NAME) is None


def test_site_keys_are_replaced_without_losing_a_key(page, project, settings, capsys):
    store(page)
    new = Fernet.generate_key().decode()
    settings.SECRETS_KEYS = (new, SITE_KEY)
    call_command("rotate_secrets")
    assert "1 stored keys" in capsys.readouterr().out
    settings.SECRETS_KEYS = (new,)
    assert stored_key(project.pk, NAME).value == CANARY
    settings.SECRETS_KEYS = (SITE_KEY,)
    assert "another HERMES_SITE_SECRETS_KEY" in stored_key(project.pk, NAME).problem
    with pytest.raises(CommandError, match=f"review/{NAME}"):
        call_command("rotate_secrets")


def test_a_removed_key_is_gone_and_both_deeds_are_in_the_log(page, project):
    store(page)
    page.post(f"/p/review/keys/{ProjectSecret.objects.get().pk}/remove/")
    assert stored_key(project.pk, NAME) is None
    told = list(
        AuditEntry.objects.filter(project=project, subject=NAME).order_by("id").values_list("action", flat=True)
    )
    assert told == [AuditAction.SECRET_STORED, AuditAction.SECRET_REMOVED]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("team_api_key", "api.example.com"),
        ("PATH", "api.example.com"),
        ("OPENAI_API_KEY", "evil.example"),
        (NAME, "https://user:pass@api.example.com"),
        (NAME, "file:///etc/passwd"),
        (NAME, "api example com"),
        (NAME, ""),
    ],
)
def test_names_and_places_that_can_not_be_are_explained(page, name, place, settings):
    settings.OUTBOUND_RULES = OutboundRules()
    answer = store(page, place=place, name=name)
    assert answer.status_code == 422 and "field-error" in answer.content.decode()
    assert not ProjectSecret.objects.exists()


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("api.example.com", "https://api.example.com"),
        ("API.example.com.", "https://api.example.com"),
        ("https://api.example.com:443/v1/chat", "https://api.example.com"),
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)
def test_an_address_names_one_origin(address, origin):
    assert origin_of(address) == origin


@pytest.mark.parametrize("address", ["", "https://", "ftp://x", "https://a:b@c", "a b", "https://x:99999", "ä.example"])
def test_what_names_no_origin_is_refused(address):
    with pytest.raises(InvalidInput):
        origin_of(address)


# Passes that use it


def use_endpoint(project, url, **auxiliary):
    block = {"base_url": url, "model": "small-model", "api_key_secret": NAME, **auxiliary}
    settings = {"compression": {"threshold_floor": "off", "threshold": 0.5}, "auxiliary": {"compression": block}}
    services.save_policy(project.pk, settings, None)
    project.refresh_from_db()


def pass_over_http(project, rows):
    """Turns until the context is over the threshold, and the pass that follows, with the summarizer that jobs use."""
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows)
    talk.summarizer = summarizer_for_policy(policy_of(project), COUNTER, project.pk)
    number = 0
    while rows.session.live_tokens < WINDOW_TOKENS // 2:
        talk.turn(number, 120)
        number += 1
    talk.finalize()
    return passes(rows)[0]


def test_a_pass_sends_the_key_to_its_place(page, project, rows):
    with serving(completion("## Key Decisions\n- it stays")) as server:
        store(page, place=server.url)
        use_endpoint(project, server.url)
        done = pass_over_http(project, rows)
        assert done.outcome == "compacted"
        assert server.asked[0].headers["authorization"] == f"Bearer {CANARY}"


def test_a_key_is_not_sent_where_somebody_has_moved_the_address_to(page, project, rows):
    """Whoever may change settings, but not keys, must not get a key by naming another address."""
    with serving(completion("x")) as server:
        store(page, place="https://api.example.com")
        use_endpoint(project, server.url)
        done = pass_over_http(project, rows)
        assert (done.reason, server.asked) == ("key_refused", [])


@pytest.mark.parametrize("stored", [None, StoredKey("", "https://x", "it can't be read")])
def test_a_key_that_is_missing_or_unreadable_fails_the_pass_and_not_the_turn(project, rows, stored, page, settings):
    with serving(completion("x")) as server:
        if stored is not None:
            store(page, place=server.url)
            settings.SECRETS_KEYS = (Fernet.generate_key().decode(),)
        use_endpoint(project, server.url)
        done = pass_over_http(project, rows)
        assert done.reason == ("key_missing" if stored is None else "key_invalid")
        assert server.asked == []


def test_a_variable_and_a_stored_key_together_are_refused(project):
    use_endpoint(project, "https://api.example.com/v1", key_env="OTHER_API_KEY")
    reply = summarizer_for_policy(policy_of(project), COUNTER, project.pk).ask(None)
    assert "not both" in reply.error_detail


def test_settings_keep_the_name_of_a_key_and_never_a_key(project):
    blocks = {"auxiliary": {"compression": {"api_key_secret": NAME, "api_key": CANARY}}}
    policy = CompactionPolicy.from_mapping(blocks)
    assert policy.policy.auxiliary.key_secret == NAME
    assert CANARY not in json.dumps(policy.policy.to_mapping()) + str(policy.problems)


def test_the_canary_comes_out_nowhere(page, project, rows, caplog, capfd, settings, tmp_path, monkeypatch):
    """The endpoint even repeats the key in its complaint, and a page breaks while the key is being stored."""
    caplog.set_level(logging.DEBUG)
    with serving(failure(400, f"Incorrect API key provided: {CANARY}")) as server:
        store(page, place=server.url)
        use_endpoint(project, server.url)
        done = pass_over_http(project, rows)
        assert done.reason == "http_400"
        assert server.asked[0].headers["authorization"] == f"Bearer {CANARY}"
    assert ModelCall.objects.exists()
    assert CANARY not in everything_stored()
    session = rows.session
    writer = Client(headers={"Authorization": f"Bearer {issue_token(project, 'w', may_write=True).secret}"})
    api = f"/api/v1/sessions/{session.public_id}"
    asked = [
        *(
            writer.get(f"{api}/{part}")
            for part in ("export?redact=false", "export?format=jsonl&redact=false", "passes")
        ),
        *(writer.get(path) for path in (f"{api}/passes/1", "/api/v1/projects/review/settings", api)),
        *(page.get(f"/s/{session.public_id}/{part}") for part in ("", "passes/", "replay/1/1/", "act/", "export/")),
        *(page.get(f"/p/review/{part}") for part in ("", "settings/", "settings.yaml", "audit/", "keys/", "people/")),
        *(page.get(path) for path in ("/health/", "/account/", "/")),
    ]
    for answer in asked:
        assert answer.status_code == 200, answer.request["PATH_INFO"]
        assert CANARY not in answer.getvalue().decode(), answer.request["PATH_INFO"]
    break_while_storing(page, settings, monkeypatch)
    logged = capfd.readouterr()
    assert CANARY not in caplog.text + logged.out + logged.err + str([vars(one) for one in caplog.records])


def break_while_storing(page, settings, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("it broke here")

    monkeypatch.setattr("sessions_app.views.secrets.store_secret", broken)
    for debug in (False, True):
        settings.DEBUG = debug
        answer = store(page)
        assert answer.status_code == 500
        assert CANARY not in answer.content.decode()
    assert "it broke here" in answer.content.decode()

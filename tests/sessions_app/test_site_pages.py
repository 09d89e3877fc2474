"""Pages beside the sessions': the list, who may see what, forms and their mistakes, errors, the theme."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.utils import timezone
from page_reading import client_of
from row_builder import RowBuilder, assistant, user

from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.models import CallPurpose, ImportJob, MemberRole, MessageRow, ReplayRun, Session
from sessions_app.services import CallMade, record_calls

pytestmark = pytest.mark.django_db


def person(name, project=None, role=MemberRole.OWNER):
    found = User.objects.create_user(name)
    if project is not None:
        services.add_member(project, found, role)
    return found


@pytest.fixture
def client(project):
    return client_of(person("olga", project))


def listed(client, query=""):
    html = client.get(f"/{query}").content.decode()
    return re.findall(r'class="s-title" href="/s/([^/]+)/"', html)


@pytest.fixture
def many(project):
    """Seventy sessions with activity at different times and of different sizes."""
    for number in range(70):
        session = services.create_session(
            project, f"Session {number:02}", model=f"model-{number % 3}", window_tokens=100_000
        )
        RowBuilder(session.pk).append(*[user("word " * (number % 7 + 1))] * (number % 5 + 1))
    return list(Session.objects.order_by("-listed_at", "-id"))


@pytest.mark.parametrize("order", ["", "occupancy", "tokens", "archived"])
def test_paging_forward_and_back_shows_every_session_once_in_each_order(client, many, order):
    query = f"?sort={order}" if order else "?"
    first = client.get(f"/{query}").content.decode()
    older = re.search(r'rel="next" href="([^"]+)"', first).group(1).replace("&amp;", "&")
    second = client.get(f"/{older}").content.decode()
    ids = [re.findall(r'class="s-title" href="/s/([^/]+)/"', html) for html in (first, second)]
    assert [len(page) for page in ids] == [50, 20]
    assert len({*ids[0], *ids[1]}) == 70
    newer = re.search(r'rel="prev" href="([^"]+)"', second).group(1).replace("&amp;", "&")
    assert listed(client, newer) == ids[0]


def test_the_list_makes_as_many_queries_for_fifty_sessions_as_for_five(client, many):
    few = f"?after={many[-6].listed_at.isoformat().replace('+', '%2B')}~{many[-6].pk}"
    assert len(listed(client, few)) == 5
    counts = []
    for query in (few, "?"):
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/{query}")
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 12


def test_filters_narrow_the_list_together(client, many):
    assert len(listed(client, "?model=model-1")) == 23
    assert listed(client, f"?q={many[0].public_id}") == [many[0].public_id]
    assert listed(client, "?q=session 4&model=model-1") == [
        one.public_id for one in many if one.title.startswith("Session 4") and one.model == "model-1"
    ]
    assert listed(client, "?has_batch=on") == []
    assert listed(client, "?over=0")
    assert listed(client, "?over=99") == []
    assert len(listed(client, "?period=day")) == 50
    assert listed(client, "?project=elsewhere") == []


def test_an_empty_site_says_how_to_begin(client):
    html = client.get("/").content.decode()
    assert "No sessions yet" in html
    assert "import_sessions" in html


def test_a_session_without_title_is_named_by_its_first_words(client, project):
    session = services.create_session(project, "")
    RowBuilder(session.pk).append(user("Why does\nthe build fail?"))
    assert "Why does the build fail?" in client.get("/").content.decode()


def addresses(session, run, job):
    """Every address of the pages, filled in."""
    row = MessageRow.objects.filter(session=session).first()
    values = {
        "public_id": session.public_id,
        "slug": session.project.slug,
        "row_id": row.pk,
        "part_number": 0,
        "number": 1,
        "step": 1,
        "run_id": run.pk,
        "job_id": job.pk,
        "test_id": 1,
        "answer_id": 1,
    }
    for pattern in get_resolver("sessions_app.urls").url_patterns:
        route = str(getattr(pattern, "pattern", ""))
        if not getattr(pattern, "callback", None) or not route.startswith(("s/<", "p/<", "import/<")):
            continue
        yield "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(values.get(match.group(1), "1")), route)


@pytest.fixture
def everything(session, rows):
    rows.turns(6)
    live = rows.live()
    rows.absorb([row.pk for row in live if 5 <= row.position <= 7])
    return session, services_run(session), services_job(session.project)


def services_run(session):
    from sessions_app.services.replays import request_replay

    return request_replay(session, "none")


def services_job(project):
    from sessions_app.services.imports import request_import

    return request_import(project, [])


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
def test_strangers_get_404_or_405_at_every_address_of_a_session(everything, method):
    stranger = client_of(person("stranger"))
    paths = list(addresses(*everything))
    assert len(paths) > 15
    for path in paths:
        assert getattr(stranger, method)(path).status_code in (404, 405), path


def test_nobody_sees_a_page_without_logging_in(everything):
    nobody = client_of(None)
    for path in ("/", "/import/", "/p/", "/health/", "/play/", "/s/new/", *addresses(*everything)):
        response = nobody.get(path)
        assert response.status_code in (302, 401, 405), path
        if response.status_code == 302:
            assert response.headers["Location"].startswith("/login/")


def test_a_reader_may_look_but_not_start_anything(everything, project):
    session, run, job = everything
    viewer = client_of(person("vera", project, MemberRole.VIEWER))
    assert viewer.get(f"/s/{session.public_id}/runs/").status_code == 200
    for path, data in (
        (f"/s/{session.public_id}/runs/", {"policy": "none"}),
        (f"/s/{session.public_id}/runs/{run.pk}/cancel/", {}),
        (f"/import/{job.pk}/cancel/", {}),
    ):
        response = viewer.post(path, data)
        assert response.status_code == 403
        assert "do not have the right to do what was asked" in response.content.decode()
    assert ReplayRun.objects.count() == 1


def test_nothing_is_started_without_the_forms_token(everything, project):
    session, run, job = everything
    careful = client_of(person("otto", project), enforce_csrf_checks=True)
    for path in (
        f"/s/{session.public_id}/runs/",
        f"/s/{session.public_id}/runs/{run.pk}/cancel/",
        "/import/",
        "/theme/",
    ):
        response = careful.post(path, {})
        assert response.status_code == 403, path
        assert "The form was out of date" in response.content.decode()


def test_a_simulation_takes_the_projects_settings_and_what_was_changed(client, session, rows):
    rows.turns(2)
    services.save_policy(session.project_id, {"compression": {"protect_first_n": 5}}, None)
    response = client.post(f"/s/{session.public_id}/runs/", {"policy": "micro", "micro_compact_every_n_turns": "3"})
    run = ReplayRun.objects.get()
    assert response.headers["Location"] == f"/s/{session.public_id}/runs/{run.pk}/"
    assert run.policy_settings["compression"] == {"protect_first_n": 5, "micro_compact_every_n_turns": 3}
    assert run.window_tokens is None


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("policy", "wishful", "wishful"),
        ("window_tokens", "12", "Ensure this value"),
        ("threshold", "7", "Out of range: it goes from 0.05 to 1."),
        ("protect_first_n", "two", "This is not a whole number."),
        ("target_ratio", "nan", "This is not a number."),
    ],
)
def test_a_mistake_in_a_simulation_is_told_at_its_field_and_nothing_typed_is_lost(
    client, session, rows, field, value, words
):
    rows.turns(2)
    response = client.post(
        f"/s/{session.public_id}/runs/", {"policy": "micro", "threshold_floor": "false", field: value}
    )
    assert response.status_code == 422
    html = response.content.decode()
    assert words in html
    assert not ReplayRun.objects.exists()
    assert '<option value="false" selected>' in html


def test_a_simulation_of_an_unknown_window_asks_how_large_it_is(client, project):
    session = services.create_session(project, "Unknown", model="nobody-knows-it")
    RowBuilder(session.pk).append(user("hello"), assistant("hi"))
    response = client.post(f"/s/{session.public_id}/runs/", {"policy": "none"})
    assert response.status_code == 422
    assert "say how large it is" in response.content.decode()


def test_an_upload_is_kept_under_its_own_name_until_it_is_read(client, project, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    hostile = SimpleUploadedFile("..\\..\\etc\\passwd.jsonl", b'{"role": "user", "content": "x"}\n')
    response = client.post("/import/", {"project": project.slug, "uploads": [hostile]})
    job = ImportJob.objects.get()
    assert response.headers["Location"] == f"/import/{job.pk}/"
    stored = job.files[0]
    assert stored["name"] == "passwd.jsonl"
    assert stored["path"].startswith(str(tmp_path / "uploads"))
    assert stored["size_bytes"] == 33
    assert "passwd.jsonl" in client.get(f"/import/{job.pk}/").content.decode()


def test_an_import_without_files_or_into_a_foreign_project_is_refused_with_a_word(client, project):
    other = services.create_project("other", "Other")
    response = client.post("/import/", {"project": project.slug})
    assert response.status_code == 422
    assert "Choose at least one file." in response.content.decode()
    upload = SimpleUploadedFile("a.jsonl", b"{}\n")
    response = client.post("/import/", {"project": other.slug, "uploads": [upload]})
    assert response.status_code == 422
    assert "You can&#x27;t import into this project." in response.content.decode()
    assert not ImportJob.objects.exists()


def test_the_theme_is_kept_in_a_cookie_and_leads_back_to_the_page(client):
    response = client.post("/theme/", {"theme": "dark", "next": "/p/"})
    assert response.headers["Location"] == "/p/"
    assert 'data-theme="dark"' in client.get("/p/").content.decode()


def test_the_theme_switch_leads_to_no_other_site(client):
    for address in ("https://tracker.example/", "//tracker.example/", "javascript:alert(1)"):
        assert client.post("/theme/", {"theme": "dark", "next": address}).headers["Location"] == "/"


def test_an_invented_theme_counts_as_auto(client):
    client.cookies["hermes_sessions_theme"] = '"><script>'
    assert "data-theme" not in client.get("/").content.decode().split("<body")[0].replace("data-theme-form", "")


def test_an_unknown_host_is_refused_with_a_page(client):
    response = client.get("/", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "HERMES_SITE_ALLOWED_HOSTS" in response.content.decode()


def test_a_fault_of_ours_is_told_without_login_and_database(client, monkeypatch):
    def broken(*_arguments):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("sessions_app.views.session_list.read_session_list", broken)
    client.raise_request_exception = False
    with CaptureQueriesContext(connection):
        response = client.get("/")
    assert response.status_code == 500
    html = response.content.decode()
    assert "Something broke on this site" in html
    assert "secret detail" not in html


def test_the_health_page_says_members_what_works_and_administrators_also_how(client):
    html = client.get("/health/").content.decode()
    assert "answers" in html and "none waits for long" in html
    assert "PostgreSQL" not in html and "Django" not in html
    administrator = client_of(User.objects.create_superuser("ada"))
    html = administrator.get("/health/").content.decode()
    assert "PostgreSQL" in html
    assert "up to date" in html


def test_the_health_page_tells_nobody_of_calls_in_projects_they_are_not_in(client, session):
    call = CallMade(CallPurpose.BATCH, timezone.now(), Reply(error="http_418"), endpoint="http://127.0.0.1:8080/v1")
    record_calls(session.pk, [call, call])
    assert "answered HTTP 418" in client.get("/health/").content.decode()
    stranger = client_of(person("stranger")).get("/health/").content.decode()
    assert "418" not in stranger and "of the newest" not in stranger
    administrator = client_of(User.objects.create_superuser("ada")).get("/health/").content.decode()
    assert "2 of the newest 2 failed" in administrator and "418" not in administrator


def test_a_project_shows_its_settings_with_what_differs_from_the_defaults(client, project):
    services.save_policy(project.pk, {"compression": {"micro_compact": True}}, None, "On")
    html = client.get(f"/p/{project.slug}/").content.decode()
    assert "micro_compact_defrag_threshold_tokens" in html
    assert "<b>on</b>" in html
    assert project.name in client.get("/p/").content.decode()


def test_somebody_who_is_in_no_project_is_told_so_on_the_import_page(project):
    html = client_of(person("nina")).get("/import/").content.decode()
    assert "You are in no project yet." in html
    assert "<b>nina</b>" in html
    reader = client_of(person("rita", project, MemberRole.VIEWER))
    assert "not change any of them" in reader.get("/import/").content.decode()


def test_a_page_of_what_still_runs_offers_a_reload_to_readers_without_scripts(client, project):
    session = services.create_session(project, "a")
    run = ReplayRun.objects.create(session=session, policy_name="micro", summarizer="extractive", token_counter="rough")
    job = ImportJob.objects.create(project=project)
    words = re.compile(r'<noscript><a [^>]*href="([^"]+)">Reload to see progress</a></noscript>')
    for one, path in ((run, f"/s/{session.public_id}/runs/{run.pk}/"), (job, f"/import/{job.pk}/")):
        assert words.search(client.get(path).content.decode()).group(1) == path
        one.status = "done"
        one.save()
        assert not words.search(client.get(path).content.decode())

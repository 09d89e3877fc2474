"""Deleting a project: who may, what it says beforehand, what is shut at once, what a job then deletes."""

from datetime import timedelta
from socket import create_server

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from procrastinate.contrib.django.models import ProcrastinateJob
from row_builder import RowBuilder, user

from sessions_app import import_jobs, project_deletion, services
from sessions_app.deferring import DELETE_PROJECT
from sessions_app.import_jobs import run_import_job
from sessions_app.models import (
    ApiToken,
    AuditAction,
    AuditEntry,
    ImportJob,
    Invitation,
    MemberRole,
    Play,
    Project,
    ProjectDeletion,
    ProjectMember,
    ProjectSecret,
    Session,
)
from sessions_app.project_deletion import run_project_deletion
from sessions_app.sample_project import SLUG, samples_project
from sessions_app.services import deleting_projects
from sessions_app.services.imports import UploadedFile, request_import
from sessions_app.services.invitations import InvitationSpent, accept_invitation, create_invitation
from sessions_app.services.replays import request_replay
from sessions_app.services.secrets import store_secret
from sessions_app.services.tokens import find_token, issue_token
from sessions_app.summarizers import operator_rules

pytestmark = pytest.mark.django_db
URL = "/p/review/delete/"


def client_of(person):
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def client(owner):
    return client_of(owner)


@pytest.fixture
def full(project, rows, settings):
    """The project with one of everything, and the secret of its token."""
    settings.SECRETS_KEYS = (Fernet.generate_key().decode(),)
    rows.turns(5)
    rows.absorb([row.pk for row in rows.live()[5:8]])
    services.branch_session(rows.session_id, 4)
    request_replay(rows.session, "none")
    Play.objects.create(session=services.create_session(project, "played"), rate=1.0, status="running")
    request_import(project, [])
    store_secret(services.AuditOrigin("site"), project, "TEAM_API_KEY", "https://api.example.com", "k")
    return issue_token(project, "agent", may_write=True).secret


def ask(client, name="Review", url=URL):
    return client.post(url, {"typed": name})


def test_the_page_says_what_goes_and_the_name_has_to_be_typed(client, full, member):
    page = client.get(URL).content.decode()
    for words in ("3 sessions with", "1 stored key", "1 API token in force", "1 other member", "can&#x27;t be undone"):
        assert words in page.replace("can't", "can&#x27;t"), words
    for wrong in ("", "review", "Revie"):
        refused = ask(client, wrong)
        assert refused.status_code == 422
        assert "Nothing was deleted" in refused.content.decode()
    assert Project.objects.filter(slug="review").exists() and not ProjectDeletion.objects.exists()


def test_only_an_owner_can_and_strangers_do_not_learn_that_it_exists(full, project, member):
    editor = User.objects.create_user("eddy")
    services.add_member(project, editor, MemberRole.EDITOR)
    for person in (member, editor):
        assert ask(client_of(person)).status_code == 403
        page = client_of(person).get(URL).content.decode()
        assert "Only an owner can delete" in page
        assert "stored key" not in page and "API token in force" not in page
    stranger = client_of(User.objects.create_user("sam"))
    assert ask(stranger).status_code == stranger.get(URL).status_code == 404
    assert ProjectMember.objects.filter(project=project).count() == 2


def test_everything_is_shut_before_anything_is_deleted(client, full, project, owner, session):
    invited = Invitation.objects.count()
    answer = ask(client)
    deletion = ProjectDeletion.objects.get()
    assert answer.headers["Location"] == f"/deletions/{deletion.pk}/"
    assert (deletion.sessions_total, deletion.keys_total, deletion.tokens_total) == (3, 1, 1)
    assert find_token(full) is None
    for address in ("/p/review/", f"/s/{session.public_id}/", URL):
        assert client.get(address).status_code == 404
    assert (ApiToken.objects.count(), ProjectSecret.objects.count(), invited) == (0, 0, 0)
    assert Play.objects.get().status == "cancelled"
    assert ImportJob.objects.get().cancel_requested
    assert Session.objects.filter(project=project).count() == 3
    assert ProcrastinateJob.objects.filter(task_name=DELETE_PROJECT, status="todo").count() == 1
    assert "0 of 3 sessions deleted" in client.get(f"/deletions/{deletion.pk}/").content.decode()
    assert client_of(User.objects.create_user("sam")).get(f"/deletions/{deletion.pk}/").status_code == 404


def left_of(project_id, session_ids):
    """Models that still hold something of a project or its sessions."""
    found = set()
    for model in apps.get_app_config("sessions_app").get_models():
        for field in model._meta.concrete_fields:
            ids = {"project": [project_id], "session": session_ids}.get(field.name)
            if ids and model._default_manager.filter(**{f"{field.name}_id__in": ids}).exists():
                found.add(model.__name__)
    return found


def test_the_job_deletes_every_trace_of_the_project_and_of_no_other(client, full, project, owner, tmp_path):
    other = services.create_project("other", "Other")
    kept = RowBuilder(services.create_session(other, "stays").pk)
    kept.append(user("hello"))
    upload = tmp_path / "waits.jsonl"
    upload.write_text("{}")
    in_place = {"name": "read-by-a-command.jsonl", "path": "", "size_bytes": 0}
    ImportJob.objects.update(files=[in_place, {"name": "waits.jsonl", "path": str(upload), "size_bytes": 2}])
    session_ids = list(project.sessions.values_list("pk", flat=True))
    assert {"MessageRow", "CompactionPass", "RowWords", "Turn", "SessionEvent"} <= left_of(project.pk, session_ids)
    ask(client)
    run_project_deletion(ProjectDeletion.objects.get().pk)
    assert left_of(project.pk, session_ids) == set()
    assert not Project.objects.filter(pk=project.pk).exists() and not upload.exists()
    assert kept.texts() == ["hello"]
    deletion = ProjectDeletion.objects.get()
    assert (deletion.status, deletion.sessions_done, deletion.project_id) == ("done", 3, None)
    page = client.get(f"/deletions/{deletion.pk}/").content.decode()
    assert "The project is gone" in page and "hx-get" not in page


def test_the_audit_log_keeps_who_deleted_it_and_what_was_noted_before(client, full, owner):
    before = AuditEntry.objects.count()
    administrator = client_of(User.objects.create_superuser("root"))
    ask(client)
    assert "deleted the project" in administrator.get("/audit/").content.decode()
    run_project_deletion(ProjectDeletion.objects.get().pk)
    entry = AuditEntry.objects.get(action=AuditAction.PROJECT_DELETED)
    assert (entry.actor_name, entry.subject, entry.project_id) == (owner.username, "review", None)
    assert ["sessions", "3"] in entry.details
    assert AuditEntry.objects.count() == before + 1
    assert "deleted the project" in administrator.get("/audit/").content.decode()


def test_a_deletion_that_is_broken_off_goes_on_where_it_was(client, full, project, monkeypatch):
    ask(client)
    deletion, real, calls = ProjectDeletion.objects.get(), project_deletion.delete_next_session, []

    def away(one):
        calls.append(one)
        if len(calls) == 2:
            raise OperationalError("gone")
        return real(one)

    monkeypatch.setattr(project_deletion, "delete_next_session", away)
    with pytest.raises(OperationalError):
        run_project_deletion(deletion.pk)
    deletion.refresh_from_db()
    assert (deletion.status, deletion.sessions_done) == ("running", 1)
    run_project_deletion(deletion.pk)
    assert not Project.objects.filter(pk=project.pk).exists()
    run_project_deletion(deletion.pk)


def test_a_fault_of_ours_is_shown_and_can_be_tried_again(client, full, project, monkeypatch):
    ask(client)
    deletion = ProjectDeletion.objects.get()

    def broken(one):
        raise RuntimeError("what a row says")

    monkeypatch.setattr(project_deletion, "delete_next_session", broken)
    with pytest.raises(RuntimeError):
        run_project_deletion(deletion.pk)
    page = client.get(f"/deletions/{deletion.pk}/").content.decode()
    assert "a fault of ours (RuntimeError)" in page and "what a row says" not in page
    chinese = client.get(f"/deletions/{deletion.pk}/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "RuntimeError" in chinese and "a fault of ours" not in chinese
    monkeypatch.undo()
    client.post(f"/deletions/{deletion.pk}/again/")
    run_project_deletion(deletion.pk)
    assert not Project.objects.filter(pk=project.pk).exists()


def test_a_session_that_an_import_brought_in_meanwhile_goes_too(client, full, project, monkeypatch):
    ask(client)
    real = project_deletion.finish_project_deletion
    late = []

    def finish(deletion, remove):
        if not late:
            late.append(services.create_session(project, "came late"))
        return real(deletion, remove)

    monkeypatch.setattr(project_deletion, "finish_project_deletion", finish)
    run_project_deletion(ProjectDeletion.objects.get().pk)
    assert not Session.objects.filter(pk=late[0].pk).exists() and not Project.objects.filter(pk=project.pk).exists()


def test_of_two_who_confirm_at_once_the_second_one_is_told_that_it_is_gone(client, full, project, owner):
    other = User.objects.create_user("otto")
    services.add_member(project, other, MemberRole.OWNER)
    deleting_projects.request_project_deletion(project.pk, owner, services.AuditOrigin("page", owner))
    with pytest.raises(Project.DoesNotExist):
        deleting_projects.request_project_deletion(project.pk, owner, services.AuditOrigin("page", owner))
    assert ask(client_of(other)).status_code == 404
    assert ProjectDeletion.objects.count() == 1


def test_whoever_confirms_twice_is_led_to_the_deletion_that_runs(client, full, project, monkeypatch):
    first = ask(client).headers["Location"]
    assert ask(client).headers["Location"] == first
    with monkeypatch.context() as patched:
        # The second answer came so close that its checks still found the project.
        patched.setattr("sessions_app.views.project_deletion.get_project", lambda user, slug: project)
        assert ask(client).headers["Location"] == first
        patched.setattr("sessions_app.views.project_deletion.require_owner", lambda user, found: None)
        assert ask(client).headers["Location"] == first
    run_project_deletion(ProjectDeletion.objects.get().pk)
    assert ask(client).headers["Location"] == first
    assert client.get(URL).status_code == 404
    services.create_project("review", "Somebody else's")
    assert ask(client).status_code == 404


def test_a_crash_before_the_last_commit_leaves_no_upload_behind(client, full, project, tmp_path, monkeypatch):
    upload = tmp_path / "waits.jsonl"
    upload.write_text("{}")
    ImportJob.objects.update(files=[{"name": upload.name, "path": str(upload), "size_bytes": 2}])
    ask(client)
    deletion = ProjectDeletion.objects.get()

    def broken(project):
        raise OperationalError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(Project, "delete", broken)
        with pytest.raises(OperationalError):
            run_project_deletion(deletion.pk)
    assert not upload.exists() and Project.objects.filter(pk=project.pk).exists()
    run_project_deletion(deletion.pk)
    assert not Project.objects.filter(pk=project.pk).exists()


def test_an_import_whose_project_goes_meanwhile_ends_quietly(full, project, owner, tmp_path, monkeypatch):
    upload = tmp_path / "waits.jsonl"
    upload.write_text("{}")
    job = request_import(project, [UploadedFile(upload.name, str(upload), 2)])
    real = import_jobs.import_files

    def gone_meanwhile(*given):
        deleting_projects.request_project_deletion(project.pk, owner, services.AuditOrigin("page", owner))
        run_project_deletion(ProjectDeletion.objects.get().pk)
        yield from real(*given)

    monkeypatch.setattr(import_jobs, "import_files", gone_meanwhile)
    run_import_job(job.pk)
    assert not Project.objects.filter(pk=project.pk).exists() and not Session.objects.exists()
    assert not upload.exists() and not ImportJob.objects.exists()


def test_the_samples_can_go_like_any_project(owner):
    samples = samples_project()
    services.add_member(samples, owner, MemberRole.OWNER)
    client, url = client_of(owner), f"/p/{SLUG}/delete/"
    assert "come back only by the command load_samples" in client.get(url).content.decode()
    ask(client, "Samples", url)
    run_project_deletion(ProjectDeletion.objects.get().pk)
    assert not Project.objects.filter(slug=SLUG).exists()


def test_nobody_and_nothing_comes_into_a_project_that_is_shut(client, full, project, owner, settings):
    origin = services.AuditOrigin("page", owner)
    link = create_invitation(origin, project, MemberRole.OWNER, lifetime=timedelta(days=1)).secret
    held = Invitation.objects.get()
    ask(client)
    # As if the links had been read before the shut.
    held.pk = None
    held.save(force_insert=True)
    with pytest.raises(InvitationSpent):
        accept_invitation(origin, link, owner)
    for let_in in (
        lambda: services.add_member(project, owner, MemberRole.OWNER),
        lambda: issue_token(project, "late"),
        lambda: store_secret(origin, project, "LATE_KEY", "https://api.example.com", "k"),
        lambda: create_invitation(origin, project, MemberRole.OWNER, lifetime=timedelta(days=1)),
    ):
        with pytest.raises(services.ProjectShut):
            let_in()
    assert not ProjectMember.objects.filter(project=project).exists()
    assert (ApiToken.objects.count(), ProjectSecret.objects.count(), Invitation.objects.count()) == (0, 0, 1)


@pytest.mark.parametrize(
    ("view", "address", "form"),
    [
        ("tokens", "tokens", {"name": "late", "scope": "read", "days": ""}),
        ("secrets", "keys", {"name": "LATE_KEY", "place": "https://api.example.com", "value": "k"}),
        ("people", "people/invitations", {"role": "viewer", "days": "7", "uses": "1"}),
    ],
)
def test_an_owner_who_was_let_in_just_before_the_shut_gets_the_same_404_as_after_it(
    client, full, project, owner, settings, monkeypatch, view, address, form
):
    settings.OUTBOUND_RULES = operator_rules()
    monkeypatch.setattr(f"sessions_app.views.{view}.get_managed_project", lambda user, slug: project)
    deleting_projects.request_project_deletion(project.pk, owner, services.AuditOrigin("page", owner))
    assert client.post(f"/p/review/{address}/", form).status_code == 404


@pytest.mark.parametrize(
    "command",
    [
        ("import_sessions", __file__),
        ("feed", "flaky_summarizer", "--url"),
        ("create_token", "default", "--name", "late"),
        ("create_user", "late", "--project", "default"),
    ],
)
def test_commands_say_that_a_project_is_being_deleted(owner, command):
    project = services.default_project()
    deleting_projects.request_project_deletion(project.pk, owner, services.AuditOrigin("page", owner))
    with create_server(("127.0.0.1", 0)) as listener:
        site = (f"http://127.0.0.1:{listener.getsockname()[1]}",) if command[-1] == "--url" else ()
        with pytest.raises(CommandError, match="'default' is being deleted"):
            call_command(*command, *site)
    assert not ImportJob.objects.exists() and not ProjectMember.objects.filter(project=project).exists()


def test_the_samples_are_not_loaded_into_a_project_that_is_being_deleted(owner):
    deleting_projects.request_project_deletion(samples_project().pk, owner, services.AuditOrigin("page", owner))
    with pytest.raises(CommandError, match="'samples' is being deleted"):
        call_command("load_samples")
    assert not Session.objects.exists()

"""Settings of one session, and deleting one, over the API."""

import pytest

from sessions_app import services
from sessions_app.models import AuditAction, AuditEntry, MessageRow, PolicyRevision, Session, SessionPolicyRevision

pytestmark = pytest.mark.django_db


def values(answer):
    return {one["path"]: (one["value"], one["source"]) for one in answer.json()["values"]}


def test_every_value_is_told_with_its_scope_and_a_session_is_stronger_than_its_project(writer, reader, url):
    assert writer.send("/projects/review/settings", {"compression": {"threshold": 0.6}}, "PUT").status_code == 200
    before = reader.get(f"{url}/settings")
    assert values(before)["compression.threshold"] == (0.6, "project")
    assert (before.json()["revision"], before.json()["written"]) == (0, {})
    saved = writer.send(f"{url}/settings", {"compression": {"threshold_tokens": 90_000}, "note": "cap"}, "PUT")
    assert saved.status_code == 200
    assert values(saved)["compression.threshold_tokens"] == (90_000, "session")
    assert values(saved)["compression.threshold"] == (0.6, "project")
    assert saved.json()["threshold_tokens"] == 90_000
    assert reader.get(f"{url}/settings").json() == saved.json()
    assert reader.get("/projects/review/settings").json()["written"]["compression"] == {"threshold": 0.6}
    assert SessionPolicyRevision.objects.get().note == "cap"
    assert AuditEntry.objects.filter(action=AuditAction.SETTINGS_SAVED, source="token").count() == 2


def test_empty_blocks_let_the_session_go_by_its_project_again(writer, url, session):
    writer.send(f"{url}/settings", {"compression": {"threshold_tokens": 90_000}}, "PUT")
    again = writer.send(f"{url}/settings", {"base": 1}, "PUT").json()
    assert (again["revision"], again["written"]) == (2, {})
    assert Session.objects.get(pk=session.pk).threshold_tokens == session.threshold_tokens


def test_settings_made_on_an_older_revision_overwrite_nothing(writer, url):
    writer.send(f"{url}/settings", {"compression": {"threshold": 0.6}, "base": 0}, "PUT")
    late = writer.send(f"{url}/settings", {"compression": {"threshold": 0.9}, "base": 0}, "PUT")
    assert (late.status_code, late.json()["error"]) == (409, "out_of_date")
    assert values(writer.get(f"{url}/settings"))["compression.threshold"] == (0.6, "session")


@pytest.mark.parametrize(
    "body",
    [
        {"compression": {"threshold": "plenty"}},
        {"compression": {"threshold_tokens": 50}},
        {"model": {"default": "gpt-5"}},
        {"compression": []},
    ],
)
def test_what_can_not_be_set_for_a_session_is_refused_and_nothing_is_written(writer, url, body):
    answer = writer.send(f"{url}/settings", body | {"accept_nearest": False}, "PUT")
    assert answer.status_code == 422
    assert not SessionPolicyRevision.objects.exists()


def test_a_secret_is_never_kept(writer, reader, url):
    body = {"compression": {"threshold": 0.6, "api_key": "sk-proj-" + "a1B2" * 12}}
    saved = writer.send(f"{url}/settings", body, "PUT")
    assert (saved.status_code, saved.json()["written"]) == (200, {"compression": {"threshold": 0.6}})
    assert "sk-proj" not in reader.get(f"{url}/settings").content.decode()


def test_where_the_rows_of_a_session_are_sent_can_not_be_set_for_it_alone(writer, url):
    block = {"compression": {"base_url": "https://elsewhere.example/v1", "model": "small"}, "vision": {"model": "m"}}
    answer = writer.send(f"{url}/settings", {"auxiliary": block, "compression": {"threshold": 0.6}}, "PUT")
    assert answer.status_code == 422
    paths = [field["path"] for field in answer.json()["fields"]]
    assert paths == ["auxiliary.compression.base_url", "auxiliary.compression.model", "auxiliary.vision"]
    assert not SessionPolicyRevision.objects.exists()


def test_a_revision_without_a_note_tells_in_any_language_which_token_saved_it(writer, url):
    writer.send(f"{url}/settings", {"compression": {"threshold": 0.6}}, "PUT")
    writer.send("/projects/review/settings", {"compression": {"threshold": 0.6}}, "PUT")
    for revision in (SessionPolicyRevision.objects.get(), PolicyRevision.objects.latest("number")):
        assert revision.note.template == "Saved with the API token {}"


def test_a_token_that_may_only_read_changes_and_deletes_nothing(past, reader, url, session):
    assert reader.send(f"{url}/settings", {}, "PUT").status_code == 403
    assert reader.ask("DELETE", url, {}).status_code == 403
    assert Session.objects.filter(pk=session.pk).exists()


def test_a_deleted_session_is_gone_with_everything_and_the_audit_log_says_who_did_it(past, writer, url, session):
    branch = services.branch_session(session.pk, 2)
    answer = writer.ask("DELETE", url, {})
    assert answer.status_code == 200
    assert answer.json() == {"deleted": [session.public_id], "kept": [branch.public_id]}
    assert writer.get(url).status_code == writer.ask("DELETE", url, {}).status_code == 404
    assert not MessageRow.objects.filter(session_id=session.pk).exists()
    entry = AuditEntry.objects.get(action=AuditAction.SESSION_DELETED)
    assert (entry.source, entry.subject) == ("token", session.public_id)


def test_of_two_who_delete_a_session_at_once_the_second_is_told_that_it_is_gone(writer, url, session, monkeypatch):
    # The second request found the session just before the first deleted it.
    monkeypatch.setattr("sessions_app.api.sessions.get_session", lambda token, public_id: session)
    first, key = services.delete_session(session.pk), session.pk
    assert first.deleted == (session.public_id,) and session.pk == key
    assert writer.ask("DELETE", url, {}).status_code == 404
    assert AuditEntry.objects.filter(action=AuditAction.SESSION_DELETED).count() == 1


def test_an_imported_session_can_be_deleted_too(writer, url, session):
    Session.objects.filter(pk=session.pk).update(source="claude-code")
    assert writer.ask("DELETE", url, {}).status_code == 200
    assert not Session.objects.filter(pk=session.pk).exists()

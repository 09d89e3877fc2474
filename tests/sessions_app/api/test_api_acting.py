"""Undo, reset and branch over the API."""

import pytest

from sessions_app.models import AuditAction, AuditEntry, CompactionPass, Session

pytestmark = pytest.mark.django_db


def test_a_pass_is_taken_back_and_automatic_passes_are_held(past, writer, url, session):
    CompactionPass.objects.filter(session=session).update(state_before={})
    told = writer.send(f"{url}/undo", {"hold_turns": 2}).json()
    assert told["rows"]["archived"] == 0
    assert told["is_held"] is True
    again = writer.send(f"{url}/undo", {})
    assert again.status_code == 409
    assert again.json()["error"] == "nothing_to_undo"


def test_a_branch_holds_what_the_model_saw_and_leaves_its_parent_alone(past, writer, url, session):
    before = writer.get(url).json()
    made = writer.send(f"{url}/branch", {"seq": 4})
    assert made.status_code == 201
    assert made.json()["rows"]["live"] == 4
    assert writer.get(url).json() == before
    refused = writer.send(f"{url}/branch", {"seq": 10_000})
    assert refused.status_code == 422
    assert refused.json()["fields"][0]["path"] == "seq"


def test_a_session_begins_anew(past, writer, url):
    told = writer.send(f"{url}/reset", {}).json()
    assert told["rows"]["live"] == 0


ROW = {"message": {"role": "user", "content": "and this"}}


@pytest.mark.parametrize(
    ("action", "body"), [("undo", {}), ("reset", {}), ("rows", {"rows": [ROW]}), ("turns/finish", {}), ("end", {})]
)
def test_an_imported_session_can_only_be_branched(past, writer, url, session, action, body):
    Session.objects.filter(pk=session.pk).update(source="claude-code")
    refused = writer.send(f"{url}/{action}", body)
    assert (refused.status_code, refused.json()["error"]) == (409, "imported")
    assert writer.send(f"{url}/branch", {"seq": 1}).status_code == 201


def test_each_deed_stands_in_the_audit_log_under_the_name_of_its_token(past, writer, url):
    writer.send(f"{url}/branch", {"seq": 1})
    writer.send(f"{url}/reset", {})
    noted = AuditEntry.objects.filter(action__startswith="session.").order_by("pk").values_list("action", "source_name")
    assert list(noted) == [(AuditAction.SESSION_BRANCHED, "writer"), (AuditAction.SESSION_RESET, "writer")]


@pytest.mark.parametrize("body", [{"hold_turns": 0}, {"hold_turns": "soon"}, {"turns": 3}])
def test_a_body_that_says_something_else_is_refused(past, writer, url, body):
    assert writer.send(f"{url}/undo", body).status_code == 422

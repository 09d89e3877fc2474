"""What the health page says of the calls to models."""

import pytest
from django.utils import timezone
from test_restored_exports import export, take_in

from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.models import CallPurpose, ModelCall, Session
from sessions_app.pages.health import State, all_model_calls, model_calls
from sessions_app.services import CallMade, record_calls

pytestmark = pytest.mark.django_db


NOBODY = (State.UNKNOWN, "no model has been asked so far")


def record(session, *errors, endpoint="http://127.0.0.1:8080/v1"):
    calls = [CallMade(CallPurpose.BATCH, timezone.now(), Reply(error=error), endpoint=endpoint) for error in errors]
    record_calls(session.pk, calls)


def test_without_a_call_whether_models_answer_is_unknown(db):
    assert model_calls(Session.objects.all()) == all_model_calls() == NOBODY


def test_a_summarizer_that_asks_nobody_is_no_model_that_answered(session):
    record(session, "", "", endpoint="")
    assert model_calls(Session.objects.all()) == all_model_calls() == NOBODY
    record(session, "timeout")
    record(session, *[""] * 30, endpoint="")
    told = "1 of the newest 1 failed, last with: the summarizer gave no reply in time"
    assert model_calls(Session.objects.all()) == (State.WARNING, told)
    assert all_model_calls() == (State.WARNING, "1 of the newest 1 failed")


def test_calls_that_were_answered_are_good(session):
    record(session, "")
    assert model_calls(Session.objects.all()) == (State.GOOD, "the newest call was answered")
    record(session, "")
    assert model_calls(Session.objects.all()) == (State.GOOD, "the newest 2 calls were all answered")


def test_a_single_failure_is_told_and_half_of_all_is_a_warning(session):
    record(session, "", "", "timeout")
    told = "1 of the newest 3 failed, last with: the summarizer gave no reply in time"
    assert model_calls(Session.objects.all()) == (State.GOOD, told)
    record(session, "http_500")
    told = "2 of the newest 4 failed, last with: the summarizer's server answered HTTP 500"
    assert model_calls(Session.objects.all()) == (State.WARNING, told)


def test_only_the_newest_calls_count(session):
    record(session, *["timeout"] * 30, *[""] * 20)
    assert model_calls(Session.objects.all()) == (State.GOOD, "the newest 20 calls were all answered")


def test_calls_of_all_sessions_of_the_reader_count_and_nobody_elses(project, session):
    other = services.create_session(project)
    stranger = services.create_session(services.create_project("other", "Other"))
    record(session, "")
    record(other, "timeout")
    record(stranger, *["http_500"] * 20)
    told = "1 of the newest 2 failed, last with: the summarizer gave no reply in time"
    assert model_calls(Session.objects.filter(project=project)) == (State.WARNING, told)


def test_calls_that_came_with_an_export_tell_nothing_of_the_health_of_this_site(rows, elsewhere, tmp_path):
    rows.turns(2)
    record(rows.session, *["timeout"] * 3)
    path = export(rows.session, tmp_path / "one.jsonl")
    ModelCall.objects.all().delete()
    copy, _ = take_in(path, elsewhere)
    assert copy.model_calls.count() == 3
    assert model_calls(Session.objects.all()) == all_model_calls() == NOBODY
    record(copy, "timeout")
    assert all_model_calls() == (State.WARNING, "1 of the newest 1 failed")
    assert model_calls(Session.objects.all())[0] == State.WARNING

"""What came of a call is kept although something beside it could not be written: the ledger, a price, a progress."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, OperationalError, connection
from django.test import Client
from row_builder import CIRCUMSTANCES, user

from compaction.state import CompactionState
from compaction.summarizer import Reply, Usage
from sessions_app import clock, pricing, services
from sessions_app.main_model import answering, keeping
from sessions_app.main_model.answering import answer_session
from sessions_app.main_model.keeping import store_patiently
from sessions_app.models import CallPurpose, CompactionPass, MemberRole, MessageRow, ModelCall, Session, SessionEvent
from sessions_app.pricing import cost_usd
from sessions_app.services import CallMade
from tests.compaction.loopback import completion, serving

pytestmark = pytest.mark.usefixtures("loopback_is_allowed")
CONTENT = "what the database quotes of a row"


@pytest.fixture
def no_ledger():
    """The database refuses every entry, and quotes it, as it does."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"create or replace function refuse() returns trigger language plpgsql as $$ begin"
            f" raise exception 'no room' using detail = '{CONTENT}'; end $$;"
            "create trigger refuse before insert on sessions_app_modelcall for each row execute function refuse()"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("drop function refuse cascade")


def ask(project, rows, **more):
    rows.append(user("hello"))
    with serving(completion("the answer")) as server:
        services.save_main_model(project.pk, {"default": "big", "base_url": server.url})
        return answer_session(rows.session_id, **more)


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_stored_although_its_call_can_not_be_entered(project, rows, no_ledger, caplog):
    done = ask(project, rows)
    assert MessageRow.objects.get(pk=done.row_id).content == "the answer"
    assert rows.session.turns_total == 1
    assert ModelCall.objects.count() == 0
    assert "missing in the ledger" in caplog.text
    assert CONTENT not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_the_missing_entry_is_shown_on_the_session_and_on_the_page_of_health(project, rows, no_ledger):
    ask(project, rows)
    person = User.objects.create_user("olga")
    services.add_member(project, person, MemberRole.OWNER)
    client = Client()
    client.force_login(person)
    page = client.get("/health/").content.decode()
    assert "A call to a model is missing in the ledger" in page
    assert CONTENT not in page
    chinese = client.get("/health/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "调用账目中缺少一次模型调用" in chinese and "missing in the ledger" not in chinese
    assert SessionEvent.objects.filter(session=rows.session_id, kind="failed").count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_pass_is_stored_although_its_calls_can_not_be_entered(rows, no_ledger):
    rows.turns(3)
    edit, record = rows.absorbing([row.pk for row in rows.live()[5:8]])
    call = CallMade(CallPurpose.ABSORB, clock.now(), Reply(text="what happened so far"))
    services.archive_and_compact(
        rows.session_id,
        edit=edit,
        state=CompactionState(),
        record=record,
        expected_revision=rows.session.compaction_revision,
        circumstances=services.Circumstances(token_counter=CIRCUMSTANCES.token_counter, trigger="turn", calls=(call,)),
    )
    assert CompactionPass.objects.get().committed
    assert rows.live_micro().content == "what happened so far"
    assert "missing in the ledger" in rows.session.last_error


@pytest.mark.django_db(transaction=True)
def test_the_entry_of_a_session_that_was_deleted_meanwhile_is_nobodys_loss(rows):
    session_id = rows.session_id
    Session.objects.filter(pk=session_id).delete()
    services.record_calls(session_id, [CallMade(CallPurpose.MAIN, clock.now(), Reply())])
    assert ModelCall.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_stored_once_the_database_is_back(project, rows, monkeypatch):
    real, tries = answering.store_answer, []

    def away_at_first(*given):
        tries.append(given)
        if len(tries) == 1:
            raise OperationalError("gone")
        stored = real(*given)
        if len(tries) == 2:
            raise OperationalError("gone before it could say so")
        return stored

    monkeypatch.setattr(answering, "store_answer", away_at_first)
    monkeypatch.setattr(keeping, "WAITS_SECONDS", (0.0,) * 5)
    done = ask(project, rows, client_id="answer-1")
    assert len(tries) == 3
    assert rows.texts() == ["hello", "the answer"]
    assert done.row_id == rows.live()[-1].pk


def test_a_fault_that_waiting_does_not_mend_is_raised_at_once(monkeypatch):
    def broken():
        raise DatabaseError("no such column")

    monkeypatch.setattr(keeping, "WAITS_SECONDS", ())
    with pytest.raises(DatabaseError):
        store_patiently(broken)


def test_a_price_that_can_not_be_worked_out_is_unknown(monkeypatch):
    def odd(*given, **more):
        raise ZeroDivisionError

    monkeypatch.setattr(pricing.genai_prices, "calc_price", odd)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert cost_usd("gpt-5", "https://api.openai.com/v1", Usage(1, 1), at) is None

"""What happens before a request to the main model: waiting for passes, and making those that are due now."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from row_builder import user
from talk import passes

from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.main_model.answering import answer_session
from sessions_app.main_model.readying import ready_session
from sessions_app.models import CallPurpose, ModelCall, Turn
from sessions_app.passes.cache_age import is_cache_cold
from sessions_app.services import CallMade
from tests.compaction.loopback import completion, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_is_allowed")]
SMALL = {"threshold_floor": "off", "threshold": 0.5}
COLD = {"compression": {**SMALL, "micro_compact": True, "micro_compact_when": "cache_cold"}}


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=8_000, model="claude-sonnet-4")


def save(project, policy):
    services.save_policy(project.pk, policy, None)
    project.refresh_from_db()


def asked_ago(rows, minutes, error=""):
    at = timezone.now() - timedelta(minutes=minutes)
    services.record_calls(rows.session_id, [CallMade(CallPurpose.MAIN, at, Reply(error=error))])


def a_worker():
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers (last_heartbeat) values (now())")


def end_of_turns(rows):
    """End all turns without a pass, as if compaction had been off."""
    Turn.objects.filter(session_id=rows.session_id, reply_sent_at__isnull=False).update(ended_at=timezone.now())


def test_a_context_at_its_threshold_is_compacted_before_it_is_sent(talk, rows, project):
    save(project, {"compression": SMALL})
    for number in range(14):
        talk.turn(number, 120)
    end_of_turns(rows)
    rows.append(user("and now?"))
    threshold = rows.session.threshold_tokens
    assert rows.session.live_tokens > threshold
    with serving(completion("done")) as server:
        services.save_main_model(project.pk, {"default": "m", "base_url": server.url, "context_length": 8_000})
        answer_session(rows.session_id)
        sent = server.asked[0].body["messages"]
    [made] = passes(rows)
    assert (made.kind, made.trigger, made.outcome, made.turn) == ("batch", "request", "compacted", None)
    entry = ModelCall.objects.get(purpose="main")
    assert entry.context_tokens < threshold
    assert len(sent) < 20 and sent[-1] == {"role": "user", "content": "and now?"}


@pytest.mark.parametrize(("minutes", "count"), [(10, 1), (1, 0)])
def test_a_policy_that_waits_for_a_cold_cache_makes_its_pass_before_the_first_request_behind_a_pause(
    talk, rows, project, minutes, count
):
    save(project, COLD)
    talk.turns(10)
    assert not passes(rows), "right after a turn the cache is never cold"
    asked_ago(rows, minutes)
    rows.append(user("and now?"))
    ready_session(rows.session_id)
    assert [(one.kind, one.trigger) for one in passes(rows)] == [("micro", "request")] * count
    ready_session(rows.session_id)
    assert len(passes(rows)) == count, "the cadence counts turns, not requests"


def test_a_pass_that_is_due_stays_due_while_it_waits_for_a_cold_cache(talk, rows, project):
    save(project, {"compression": {**COLD["compression"], "micro_compact_every_n_turns": 3}})
    asked_ago(rows, 1)
    talk.turns(11)
    ModelCall.objects.all().delete()
    asked_ago(rows, 10)
    ready_session(rows.session_id)
    assert [one.trigger for one in passes(rows)] == ["request"]


def test_whether_the_cache_is_cold_is_unknown_without_a_call_or_a_price_table(rows, project):
    assert is_cache_cold(rows.session) is None
    asked_ago(rows, 10, error="http_500")
    assert is_cache_cold(rows.session) is None
    asked_ago(rows, 10)
    assert is_cache_cold(rows.session) is True
    asked_ago(rows, 1)
    assert is_cache_cold(rows.session) is False
    type(rows.session).objects.update(model="nobody-knows-it")
    assert is_cache_cold(rows.session) is None


def test_held_passes_do_not_run_before_a_request_either(talk, rows, project):
    save(project, {"compression": SMALL})
    for number in range(14):
        talk.turn(number, 120)
    end_of_turns(rows)
    services.hold_passes(rows.session_id)
    ready_session(rows.session_id)
    assert not passes(rows)


def test_a_request_goes_ahead_when_the_pass_takes_longer_than_may_be_waited(talk, rows, project):
    save(project, {"compression": {**SMALL, "finalize_wait_seconds": 0}})
    a_worker()
    talk.turn(0)
    rows.append(user("and now?"))
    with serving(completion("done")) as server:
        services.save_main_model(project.pk, {"default": "m", "base_url": server.url})
        answer_session(rows.session_id)
    entry = ModelCall.objects.get()
    assert entry.went_ahead and entry.waited_ms < 5_000


def test_nobody_waits_for_a_worker_that_is_not_there(talk, rows, project):
    save(project, {"compression": {**SMALL, "finalize_wait_seconds": 3_600}})
    talk.turn(0)
    waited = ready_session(rows.session_id)
    assert waited.went_ahead


@pytest.mark.django_db(transaction=True)
def test_a_request_waits_for_the_pass_after_the_last_turn(talk, rows, project):
    save(project, {"compression": {**SMALL, "finalize_wait_seconds": 60}})
    a_worker()
    talk.turn(0)
    found = []

    def request():
        try:
            found.append(ready_session(rows.session_id))
        finally:
            connection.close()

    waiting = threading.Thread(target=request)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    talk.finalize()
    waiting.join(20)
    assert found[0].waited_ms >= 250 and not found[0].went_ahead

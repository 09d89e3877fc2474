"""Calls to a summarizer over real HTTP, and the ledger that is kept of them."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import connection
from row_builder import COUNTER
from talk import passes

from compaction.extractive import ExtractiveSummarizer
from compaction.summarizer import Usage
from sessions_app import services
from sessions_app.models import MessageRow, ModelCall
from sessions_app.pricing import cost_usd
from sessions_app.queries.calls import totals_of_session
from sessions_app.session_policy import policy_of
from sessions_app.summarizers import summarizer_for_policy
from tests.compaction.loopback import completion, failure, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_is_allowed")]
WINDOW_TOKENS = 8_000
SUMMARY = "## Key Decisions\n- the parser stays as it is"
USAGE = {
    "prompt_tokens": 900,
    "completion_tokens": 40,
    "prompt_tokens_details": {"cached_tokens": 100},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
AT = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=WINDOW_TOKENS, model="main")


def use_endpoint(project, talk, url, **compression):
    """Set the project's summarizer as a person would; the talk then uses what the settings name."""
    settings = {
        "compression": {"threshold_floor": "off", "threshold": 0.5, **compression},
        "auxiliary": {"compression": {"base_url": url, "model": "small-model"}},
    }
    services.save_policy(project.pk, settings, None)
    project.refresh_from_db()
    talk.summarizer = summarizer_for_policy(policy_of(project), COUNTER)


def fill(talk):
    """Turns until the last one, which is not finalized, has brought the context over the threshold."""
    number = 0
    while talk.rows.session.live_tokens < WINDOW_TOKENS // 2:
        talk.turn(number, 120)
        number += 1


def everything(rows):
    return list(MessageRow.objects.filter(session_id=rows.session_id).order_by("pk").values())


def test_a_batch_over_http_is_entered_with_all_that_the_endpoint_reported(talk, rows, project):
    with serving(completion(SUMMARY, usage=USAGE)) as server:
        use_endpoint(project, talk, server.url)
        fill(talk)
        talk.finalize()
    [done] = passes(rows)
    [entry] = ModelCall.objects.all()
    assert (done.outcome, done.aux_model) == ("compacted", "small-model")
    assert (entry.session_id, entry.compaction_pass, entry.purpose) == (rows.session_id, done, "batch")
    assert (entry.endpoint, entry.model, entry.error) == (f"{server.url}/chat/completions", "served-model", "")
    assert (entry.input_tokens, entry.output_tokens) == (900, 40)
    assert (entry.cached_tokens, entry.reasoning_tokens) == (100, 5)
    assert entry.duration_ms == done.duration_ms
    assert (entry.cost_usd, entry.first_token_ms) == (None, None)


def test_a_failed_call_is_entered_and_leaves_the_rows_as_they_were(talk, rows, project):
    with serving(failure(400, "no such model")) as server:
        use_endpoint(project, talk, server.url)
        fill(talk)
        before = everything(rows)
        talk.finalize()
    assert everything(rows) == before
    [done, *blocked] = passes(rows)
    assert (done.outcome, done.reason) == ("aborted", "http_400")
    assert {(one.outcome, one.reason) for one in blocked} <= {("blocked", "cooldown")}
    [entry] = ModelCall.objects.all()
    assert (entry.compaction_pass, entry.error, entry.input_tokens, entry.cost_usd) == (done, "http_400", None, None)


def test_a_passing_failure_is_asked_again_and_counts_as_one_call(talk, rows, project):
    with serving(failure(503), completion(SUMMARY)) as server:
        use_endpoint(project, talk, server.url)
        fill(talk)
        talk.finalize()
        assert len(server.asked) == 2
    assert [one.outcome for one in passes(rows)] == ["compacted"]
    [entry] = ModelCall.objects.all()
    assert (entry.error, entry.input_tokens, entry.output_tokens) == ("", None, None)


def test_the_calls_of_micro_passes_are_entered_one_by_one(talk, rows, project):
    with serving(completion(SUMMARY, usage=USAGE)) as server:
        use_endpoint(project, talk, server.url, micro_compact=True)
        talk.turns(10)
    entries = list(ModelCall.objects.order_by("pk"))
    assert [entry.compaction_pass for entry in entries] == passes(rows)
    assert len(entries) > 1
    assert {entry.purpose for entry in entries} == {"absorb"}


def test_a_call_whose_pass_came_too_late_is_entered_without_it(talk, rows, project):
    with serving(completion(SUMMARY, usage=USAGE)) as server:
        use_endpoint(project, talk, server.url)
        fill(talk)
        inner = talk.summarizer

        class Overtaken:
            model, window_tokens = inner.model, None

            def ask(self, request):
                rows.absorb([rows.live()[4].pk], "the rival's")
                return inner.ask(request)

        talk.summarizer = Overtaken()
        talk.finalize()
    assert [one.kind for one in passes(rows)][:1] == ["micro"]
    entries = ModelCall.objects.order_by("pk")
    assert entries[0].compaction_pass is None
    assert entries[0].input_tokens == 900


def test_a_call_whose_pass_could_not_be_stored_is_entered_without_it(talk, rows, project):
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'disk full'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER fail BEFORE INSERT ON sessions_app_compactionpass"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.fail()"
        )
    with serving(completion(SUMMARY, usage=USAGE)) as server:
        use_endpoint(project, talk, server.url)
        fill(talk)
        talk.finalize()
    assert not passes(rows)
    assert {entry.compaction_pass for entry in ModelCall.objects.all()} == {None}
    assert "could not be stored" in rows.session.last_error


def test_sums_tell_what_is_known_and_how_many_calls_did_not_say(talk, rows, project):
    with serving(completion(SUMMARY, usage=USAGE), completion(SUMMARY), failure(400)) as server:
        use_endpoint(project, talk, server.url, micro_compact=True)
        talk.turns(12)
    totals = totals_of_session(rows.session_id)
    calls = ModelCall.objects.count()
    assert calls > 3
    assert (totals.calls, totals.failed_calls) == (calls, calls - 2)
    assert (totals.input_tokens, totals.output_tokens, totals.cached_tokens) == (900, 40, 100)
    assert (totals.cost_usd, totals.unpriced_calls, totals.unreported_calls) == (None, calls, calls - 1)


def test_a_session_without_calls_has_no_sums(rows):
    totals = totals_of_session(rows.session_id)
    assert (totals.calls, totals.input_tokens, totals.cost_usd) == (0, None, None)


def test_the_offline_summarizer_costs_nothing_and_uses_no_tokens_of_a_model(talk, rows, project):
    services.save_policy(project.pk, {"compression": {"threshold_floor": "off", "threshold": 0.5}}, None)
    talk.summarizer = ExtractiveSummarizer(COUNTER)
    fill(talk)
    talk.finalize()
    entry = ModelCall.objects.get()
    assert (entry.provider, entry.endpoint, entry.cost_usd, entry.input_tokens) == ("extractive", "", 0, None)


def test_deleting_a_session_takes_its_ledger_along(talk, rows, project):
    with serving(completion(SUMMARY)) as server:
        use_endpoint(project, talk, server.url)
        fill(talk)
        talk.finalize()
    assert ModelCall.objects.count() == 1
    services.delete_session(rows.session_id)
    assert ModelCall.objects.count() == 0


def test_a_price_is_known_where_the_address_model_and_usage_are():
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    openai = "https://api.openai.com/v1/chat/completions"
    known = cost_usd("gpt-4o-mini", openai, usage, AT)
    assert known == Decimal("0.15")
    assert cost_usd("gpt-4o-mini", openai, replace(usage, cached_tokens=1_000_000), AT) < known
    assert cost_usd("gpt-4o-mini", "http://127.0.0.1:8000/v1/chat/completions", usage, AT) is None
    assert cost_usd("no-such-model", openai, usage, AT) is None
    assert cost_usd("gpt-4o-mini", openai, Usage(input_tokens=5), AT) is None
    assert cost_usd("gpt-4o-mini", openai, Usage(input_tokens=5, output_tokens=1, cached_tokens=9), AT) is None

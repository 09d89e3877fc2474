"""A summarizer at a real address that fails in every way servers fail, and then recovers: the whole path.

After each failure the stored session is byte for byte what it was, the turn is over, and the ledger names the fault;
after the recovery the next turn's pass absorbs what waited.
"""

from dataclasses import replace

import pytest
from row_builder import NewMessage
from talk import Talk, passes

from compaction.endpoints.breaker import BreakerRules
from compaction.endpoints.gates import Gates
from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.timing import TimeLimits
from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.models import MessageRow, ModelCall, RowLifetime, SummaryRevision, Turn
from sessions_app.queries.totals import counted, recounted
from tests.compaction.loopback import (
    Caller,
    completion,
    document,
    dripping,
    endless,
    events,
    failure,
    hang_up,
    raw,
    serving,
    silence,
)

pytestmark = pytest.mark.django_db
MICRO = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}
SUMMARY = "## Key Decisions\n- the parser stays as it is"
USAGE = {"prompt_tokens": 700, "completion_tokens": 30}
TURNS = 9
ONCE = RetryRules(most_attempts=1)
IN_A_MOMENT = TimeLimits(0.3, 0.2, 0.3)
REFUSAL = completion(None, refusal="I can't help with that.")
PAGE = raw(b"<!DOCTYPE html><html><title>Sign in</title>", content_type="text/html")
BEGUN = {"choices": [{"index": 0, "delta": {"content": "## Key Dec"}}]}
FAULTS = {
    "slow": (silence, "timeout"),
    "dripping": (dripping, "timeout"),
    "cut before the answer": (hang_up, "connection_lost"),
    "cut in the middle": (raw(b'{"choices": [{"message"', announced=5_000), "connection_lost"),
    "cut in the stream": (events(BEGUN), "connection_lost"),
    "bad request": (failure(400, "no such model"), "http_400"),
    "no key": (failure(401), "http_401"),
    "late": (failure(408), "http_408"),
    "too many": (failure(429, headers=[("retry-after", "1")]), "http_429"),
    "broken": (failure(500), "http_500"),
    "overloaded": (failure(503), "http_503"),
    "web page": (PAGE, "html_page"),
    "endless": (endless, "reply_too_large"),
    "empty body": (raw(b""), "empty_body"),
    "invalid JSON": (raw(b'{"choices": ['), "invalid_json"),
    "another shape": (document({"choices": []}), "odd_shape"),
    "empty text": (completion("  \n"), "empty"),
    "cut off": (completion(SUMMARY, finish_reason="length", usage=USAGE), "length"),
    "refusal": (REFUSAL, "refusal"),
}

# The call itself went well; what it brought can't be used.
ANSWERED = ("empty", "length", "refusal")


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=8_000)


@pytest.fixture
def talk(rows, project):
    """A session with exchanges that wait to be absorbed; none was asked for yet."""
    services.save_policy(project.pk, {"compression": {"threshold_floor": "off", "threshold": 0.5}}, None)
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows)
    talk.turns(TURNS)
    services.save_policy(project.pk, MICRO, None)
    assert not passes(rows)
    return talk


def stored(rows):
    """All that must not change when a pass fails."""
    tables = (MessageRow, RowLifetime, SummaryRevision)
    told = [list(table.objects.filter(session_id=rows.session_id).order_by("pk").values()) for table in tables]
    session = rows.session
    return told, (session.live_rows, session.live_tokens, session.archived_rows)


def end_a_turn(talk, number):
    """One more turn; what was stored before its pass, and after it."""
    talk.turn(number)
    before = stored(talk.rows)
    talk.finalize()
    assert not Turn.objects.filter(ended_at__isnull=True).exists()
    return before, stored(talk.rows)


@pytest.mark.parametrize(("answer", "reason"), FAULTS.values(), ids=FAULTS)
def test_a_failure_changes_no_row_is_in_the_ledger_and_the_next_turn_makes_the_pass(talk, rows, answer, reason):
    with serving(answer, completion(SUMMARY, usage=USAGE)) as server:
        caller = Caller(server.url, limits=IN_A_MOMENT, retries=ONCE, real_time=True, is_streamed=True)
        talk.summarizer = caller.summarizer()
        before, after = end_a_turn(talk, TURNS)
        assert before == after
        [failed] = passes(rows)
        assert (failed.outcome, failed.reason, failed.committed) == ("summarize_failed", reason, False)
        [entry] = ModelCall.objects.all()
        assert (entry.compaction_pass, entry.purpose, entry.cost_usd) == (failed, "absorb", None)
        assert entry.error == ("" if reason in ANSWERED else reason)
        talk.summarizer = replace(caller, limits=TimeLimits()).summarizer()
        before, after = end_a_turn(talk, TURNS + 1)
        assert len(server.asked) == 2
    assert before != after
    _, absorbed = passes(rows)
    assert (absorbed.outcome, absorbed.committed, rows.session.failed_passes) == ("absorbed", True, 1)
    assert SUMMARY in rows.live_micro().content
    newest = ModelCall.objects.order_by("pk").last()
    assert (newest.compaction_pass, newest.error, newest.input_tokens, newest.output_tokens) == (absorbed, "", 700, 30)
    assert counted(rows.session) == recounted(rows.session_id)


def test_the_breaker_spares_a_sick_endpoint_and_lets_the_pass_through_when_it_is_well_again(talk, rows):
    gates = Gates(BreakerRules(failures_to_open=2, cool_down_seconds=60))
    with serving(failure(503), failure(500), completion(SUMMARY, usage=USAGE)) as server:
        caller = Caller(server.url, gates=gates, retries=ONCE, is_streamed=True)
        talk.summarizer = caller.summarizer()
        for number in range(3):
            before, after = end_a_turn(talk, TURNS + number)
            assert before == after
        assert [one.reason for one in passes(rows)] == ["http_503", "http_500", "circuit_open"]
        assert len(server.asked) == 2, "an open breaker asks nobody"
        caller.time.now += 61
        end_a_turn(talk, TURNS + 3)
        end_a_turn(talk, TURNS + 4)
        assert len(server.asked) == 4
    assert [one.outcome for one in passes(rows)][-2:] == ["absorbed", "absorbed"]
    assert [entry.error for entry in ModelCall.objects.order_by("pk")] == [
        "http_503",
        "http_500",
        "circuit_open",
        "",
        "",
    ]

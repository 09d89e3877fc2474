"""Passes that a person asks for: now, once, and whatever holds automatic ones back."""

import pytest
from django.db import connection
from row_builder import COUNTER, NewMessage
from talk import SUMMARY, Talk, passes

from compaction.errors import InvalidInput
from compaction.messages import Message, Role
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Purpose, Reply
from sessions_app import services
from sessions_app.models import MessageRow, TurnStep
from sessions_app.passes.by_hand import make_requested_pass
from sessions_app.passes.passing import Passing
from sessions_app.passes.retrying import run_pass_patiently
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import Committed, Stale

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=8_000, model="main")


@pytest.fixture
def talk(rows):
    """A session that automatic passes leave alone: micro is off and the threshold far away."""
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows)
    talk.turns(12)
    assert not passes(rows)
    return talk


class Remembering(ScriptedSummarizer):
    """Keeps the questions it was asked."""

    def __init__(self, replies=(SUMMARY,)):
        super().__init__(replies, model="small")
        self.requests = []

    def ask(self, request):
        self.requests.append(request)
        return super().ask(request)


def test_a_batch_by_hand_runs_below_the_threshold_and_keeps_its_focus(talk, rows):
    summarizer = Remembering()
    services.hold_passes(rows.session_id)
    done = run_pass_patiently(rows.session_id, TurnStep.BATCH, Passing(summarizer, COUNTER, focus="the parser"))
    assert isinstance(done, Committed)
    [stored] = passes(rows)
    assert (stored.kind, stored.trigger, stored.turn) == ("batch", "manual", None)
    assert stored.telemetry["trigger_source"] == "manual"
    assert stored.telemetry["has_focus_topic"] is True
    assert "keep above all: the parser" in stored.prompt_user
    assert [request.focus for request in summarizer.requests] == ["the parser"]
    assert counted(rows.session) == recounted(rows.session_id)


def test_a_micro_pass_by_hand_runs_although_micro_passes_are_off(talk, rows):
    summarizer = Remembering()
    done = run_pass_patiently(rows.session_id, TurnStep.MICRO, Passing(summarizer, COUNTER))
    assert isinstance(done, Committed)
    assert [(one.kind, one.trigger) for one in passes(rows)] == [("micro", "manual")]
    assert [request.purpose for request in summarizer.requests] == [Purpose.ABSORB]


def test_a_batch_by_hand_can_be_taken_back(talk, rows):
    before = rows.live()
    run_pass_patiently(rows.session_id, TurnStep.BATCH, Passing(Remembering(), COUNTER))
    services.undo_last_pass(rows.session_id)
    assert [row.pk for row in rows.live()] == [row.pk for row in before]
    assert rows.session.is_held
    assert counted(rows.session) == recounted(rows.session_id)


def test_a_request_that_comes_twice_makes_one_pass(talk, rows):
    passing = Passing(Remembering(), COUNTER, request_id="request:1")
    make_requested_pass(rows.session_id, TurnStep.BATCH, passing)
    before = list(MessageRow.objects.order_by("pk").values())
    make_requested_pass(rows.session_id, TurnStep.BATCH, passing)
    assert list(MessageRow.objects.order_by("pk").values()) == before
    assert len(passes(rows)) == 1
    assert len(passing.summarizer.requests) == 1


def test_a_request_that_failed_is_recorded_and_not_tried_again(talk, rows):
    passing = Passing(Remembering([Reply(error="http_401")]), COUNTER, request_id="request:1")
    for _ in range(2):
        make_requested_pass(rows.session_id, TurnStep.BATCH, passing)
    assert [(one.outcome, one.reason) for one in passes(rows)] == [("aborted", "http_401")]


def test_a_pass_by_hand_is_made_again_when_somebody_else_came_first(talk, rows):
    class Overtaken(Remembering):
        def ask(self, request):
            if not self.requests:
                rows.absorb([rows.live()[6].pk], "the rival's")
            return super().ask(request)

    done = run_pass_patiently(rows.session_id, TurnStep.BATCH, Passing(Overtaken(), COUNTER))
    assert isinstance(done, Committed)
    assert [one.kind for one in passes(rows)] == ["micro", "batch"]
    assert rows.live_micro() is None


def test_a_session_that_keeps_changing_is_left_alone_and_says_so(talk, rows):
    class AlwaysOvertaken(Remembering):
        def ask(self, request):
            rows.absorb([next(row.pk for row in rows.live()[5:] if row.role != "user")], "the rival's")
            return super().ask(request)

    passing = Passing(AlwaysOvertaken(), COUNTER)
    assert isinstance(run_pass_patiently(rows.session_id, TurnStep.BATCH, passing), Stale)
    make_requested_pass(rows.session_id, TurnStep.BATCH, passing)
    assert "kept changing" in rows.session.last_error
    assert {one.kind for one in passes(rows)} == {"micro"}


def test_a_request_that_cannot_be_stored_shows_on_the_session(talk, rows, caplog):
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'disk full'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER fail BEFORE INSERT ON sessions_app_compactionpass"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.fail()"
        )
    make_requested_pass(rows.session_id, TurnStep.BATCH, Passing(Remembering(), COUNTER))
    assert "could not be stored" in rows.session.last_error
    assert "that was asked for failed (" in caplog.text
    assert "disk full" not in caplog.text, "what the database says can hold row contents"
    assert not MessageRow.objects.filter(died_seq__isnull=False).exists()


@pytest.mark.parametrize(
    ("step", "focus", "message"),
    [
        (TurnStep.PRUNE, "", "only a micro pass or a batch"),
        (TurnStep.MICRO, "the parser", "only a batch takes a focus"),
        (TurnStep.BATCH, "x" * 501, "at most 500 characters, not 501"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_the_reason(rows, step, focus, message):
    with pytest.raises(InvalidInput, match=message):
        services.request_pass(rows.session_id, step, focus)

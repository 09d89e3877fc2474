"""Loading the samples into a database: what is there afterwards, and that a second time changes nothing."""

import re

from django.contrib.auth.models import User
from django.core.management import call_command

from compaction.messages import Role, RowKind
from sessions_app import sample_project, services
from sessions_app.models import CompactionPass, MessageRow, Project, Session, SessionEvent, SessionStatus, Turn
from sessions_app.playing import play_session
from sessions_app.sample_project import load_samples, samples_project
from sessions_app.samples.catalogue import COMPACTED, FAILING, LONG, NAMES
from sessions_app.services.owner import ensure_local_owner


def snapshot():
    """Everything that loading writes, in comparable form."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Project, Session, MessageRow, CompactionPass, SessionEvent, Turn)
    ]


def session_of(tell, name):
    return Session.objects.get(title=tell(name).story.title)


def test_loading_fills_the_project_and_loading_again_changes_nothing(db, tell, checkout, counter, capsys):
    loaded = [(line, User.objects.exists()) for line in load_samples(checkout, counter)]
    # The owner comes last: a site with a person on it counts as set up.
    assert [has_owner for _, has_owner in loaded] == [False] * (len(loaded) - 1) + [True]
    assert loaded[-1][0] == "The samples are in the project Samples."
    project = Project.objects.get(slug="samples")
    assert {session.title for session in project.sessions.all()} == {tell(name).story.title for name in NAMES}
    assert project.policy_settings == {"compression": {"threshold": 0.80, "micro_compact": True}}
    assert [member.user for member in project.memberships.all()] == [ensure_local_owner()]
    for name in NAMES:
        check_complete(session_of(tell, name), tell(name))
    check_long(session_of(tell, LONG))
    check_failing(session_of(tell, FAILING))
    check_compacted(session_of(tell, COMPACTED))
    before = snapshot()
    call_command("load_samples")
    assert snapshot() == before
    lines = capsys.readouterr().out.strip().splitlines()
    assert [bool(re.search("is there|are in the project", line)) for line in lines] == [True] * 5


def check_complete(session, told):
    rows = session.rows.filter(kind=RowKind.MESSAGE)
    assert session.status == SessionStatus.ENDED
    assert session.turns_total == len(told.turns)
    assert rows.filter(role=Role.TOOL).count() == sum(row.message.role is Role.TOOL for row in told.rows)
    assert 0 <= session.ended_at.timestamp() - told.rows[-1].at < 60


def check_compacted(session):
    """The one from a file: its source compacted it once, and what that archived is known."""
    assert (session.batch_passes, session.summary_rows) == (1, 1)
    assert session.archived_rows > session.live_rows > 10


def check_long(session):
    """The long one: no pass before the tail's budget is full, then steady, without a batch and without a failure."""
    passes = list(session.passes.order_by("number"))
    assert (session.threshold_tokens, session.batch_passes, session.failed_passes) == (320_000, 0, 0)
    assert len(passes) > 60 and {made.outcome for made in passes} == {"absorbed"}
    assert passes[0].tokens_before > 64_000
    shares = [made.occupancy_pct for made in passes]
    assert min(shares) >= 20 and max(shares) <= 25
    user_growth = 100 * session.user_tokens / session.threshold_tokens
    assert max(shares) - min(shares) <= 3 + user_growth
    assert passes[-1].at <= session.ended_at
    assert all(made.started_at >= session.started_at for made in passes)


def check_failing(session):
    """The failing one: every way to fail, a skipped exchange, and both ends of a defrag."""
    made = list(session.passes.order_by("number").values_list("outcome", "reason"))
    assert {reason for outcome, reason in made if outcome == "summarize_failed"} == {
        "timeout",
        "empty",
        "refusal",
        "length",
        "thinking_only",
        "http_500",
    }
    outcomes = [outcome for outcome, _ in made]
    skipped = outcomes.index("exchange_skipped")
    assert outcomes[skipped - 2 : skipped + 2] == [
        "summarize_failed",
        "summarize_failed",
        "exchange_skipped",
        "absorbed",
    ]
    useless, useful = outcomes.index("defrag_no_gain"), outcomes.index("defrag")
    assert useless < useful and "absorbed" in outcomes[useless:useful] and "absorbed" in outcomes[useful:]
    assert session.last_error == ""
    timed_out = session.passes.filter(reason="timeout").first()
    assert timed_out.duration_ms == 30_000
    turn = Turn.objects.get(session=session, number=timed_out.turn)
    assert (turn.ended_at - turn.finalizing_at).total_seconds() == 30


def test_a_play_that_was_broken_off_goes_on_where_it_stopped(db, tell, counter):
    whole = play_failing(tell, counter, "whole")
    broken = play_failing(tell, counter, "broken", turns=9)
    assert broken.status != SessionStatus.ENDED and 0 < broken.passes_total < whole.passes_total
    again = play_failing(tell, counter, "broken")
    columns = ("outcome", "reason", "tokens_before", "tokens_after", "turn")
    assert list(again.passes.order_by("number").values_list(*columns)) == list(
        whole.passes.order_by("number").values_list(*columns)
    )
    assert again.rows.count() == whole.rows.count() and again.live_tokens == whole.live_tokens


def play_failing(tell, counter, slug, turns=None):
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        project = services.create_project(slug, slug)
        services.save_policy(project.pk, sample_project.SETTINGS, None)
        project.refresh_from_db()
    session = sample_project.played_session(project, tell(FAILING), 48_000)
    session.refresh_from_db()
    summarizer = sample_project.failing_summarizer(session.passes_total)
    for number in play_session(session.pk, tell(FAILING), summarizer, counter):
        if number == turns:
            break
    session.refresh_from_db()
    return session


def test_settings_that_somebody_changed_stay(db):
    project = samples_project()
    services.save_policy(project.pk, {"compression": {"threshold": 0.5}}, None)
    assert samples_project().policy_settings == {"compression": {"threshold": 0.5}}

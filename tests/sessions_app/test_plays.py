"""Playing a recorded session live: what is due is appended and finished, and it can be stopped at any time."""

from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob
from row_builder import COUNTER, assistant, call, result, user

from compaction.extractive import ExtractiveSummarizer
from sessions_app import deferring, plays, services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import MemberRole, MessageRow, Play, PlayStatus, Project, Session, Turn
from sessions_app.pages.plays import LATE, bar_of, read_play
from sessions_app.play_form import MOST_RUNNING
from sessions_app.plays import run_play
from sessions_app.services.plays import PlaySource, cancel_play, change_rate, pause_play, request_play, resume_play
from sessions_app.session_policy import overhead_of, window_of

FIRST = datetime(2026, 3, 1, 9, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


@pytest.fixture
def recorded(rows, session):
    """A session of four turns, each with a call and an answer, ten seconds from one row to the next."""
    for number in range(4):
        name = f"c{number}"
        rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * 40))
        rows.append(assistant(f"answer {number}: the parser lies in src/parser_{number}.py"))
        services.finish_turn(session.pk)
    for row in MessageRow.objects.filter(session_id=session.pk):
        MessageRow.objects.filter(pk=row.pk).update(at=FIRST + timedelta(seconds=10 * row.position))
    session.refresh_from_db()
    return session


def begin(project, recorded, rate=100.0):
    return request_play(project, PlaySource("A long review", recorded), rate, "A long review (played)")


def played_out(play):
    """Run the jobs of a play, one after the other, until it asks for none."""
    jobs = 0
    while ProcrastinateJob.objects.filter(task_name=deferring.RUN_PLAY, status="todo").count() > jobs:
        jobs += 1
        play.refresh_from_db()
        run_play(play.pk, play.ticket, COUNTER)
    play.refresh_from_db()
    return jobs


def texts(session_id):
    rows = MessageRow.objects.filter(session_id=session_id, kind="message").order_by("position")
    return list(rows.values_list("role", "content"))


def test_a_play_tells_the_whole_session_into_a_new_one(project, recorded):
    play = begin(project, recorded)
    played_out(play)
    assert play.status == PlayStatus.DONE and play.finished_at is not None
    assert (play.turns_done, play.turns_total) == (4, 4)
    assert play.steps_done == play.steps_total
    assert texts(play.session_id) == texts(recorded.pk)
    turns = Turn.objects.filter(session_id=play.session_id)
    assert turns.count() == 4 and all(turn.reply_sent_at for turn in turns)
    assert not MessageRow.objects.filter(session_id=play.session_id, at__lt=play.created_at).exists()


def test_passes_run_after_the_turns_of_a_play_and_the_recorded_session_stays_as_it_is(project, recorded):
    services.save_policy(project.pk, {"compression": {"micro_compact": True, "target_ratio": 0.1}}, None, "on")
    before = Session.objects.get(pk=recorded.pk).last_seq
    source = PlaySource("small", recorded, window_tokens=2_000)
    play = request_play(project, source, 100.0, "played")
    played_out(play)
    assert ProcrastinateJob.objects.filter(task_name=deferring.FINALIZE_TURN).count() >= 4
    finalize_turns(play.session_id, ExtractiveSummarizer(COUNTER), COUNTER)
    assert Session.objects.get(pk=play.session_id).passes_total > 0
    assert Session.objects.get(pk=recorded.pk).last_seq == before


def test_a_step_that_is_taken_again_after_a_crash_changes_nothing(project, recorded, monkeypatch):
    play = begin(project, recorded)

    def die(*arguments):
        raise ConnectionError("the worker is gone")

    with monkeypatch.context() as patch:
        patch.setattr(plays, "move_play", die)
        patch.setattr(plays, "fail_play", lambda *arguments: None)
        with pytest.raises(ConnectionError):
            run_play(play.pk, play.ticket, COUNTER)
    assert texts(play.session_id)
    played_out(play)
    assert play.status == PlayStatus.DONE
    assert texts(play.session_id) == texts(recorded.pk)


def test_a_paused_play_waits_and_goes_on_where_it_was(project, recorded):
    play = begin(project, recorded, rate=1.0)
    run_play(play.pk, play.ticket, COUNTER)
    assert pause_play(play.pk) and not pause_play(play.pk)
    old_ticket = play.ticket
    before = texts(play.session_id)
    play.refresh_from_db()
    run_play(play.pk, old_ticket, COUNTER)
    run_play(play.pk, play.ticket, COUNTER)
    assert texts(play.session_id) == before
    assert resume_play(play.pk)
    play.refresh_from_db()
    run_play(play.pk, old_ticket, COUNTER)
    assert texts(play.session_id) == before
    while play.status == PlayStatus.RUNNING:
        run_play(play.pk, play.ticket, COUNTER)
        play.refresh_from_db()
    assert texts(play.session_id) == texts(recorded.pk)


def test_a_stopped_play_keeps_what_it_has_played_and_never_goes_on(project, recorded):
    play = begin(project, recorded, rate=1.0)
    run_play(play.pk, play.ticket, COUNTER)
    before = texts(play.session_id)
    assert before and cancel_play(play.pk)
    play.refresh_from_db()
    assert play.status == PlayStatus.CANCELLED and not resume_play(play.pk)
    run_play(play.pk, play.ticket, COUNTER)
    assert texts(play.session_id) == before


def test_a_pause_that_comes_while_a_step_is_taken_is_kept(project, recorded, monkeypatch):
    play = begin(project, recorded, rate=1.0)
    take = plays.take_step

    def pause_meanwhile(*arguments):
        take(*arguments)
        pause_play(play.pk)

    monkeypatch.setattr(plays, "take_step", pause_meanwhile)
    run_play(play.pk, play.ticket, COUNTER)
    play.refresh_from_db()
    assert play.status == PlayStatus.PAUSED and play.steps_done == 1 and play.next_at is None


def test_another_speed_holds_from_now_on_and_shortens_the_wait_that_is_left(project, recorded):
    play = begin(project, recorded, rate=1.0)
    run_play(play.pk, play.ticket, COUNTER)
    play.refresh_from_db()
    old_ticket, begun, old_next_at = play.ticket, timezone.now(), play.next_at
    assert change_rate(play.pk, 5.0)
    play.refresh_from_db()
    assert play.rate == 5.0 and play.status == PlayStatus.RUNNING
    assert begun < play.next_at < begun + (old_next_at - begun) / 2
    job = ProcrastinateJob.objects.filter(task_name=deferring.RUN_PLAY).order_by("-id").first()
    assert job.args["ticket"] == play.ticket and abs((job.scheduled_at - play.next_at).total_seconds()) < 1
    before = texts(play.session_id)
    run_play(play.pk, old_ticket, COUNTER)
    assert texts(play.session_id) == before


def test_what_a_play_asked_for_before_is_taken_back_when_it_is_changed(project, recorded):
    """An earlier job of a lock holds up later ones, however long it still waits."""
    play = begin(project, recorded, rate=1.0)
    run_play(play.pk, play.ticket, COUNTER)
    waiting = ProcrastinateJob.objects.filter(task_name=deferring.RUN_PLAY, status="todo", args__play_id=play.pk)
    for change, left in ((lambda: change_rate(play.pk, 5.0), 1), (lambda: pause_play(play.pk), 0)):
        assert change()
        play.refresh_from_db()
        assert [job.args["ticket"] for job in waiting.all()] == [play.ticket] * left
    assert resume_play(play.pk)
    play.refresh_from_db()
    assert [job.args["ticket"] for job in waiting.all()] == [play.ticket]


def test_a_paused_play_stays_paused_at_another_speed_and_one_that_is_over_keeps_its_own(project, recorded):
    play = begin(project, recorded, rate=1.0)
    pause_play(play.pk)
    assert change_rate(play.pk, 100.0)
    play.refresh_from_db()
    assert (play.status, play.rate, play.next_at) == (PlayStatus.PAUSED, 100.0, None)
    cancel_play(play.pk)
    assert not change_rate(play.pk, 1.0)
    play.refresh_from_db()
    assert play.rate == 100.0


def test_the_next_step_is_asked_for_at_its_time(project, recorded):
    play = begin(project, recorded, rate=5.0)
    run_play(play.pk, play.ticket, COUNTER)
    job = ProcrastinateJob.objects.filter(task_name=deferring.RUN_PLAY).order_by("-id").first()
    play.refresh_from_db()
    assert 1.0 < (job.scheduled_at - timezone.now()).total_seconds() <= 2.0
    assert abs((job.scheduled_at - play.next_at).total_seconds()) < 1


def test_a_recorded_session_that_is_deleted_ends_the_play_with_a_reason(project, recorded):
    play = begin(project, recorded)
    plays._KEPT.forget()
    services.delete_session(recorded.pk)
    run_play(play.pk, play.ticket, COUNTER)
    play.refresh_from_db()
    assert play.status == PlayStatus.FAILED and "is gone" in play.error


def test_a_session_that_is_deleted_while_it_is_filled_ends_its_play_quietly(project, recorded):
    play = begin(project, recorded)
    services.delete_session(play.session_id)
    run_play(play.pk, play.ticket, COUNTER)
    assert not Play.objects.exists()


def test_what_comes_to_the_recorded_session_meanwhile_is_not_played(project, recorded, rows):
    play = begin(project, recorded)
    rows.append(user("one more"))
    played_out(play)
    assert ("user", "one more") not in texts(play.session_id)


def test_the_form_plays_a_sample_without_any_model(page, project):
    answer = page.post(reverse("plays"), {"source": "sample:flaky_summarizer", "rate": "100", "project": project.slug})
    play = Play.objects.get()
    assert answer.url == reverse("session", args=[play.session.public_id])
    run_play(play.pk, play.ticket, COUNTER)
    play.refresh_from_db()
    assert play.steps_done > 0 and play.steps_total > 100
    shown = page.get(answer.url).content.decode()
    assert 'id="play-bar"' in shown and "of 27 turns" in shown


def test_the_form_offers_stored_sessions_and_refuses_what_is_not_ones_own(page, project, recorded):
    stranger = User.objects.create_user("stranger")
    other = services.create_project("other", "Other", stranger)
    foreign = services.create_session(other, "Not yours")
    assert f"?source={recorded.public_id}" in page.get(reverse("actions", args=[recorded.public_id])).content.decode()
    shown = page.get(reverse("plays") + f"?source={recorded.public_id}").content.decode()
    assert f'value="{recorded.public_id}" selected' in shown and foreign.public_id not in shown
    typed = {"source": foreign.public_id, "rate": "100", "project": project.slug}
    refused = page.post(reverse("plays"), typed)
    assert refused.status_code == 422 and "not yours to read" in refused.content.decode()
    typed = {"source": recorded.public_id, "rate": "100", "project": other.slug}
    assert page.post(reverse("plays"), typed).status_code == 422
    assert not Play.objects.exists()


def test_so_many_plays_run_in_a_project_and_no_more(page, project, recorded):
    for _ in range(MOST_RUNNING):
        begin(project, recorded)
    typed = {"source": recorded.public_id, "rate": "100", "project": project.slug}
    refused = page.post(reverse("plays"), typed)
    assert refused.status_code == 422 and "run in this project already" in refused.content.decode()


def test_the_bar_pauses_goes_on_and_stops_and_readers_only_look(client, page, project, recorded):
    play = begin(project, recorded)
    address = reverse("play", args=[play.session.public_id])
    for action, status in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert page.post(address, {"action": action}).status_code == 302
        play.refresh_from_db()
        assert play.status == status
    assert page.post(address, {"action": "explode"}).status_code == 404 == page.post(address, {"rate": "7"}).status_code
    bar = page.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "Play again" in bar and "hx-trigger" not in bar
    viewer = User.objects.create_user("vera")
    services.add_member(project, viewer, MemberRole.VIEWER)
    client.force_login(viewer)
    assert client.post(address, {"action": "pause"}).status_code == 403
    assert "Play again" not in client.get(reverse("session", args=[play.session.public_id])).content.decode()
    client.force_login(User.objects.create_user("stranger"))
    assert client.get(address).status_code == 404 == client.post(address, {"action": "pause"}).status_code


def test_the_bar_offers_the_speeds_and_changes_to_the_one_that_is_pressed(page, project, recorded):
    play = begin(project, recorded, rate=20.0)
    address, fetched = reverse("play", args=[play.session.public_id]), {"HX-Request": "true"}
    bar = page.get(address, headers=fetched).content.decode()
    assert 'name="rate" value="20"' in bar and bar.count('aria-pressed="true"') == 1
    bar = page.post(address, {"rate": "5"}, headers=fetched).content.decode()
    play.refresh_from_db()
    assert play.rate == 5.0
    pressed = bar.split('value="5"')[1].split(">")[0]
    assert 'aria-pressed="true"' in pressed and bar.count('aria-pressed="true"') == 1


def test_a_play_that_no_worker_moves_says_so(project, recorded):
    play = begin(project, recorded)
    assert not read_play(play.session).is_late
    Play.objects.filter(pk=play.pk).update(next_at=timezone.now() - 2 * LATE)
    assert read_play(play.session).is_late


def test_a_session_that_is_far_too_long_is_not_played(project, recorded, monkeypatch):
    monkeypatch.setattr(plays, "MOST_ROWS", 3)
    plays._KEPT.forget()
    play = begin(project, recorded)
    run_play(play.pk, play.ticket, COUNTER)
    play.refresh_from_db()
    assert play.status == PlayStatus.FAILED and "3 rows" in play.error


def test_somebody_who_talks_meanwhile_loses_nothing(project, recorded):
    play = begin(project, recorded, rate=1.0)
    run_play(play.pk, play.ticket, COUNTER)
    services.append_rows(play.session_id, [user("and I say this")], COUNTER)
    while play.status == PlayStatus.RUNNING:
        run_play(play.pk, play.ticket, COUNTER)
        play.refresh_from_db()
    said = texts(play.session_id)
    assert ("user", "and I say this") in said
    assert [one for one in said if one != ("user", "and I say this")] == texts(recorded.pk)


def played_by_form(page, source, project):
    page.post(reverse("plays"), {"source": source, "rate": "100", "project": project.slug})
    return Play.objects.select_related("session__project", "recorded__project").latest("pk")


@pytest.mark.parametrize("said_by", ["the price list", "its project"])
def test_a_play_has_the_window_and_the_overhead_that_its_original_had_wherever_they_came_from(
    page, owner, project, recorded, said_by
):
    here = services.create_project("here", "Here", owner)
    Project.objects.filter(pk=here.pk).update(window_tokens=50_000, fixed_overhead_tokens=7)
    Session.objects.filter(pk=recorded.pk).update(window_tokens=None, fixed_overhead_tokens=None, model="gpt-4o")
    if said_by == "its project":
        Project.objects.filter(pk=project.pk).update(window_tokens=90_000)
    Project.objects.filter(pk=project.pk).update(fixed_overhead_tokens=321)
    play = played_by_form(page, recorded.public_id, here)
    original = Session.objects.select_related("project").get(pk=recorded.pk)
    assert window_of(play.session).context_tokens == window_of(original).context_tokens > 50_000
    assert overhead_of(play.session) == 321
    assert bar_of(play).changes == ()


def test_what_can_not_be_as_in_the_original_is_shown_with_the_reason(page, owner, recorded):
    here = services.create_project("here", "Here", owner)
    services.save_policy(here.pk, {"compression": {"threshold_tokens": 70_000}}, None)
    Project.objects.filter(pk=here.pk).update(window_tokens=128_000, fixed_overhead_tokens=7)
    Session.objects.filter(pk=recorded.pk).update(window_tokens=None, fixed_overhead_tokens=None, model=None)
    play = played_by_form(page, recorded.public_id, here)
    shown = unescape(page.get(reverse("session", args=[play.session.public_id])).content.decode())
    assert "window 128,000 tokens instead of unknown (taken from this project)" in shown
    assert "fixed overhead 7 tokens instead of unknown (taken from this project)" in shown
    assert "threshold 70,000 tokens instead of unknown (by the settings of this project)" in shown


def test_a_sample_with_a_smaller_window_than_its_model_has_says_why(page, project):
    play = played_by_form(page, "sample:chinese_search", project)
    assert bar_of(play).changes[0].endswith("(small enough that a short sample has passes)")
    assert not any("window" in one for one in bar_of(played_by_form(page, "sample:flaky_summarizer", project)).changes)

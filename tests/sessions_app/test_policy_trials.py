"""Trials of settings on stored sessions: what they find, what supersedes them, and their bounds."""

import re
from html import unescape
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from row_builder import COUNTER, RowBuilder, assistant, call, result, user

from compaction.replay import Replay
from sessions_app import policy_trials, services
from sessions_app.models import CompactionPass, MemberRole, MessageRow, PolicyTrial, RunStatus
from sessions_app.policy_trials import run_trial, trial_fingerprint
from sessions_app.services.trials import cancel_trial, request_trial

pytestmark = pytest.mark.django_db
MICRO = {"compression": {"micro_compact": True, "target_ratio": 0.1, "threshold_floor": False}}
BATCH = {"compression": {"target_ratio": 0.1, "threshold_floor": False}}
URL = "/p/review/settings/"


@pytest.fixture
def client(owner):
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def long_session(project):
    """Twelve turns that fill a window of 20,000 tokens."""
    services.save_policy(project.pk, BATCH, None)
    project.refresh_from_db()
    session = services.create_session(project, "A long one", window_tokens=20_000)
    rows = RowBuilder(session.pk)
    for number in range(12):
        name = f"c{number}"
        rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * 400), assistant("done"))
        services.finish_turn(session.pk)
        services.end_turn(session.pk, number + 1)
    return rows


def trial_of(project, owner, settings=MICRO):
    return request_trial(project, settings, trial_fingerprint(project, settings), owner)


def done(trial):
    run_trial(trial.pk, COUNTER)
    trial.refresh_from_db()
    return trial


def text_of(response):
    html = re.sub(r"(?s)<svg.*?</svg>", " ", response.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_a_trial_says_what_the_sessions_would_have_had_and_writes_nothing_of_them(project, owner, long_session):
    before = list(MessageRow.objects.values_list("pk", "died_seq"))
    trial = done(trial_of(project, owner))
    assert (trial.status, trial.progress_done, trial.progress_total) == (RunStatus.DONE, 1, 1)
    (line,) = trial.result["sessions"]
    assert line["public_id"] == long_session.session.public_id
    assert line["now"]["micro"] == 0 and line["now"]["batch"] >= 1
    assert line["then"]["micro"] >= 5 and line["then"]["batch"] < line["now"]["batch"]
    assert line["then"]["peak_pct"] < line["now"]["peak_pct"]
    assert line["then"]["rebilled_tokens"] > 0
    assert list(MessageRow.objects.values_list("pk", "died_seq")) == before
    assert not CompactionPass.objects.exists()


def test_a_trial_of_the_settings_in_force_finds_no_difference(project, owner, long_session):
    (line,) = done(trial_of(project, owner, BATCH)).result["sessions"]
    assert line["now"] == line["then"]


def test_a_session_of_its_own_settings_is_tried_under_them(project, owner, long_session):
    services.save_session_policy(long_session.session_id, {"compression": {"micro_compact": False}}, None)
    (line,) = done(trial_of(project, owner)).result["sessions"]
    assert line["then"]["micro"] == 0


def test_a_later_question_supersedes_the_earlier_one_and_the_same_is_not_asked_twice(project, owner, long_session):
    first = trial_of(project, owner)
    assert trial_of(project, owner).pk == first.pk
    second = trial_of(project, owner, BATCH)
    first.refresh_from_db()
    assert (first.status, second.status) == (RunStatus.CANCELLED, RunStatus.QUEUED)
    assert run_trial(first.pk, COUNTER) is RunStatus.CANCELLED
    first.refresh_from_db()
    assert first.result is None
    done(second)
    assert trial_of(project, owner, BATCH).pk == second.pk


def test_a_trial_is_asked_again_when_a_session_went_on(project, owner, long_session):
    first = done(trial_of(project, owner))
    long_session.append(user("and now?"))
    assert trial_of(project, owner).pk != first.pk


def test_a_running_trial_stops_between_two_steps_when_somebody_asks_it_to(project, owner, long_session, monkeypatch):
    trial = trial_of(project, owner)
    steps = Replay.steps

    def steps_and_a_wish(self):
        for number, step in enumerate(steps(self)):
            if number == 3:
                cancel_trial(trial.pk)
            yield step

    monkeypatch.setattr(policy_trials, "_STEPS_PER_LOOK", 1)
    monkeypatch.setattr(Replay, "steps", steps_and_a_wish)
    assert run_trial(trial.pk, COUNTER) is RunStatus.CANCELLED
    trial.refresh_from_db()
    assert (trial.status, trial.result) == (RunStatus.CANCELLED, None)


def test_a_session_that_is_too_long_is_left_out_and_said_to_be(project, owner, client, long_session, monkeypatch):
    monkeypatch.setattr(policy_trials, "MOST_ROWS", 10)
    trial = done(trial_of(project, owner))
    assert (trial.result["sessions"], trial.result["too_long"]) == ([], 1)
    assert "1 session has more than 10 rows and was too long to try." in text_of(client.get(URL))


def test_a_long_session_is_tried_after_the_others(project, owner, client, long_session, monkeypatch):
    short = RowBuilder(services.create_session(project, "Short", window_tokens=20_000).pk)
    short.append(user("hello"), assistant("hi"))
    RowBuilder(long_session.session_id).append(user("newer than the short one"))
    monkeypatch.setattr(policy_trials, "USUAL_ROWS", 10)
    began, rows_for_replay = [], policy_trials.rows_for_replay

    def noted(session_id, counter):
        began.append(session_id)
        return rows_for_replay(session_id, counter)

    monkeypatch.setattr(policy_trials, "rows_for_replay", noted)
    trial = done(trial_of(project, owner))
    assert began == [short.session_id, long_session.session_id]
    assert [one["title"] for one in trial.result["sessions"]][-1] == "Short"


def test_time_that_is_up_leaves_out_what_is_under_way_and_says_so(project, owner, client, long_session, monkeypatch):
    monkeypatch.setattr(policy_trials, "_STEPS_PER_LOOK", 1)
    steps = Replay.steps

    def slow_steps(self):
        for number, step in enumerate(steps(self)):
            if number == 3:
                monkeypatch.setattr(policy_trials, "time", SimpleNamespace(monotonic=lambda: float("inf")))
            yield step

    monkeypatch.setattr(Replay, "steps", slow_steps)
    trial = done(trial_of(project, owner))
    assert (trial.result["sessions"], trial.result["too_late"]) == ([], 1)
    assert "Within 120 seconds there was no time left for 1 session" in text_of(client.get(URL))


def test_a_fault_of_ours_ends_the_trial_and_is_told_without_contents(project, owner, long_session, monkeypatch):
    trial = trial_of(project, owner)

    def broken(*arguments):
        raise RuntimeError("secret contents")

    monkeypatch.setattr(policy_trials, "rows_for_replay", broken)
    with pytest.raises(RuntimeError):
        run_trial(trial.pk, COUNTER)
    trial.refresh_from_db()
    assert trial.status == RunStatus.FAILED
    assert "RuntimeError" in trial.error and "secret" not in trial.error


def test_typing_asks_for_a_trial_and_the_page_shows_its_progress_and_result(client, project, long_session):
    values = {"base": 2, "compression.micro_compact": "true", "compression.target_ratio": "0.1"}
    values["compression.threshold_floor"] = "false"
    response = client.post(f"{URL}preview/", values, headers={"HX-Request": "true"})
    trial = PolicyTrial.objects.get()
    assert f'hx-get="{URL}trials/{trial.pk}/"' in response.content.decode()
    waiting = client.get(f"{URL}trials/{trial.pk}/", headers={"HX-Request": "true"})
    assert "Trying it on your last sessions" in text_of(waiting)
    done(trial)
    response = client.get(f"{URL}trials/{trial.pk}/", headers={"HX-Request": "true"})
    text = text_of(response)
    assert re.search(
        r"Your last 1 session would have had 10 micro passes and 0 batch stalls, in place of 0 and \d", text
    )
    assert "hx-get" not in response.content.decode()
    assert "Peak occupancy" in text


def test_a_mistake_asks_for_no_trial(client, project, long_session):
    client.post(f"{URL}preview/", {"base": 2, "compression.threshold": "x"}, headers={"HX-Request": "true"})
    assert not PolicyTrial.objects.exists()


def test_a_result_of_other_settings_than_the_forms_is_said_to_be_of_those(client, project, owner, long_session):
    done(trial_of(project, owner))
    assert "Of settings you tried before; these are other ones:" in text_of(client.get(URL))
    same = {"base": 2, "action": "preview", "compression.micro_compact": "true"}
    assert "Of settings you tried before" not in text_of(client.post(URL, same))


def test_without_scripts_buttons_try_and_cancel_and_keep_what_was_typed(client, project, long_session):
    values = {"base": 2, "compression.threshold": "0.7"}
    page = client.post(URL, {**values, "action": "try"})
    assert 'name="compression.threshold" value="0.7"' in page.content.decode()
    trial = PolicyTrial.objects.get()
    assert trial.settings["compression"]["threshold"] == 0.7
    page = client.post(URL, {**values, "action": "cancel"})
    assert 'name="compression.threshold" value="0.7"' in page.content.decode()
    trial.refresh_from_db()
    assert trial.status == RunStatus.CANCELLED


def test_a_trial_of_somebody_else_is_not_there(client, project, long_session):
    other = User.objects.create_user("otto")
    services.add_member(project, other, MemberRole.OWNER)
    trial = trial_of(project, other)
    assert client.get(f"{URL}trials/{trial.pk}/", headers={"HX-Request": "true"}).status_code == 404


def test_passes_that_wait_for_a_cold_cache_are_said_to_be_left_out(project, owner, client, long_session):
    cold = {"compression": {**MICRO["compression"], "micro_compact_when": "cache_cold"}}
    trial = done(trial_of(project, owner, cold))
    assert trial.result["sessions"][0]["then"]["micro"] == 0
    assert "passes that wait for a cold cache are not in these figures" in text_of(client.get(URL))

"""Settings and replays: read with their sources, saved as revisions, refused by the engine's own words."""

import pytest

from compaction.policy_reading import read_policy
from sessions_app.models import PolicyRevision, Project, ReplayRun, Session
from sessions_app.replay_runs import run_replay
from sessions_app.summarizers import summarizer_for_run
from sessions_app.token_counting import site_counter

pytestmark = pytest.mark.django_db
SETTINGS = "/projects/review/settings"


def save(client, **blocks):
    return client.send(SETTINGS, blocks, "PUT")


def values(answer):
    return {one["path"]: (one["value"], one["source"]) for one in answer.json()["values"]}


def test_every_value_is_told_with_where_it_comes_from(writer, reader):
    before = values(reader.get(SETTINGS))
    assert before["compression.threshold"] == (0.5, "default")
    assert save(writer, compression={"threshold": 0.6, "micro_compact": "yes"}, note="more room").status_code == 200
    after = values(reader.get(SETTINGS))
    assert after["compression.threshold"] == (0.6, "project")
    assert after["compression.micro_compact"] == (True, "project")
    assert {path for path in after if after[path] != before[path]} == {
        "compression.threshold",
        "compression.micro_compact",
    }


def test_saving_makes_a_new_revision_and_moves_the_thresholds(writer, reader, project, session):
    saved = save(writer, compression={"threshold_tokens": 90_000}, note="cap").json()
    revision = PolicyRevision.objects.get(project=project, number=2)
    assert (saved["revision"], revision.note) == (2, "cap")
    assert saved["written"] == {"compression": {"threshold_tokens": 90_000}, "auxiliary": {}}
    assert reader.get(SETTINGS).json() == saved
    assert Session.objects.get(pk=session.pk).threshold_tokens == 90_000


@pytest.mark.parametrize(
    "blocks",
    [
        {"compression": {"threshold": "plenty"}},
        {"compression": {"threshold": 0.6, "micro_compact": "perhaps", "target_ratio": []}},
        {"compression": {"model_thresholds": {"gpt": "x"}}},
        {"auxiliary": {"compression": {"base_url": "ftp://x"}}},
        {"auxiliary": {"compression": {"base_url": "https://me:secret@host/"}}},
        {"auxiliary": {"compression": 5}},
    ],
)
def test_what_the_engine_refuses_is_refused_with_its_own_words_per_field(blocks, writer, project):
    answer = save(writer, **blocks)
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    problems = read_policy(blocks).errors
    assert problems
    assert [(field["path"], field["message"]) for field in answer.json()["fields"]] == [
        (problem.key, problem.cause or problem.message) for problem in problems
    ]
    assert "is used" not in answer.text
    assert PolicyRevision.objects.filter(project=project).count() == 1


def test_a_threshold_that_leaves_no_room_is_refused(writer, project):
    Project.objects.filter(pk=project.pk).update(window_tokens=200_000, fixed_overhead_tokens=50_000)
    answer = save(writer, compression={"threshold_tokens": 40_000})
    assert answer.status_code == 422
    assert [field["path"] for field in answer.json()["fields"]] == ["compression.threshold_tokens"]
    assert "50,000" in answer.json()["fields"][0]["message"]


def test_a_clamped_or_unknown_value_is_taken_and_remarked_on(writer):
    answer = save(writer, compression={"micro_compact_every_n_turns": 10**400, "someone_elses_key": 1}).json()
    assert {remark["path"] for remark in answer["remarks"]} == {
        "compression.micro_compact_every_n_turns",
        "compression.someone_elses_key",
    }


def test_a_key_is_never_stored_wherever_it_stands(writer, project):
    secret = "sk-" + "a" * 30
    blocks = {"compression": {"api_key": secret}, "auxiliary": {"compression": {"api_key": secret}, "vision": {"list": [{"api_key": secret}]}}}  # fmt: skip  # noqa: E501
    answer = save(writer, **blocks)
    assert answer.status_code == 200
    assert secret not in answer.content.decode()
    assert secret not in str(PolicyRevision.objects.filter(project=project).values_list("settings", flat=True))


def test_a_replay_runs_under_the_settings_it_was_started_with(writer, reader, rows, url):
    rows.turns(8)
    asked = {"policy": "micro", "settings": {"compression": {"target_ratio": 0.05}}, "window_tokens": 20_000}
    started = writer.send(f"{url}/runs", asked).json()
    assert (started["status"], started["policy"], started["window_tokens"]) == ("queued", "micro", 20_000)
    run_replay(started["id"], summarizer_for_run("extractive", site_counter()))
    done = reader.get(f"{url}/runs/{started['id']}").json()
    assert (done["status"], done["progress_done"]) == ("done", 8)
    assert done["settings"] == {"compression": {"target_ratio": 0.05}, "auxiliary": {}}
    first = reader.get(f"{url}/runs/{started['id']}/steps", limit=5).json()
    rest = reader.get(f"{url}/runs/{started['id']}/steps", after=first["next"]).json()
    assert [step["number"] for step in (*first["steps"], *rest["steps"])] == list(range(1, 9))
    assert reader.get(f"{url}/runs").json()["runs"] == [done]


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"policy": "miracle"}, "policy"),
        ({"policy": "micro", "window_tokens": 10}, "window_tokens"),
        ({"policy": "micro", "settings": {"compression": {"threshold": "x"}}}, "settings.compression.threshold"),
        ({"policy": "micro", "settings": {"compresion": {}}}, "settings.compresion"),
        ({}, "policy"),
    ],
)
def test_a_replay_that_cannot_be_started_is_refused_with_the_field(asked, path, writer, url, session):
    answer = writer.send(f"{url}/runs", asked)
    assert answer.status_code == 422
    assert [field["path"] for field in answer.json()["fields"]] == [path]
    assert not ReplayRun.objects.filter(session=session).exists()


def test_a_replay_of_a_model_whose_window_nobody_knows_asks_for_it(writer, session, url):
    Session.objects.filter(pk=session.pk).update(window_tokens=None, model="nobody-knows-it")
    answer = writer.send(f"{url}/runs", {"policy": "micro"})
    assert [field["path"] for field in answer.json()["fields"]] == ["window_tokens"]
    assert writer.send(f"{url}/runs", {"policy": "micro", "window_tokens": 8_000}).status_code == 202


def test_a_queued_replay_is_cancelled_and_stays_so(writer, run, url):
    first = writer.send(f"{url}/runs/{run.pk}/cancel", {}).json()
    again = writer.send(f"{url}/runs/{run.pk}/cancel", {}).json()
    assert (first["status"], again["status"]) == ("cancelled", "cancelled")


def test_saving_on_an_older_revision_is_refused_and_tells_the_newest(writer, project):
    assert save(writer, compression={"threshold": 0.6}, base=1).status_code == 200
    answer = save(writer, compression={"threshold": 0.7}, base=1)
    assert (answer.status_code, answer.json()["error"]) == (409, "out_of_date")
    assert "Revision 2" in answer.json()["detail"]
    assert PolicyRevision.objects.filter(project=project).count() == 2


def test_a_program_can_refuse_the_nearest_values_like_the_form_does(writer, project):
    answer = save(writer, compression={"threshold": 7}, accept_nearest=False)
    assert answer.status_code == 422
    assert [field["path"] for field in answer.json()["fields"]] == ["compression.threshold"]
    assert PolicyRevision.objects.filter(project=project).count() == 1


def test_a_value_that_the_site_sets_is_told_as_the_sites(reader, settings):
    settings.SITE_POLICY = {"compression": {"threshold": 0.66}}
    assert values(reader.get(SETTINGS))["compression.threshold"] == (0.66, "site")

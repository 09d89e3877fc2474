"""Settings as YAML through the page: known faults explained, nothing taken in silence, comments kept."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from compaction.config_yaml import read_policy_yaml
from compaction.threshold import ThresholdSource
from sessions_app import services
from sessions_app.models import Session
from sessions_app.session_policy import policy_of, threshold_of

pytestmark = pytest.mark.django_db
FAULTS = Path(__file__).parents[1] / "data" / "bugs"
URL = "/p/review/settings/yaml/"
DOWNLOAD = "/p/review/settings.yaml"


@pytest.fixture
def client(project):
    owner = User.objects.create_user("olga")
    services.add_member(project, owner, "owner")
    client = Client()
    client.force_login(owner)
    return client


def text_of(response):
    html = re.sub(r"(?s)<(svg|textarea).*?</\1>", " ", response.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def check(client, text, **more):
    return client.post(URL, {"base": 1, "action": "check", "text": text, **more})


def save(client, text, base=1, **more):
    return client.post(URL, {"base": base, "action": "save", "text": text, **more})


def newest(project):
    return project.policy_revisions.order_by("-number").first()


def cases_of_c01():
    lines = (FAULTS / "C01_out_of_range.yaml").read_text().splitlines()
    return [line.partition("{")[2].partition("}")[0] for line in lines if "{" in line]


EXPLAINED = {
    "threshold: 1.5": "1.5 is out of range; the highest value is 1.0.",
    "threshold: -1": "-1 is out of range; the lowest value is 0.05.",
    "threshold: abc": "'abc' is not a number.",
    "threshold: .nan": "'NaN' is not a number.",
    "micro_compact_every_n_turns: 0": "0 is out of range; the lowest value is 1.",
    "micro_compact_every_n_turns: -3": "-3 is out of range; the lowest value is 1.",
    "micro_compact_every_n_turns: 2.7": "'2.7' is not a whole number.",
    "micro_compact_every_n_turns: true": "'true' is not a whole number.",
    "micro_compact_defrag_threshold_tokens: 0": "0 is out of range; the lowest value is 1.",
}


@pytest.mark.parametrize("written", cases_of_c01())
def test_whatever_is_out_of_range_is_refused_with_its_line_and_its_reason_or_taken_as_it_stands(
    client, project, written
):
    """C01: page and API show requested, effective and why; out of range is never changed in silence."""
    key, value = (part.strip() for part in written.split(",")[0].split(":"))
    response = check(client, f"compression:\n  {key}: {value}\n")
    why = EXPLAINED.get(f"{key}: {value}")
    if why is None:
        assert response.status_code == 200
        assert save(client, f"compression:\n  {key}: {value}\n").status_code == 302
        return
    assert response.status_code == 422
    assert f"line 2 compression.{key} {why}" in text_of(response)
    assert save(client, f"compression:\n  {key}: {value}\n").status_code == 422
    assert newest(project).number == 1


def test_a_configured_share_that_the_floor_raises_is_shown_as_asked_for_and_as_in_effect_with_the_rule(client, project):
    """C01: a configured 0.6 was raised to 0.75 in silence, and the command still printed 0.6."""
    assert save(client, "model: {context_length: 262144}\ncompression: {threshold: 0.6}\n").status_code == 302
    html = client.get("/p/review/settings/").content.decode()
    cell = unescape(re.sub(r"<[^>]+>", " ", re.search(r'(?s)id="eff-threshold">(.*?)</span>', html).group(1)))
    assert " ".join(cell.split()) == (
        "0.60 project, revision 2 196,608 tokens: 75 %, because the window is under 512,000"
    )


def test_the_share_of_a_model_that_a_file_sets_outranks_every_default(client, project):
    """C02: explicit beats default, and the effective value names its source."""
    assert save(client, (FAULTS / "C02_default_cap_vs_ratio.yaml").read_text()).status_code == 302
    page = text_of(client.get("/p/review/settings/"))
    assert "big-window : batch at 300,000 tokens, 30 % of the input window" in page
    session = services.create_session(project_again(project), "x")
    found = threshold_of(session, policy_of(session))
    assert (found.tokens, found.source) == (300_000, ThresholdSource.MODEL_OVERRIDE)


def project_again(project):
    project.refresh_from_db()
    return project


def test_a_disabled_block_stays_disabled_whatever_a_session_or_the_environment_says(
    client, project, session, monkeypatch
):
    """C05: one documented precedence, shown per value; children of a disabled section are inert."""
    monkeypatch.setenv("CTX_THRESHOLD", "0.9")
    assert save(client, "compression: {enabled: false, threshold: 0.5, micro_compact: true}\n").status_code == 302
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.7}}, None)
    policy = policy_of(Session.objects.select_related("project").get(pk=session.pk))
    assert (policy.runs_batch, policy.runs_micro, policy.threshold) == (False, False, 0.7)
    page = text_of(client.get("/p/review/settings/"))
    assert "No effect while compression.enabled is off." in page
    assert "compression.enabled is off, so micro passes do not run either" in page.lower()
    scopes = text_of(client.get(f"/s/{session.public_id}/settings/"))
    idle = "No effect while compression.enabled is off."
    assert f"Share of the window threshold {idle} 0.50 – 0.50 wins 0.70" in scopes


def test_an_unknown_key_is_told_with_its_line_kept_with_its_comments_and_never_reported_as_a_setting(client, project):
    """C06: setting a key that does not exist wrote junk, deleted comments and reported success."""
    text = "# mine\ncompression:\n  treshold: 0.6  # a slip\n  target_ratio: 0.3  # tail\n"
    response = check(client, text)
    assert "line 3 compression.treshold This key is not known; it is kept and changes nothing." in text_of(response)
    assert save(client, text).status_code == 302
    downloaded = client.get(DOWNLOAD).content.decode()
    assert downloaded.partition("\n")[2] == text
    client.post("/p/review/settings/", {"base": 2, "action": "save", "compression.target_ratio": "0.4"})
    assert client.get(DOWNLOAD).content.decode().partition("\n")[2] == text.replace("0.3  # tail", "0.4  # tail")


def test_the_window_of_the_summarizer_that_a_file_sets_wins_and_its_source_is_shown(client, project):
    """C07: a value set by a person outranks every catalogue."""
    assert save(client, (FAULTS / "C07_aux_context_length.yaml").read_text()).status_code == 302
    assert "The summarizer can't be asked" in text_of(client.get("/p/review/settings/"))
    html = client.get("/p/review/settings/").content.decode()
    cell = re.search(r'(?s)id="eff-auxiliary-context_length">(.*?)</span>', html).group(1)
    assert "1,048,576" in cell and "project, revision 2" in cell


def test_a_fallback_list_is_told_to_be_not_used_with_the_reason(client, project):
    """C09: there is no second model that could be chosen without a key: a failed summary changes nothing."""
    text = "auxiliary:\n  compression:\n    fallback_chain: [{model: no-key}, {model: small}, {model: good}]\n"
    response = check(client, text)
    assert response.status_code == 200
    assert "line 3 auxiliary.compression.fallback_chain Not used here: when the summarizer fails" in text_of(response)


@pytest.mark.parametrize("name", sorted(path.name for path in FAULTS.glob("*.yaml")))
def test_every_settings_file_of_a_known_fault_is_read_to_its_end_and_every_problem_has_a_line(client, project, name):
    """C01, C02, C05, C07, E16, E24, E32: explained, never a silent default."""
    text = (FAULTS / name).read_text()
    response = check(client, text)
    assert response.status_code in (200, 422)
    page = text_of(response)
    for problem in read_policy_yaml(text).problems:
        assert problem.key in page
        assert f"line {problem.line}" in page


def test_a_tail_that_takes_everything_is_warned_of_with_the_sum(client, project):
    """E24: a tail that swallows all rows leaves nothing to compact."""
    services.save_policy(project.pk, {"model": {"context_length": 96_000}}, None)
    project.refresh_from_db()
    session = services.create_session(project, "x", fixed_overhead_tokens=30_000)
    services.finish_turn(session.pk)
    Session.objects.filter(pk=session.pk).update(turns_total=1)
    text = "model: {context_length: 96000}\ncompression: {threshold: 0.4, threshold_floor: off, target_ratio: 0.45}\n"
    assert save(client, text, base=2).status_code == 302
    assert "The tail takes everything" in text_of(client.get("/p/review/settings/"))


def test_a_broken_file_is_refused_with_its_line_and_the_text_is_still_there(client, project):
    response = save(client, "compression:\n\tthreshold: 0.6\n")
    assert response.status_code == 422
    assert "line 2: a tab can't indent in yaml; use spaces." in text_of(response).lower()
    assert "\tthreshold: 0.6" in response.content.decode()
    assert newest(project).number == 1


def test_a_key_that_is_written_twice_is_refused(client, project):
    response = save(client, "compression:\n  threshold: 0.6\n  threshold: 0.7\n")
    assert response.status_code == 422
    assert "Written twice, first in line 2; the last value counts." in text_of(response)


def test_a_whole_config_is_taken_with_its_comments_and_neither_its_other_blocks_nor_its_secrets(client, project):
    text = (
        "providers:\n  x: {api_key: sk-other}\ncompression:\n  threshold: 0.6  # why\n"
        "auxiliary:\n  compression:\n    model: small\n    api_key: sk-secret\n"
    )
    upload = SimpleUploadedFile("config.yaml", text.encode())
    response = client.post(URL, {"base": 1, "action": "check", "file": upload})
    assert "Other blocks of the file are not kept: providers." in text_of(response)
    assert save(client, text).status_code == 302
    revision = newest(project)
    assert "sk-" not in str(revision.settings) + revision.source_text
    assert "# why" in client.get(DOWNLOAD).content.decode()


def test_a_download_is_read_back_without_a_change(client, project):
    blocks = {
        "compression": {
            "threshold": 0.6,
            "micro_compact": True,
            "model_thresholds": {"a:b": 0.3},
            "threshold_tokens": None,
        },
        "auxiliary": {"compression": {"provider": "ollama", "model": "small"}},
        "model": {"default": "big", "context_length": 600_000},
    }
    services.save_policy(project.pk, blocks, None)
    for query in ("", "?all=1"):
        downloaded = client.get(DOWNLOAD + query)
        assert downloaded.headers["Content-Disposition"] == 'attachment; filename="review-settings.yaml"'
        assert not read_policy_yaml(downloaded.content).errors
    response = client.post(
        URL, {"base": 2, "action": "save", "text": client.get(DOWNLOAD).content.decode()}, follow=True
    )
    assert "Nothing was changed" in text_of(response)


def test_the_settings_are_put_into_somebodys_own_file_without_storing_it(client, project):
    services.save_policy(project.pk, {"compression": {"threshold": 0.7}}, None)
    text = "# mine\nproviders:\n  x: {api_key: sk-other}  # secret\ncompression:\n  threshold: 0.6  # why\n"
    response = client.post(URL, {"action": "into", "text": text})
    assert response.content.decode() == text.replace("0.6  # why", "0.7  # why")
    assert newest(project).number == 2


def test_a_file_that_meets_somebody_elses_change_shows_both(client, project):
    services.save_policy(project.pk, {"compression": {"threshold": 0.7}}, None)
    response = save(client, "compression: {threshold: 0.6}\n", base=1)
    assert response.status_code == 409
    assert "Both of you changed 1 value" in text_of(response)
    assert newest(project).number == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", "byte 0 is not utf-8 text"),
        (b"x" * 1_000_001, "larger than 1,000,000 bytes"),
        (b"", "does not hold"),
    ],
)
def test_a_file_that_is_no_settings_text_is_refused_with_the_reason(client, project, content, words):
    response = client.post(
        URL, {"base": 1, "action": "save", "file": SimpleUploadedFile("config.yaml", content or b"- 1")}
    )
    assert response.status_code == 422
    assert words in text_of(response).lower()

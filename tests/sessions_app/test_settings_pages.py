"""The settings pages over HTTP: every option with its figures, mistakes at their fields, revisions, merges, YAML."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from row_builder import RowBuilder

from compaction.cache_prices import shipped_price_table
from sessions_app import services
from sessions_app.models import MemberRole, PolicyRevision, PolicyTrial, Project
from sessions_app.pages.setting_advice import is_reasoning_model
from sessions_app.setting_paths import EVERY_SETTING
from sessions_app.setting_presets import PRESETS

pytestmark = pytest.mark.django_db
URL = "/p/review/settings/"
THRESHOLD = "compression.threshold"


def person(project, role=MemberRole.OWNER, name="olga"):
    found = User.objects.create_user(name)
    services.add_member(project, found, role)
    client = Client()
    client.force_login(found)
    return client


@pytest.fixture
def client(project):
    return person(project)


def text_of(response):
    """The page as people read it."""
    html = re.sub(r"(?s)<(script|style|svg).*?</\1>", " ", response.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def field(response, path):
    """What stands in a field."""
    html = response.content.decode()
    found = re.search(rf'<input[^>]*name="{re.escape(path)}"[^>]*>', html)
    if found:
        return unescape(re.search(r'value="([^"]*)"', found.group(0)).group(1))
    area = re.search(rf'(?s)<textarea[^>]*name="{re.escape(path)}"[^>]*>(.*?)</textarea>', html)
    if area:
        return unescape(area.group(1)).strip()
    choice = re.search(rf'(?s)<select[^>]*name="{re.escape(path)}"[^>]*>(.*?)</select>', html)
    return re.search(r'<option value="([^"]*)" selected', choice.group(1)).group(1)


def save(client, base=1, **values):
    return client.post(URL, {"base": base, "action": "save", **values})


def newest(project):
    return project.policy_revisions.order_by("-number").first()


def test_every_setting_stands_on_the_page_with_its_meaning_default_and_source(client):
    response = client.get(URL)
    text = text_of(response).replace("replaces threshold .", "replaces threshold.")
    for one in EVERY_SETTING:
        assert one.setting.label in text, one.path
        assert one.setting.meaning.replace("`", "") in text, one.path
        assert f'name="{one.path}"' in response.content.decode(), one.path
        assert f'id="eff-{one.anchor}"' in response.content.decode(), one.path


def test_the_value_in_force_is_told_with_where_it_comes_from_and_what_follows(client, project, settings):
    settings.SITE_POLICY = {"compression": {"protect_first_n": 9}}
    Project.objects.filter(pk=project.pk).update(main_model="gpt-5.2", window_tokens=128_000)
    services.save_policy(project.pk, {"compression": {"target_ratio": 0.3}}, None)
    html = client.get(URL).content.decode()

    def effective(key):
        part = re.search(rf'(?s)id="eff-{key}">(.*?)</span>', html).group(1)
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split())

    assert effective("protect_first_n") == "9 site head up to 24,000 tokens"
    assert effective("target_ratio") == "0.30 project, revision 2 tail of 25,600 tokens"
    assert effective("threshold") == "0.50 default 96,000 tokens: 75 %, because the window is under 512,000"
    assert effective("min_tail_user_messages") == "1 default"


@pytest.mark.parametrize(
    ("path", "typed", "words"),
    [
        (THRESHOLD, "plenty", "'plenty' is not a number."),
        (THRESHOLD, "60 %", "'60 %' is not a number."),
        (THRESHOLD, "60", "60 is out of range; the highest value is 1.0 (write 0.6 for 60 %)"),
        ("compression.protect_first_n", "2.5", "is not a whole number."),
        ("compression.micro_compact", "perhaps", "'perhaps' is not a switch (true or false)"),
        ("compression.tail_mode", "long", "'long' is not one of ratio, lean, legacy."),
        ("compression.model_thresholds", "gpt", "is not a number."),
        ("compression.model_thresholds", "gpt: 0.3\ngpt: 0.4", "'0.3 and 0.4' is not a number."),
        ("auxiliary.compression.base_url", "ftp://host/", "An address starts with http:// or https://."),
        ("auxiliary.compression.timeout", "0", "0 is out of range; the lowest value is 1."),
        ("model.context_length", "large", "'large' is not a whole number."),
    ],
)
def test_a_mistake_is_explained_at_its_field_with_422_and_nothing_typed_is_lost(client, project, path, typed, words):
    others = {"compression.target_ratio": "0.33", "note": "why not"}
    response = save(client, **{path: typed}, **others)
    assert response.status_code == 422
    text = text_of(response)
    assert words in text
    assert "Nothing was saved: one value needs attention." in text
    assert field(response, "compression.target_ratio") == "0.33"
    assert field(response, path) == typed
    assert 'value="why not"' in response.content.decode()
    assert 'aria-invalid="true"' in response.content.decode()
    assert newest(project).number == 1


def test_an_address_with_a_password_is_refused_without_repeating_it_in_the_message(client):
    response = save(client, **{"auxiliary.compression.base_url": "https://me:secret@host/"})
    assert response.status_code == 422
    assert "must not contain a user name or password" in text_of(response)
    assert response.content.decode().count("me:secret@") == 1


def test_a_threshold_under_the_fixed_overhead_is_refused_with_the_sum_and_the_lowest_that_works(client, project):
    Project.objects.filter(pk=project.pk).update(window_tokens=128_000, fixed_overhead_tokens=14_210)
    response = save(client, **{"compression.threshold_tokens": "12,000", "compression.target_ratio": "0.3"})
    assert response.status_code == 422
    text = text_of(response)
    assert "12,000 is too low: each request already carries 14,210 tokens" in text
    assert "The lowest threshold that can work is 14,211." in text
    assert 'href="#threshold_tokens"' in response.content.decode()
    assert field(response, "compression.target_ratio") == "0.3"
    assert save(client, **{"compression.threshold_tokens": "14,211"}).status_code == 302


def test_values_out_of_range_are_saved_only_as_the_nearest_ones_that_somebody_agreed_to(client, project):
    values = {"compression.micro_compact_every_n_turns": "0", THRESHOLD: "1.5", "compression.threshold_tokens": "0"}
    refused = save(client, **values)
    assert refused.status_code == 422
    assert "Save with the nearest values that are allowed" in text_of(refused)
    assert save(client, accept="nearest", **values).status_code == 302
    assert newest(project).settings == {"compression": {"micro_compact_every_n_turns": 1, "threshold": 1.0}}


def test_a_saved_form_is_a_revision_with_author_and_note_and_an_empty_field_writes_nothing(client, project):
    response = save(client, **{THRESHOLD: "0.7", "compression.micro_compact": "true", "note": "longer"})
    assert response.headers["Location"] == URL
    revision = newest(project)
    assert (revision.number, revision.author.username, revision.note) == (2, "olga", "longer")
    assert revision.settings == {"compression": {"threshold": 0.7, "micro_compact": True}}
    assert "Saved as revision 2." in text_of(client.get(URL))
    save(client, 2, **{THRESHOLD: "", "compression.micro_compact": "true"})
    assert newest(project).settings == {"compression": {"micro_compact": True}}


def test_saving_without_a_change_makes_no_revision(client, project):
    save(client, **{THRESHOLD: "0.7"})
    response = client.post(URL, {"base": 2, "action": "save", THRESHOLD: "0.70"}, follow=True)
    assert "Nothing was changed" in text_of(response)
    assert newest(project).number == 2


def test_no_limit_can_be_written_over_the_sites_limit(client, project, settings):
    settings.SITE_POLICY = {"compression": {"threshold_tokens": 50_000}}
    save(client, **{"compression.threshold_tokens": "none"})
    assert newest(project).settings == {"compression": {"threshold_tokens": None}}
    assert field(client.get(URL), "compression.threshold_tokens") == "none"


def test_what_a_field_shows_is_read_back_as_the_same_value(client, project):
    blocks = {
        "compression": {
            "threshold": 0.6,
            "micro_compact": False,
            "threshold_tokens": 80_000,
            "tail_mode": "lean",
            "model_thresholds": {"ollama:qwen3:4b": 0.3, "gpt": 0.55},
        },
        "auxiliary": {"compression": {"provider": "ollama", "model": "qwen3:4b", "timeout": 200}},
        "model": {"default": "gpt-5.2", "context_length": 128_000},
    }
    services.save_policy(project.pk, blocks, None)
    page = client.get(URL)
    posted = {one.path: field(page, one.path) for one in EVERY_SETTING}
    response = client.post(URL, {"base": 2, "action": "save", **posted}, follow=True)
    assert "Nothing was changed" in text_of(response)


def test_the_main_model_is_part_of_the_revision_and_moves_the_projects_window(client, project):
    save(client, **{"model.default": "gpt-5.2", "model.context_length": "200,000"})
    project.refresh_from_db()
    assert (project.main_model, project.window_tokens) == ("gpt-5.2", 200_000)
    assert newest(project).settings == {"model": {"default": "gpt-5.2", "context_length": 200_000}}
    client.post(f"{URL}revisions/1/revert/", {"base": 2})
    assert newest(project).number == 3
    project.refresh_from_db()
    assert (project.main_model, project.window_tokens) == (None, None)


def test_keys_of_other_programs_are_kept_shown_and_taken_out_only_on_request(client, project):
    services.save_policy(project.pk, {"compression": {"their_key": [1], "protect_last_n": 20}}, None)
    text = text_of(client.get(URL))
    assert "compression.their_key: [1]" in text
    assert "This key is not known; it is kept and changes nothing." in text
    assert "Not used here: the tail is chosen by its token budget" in text
    save(client, 2, **{THRESHOLD: "0.7"})
    assert newest(project).settings["compression"] == {"their_key": [1], "protect_last_n": 20, "threshold": 0.7}
    save(client, 3, **{THRESHOLD: "0.7", "remove": "compression.their_key"})
    assert newest(project).settings["compression"] == {"protect_last_n": 20, "threshold": 0.7}


def test_fields_that_were_not_posted_and_names_that_are_no_setting_change_nothing(client, project):
    services.save_policy(project.pk, {"compression": {"target_ratio": 0.3}}, None)
    client.post(
        URL, {"base": 2, "action": "save", THRESHOLD: "0.7", "project_id": "9", "slug": "x", "compression": "1"}
    )
    assert newest(project).settings == {"compression": {"target_ratio": 0.3, "threshold": 0.7}}


# Two people


def test_two_people_who_change_different_values_are_shown_both_and_lose_none(client, project):
    services.save_policy(project.pk, {"compression": {"target_ratio": 0.3}}, None, "theirs")
    response = save(client, base=1, **{THRESHOLD: "0.7", "compression.target_ratio": ""})
    assert response.status_code == 409
    text = text_of(response)
    assert "Somebody saved meanwhile" in text
    assert "You changed different values, so both can hold." in text
    assert newest(project).number == 2
    html = response.content.decode()
    assert re.search(rf'name="{THRESHOLD}" value="0.7" checked', html)
    assert re.search(r'name="compression.target_ratio" value="0.3" checked', html)
    save(client, base=2, **{THRESHOLD: "0.7", "compression.target_ratio": "0.3"})
    assert newest(project).settings == {"compression": {"threshold": 0.7, "target_ratio": 0.3}}


def test_two_people_who_change_the_same_value_have_to_choose(client, project):
    services.save_policy(project.pk, {"compression": {"threshold": 0.6}}, None, "theirs")
    response = save(client, base=1, **{THRESHOLD: "0.7"})
    html = response.content.decode()
    assert "Both of you changed 1 value" in text_of(response)
    assert not re.search(rf'name="{THRESHOLD}" value="[^"]*" checked', html)
    again = client.post(URL, dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', html)))
    assert again.status_code == 409
    assert "Nothing is chosen yet" in text_of(again)
    assert re.search(rf'name="{THRESHOLD}" value="0.7"', again.content.decode())
    assert newest(project).number == 2
    save(client, base=2, choose=THRESHOLD, **{THRESHOLD: "0.7"})
    assert newest(project).settings == {"compression": {"threshold": 0.7}}


def test_a_save_without_a_base_overwrites_nothing(client, project):
    services.save_policy(project.pk, {"compression": {"threshold": 0.6}}, None)
    assert client.post(URL, {"action": "save", THRESHOLD: "0.7"}).status_code == 409
    assert client.post(URL, {"base": "99999999999", "action": "save", THRESHOLD: "0.7"}).status_code == 409
    assert newest(project).number == 2


# Revisions


def test_revisions_are_listed_with_their_diffs_a_page_at_a_time(client, project):
    for number in range(25):
        services.save_policy(project.pk, {"compression": {"protect_first_n": number}}, None, f"step {number}")
    first = client.get(f"{URL}revisions/")
    text = text_of(first)
    assert "- protect_first_n: 23 + protect_first_n: 24" in text
    assert "step 4" not in text
    older = re.search(r'rel="next" href="([^"]+)"', first.content.decode()).group(1)
    assert "step 4 " in text_of(client.get(f"{URL}revisions/{older}"))
    with CaptureQueriesContext(connection) as captured:
        client.get(f"{URL}revisions/")
    assert len(captured) <= 8


def test_a_revision_shows_its_change_and_reverting_saves_it_as_a_new_one(client, project):
    services.save_policy(project.pk, {"compression": {"threshold": 0.6}}, None)
    services.save_policy(project.pk, {"compression": {"threshold": 0.7, "micro_compact": True}}, None)
    text = text_of(client.get(f"{URL}revisions/2/"))
    assert "Against revision 1 + threshold: 0.6" in text
    assert "What has changed since, up to revision 3 - threshold: 0.6 + threshold: 0.7 + micro_compact: true" in text
    response = client.post(f"{URL}revisions/2/revert/", {"base": 3, "note": "too long"}, follow=True)
    assert "Saved as revision 4: the settings of revision 2 are in force again." in text_of(response)
    assert newest(project).settings == {"compression": {"threshold": 0.6}}
    assert newest(project).note == "too long"
    assert PolicyRevision.objects.filter(project=project).count() == 4


def test_reverting_on_an_outdated_page_changes_nothing_and_says_so(client, project):
    services.save_policy(project.pk, {"compression": {"threshold": 0.6}}, None)
    services.save_policy(project.pk, {"compression": {"threshold": 0.7}}, None)
    response = client.post(f"{URL}revisions/1/revert/", {"base": 2}, follow=True)
    assert "somebody saved meanwhile" in text_of(response)
    assert newest(project).number == 3


def test_reverting_to_settings_that_cannot_work_any_more_is_refused_with_the_reason(client, project):
    model = {"model": {"context_length": 128_000}}
    services.save_policy(project.pk, {"compression": {"threshold_tokens": 10_000}, **model}, None)
    services.save_policy(project.pk, model, None)
    Project.objects.filter(pk=project.pk).update(fixed_overhead_tokens=20_000)
    response = client.post(f"{URL}revisions/2/revert/", {"base": 3})
    assert response.status_code == 422
    assert "10,000 is too low" in text_of(response)
    assert newest(project).number == 3


def test_a_revision_that_is_not_there_is_not_found(client):
    assert client.get(f"{URL}revisions/99999999999/").status_code == 404


# Who may


def test_editors_and_viewers_see_everything_and_change_nothing(project):
    for role in (MemberRole.EDITOR, MemberRole.VIEWER):
        client = person(project, role, f"{role}-person")
        page = client.get(URL)
        assert page.status_code == 200
        assert "Only an owner of the project can change them." in text_of(page)
        assert "<fieldset disabled>" in page.content.decode()
        assert "Save as revision" not in text_of(page)
        assert save(client, **{THRESHOLD: "0.7"}).status_code == 403
        for path in (f"{URL}preview/", f"{URL}revisions/1/revert/", f"{URL}yaml/"):
            assert client.post(path, {"text": "compression: {}"}).status_code == 403
        assert client.get("/p/review/settings.yaml").status_code == 200
    assert newest(project).number == 1
    assert not PolicyTrial.objects.exists()


# Presets, preview, warnings


@pytest.mark.parametrize("preset", PRESETS, ids=[one.name for one in PRESETS])
def test_a_preset_fills_the_form_tells_its_trade_and_can_be_saved(client, project, preset):
    services.save_policy(project.pk, {"compression": {"target_ratio": 0.3, "micro_compact_every_n_turns": 7}}, None)
    page = client.get(f"{URL}?preset={preset.name}")
    assert str(preset.trade) in text_of(page)
    assert newest(project).number == 2
    posted = {one.path: field(page, one.path) for one in EVERY_SETTING}
    assert posted["compression.target_ratio"] == "0.3"
    assert save(client, 2, **posted).status_code == 302
    written = newest(project).settings["compression"]
    assert written["micro_compact"] is (preset.name != "off")


def test_the_preview_follows_the_form_and_answers_beside_the_fields(client, project):
    Project.objects.filter(pk=project.pk).update(main_model="claude-sonnet-4-5", window_tokens=600_000)
    values = {THRESHOLD: "0.6", "compression.protect_first_n": "many", "compression.tail_mode": "lean"}
    response = client.post(f"{URL}preview/", {"base": 1, **values}, headers={"HX-Request": "true"})
    assert response.status_code == 200
    text = text_of(response)
    assert "batch at 360,000 tokens, 60 % of the input window;" in text
    assert "without the values in error" in text
    html = response.content.decode()
    assert '<div class="opt-notes" id="notes-protect_first_n" hx-swap-oob="true"><p class="opt-error">' in html
    assert "3 changes, 1 of them in error." in text
    assert "No effect while the tail is lean." in text
    assert newest(project).number == 1
    assert not PolicyTrial.objects.exists()


def test_a_page_without_scripts_shows_the_preview_by_a_button_and_keeps_what_was_typed(client, project):
    Project.objects.filter(pk=project.pk).update(window_tokens=600_000)
    response = client.post(URL, {"base": 1, "action": "preview", THRESHOLD: "0.6"})
    assert response.status_code == 200
    assert "batch at 360,000 tokens" in text_of(response)
    assert field(response, THRESHOLD) == "0.6"
    assert newest(project).number == 1


def test_the_foot_tells_the_counter_of_this_site_and_the_date_of_its_prices(client, project, monkeypatch):
    foot = text_of(client.get(URL)).rpartition("Times in ")[2]
    assert "Tokens counted with o200k_base" in foot
    assert f"Prices as of {shipped_price_table().as_of}" in foot
    monkeypatch.setattr("sessions_app.templatetags.site.exact_counter_name", lambda: None)
    assert "Tokens are estimated" in text_of(client.get(URL))


def test_only_owners_are_offered_to_go_back_to_a_revision(client, project):
    save(client, **{THRESHOLD: "0.6"})
    editor = person(project, MemberRole.EDITOR, name="edda")
    for page in (URL, f"{URL}revisions/"):
        assert "revert to this" in text_of(client.get(page))
        assert "revert to this" not in text_of(editor.get(page))


def test_an_unknown_window_is_said_to_be_unknown(client, project):
    services.create_session(project, "x", model="nobody-knows-it")
    text = text_of(client.get(URL))
    assert "window unknown, so no batch runs by itself" in text
    assert "The window of nobody-knows-it is unknown (1 session)" in text


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("o3-mini", True),
        ("openai/o1", True),
        ("deepseek-r1", True),
        ("deepseek-reasoner", True),
        ("qwen3-4b-thinking", True),
        ("QwQ-32B", True),
        ("gpt-5.2", True),
        ("gpt-4o-mini", False),
        ("qwen3-4b-instruct", False),
        ("claude-haiku-4-5", False),
        ("grok-4-fast-non-reasoning", False),
        ("gemma-3-4b", False),
    ],
)
def test_reasoning_models_are_told_by_their_names(name, is_one):
    assert is_reasoning_model(name) is is_one


def test_warnings_carry_the_figures_they_rest_on(client, project):
    Project.objects.filter(pk=project.pk).update(main_model="claude-sonnet-4-5", window_tokens=200_000)
    session = services.create_session(project, "Long", fixed_overhead_tokens=155_000)
    rows = RowBuilder(session.pk)
    rows.turns(3)
    services.save_policy(
        project.pk,
        {"compression": {"micro_compact": True}, "auxiliary": {"compression": {"model": "deepseek-r1"}}},
        None,
    )
    text = text_of(client.get(URL))
    assert "deepseek-r1 looks like a reasoning model" in text
    assert "The threshold of 150,000 tokens lies under the fixed overhead" in text
    assert re.search(r"(Passes come sooner than they pay|A pass never pays for itself) on Anthropic", text)


def test_the_page_makes_as_many_queries_for_many_sessions_as_for_few(client, project):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            client.get(URL)
        return len(captured)

    for number in range(3):
        RowBuilder(services.create_session(project, f"{number}", window_tokens=90_000).pk).turns(1)
    few = queries()
    for number in range(12):
        RowBuilder(services.create_session(project, f"x{number}", window_tokens=80_000 + number).pk).turns(2)
    assert queries() <= few <= 30


def test_the_engines_words_about_every_setting_are_told_in_the_readers_language(client):
    client.post("/language/", {"language": "zh-hans", "next": URL})
    text = text_of(client.get(URL))
    for one in EVERY_SETTING:
        for words in filter(None, (one.setting.label, one.setting.meaning, one.setting.why)):
            assert words.replace("`", "") not in text, one.path

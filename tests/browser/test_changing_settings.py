"""Settings in the browser: a mistake is seen, mended, saved, used by the next pass, taken back; two tabs meet."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from story import Story, tell_story

from sessions_app import services
from sessions_app.models import PolicyTrial, RunStatus

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/p/review/settings/"
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


def test_a_mistake_is_explained_mended_tried_saved_used_and_taken_back(reader, project, work):
    story = Story(project, failing_call=99)
    for _ in range(6):
        story.turn()
    reader.expected_statuses.append(422)
    page = reader.page
    reader.visit(URL)

    # A mistake: told while it is typed, and told again when somebody saves it all the same.
    page.get_by_label("Exchanges per pass").fill("several")
    page.get_by_label("Opening rows kept").fill("5")
    expect(page.locator("#notes-micro_compact_max_exchanges")).to_contain_text("'several' is not a whole number.")
    expect(page.get_by_label("Exchanges per pass")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#changes")).to_have_text("2 changes, 1 of them in error. Running passes keep revision 2.")
    assert not PolicyTrial.objects.exists()
    page.get_by_role("button", name="Save as revision 3").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was saved: one value needs attention.")
    expect(page.get_by_label("Opening rows kept")).to_have_value("5")
    page.get_by_role("link", name="Exchanges per pass: 'several' is not a whole number.").click()

    # Mended: the preview follows, and the newest sessions are tried in the background.
    page.get_by_label("Exchanges per pass").fill("3")
    page.get_by_label("Tail share").fill("0.15")
    expect(page.locator("#eff-target_ratio")).to_contain_text("tail of 5,100 tokens")
    expect(page.locator("#preview")).to_contain_text("the tail keeps 5,100")
    expect(page.locator("#trial")).to_contain_text("Trying it on your last sessions")
    work()
    expect(page.locator("#trial")).to_contain_text("Your last 1 session would have had")
    assert PolicyTrial.objects.get(status=RunStatus.DONE).result["sessions"][0]["then"]["micro"] >= 1
    page.get_by_label("Why, for the history").fill("fewer, larger passes")
    page.get_by_role("button", name="Save as revision 3").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved as revision 3.")
    expect(page.locator("#eff-micro_compact_max_exchanges")).to_contain_text("3project, revision 3")

    # The next pass runs under it, and says so.
    for _ in range(4):
        story.turn()
    assert story.refreshed().passes.filter(policy_revision__number=3, committed=True).exists()
    reader.visit(story.path + "passes/")
    page.locator("[data-pass-item] a").first.click()
    page.get_by_role("link", name="policy revision 3").click()
    expect(page.locator("h1")).to_have_text("Revision 3")
    expect(page.locator(".change-lines").first).to_contain_text("+ micro_compact_max_exchanges: 3")
    expect(page.get_by_text("fewer, larger passes")).to_be_visible()

    # Back to how it was: a new revision, with its own diff.
    page.get_by_role("link", name="Revision 2").click()
    page.get_by_label("Why, for the history").fill("too much at once")
    page.get_by_role("button", name="Revert to revision 2").click()
    expect(page.get_by_role("status").first).to_contain_text("the settings of revision 2 are in force again")
    page.locator(".revisions").get_by_role("link", name="4", exact=True).click()
    expect(page.locator(".change-lines").first).to_contain_text("- micro_compact_max_exchanges: 3")
    expect(page.get_by_text("too much at once")).to_be_visible()


def test_two_tabs_meet_and_neither_overwrites_the_other(reader, project):
    reader.expected_statuses.append(409)
    page, other = reader.page, reader.context.new_page()
    reader.visit(URL)
    other.goto(reader.site + URL)
    other.get_by_label("Tail share").fill("0.3")
    other.get_by_label("Opening rows kept").fill("7")
    other.get_by_role("button", name="Save as revision 3").click()
    expect(other.get_by_role("status").first).to_contain_text("Saved as revision 3.")
    other.close()

    page.get_by_label("Tail share").fill("0.4")
    page.get_by_label("Every n turns").fill("2")
    page.get_by_role("button", name="Save as revision 3").click()
    expect(page.get_by_role("alert")).to_contain_text("while you were editing, revision 3 was saved")
    expect(page.get_by_role("alert")).to_contain_text("Both of you changed 1 value: choose which one holds.")
    row = page.get_by_role("row", name="Tail share")
    expect(row.get_by_role("cell")).to_have_text(["Tail share target_ratio both changed it", "0.1", "0.3", "0.4"])
    expect(page.get_by_role("row", name="Opening rows kept").get_by_role("radio").first).to_be_checked()
    row.get_by_role("radio").nth(1).check()
    page.get_by_role("button", name="Save as revision 4").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved as revision 4.")
    written = project.policy_revisions.get(number=4).settings["compression"]
    assert (written["target_ratio"], written["protect_first_n"], written["micro_compact_every_n_turns"]) == (0.4, 7, 2)


def test_leaving_with_changes_that_are_not_saved_asks_first(reader, project):
    page = reader.page
    reader.visit(URL)
    page.get_by_label("Tail share").click()
    page.keyboard.type("0.3")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.get_by_role("link", name="Scopes").click()
    expect(page.locator("h1")).to_have_text("Scopes of settings")
    assert asked == ["beforeunload"]


def test_the_form_works_without_scripts(open_reader, project):
    reader = open_reader(java_script_enabled=False)
    reader.expected_statuses.append(422)
    page = reader.page
    reader.visit(URL)
    page.get_by_label("Tail share").fill("0.3")
    page.get_by_role("button", name="Show what it would do").click()
    expect(page.get_by_label("Tail share")).to_have_value("0.3")
    expect(page.locator("#changes")).to_contain_text("1 change")
    page.get_by_label("Tail share").fill("much")
    page.get_by_role("button", name="Save as revision 3").click()
    expect(page.get_by_role("alert").first).to_contain_text("'much' is not a number.")
    page.get_by_label("Tail share").fill("0.3")
    page.get_by_role("button", name="Save as revision 3").click()
    expect(page.get_by_text("Saved as revision 3.")).to_be_visible()


@pytest.fixture
def paths(project):
    story = tell_story(project, title="A title with a_very_long_name_that_has_no_place_to_break" * 2)
    long = {"compression": {"micro_compact": True, "their_key": "x" * 400, "model_thresholds": {"m" * 200: 0.3}}}
    services.save_policy(project.pk, long, None, "why " * 40)
    services.save_session_policy(story.session.pk, {"compression": {"threshold": 0.9}}, None, "y" * 200)
    own = ("", "?preset=gentle", "yaml/", "scopes/", "revisions/", "revisions/2/", "revisions/3/")
    return (*(URL + one for one in own), f"{story.path}settings/")


def test_every_page_of_settings_keeps_the_rules_of_axe_in_both_themes_and_widths(open_reader, paths):
    found = {}
    for width, scheme in ((1440, "light"), (390, "dark"), (1000, "light")):
        reader = open_reader(viewport={"width": width, "height": 900}, color_scheme=scheme)
        for path in paths:
            response = reader.visit(path)
            assert response.status == 200, path
            assert "unsafe" not in response.headers["content-security-policy"]
            assert reader.page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
            if width != 1000:
                reader.page.evaluate(AXE)
                broken = reader.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
                found[path, width] = [(one["id"], one["nodes"][0]["html"][:200]) for one in broken]
    assert {place: broken for place, broken in found.items() if broken} == {}


def test_on_a_phone_the_preview_stands_above_save_and_save_stays_in_sight(open_reader, project):
    reader = open_reader(viewport={"width": 390, "height": 844})
    page = reader.page
    reader.visit(URL)
    save = page.get_by_role("button", name="Save as revision 3")
    expect(save).to_be_in_viewport()
    page.locator("#preview").scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert page.locator("#preview").bounding_box()["y"] < save.bounding_box()["y"]

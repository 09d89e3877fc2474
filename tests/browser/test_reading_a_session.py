"""From the list into a session, its archived rows, and a replay, as somebody reads it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from story import Story, tell_story

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def story(project):
    return tell_story(project)


def test_the_keys_lead_from_the_list_into_a_session_to_a_pass_and_through_its_replay(reader, story):
    page = reader.page
    reader.visit("/")
    reader.press("j")
    expect(page.locator("tr.is-target")).to_contain_text("Untangle the parser")
    reader.press("Enter")
    expect(page.get_by_role("heading", name="Untangle the parser")).to_be_visible()
    reader.press("c")
    expect(page.locator(".pass.is-target")).to_contain_text("Pass 1")
    page.get_by_role("link", name="Replay pass 1", exact=True).click()
    expect(page.get_by_role("heading", name="Pass 1, step 1: the zones")).to_be_visible()
    for step in ("the exchange found", "the text sent", "the reply", "the edit", "the effect in the database"):
        reader.press("ArrowRight")
        expect(page.locator("h1")).to_contain_text(step)
    reader.press("End")
    expect(page.locator("h1")).to_contain_text("step 7: the log line")
    reader.press("ArrowRight")
    expect(page.locator("h1")).to_have_text("Pass 2, step 1: the zones")
    reader.press("c")
    expect(page.locator("h1")).to_contain_text("Pass 3")
    assert reader.path == f"{story.path}replay/3/1/"
    page.go_back()
    expect(page.locator("h1")).to_contain_text("Pass 2")
    reader.press("Escape")
    expect(page.get_by_role("heading", name="Untangle the parser")).to_be_visible()


def test_space_plays_the_replay_and_stops_it(reader, story):
    page = reader.page
    reader.visit(f"{story.path}replay/1/1/")
    page.locator("#speed").select_option("4")
    page.locator("h1").click()
    reader.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("h1")).to_contain_text("step 3")
    reader.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_failed_pass_has_a_shorter_replay_that_names_its_reason(reader, story):
    page = reader.page
    reader.visit(f"{story.path}replay/3/4/")
    expect(page.locator("h1")).to_have_text("Pass 3, step 4: the reply")
    expect(page.locator(".alert")).to_contain_text("the summarizer gave no reply in time")
    expect(page.locator(".steps a")).to_have_count(5)


def test_archived_rows_are_loaded_when_their_pass_is_opened(reader, story):
    page = reader.page
    reader.visit(story.path)
    group = page.locator("#p1")
    expect(group.locator(".row")).to_have_count(0)
    group.locator("summary").click()
    expect(group.locator(".row").first).to_be_visible()
    expect(group).to_contain_text("Module 2 is done")


def test_a_permalink_to_an_archived_row_opens_its_pass_and_marks_the_row(reader, story):
    page = reader.page
    reader.visit(f"{story.path}?row=12#r12")
    expect(page.locator("#p1")).to_have_attribute("open", "")
    expect(page.locator("#r12")).to_be_in_viewport()
    expect(page.locator("#r12")).to_have_class(re.compile("is-target"))


def test_a_long_result_is_loaded_only_when_it_is_opened(reader, story):
    page = reader.page
    reader.visit(story.path)
    row = page.locator("article.row", has_text="module_1.py").first
    expect(row).not_to_contain_text("line 89 of module_1.py")
    row.locator("details summary").first.click()
    expect(row).to_contain_text("line 89 of module_1.py")


def test_a_gap_loads_the_next_rows_in_place(reader, project):
    story = Story(project, "Long")
    for number in range(150):
        story.append(*Talk(number).rows)
    page = reader.page
    reader.visit(story.path)
    expect(page.locator("#r60")).to_have_count(0)
    page.locator("[data-load-next]").first.click()
    expect(page.locator("#r100")).to_have_count(1)
    expect(page.locator("#r0")).to_have_count(1)


class Talk:
    """A question and an answer."""

    def __init__(self, number):
        from story import assistant, user

        self.rows = (user(f"question {number}"), assistant(f"answer {number}"))


def test_keys_do_nothing_inside_a_field_and_with_modifiers(reader, story):
    page = reader.page
    reader.visit("/")
    reader.press("/")
    page.keyboard.type("jk?cparser")
    expect(page.locator("#q")).to_have_value("jk?cparser")
    reader.press("Escape")
    reader.press("Control+j")
    expect(page.locator("tr.is-target")).to_have_count(0)
    reader.press("?")
    expect(page.locator("#help")).to_be_visible()
    reader.press("Escape")
    expect(page.locator("#help")).not_to_be_visible()


def test_filters_change_the_list_and_the_address_without_a_reload(reader, story, project):
    from sessions_app import services

    services.create_session(project, "Another one")
    page = reader.page
    reader.visit("/")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("has failures").check()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.wait_for_url("**/?has_failures=on")
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Remove the filter has failures").click()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_the_occupancy_chart_zooms_by_buttons_and_by_dragging(reader, story):
    page = reader.page
    reader.visit(f"{story.path}occupancy/")
    canvas = page.locator(".chart-canvas canvas")
    expect(canvas).to_be_visible()
    expect(page.locator(".chart-fallback")).not_to_be_visible()
    page.get_by_role("button", name="zoom in").click()
    page.get_by_role("button", name="all", exact=True).click()
    box = page.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 50)
    expect(page.locator(".chart-reading")).to_contain_text("event")
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(canvas).to_be_visible()
    assert reader.path == f"{story.path}occupancy/"


def test_the_theme_changes_without_a_reload_and_is_kept(reader):
    page = reader.page
    reader.visit("/")
    page.get_by_role("banner").get_by_role("button", name="auto").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.get_by_role("banner").get_by_role("button", name="light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_without_scripts_a_session_a_pass_a_replay_and_the_theme_still_work(open_reader, story):
    reader = open_reader(java_script_enabled=False)
    page = reader.page
    reader.visit("/?sort=tokens")
    page.get_by_role("link", name="Untangle the parser").click()
    page.get_by_role("link", name="Open all passes").click()
    expect(page.locator("#p1 .row").first).to_be_visible()
    page.get_by_role("link", name="Replay pass 1", exact=True).click()
    page.get_by_role("link", name="Next step").click()
    expect(page.locator("h1")).to_have_text("Pass 1, step 2: the exchange found")
    page.get_by_role("link", name="next pass").click()
    expect(page.locator("h1")).to_contain_text("Pass 2")
    page.get_by_role("banner").get_by_role("button", name="auto").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    expect(page.locator("h1")).to_contain_text("Pass 2")


def test_calls_are_folded_and_unfolded_all_at_once(reader, story):
    page = reader.page
    reader.visit(story.path)
    opened = page.locator("#rows .row details[open]")
    page.get_by_role("button", name="Unfold calls").click()
    expect(opened).not_to_have_count(0)
    page.get_by_role("button", name="Fold calls", exact=True).click()
    expect(opened).to_have_count(0)


def test_a_compact_transcript_stays_compact(reader, story):
    page = reader.page
    reader.visit(story.path)
    roomy = page.locator("#rows .row").first.bounding_box()["height"]
    page.get_by_role("button", name="Compact").click()
    expect(page.get_by_role("button", name="Compact")).to_have_attribute("aria-pressed", "true")
    reader.visit(story.path)
    expect(page.get_by_role("button", name="Compact")).to_have_attribute("aria-pressed", "true")
    assert page.locator("#rows .row").first.bounding_box()["height"] < roomy
    page.get_by_role("button", name="Compact").click()
    expect(page.locator("html[data-density]")).to_have_count(0)


def test_a_row_is_copied_without_its_number(open_reader, story):
    reader = open_reader(permissions=["clipboard-read", "clipboard-write"])
    page = reader.page
    reader.visit(f"{story.path}?row=1")
    page.locator("#r1").hover()
    page.locator("#r1").get_by_role("button", name="copy").click()
    expect(page.locator("#r1").get_by_role("button", name="copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Please look at module 1 next"


def test_the_chart_can_be_kept_as_a_picture(reader, story):
    page = reader.page
    reader.visit(f"{story.path}occupancy/")
    expect(page.locator(".chart-canvas canvas")).to_be_visible()
    with page.expect_download() as kept:
        page.get_by_role("button", name="PNG").click()
    assert kept.value.suggested_filename == f"occupancy-{story.session.public_id}.png"
    assert Path(kept.value.path()).read_bytes().startswith(b"\x89PNG")


def test_on_paper_a_transcript_is_its_content_in_the_light_theme(open_reader, story):
    reader = open_reader(color_scheme="dark")
    reader.visit(f"{story.path}?open=all")
    page = reader.page
    page.emulate_media(media="print", color_scheme="dark")
    for control in ("#row-tools", "#find", ".pass-replay", ".topbar", ".s-side"):
        expect(page.locator(control).first).to_be_hidden()
    expect(page.locator("#p1 .row").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 29, 32)"
    cut = "all => all.filter((one) => one.scrollHeight > one.clientHeight + 1).length"
    assert page.locator(".sum-text, .out").evaluate_all(cut) == 0


def test_what_an_edit_leaves_stands_at_the_same_height_on_both_sides_and_once_on_a_phone(reader, story):
    page = reader.page
    reader.visit(f"{story.path}replay/1/5/")
    copies = page.locator(".cell.is-same")
    tops = "cells => cells.map(cell => cell.offsetTop - cell.previousElementSibling.offsetTop)"
    assert copies.count() > 0
    assert set(copies.evaluate_all(tops)) == {0}
    page.set_viewport_size({"width": 390, "height": 900})
    expect(copies.first).to_be_hidden()
    expect(page.locator(".out-row").first).to_be_visible()
    expect(page.locator(".in-row").first).to_be_visible()

"""Every page by the rules of axe, in both themes and at both widths; and the whole way by the keyboard alone."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from story import assistant, call, result, tell_story, user

from sessions_app.services.replays import request_replay

pytestmark = pytest.mark.django_db(transaction=True)
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
EVERYTHING = "axe.run(document, {resultTypes: ['violations']})"
CONTRAST = "axe.run(document, {resultTypes: ['violations'], runOnly: ['color-contrast', 'link-in-text-block']})"
SITE = ("/", "/?q=parser", "/?sort=occupancy", "/import/", "/p/", "/p/review/", "/p/review/settings/", "/health/")
TRANSCRIPT = ("", "?show=live", "?show=archived", "?show=model", "?show=model&at=20", "?open=all", "?row=10")
TABS = (
    *("summary/", "summary/1/?as=plain", "summary/?as=sides", "passes/", "passes/?outcome=failed", "occupancy/"),
    *(
        "cache/",
        "cache/?view=requests&table=anthropic-5m",
        "runs/",
        "act/",
        "export/",
        "next/1/",
        "next/5/?with=extractive",
    ),
)
CODE = "def go():\n    return 'x' * 200  # a line that is much too wide for any page that shows it in a column"
STEPS = tuple(f"replay/1/{step}/" for step in range(1, 8))


@pytest.fixture
def story(project):
    story = tell_story(project)
    story.append(
        user(f"Show it with `code`, [a link](https://example.org/) and a block:\n\n```python\n{CODE}\n```"),
        call("diff", "edit_file", path="src/a.py"),
        result("diff", "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n"),
        assistant("| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted"),
    )
    return story


def violations(page, script):
    """What axe finds on the page as it is: the rule, and the first place that breaks it."""
    page.evaluate(AXE)
    found = page.evaluate(script)["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:200]) for one in found]


def test_no_page_breaks_a_rule_of_axe_in_light_or_dark(open_reader, story):
    runs = (f"runs/{request_replay(story.session, 'micro').pk}/",)
    reader = open_reader(color_scheme="light")
    found = {}
    for path in (*SITE, *(story.path + one for one in (*TRANSCRIPT, *TABS, *STEPS, "replay/3/4/", *runs))):
        assert reader.visit(path).status == 200, path
        reader.page.emulate_media(color_scheme="light")
        found[path] = violations(reader.page, EVERYTHING)
        reader.page.emulate_media(color_scheme="dark")
        found[path] += violations(reader.page, CONTRAST)
    assert {path: broken for path, broken in found.items() if broken} == {}


def test_narrow_pages_and_the_list_of_keys_break_none_either(open_reader, story):
    reader = open_reader(viewport={"width": 390, "height": 844}, color_scheme="light")
    found = {}
    for path in ("/", *(story.path + one for one in ("", "summary/?as=sides", "passes/", "cache/", "replay/1/5/"))):
        reader.visit(path)
        found[path] = violations(reader.page, EVERYTHING)
    reader.press("?")
    expect(reader.page.locator("#help")).to_be_visible()
    found["help"] = violations(reader.page, EVERYTHING)
    assert {path: broken for path, broken in found.items() if broken} == {}


def test_the_whole_way_can_be_gone_by_the_keyboard_alone(reader, story):
    """Find a session, open the pass that archived its rows, step through its replay, and back."""
    page = reader.page
    reader.visit("/")
    reader.press("/")
    page.keyboard.type("parser")
    reader.press("Enter")
    page.wait_for_url("**/?*q=parser*")
    reader.press("j")
    expect(page.locator("tr.is-target")).to_contain_text("Untangle the parser")
    reader.press("Enter")
    expect(page.get_by_role("heading", name="Untangle the parser")).to_be_visible()
    reader.press("c")
    expect(page.locator(".pass.is-target")).to_contain_text("Pass 1")
    reader.press("Enter")
    expect(page.locator("#p1")).to_have_attribute("open", "")
    reader.press("Enter", "Tab")
    expect(page.get_by_role("link", name="Replay pass 1", exact=True)).to_be_focused()
    reader.press("Enter")
    expect(page.locator("h1")).to_have_text("Pass 1, step 1: the zones")
    reader.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    expect(page.locator("h1")).to_have_text("Pass 1, step 5: the edit")
    reader.press("Home")
    expect(page.locator("h1")).to_have_text("Pass 1, step 1: the zones")
    reader.press("Escape")
    expect(page.get_by_role("heading", name="Untangle the parser")).to_be_visible()
    page.go_back()
    expect(page.locator("h1")).to_contain_text("Pass 1")

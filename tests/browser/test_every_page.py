"""Laws of all pages: nothing on the console, nothing from elsewhere, a strict policy, no sideways scroll."""

import pytest
from playwright.sync_api import expect
from story import Story, assistant, call, result, tell_story, user

from compaction.messages import ImagePart, Message, Role, TextPart
from sessions_app.services import NewMessage

pytestmark = pytest.mark.django_db(transaction=True)

PICTURE = (
    '{"type": "image_url", "image_url": {"url": "data:image/png;base64,'
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}'
)
UNBREAKABLE = "x" * 4_000


@pytest.fixture
def story(project):
    story = tell_story(project, title="A title with a_very_long_name_that_has_no_place_to_break" * 2)
    story.append(
        user(f"{UNBREAKABLE} and https://example.org/{UNBREAKABLE}"),
        assistant(f"| a | b |\n|---|---|\n| {'wide ' * 60} | {UNBREAKABLE} |\n\n```\n{UNBREAKABLE}\n```"),
        call("wide", "a_tool_with_a_long_name" * 4, argument=UNBREAKABLE),
        result("wide", UNBREAKABLE),
        NewMessage(Message(Role.USER, (TextPart("see"), ImagePart(PICTURE)))),
    )
    return story


@pytest.fixture
def paths(story):
    own = ("", "?show=live", "?show=archived", "?show=model", "?row=10", "?open=all")
    tabs = ("summary/", "passes/", "occupancy/", "runs/", "act/", "chat/")
    tabs += ("cache/", "cache/?view=requests", "export/", "summary/?as=sides", "next/1/", "next/5/?with=extractive")
    steps = tuple(f"replay/1/{step}/" for step in range(1, 8))
    site = (
        "/",
        "/?sort=occupancy",
        "/?q=module",
        "/?q=example",
        "/import/",
        "/play/",
        "/s/new/",
        "/p/",
        "/p/review/",
        "/p/review/endpoints/",
    )
    access = tuple(f"/p/review/{one}/" for one in ("people", "tokens", "keys", "audit")) + ("/account/", "/p/new/")
    site += ("/health/",)
    return (*site, *access, *(story.path + one for one in (*own, *tabs, *steps, "replay/3/4/")))


def test_every_page_has_a_strict_policy_and_no_complaint_in_both_themes(open_reader, paths):
    for scheme in ("light", "dark"):
        reader = open_reader(color_scheme=scheme)
        for path in paths:
            response = reader.visit(path)
            assert response.status == 200, path
            policy = response.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
        expect(reader.page.locator("main")).to_be_visible()


def test_no_page_scrolls_sideways_at_390_pixels(open_reader, paths):
    reader = open_reader(viewport={"width": 390, "height": 844})
    for path in paths:
        reader.visit(path)
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_no_page_scrolls_sideways_between_the_breaks(open_reader, paths):
    reader = open_reader(viewport={"width": 1000, "height": 800})
    for path in paths:
        reader.visit(path)
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 1000, path


def test_what_a_search_found_keeps_to_the_width_of_the_list(open_reader, story):
    story.append(user("a flamingo among many words: " + "wading birds of the lagoon " * 20))
    reader = open_reader(viewport={"width": 1200, "height": 900})
    reader.visit("/?q=flamingo")
    expect(reader.page.locator("tr.hit mark").first).to_be_visible()
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_reading_hostile_rows_asks_no_other_host_and_runs_nothing(reader, project):
    story = Story(project, "<img src=x onerror=document.title='broken'>")
    story.append(
        user("![track](https://tracker.example/p.png) <img src=https://tracker.example/q.png onerror=alert(1)>"),
        assistant("[click](javascript:alert(1)) <style>@import url(https://tracker.example/c.css)</style>"),
        call("evil", "<script>alert(1)</script>", command="</pre><script>alert(2)</script>"),
        result("evil", "</pre></div></article>\n```\n\x1b[31mred\x1b[0m <script>alert(3)</script>"),
        assistant("The row after it is whole."),
    )
    page = reader.page
    reader.visit(story.path)
    page.locator("details summary.call").first.click()
    expect(page.get_by_text("picture not loaded: track (tracker.example)")).to_be_visible()
    expect(page.locator("#rows .item").last).to_contain_text("The row after it is whole.")
    assert page.locator("#rows script, #rows style, #rows img").count() == 0
    assert page.locator("#rows > .item > article").count() == 5
    assert "broken" not in page.title().split(" | ")[1]


def test_a_stored_picture_is_shown_on_a_click_from_our_own_origin(reader, story):
    page = reader.page
    reader.visit(story.path)
    link = page.get_by_role("link", name="picture, image/png").last
    assert link.get_attribute("href").startswith("/s/")
    link.click()
    picture = page.locator("#rows img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1


def test_focus_is_visible_and_the_first_tab_skips_to_the_content(reader):
    page = reader.page
    reader.visit("/")
    reader.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    reader.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_an_unknown_address_a_foreign_session_and_a_missing_step_get_the_same_page(open_reader, story):
    reader = open_reader()
    reader.expected_statuses.append(404)
    for path in ("/nothing/", "/s/doesnotexist/", f"{story.path}replay/999/1/", f"{story.path}replay/1/99/"):
        assert reader.visit(path).status == 404
        expect(reader.page.locator("h1")).to_have_text("There is nothing at this address")

"""What people open the site for, from the question to its answer, in one go each."""

import pytest
from playwright.sync_api import expect
from story import call, result, tell_story, user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def story(project):
    return tell_story(project)


def test_from_a_word_of_an_archived_row_to_the_pass_that_archived_it_and_what_the_summary_kept(reader, story):
    page = reader.page
    reader.visit("/")
    reader.press("/")
    page.keyboard.type("parse_2")
    reader.press("Enter")
    hit = page.locator(".hit")
    expect(hit).to_contain_text("parse_2")
    hit.locator("a").first.click()
    row = page.locator(".row.is-target, .row:target")
    expect(row).to_contain_text("Module 2 is done")
    expect(page.locator("#p1")).to_have_attribute("open", "")
    page.get_by_role("link", name="Replay pass 1", exact=True).click()
    expect(page.locator("h1")).to_have_text("Pass 1, step 1: the zones")
    for step in ("the exchange found", "the text sent", "the reply", "the edit"):
        reader.press("ArrowRight")
        expect(page.locator("h1")).to_contain_text(step)
    expect(page.locator(".out-row").last).to_contain_text("Module 2 is done")
    expect(page.locator(".in-row")).to_contain_text("Summary v1")
    page.get_by_role("link", name="word diff to the version before").click()
    anchors = page.locator("#anchors")
    expect(anchors).to_contain_text("src/module_2.py")
    expect(page.locator("#sources")).to_contain_text("rows")
    anchors.get_by_role("link", name="row").first.click()
    expect(page.locator("#p1")).to_have_attribute("open", "")


def test_a_session_that_is_fed_is_watched_from_a_new_row_to_its_pass_and_the_bill_of_it(reader, story):
    page = reader.page
    reader.visit(f"{story.path}cache/?table=openai-gpt5")
    expect(page.locator("#connection")).to_have_text("connected")
    before = story.refreshed().passes_total
    expect(page.locator("#cache-table")).to_contain_text(f"Passes {before}")
    story.turn("And now the last module")
    expect(page.locator("#cache-table")).to_contain_text(f"Passes {before + 1}")
    page.locator(f"#p{before + 1} a").first.click()
    expect(page.locator("h1")).to_contain_text(f"Pass {before + 1}")


def test_what_would_happen_next_is_looked_at_and_then_a_branch_is_made_where_the_reader_stands(reader, story):
    page = reader.page
    story.append(user("one more"), call("last", "read_file", path="src/last.py"), result("last", "the end"))
    reader.visit(story.path)
    page.get_by_role("link", name="Step through the next pass").click()
    expect(page.locator("h1")).to_contain_text("The next pass, step 1")
    page.get_by_role("link", name="With an extractive summary").click()
    reader.press("End")
    expect(page.locator("h1")).to_contain_text("The next pass, step")
    reader.press("Escape")
    row = page.locator(".row-user").last
    row.hover()
    row.get_by_role("link", name="branch").click()
    expect(page.locator("#branch")).to_contain_text("changes nothing in this session")
    page.get_by_role("button", name="Branch here").click()
    expect(page).not_to_have_url(reader.site + story.path)
    expect(page.locator("#rows")).to_contain_text("one more")


def test_an_export_is_kept_as_one_page_that_opens_without_the_site(reader, story):
    page = reader.page
    reader.visit(f"{story.path}export/")
    with page.expect_download() as kept:
        page.locator("tr", has_text="HTML").get_by_role("link", name="Redacted HTML", exact=True).click()
    offline = reader.context.browser.new_context(offline=True)
    kept_page = offline.new_page()
    complaints = []
    kept_page.on("console", lambda message: complaints.append(message.text))
    kept_page.set_content(kept.value.path().read_text())
    expect(kept_page.get_by_role("heading", name="Untangle the parser")).to_be_visible()
    expect(kept_page.locator("article")).not_to_have_count(0)
    assert kept_page.locator("script").count() == 0
    assert complaints == []
    offline.close()

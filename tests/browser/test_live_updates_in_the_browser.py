"""What an open page shows of a session that goes on."""

import pytest
from playwright.sync_api import expect
from story import assistant, call, result, tell_story, user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def story(project):
    return tell_story(project)


@pytest.fixture
def watching(reader, story):
    """The session's page, connected; a mark on the window that a reload would wipe away."""
    reader.visit(story.path)
    expect(reader.page.locator("#connection")).to_have_text("connected")
    reader.page.evaluate("window.wasNotReloaded = true")
    yield reader
    assert reader.page.evaluate("window.wasNotReloaded") is True


def test_rows_appear_as_they_are_appended_and_a_result_joins_its_call(watching, story):
    page = watching.page
    story.append(user("One more thing: **which** port?"))
    expect(page.locator("#rows")).to_contain_text("One more thing: which port?")
    story.append(call("live-1", "grep", pattern="port"))
    expect(page.locator("#rows")).to_contain_text("no result")
    story.append(result("live-1", "service.toml: port = 8443"))
    expect(page.locator("#rows")).not_to_contain_text("no result")
    expect(page.locator("#rows .calls").last).to_contain_text("1 line")
    expect(page.locator("#session-head")).to_contain_text(f"{story.refreshed().live_rows} live")


def test_a_pass_moves_rows_into_its_group_and_what_was_open_stays_open(watching, story):
    page = watching.page
    page.locator("#p1 summary").click()
    expect(page.locator("#p1 .row").first).to_be_visible()
    newest = story.refreshed().passes_total
    story.turn("And now the last module")
    expect(page.locator(f"#p{newest + 1}")).to_be_visible()
    expect(page.locator("#p1")).to_have_attribute("open", "")
    expect(page.locator("#session-side")).to_contain_text(f"{newest + 1} so far")


def test_the_figures_of_the_tabs_follow_a_pass(watching, story):
    tabs = watching.page.locator("#session-tabs")
    before = story.refreshed().passes_total
    expect(tabs).to_contain_text(f"Passes{before}")
    story.turn("And now the last module")
    expect(tabs).to_contain_text(f"Passes{before + 1}")
    expect(tabs).to_contain_text(f"Summaryv{before}")
    expect(tabs.locator("[aria-current]")).to_contain_text("Transcript")


def test_the_page_says_that_it_is_cut_off_and_catches_up_when_it_is_back(watching, story):
    page = watching.page
    # The browser reports a socket that can't be opened by itself; that is what the badge is for.
    watching.context.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('offline'))")
    expect(page.locator("#connection")).to_have_text("offline")
    story.append(user("Said while nobody could hear it"))
    watching.context.set_offline(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator("#rows")).to_contain_text("Said while nobody could hear it")


def test_a_reader_who_is_further_up_is_told_of_new_rows_and_not_moved(watching, story):
    page = watching.page
    page.evaluate("scrollTo(0, 0)")
    story.append(user("First new row"), assistant("Second new row"))
    news = page.locator("#news")
    expect(news).to_contain_text("2 new rows below")
    assert page.evaluate("scrollY") == 0
    news.click()
    expect(page.get_by_text("Second new row")).to_be_in_viewport()


def test_a_session_that_is_taken_away_ends_the_connection_with_a_word(watching, story):
    from sessions_app.models import ProjectMember

    page = watching.page
    ProjectMember.objects.all().delete()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    watching.context.set_offline(True)
    watching.context.set_offline(False)
    page.evaluate(
        "() => { Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange'));"
        " Object.defineProperty(document, 'hidden', {value: false, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )
    expect(page.locator("#connection")).to_have_text("live updates have ended")

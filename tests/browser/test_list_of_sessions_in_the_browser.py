"""The list of sessions in a real browser: a row is found by its words and opened, and lines stay up to date."""

import re

import pytest
from playwright.sync_api import expect
from story import COUNTER, assistant, tell_story, user

from sessions_app import services

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_session_is_found_by_the_text_of_an_archived_row_which_opens_in_its_group(reader, project):
    story = tell_story(project)
    page = reader.page
    reader.visit("/")
    reader.press("/")
    page.keyboard.type('"look at module 3"')
    expect(page.locator("tr.hit mark").first).to_have_text("look at module 3")
    page.locator("tr.hit a").first.click()
    expect(page.locator(".find-count")).to_have_text("1 of 1")
    expect(page).to_have_url(re.compile(re.escape(story.path) + r"\?find=.*&row=\d+#r\d+$"))
    expect(page.locator(".row.is-target, li.is-target, .row:target").first).to_be_in_viewport()


def test_a_line_of_the_list_shows_new_rows_without_a_reload(reader, project):
    session = services.create_session(project, "Growing", window_tokens=200_000)
    services.append_rows(session.pk, [user("one")], COUNTER)
    page = reader.page
    reader.visit("/")
    line = page.locator(f"tr[data-session='{session.public_id}']")
    expect(line.locator(".c-rows")).to_have_text("1")
    services.append_rows(session.pk, [assistant("two"), user("three")], COUNTER)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(line.locator(".c-rows")).to_have_text("3")

"""The cache tab of a long session in a real browser, while a real worker counts it."""

import pytest
from playwright.sync_api import expect
from story import COUNTER, assistant, user

from sessions_app import cache_counting, services

pytestmark = pytest.mark.django_db(transaction=True)


def append(session, rows):
    new = [user(f"Question {n}") if n % 2 == 0 else assistant(f"Answer {n}") for n in range(rows)]
    services.append_rows(session.pk, new, COUNTER)


@pytest.fixture
def session(project, monkeypatch):
    """A session of 200 rows, which count as many."""
    monkeypatch.setattr(cache_counting, "ROWS_AT_ONCE", 100)
    session = services.create_session(project, "Long", window_tokens=200_000)
    append(session, 200)
    return session


def test_figures_come_onto_the_open_page_when_they_are_counted_and_say_how_far_they_hold(reader, session, work):
    page = reader.page
    reader.visit(f"/s/{session.public_id}/cache/?view=requests&table=anthropic-5m")
    expect(page.locator(".cache-counting")).to_contain_text("none of its 200 events so far")
    expect(page.locator(".sums")).to_have_count(0)
    work()
    expect(page.locator(".sums")).to_contain_text("100")
    expect(page.locator(".cache-counting")).to_have_count(0)
    append(session, 20)
    page.reload()
    expect(page.locator(".cache-counting")).to_contain_text("up to event 200 of 220 so far")
    work()
    expect(page.locator("#cache-table")).to_contain_text("Requests 110")


def test_without_scripts_a_link_reads_how_far_counting_has_come(open_reader, session, work):
    reader = open_reader(java_script_enabled=False)
    reader.visit(f"/s/{session.public_id}/cache/?view=requests&table=anthropic-5m")
    work()
    reader.page.get_by_role("link", name="Reload to see progress").click()
    expect(reader.page.locator("#cache-table")).to_contain_text("Requests 100")

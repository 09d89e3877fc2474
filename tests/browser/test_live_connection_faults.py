"""The live connection of an open page when something goes wrong, in a real browser."""

import re
import time

import pytest
from playwright.sync_api import expect
from story import tell_story, user

from sessions_app import live
from sessions_app.models import ProjectMember
from sessions_app.services import delete_session

pytestmark = pytest.mark.django_db(transaction=True)
BADGE = "#connection"


@pytest.fixture
def story(project):
    return tell_story(project)


class Sockets:
    """The websockets that a page opened. While the line is cut, nothing arrives on them and nobody says so."""

    def __init__(self, page):
        self.opened = []
        self.is_cut = False
        page.route_web_socket("**/ws/**", self._route)

    def _route(self, route):
        self.opened.append(route.url)
        server = route.connect_to_server()
        server.on_message(lambda message: None if self.is_cut else route.send(message))


@pytest.fixture
def sockets(reader):
    return Sockets(reader.page)


@pytest.fixture
def watching(reader, story, sockets):
    """The session's page, connected, in a time that the test moves."""
    reader.page.clock.install()
    reader.visit(story.path)
    expect(reader.page.locator(BADGE)).to_have_text("connected")
    return reader.page


def show_or_hide(page, is_hidden):
    page.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )


def eventually(page, holds, what):
    """Wait for something that the page does not show. The wait lets the test's own routes answer."""
    deadline = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < deadline, what
        page.wait_for_timeout(20)


def watchers():
    return sum(hub.watchers for hub in live._hubs.values())


def test_a_page_has_one_connection_also_after_fifty_swaps(watching, sockets, story):
    """L01: parts that were swapped in opened connections of their own."""
    page = watching
    for number in range(50):
        story.append(user(f"Row number {number}."))
        if number % 10 == 9:
            expect(page.locator("#rows")).to_contain_text(f"Row number {number}.")
    page.evaluate("document.querySelectorAll('[data-swap], #rows').forEach((part) => htmx.process(part))")
    assert len(sockets.opened) == 1
    assert watchers() == 1


def test_an_answer_that_says_no_for_good_ends_the_connection_with_a_word(watching, reader, sockets, story):
    """L03: refusals made the client ask again for ever."""
    page = watching
    reader.expected_statuses.append(404)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    ProjectMember.objects.all().delete()
    story.append(user("Nobody may read this."))
    expect(page.locator(BADGE)).to_have_text("live updates have ended")
    before = len(asked)
    page.clock.run_for(120_000)
    assert len(asked) == before == 1
    assert len(sockets.opened) == 1
    expect(page.locator(BADGE)).to_have_text("live updates have ended")


@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_page_of_a_session_that_is_deleted_elsewhere_says_so_and_leads_to_the_list(watching, story, is_hidden):
    page = watching
    show_or_hide(page, is_hidden)
    delete_session(story.session.pk)
    show_or_hide(page, False)
    expect(page.locator(BADGE)).to_have_text("deleted")
    expect(page.get_by_role("alert")).to_contain_text("This session was deleted.")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.get_by_role("alert").get_by_role("link", name="Go to the sessions").click()
    expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()


def test_a_login_that_has_ended_ends_the_connection_with_a_word(watching, reader, sockets, story):
    """L03: an answer that leads to the login is a refusal too."""
    page = watching
    reader.context.clear_cookies()
    story.append(user("Who is asking?"))
    expect(page.locator(BADGE)).to_have_text("no access any more")
    page.clock.run_for(120_000)
    assert len(sockets.opened) == 1


def test_the_pages_of_a_server_that_was_restarted_come_back_one_by_one(watching):
    """L04: without chance in their pauses all clients came back at the same moment, and the pause grew for ever."""
    arrivals = watching.evaluate(
        "async () => { const { pauseMs } = await import('/static/js/live.js');"
        " return [0, 1, 3, 5, 50].map((failures) => Array.from({length: 500}, () => pauseMs(failures))); }"
    )
    for pauses in arrivals:
        least, most = min(pauses), max(pauses)
        assert least >= 250 and most <= 30_000
        tenth = (most - least) / 10
        in_tenths = [sum(least + n * tenth <= one <= least + (n + 1) * tenth for one in pauses) for n in range(10)]
        assert max(in_tenths) < 0.2 * len(pauses)
    assert [max(pauses) for pauses in arrivals] == sorted(max(pauses) for pauses in arrivals[:-1]) + [max(arrivals[-1])]
    failures = watching.evaluate(
        "async () => { const { LiveConnection } = await import('/static/js/live.js');"
        " const connection = new LiveConnection({ seq: 0, catchUp() {} });"
        " connection.failures = 7; connection.hear({ type: 'snapshot', seq: 0 }); return connection.failures; }"
    )
    assert failures == 0


def test_a_connection_on_which_nothing_arrives_any_more_is_noticed_and_replaced(watching, sockets, story):
    """L09: half-open connections looked alive; here the page says so within 45 seconds, and catches up."""
    page = watching
    sockets.is_cut = True
    story.append(user("Said into a dead line."))
    page.clock.run_for(30_000)
    expect(page.locator(BADGE)).to_have_text("connected")
    page.clock.fast_forward(15_000)
    expect(page.locator(BADGE)).to_have_text("reconnecting")
    expect(page.locator("#rows")).not_to_contain_text("Said into a dead line.")
    sockets.is_cut = False
    page.clock.run_for(5_000)
    expect(page.locator(BADGE)).to_have_text("connected")
    expect(page.locator("#rows")).to_contain_text("Said into a dead line.")
    assert len(sockets.opened) == 2


def test_a_machine_that_slept_catches_up_when_it_wakes(watching, sockets, story):
    page = watching
    sockets.is_cut = True
    story.append(user("Said while the machine slept."))
    sockets.is_cut = False
    page.clock.fast_forward("08:00:00")
    page.clock.run_for(5_000)
    expect(page.locator("#rows")).to_contain_text("Said while the machine slept.")
    expect(page.locator(BADGE)).to_have_text("connected")


def test_a_hidden_page_holds_no_connection_and_catches_up_when_it_is_looked_at(watching, story):
    page = watching
    show_or_hide(page, True)
    eventually(page, lambda: watchers() == 0, "a hidden page was still connected")
    story.append(user("Said behind its back."))
    page.clock.run_for(60_000)
    assert watchers() == 0
    show_or_hide(page, False)
    expect(page.locator("#rows")).to_contain_text("Said behind its back.")
    expect(page.locator(BADGE)).to_have_text("connected")


def test_a_page_that_was_offline_is_connected_again_and_says_so(watching, sockets, story):
    page = watching
    page.evaluate("dispatchEvent(new Event('offline'))")
    expect(page.locator(BADGE)).to_have_text("offline")
    eventually(page, lambda: watchers() == 0, "the old connection stayed")
    story.append(user("Said while it was offline."))
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator(BADGE)).to_have_text("connected")
    expect(page.locator("#rows")).to_contain_text("Said while it was offline.")


def test_an_update_that_could_not_be_fetched_is_fetched_later_without_another_event(watching, reader, story):
    page = watching
    reader.expected_statuses.append(503)
    failed = []

    def fail_twice(route):
        if len(failed) < 2:
            failed.append(route.request.url)
            route.fulfill(status=503, body="busy")
        else:
            route.fallback()

    page.route(re.compile(r"/events/\?"), fail_twice)
    story.append(user("Fetched at the third attempt."))
    eventually(page, lambda: len(failed) == 1, "nothing was fetched")
    page.clock.run_for(10_000)
    eventually(page, lambda: len(failed) == 2, "nothing was tried again")
    page.clock.run_for(10_000)
    expect(page.locator("#rows")).to_contain_text("Fetched at the third attempt.")
    assert len(failed) == 2

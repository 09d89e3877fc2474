"""A session of thousands of rows in a real browser: rows come and go with scrolling, and hits are walked."""

import re

import pytest
from playwright.sync_api import expect
from story import COUNTER, assistant, user

from compaction.edits import Edit, NewRow
from compaction.messages import Message, Role, RowKind
from compaction.records import Outcome, PassKind, PassRecord
from compaction.state import CompactionState
from sessions_app import services
from sessions_app.models import MessageRow

# What the page may hold at any time, whatever lies behind it.
MOST_ITEMS = 320
NEEDLES = (180, 420)

pytestmark = pytest.mark.django_db(transaction=True)


def make_session(project, rows):
    session = services.create_session(project, "Long", window_tokens=200_000)
    texts = [f"Row {number} of many, and what it has to say." for number in range(rows)]
    for number in NEEDLES:
        texts[number] = f"Here in row {number} lies the needle, 针在这里."
    new = [user(text) if number % 2 == 0 else assistant(text) for number, text in enumerate(texts)]
    for start in range(0, rows, 500):
        services.append_rows(session.pk, new[start : start + 500], COUNTER)
    return session


@pytest.fixture
def long_session(project):
    return make_session(project, 500)


def shown(page):
    """The positions of the rows on the page, in the order of the page."""
    return page.evaluate(
        "[...document.querySelectorAll('#rows > [data-key]')].map((item) => Number(item.dataset.position))"
    )


def nodes(page):
    return page.evaluate("document.querySelectorAll('*').length")


def items(page):
    return page.evaluate("document.getElementById('rows').children.length")


def scroll_to_row(page, position):
    """Scroll on, as fast as rows come, until the row is on the page."""
    page.wait_for_function(
        """(position) => {
            if (document.getElementById(`r${position}`)) return true;
            document.querySelector("#rows").lastElementChild.scrollIntoView({block: "end"});
            return false;
        }""",
        arg=position,
        polling=50,
    )


def test_scrolling_over_two_thousand_rows_keeps_the_page_at_its_size(reader, project):
    page = reader.page
    reader.visit(f"/s/{make_session(project, 2_200).public_id}/?row=0")
    page.wait_for_load_state()
    at_first = nodes(page)
    most_items = most_nodes = 0
    for position in range(100, 2_101, 100):
        scroll_to_row(page, position)
        most_items, most_nodes = max(most_items, items(page)), max(most_nodes, nodes(page))
    assert most_items <= MOST_ITEMS
    assert most_nodes < 8 * at_first
    assert shown(page)[0] > 1_500
    positions = shown(page)
    assert positions == sorted(set(positions))


def test_rows_that_were_dropped_come_again_in_order_and_each_once(reader, long_session):
    page = reader.page
    reader.visit(f"/s/{long_session.public_id}/?row=0")
    page.wait_for_load_state()
    for position in (100, 200, 300, 400, 499):
        scroll_to_row(page, position)
    assert page.locator("#r0").count() == 0
    page.wait_for_function(
        """() => {
            if (document.getElementById("r0")) return true;
            document.querySelector("#rows").children[1].scrollIntoView();
            return false;
        }""",
        polling=50,
    )
    expect(page.locator("[id=r0]")).to_have_count(1)
    expect(page.locator("#rows > [data-gap]").first).to_be_attached()
    positions = shown(page)
    assert positions == sorted(set(positions))
    gaps = page.locator("#rows > [data-gap]").evaluate_all("(all) => all.map((gap) => gap.textContent.trim())")
    assert gaps and all(re.match(r"rows? [\d,]+", gap) for gap in gaps)


def test_the_head_of_the_page_is_reached_from_the_middle_of_the_session(reader, long_session):
    page = reader.page
    reader.visit(f"/s/{long_session.public_id}/?row=250#r250")
    expect(page.locator("#r200")).to_be_attached()
    page.wait_for_load_state("networkidle")
    reader.press("Home")
    expect(page.get_by_role("heading", name="Long")).to_be_in_viewport()
    expect(page.locator("#rows > [data-gap]").first).to_be_attached()
    # The way there is smooth, so the last pixels take a moment.
    page.wait_for_function("() => scrollY === 0")


def test_the_reader_keeps_their_place_while_rows_come_in_above(reader, long_session):
    page = reader.page
    reader.visit(f"/s/{long_session.public_id}/?row=250#r250")
    expect(page.locator("#r200")).to_be_attached()
    expect(page.locator("#r250")).to_be_in_viewport()


def test_hits_are_walked_by_keys_over_rows_that_are_not_loaded(reader, long_session):
    page = reader.page
    reader.visit(f"/s/{long_session.public_id}/")
    reader.press("/")
    expect(page.locator("#find-words")).to_be_focused()
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    expect(page.locator(".find-count")).to_have_text("1 of 2")
    expect(page.locator("#r180")).to_be_in_viewport()
    expect(page.locator(".find mark").first).to_have_text("needle")
    assert page.evaluate("CSS.highlights.get('found').size") >= 1
    reader.press("n")
    expect(page.locator(".find-count")).to_have_text("2 of 2")
    expect(page.locator("#r420")).to_be_in_viewport()
    reader.press("N")
    expect(page.locator("#r180")).to_be_in_viewport()
    page.get_by_role("link", name="Done").click()
    expect(page.locator(".find-count")).to_have_count(0)
    expect(page.locator("#r180")).to_be_in_viewport()


def test_hits_are_walked_without_scripts(open_reader, long_session):
    reader = open_reader(java_script_enabled=False)
    page = reader.page
    reader.visit(f"/s/{long_session.public_id}/")
    page.get_by_label("Find in all rows of this session").fill("针在")
    page.get_by_role("button", name="Find").click()
    expect(page.locator(".find-count")).to_have_text("1 of 2")
    page.get_by_role("link", name="Next hit").click()
    expect(page.locator(".find-count")).to_have_text("2 of 2")
    assert "row=420" in page.url and page.url.endswith("#r420")


def test_a_pass_leaves_readers_who_have_scrolled_far_where_they_are(reader, long_session):
    page = reader.page
    reader.visit(f"/s/{long_session.public_id}/?row=0")
    page.wait_for_load_state()
    expect(page.locator("#connection[data-state=connected]")).to_be_attached()
    for position in (100, 200, 300, 400, 499):
        scroll_to_row(page, position)
    page.locator("#r450").scroll_into_view_if_needed()
    archive_first_rows(long_session)
    expect(page.locator("#session-tabs")).to_contain_text("1")
    expect(page.locator("#r450")).to_be_in_viewport()


def archive_first_rows(session):
    """A pass by the services themselves."""
    ids = list(MessageRow.objects.filter(session=session, position__in=range(3, 7)).values_list("id", flat=True))
    text = "## Key Decisions\n- none"
    new = NewRow(RowKind.MICRO_SUMMARY, 3, Message(Role.ASSISTANT, text), 10)
    edit = Edit(tuple(ids), (), (new,))
    services.archive_and_compact(
        session.pk,
        edit=edit,
        state=CompactionState(rolling_summary=text),
        record=PassRecord(PassKind.MICRO, Outcome.ABSORBED, edit=edit, summary_after=text),
        expected_revision=0,
        circumstances=services.Circumstances(token_counter=COUNTER.name, trigger="turn"),
    )

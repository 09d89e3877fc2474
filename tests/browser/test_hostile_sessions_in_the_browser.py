"""Sessions that try to break the page, in a real browser: huge, deep, disguised and armed ones do nothing.

The reader of these tests fails each of them at its end if the console complained or another host was asked.
"""

import base64
import json
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import expect
from story import COUNTER, assistant, call, result, user

from compaction.edits import Edit, NewRow
from compaction.messages import ImagePart, Message, Role, RowKind, TextPart, ToolCall
from compaction.records import Outcome, PassKind, PassRecord
from compaction.state import CompactionState
from sessions_app import services
from sessions_app.importing.files import import_paths
from sessions_app.models import MessageRow, Session
from sessions_app.services import NewMessage

MOST_BYTES = 300_000
ARMED = '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script>\'"]]></style>{{ 7*7 }}'
BIDI = "\u202egnp.exe\u202c \u2066abc \u200b\u200d\ufeff\u00ad"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BUGS = Path(settings.BASE_DIR) / "tests" / "data" / "bugs"

pytestmark = pytest.mark.django_db(transaction=True)


def make_session(project, *messages, title="Hostile", **facts):
    session = services.create_session(project, title, window_tokens=200_000, **facts)
    services.append_rows(session.pk, messages, COUNTER)
    return Session.objects.get(pk=session.pk)


def imported(project, name):
    assert list(import_paths([BUGS / name], project, COUNTER))
    return Session.objects.latest("id")


def weight(response):
    return len(response.body())


def was_armed(page):
    return page.evaluate("window.__xss !== undefined")


def test_a_result_of_five_megabytes_is_folded_and_read_in_pieces(reader, project):
    session = make_session(project, user("go"), call("c1", "read_file"), result("c1", "line of output\n" * 350_000))
    page = reader.page
    assert weight(reader.visit(f"/s/{session.public_id}/")) < MOST_BYTES
    page.locator("summary.call").click()
    expect(page.locator("#r2 pre.long")).to_contain_text("line of output")
    expect(page.get_by_text("go on at character")).to_be_visible()


def test_a_picture_of_more_than_a_megabyte_is_shown_by_reference(reader, project):
    picture = base64.b64encode(base64.b64decode(PIXEL) + b"\0" * 900_000).decode()
    part = ImagePart(json.dumps({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}))
    session = make_session(project, NewMessage(Message(Role.USER, (TextPart("look"), part))))
    page = reader.page
    assert len(picture) > 1_200_000 - 1
    assert weight(reader.visit(f"/s/{session.public_id}/")) < MOST_BYTES
    page.locator("a[data-picture]").click()
    expect(page.locator("#r0 img")).to_be_visible()
    assert page.locator("#r0 img").get_attribute("src").startswith(f"{reader.site}/s/")


def test_json_nested_three_thousand_deep_is_shown_as_it_is(reader, project):
    deep = '{"a":' * 3_000 + "1" + "}" * 3_000
    session = make_session(
        project,
        user("go"),
        NewMessage(Message(Role.ASSISTANT, None, (ToolCall("c1", "deep", deep),))),
        result("c1", "[" * 3_000 + "]" * 3_000),
    )
    page = reader.page
    assert weight(reader.visit(f"/s/{session.public_id}/")) < MOST_BYTES
    page.locator("summary.call").click()
    expect(page.locator("pre.args")).to_contain_text('{"a":')
    row = MessageRow.objects.get(session=session, position=1)
    assert reader.visit(f"/s/{session.public_id}/row/{row.pk}/raw/").status == 200


def test_disguised_titles_stay_in_their_place_in_the_list_and_on_the_page(reader, project):
    session = make_session(project, user(BIDI + "the words"), title=BIDI + "Title")
    other = make_session(project, user("plain"), title="Plain title")
    page = reader.page
    reader.visit("/")
    expect(page.locator(f"[data-session='{session.public_id}'] bdi")).to_have_count(1)
    expect(page.locator(f"[data-session='{other.public_id}'] .s-title")).to_have_text("Plain title")
    reader.visit("/?q=words")
    expect(page.locator("mark")).to_have_text("words")
    reader.visit(f"/s/{session.public_id}/")
    expect(page.locator("h1")).to_contain_text("Title")
    expect(page.locator("#r0")).to_contain_text("the words")


def test_html_and_script_in_every_field_are_text(reader, project):
    """U01: a tool's name stood unescaped on the page while its siblings were escaped."""
    session = make_session(
        project,
        NewMessage(Message(Role.SYSTEM, ARMED)),
        NewMessage(Message(Role.USER, ARMED, name=ARMED), client_id=ARMED, model=ARMED),
        NewMessage(Message(Role.ASSISTANT, ARMED, (ToolCall(ARMED, ARMED, ARMED),), reasoning=ARMED)),
        NewMessage(Message(Role.TOOL, ARMED, tool_call_id=ARMED, name=ARMED), raw=ARMED),
        title=ARMED,
        model=ARMED,
    )
    Session.objects.filter(pk=session.pk).update(source=ARMED[:40], end_reason=ARMED, last_error=ARMED)
    row = MessageRow.objects.filter(session=session).last()
    page, path = reader.page, f"/s/{session.public_id}/"
    for address in (
        "/",
        "/?q=onerror",
        path,
        f"{path}?find=onerror",
        f"{path}?show=model",
        f"{path}row/{row.pk}/",
        f"{path}passes/",
        f"{path}occupancy/",
        f"{path}summary/",
        f"{path}act/",
        f"{path}export/",
    ):
        response = reader.visit(address)
        assert weight(response) < MOST_BYTES, address
        assert not was_armed(page), address
        expect(page.locator("main img[src=x]")).to_have_count(0)
    reader.visit(path)
    for folded in page.locator("summary").all():
        folded.click()
    assert not was_armed(page)
    expect(page.locator(".fn").first).to_contain_text("<img src=x")


def test_the_recorded_tool_with_an_armed_name_is_harmless(reader, project):
    """U01: the recorded case."""
    session = imported(project, "U01_xss_tool_name.json")
    reader.visit(f"/s/{session.public_id}/?open=all")
    for folded in reader.page.locator("summary").all():
        folded.click()
    assert not was_armed(reader.page)
    expect(reader.page.locator("main a[href^='javascript']")).to_have_count(0)


def test_what_a_tool_printed_does_not_reach_into_the_next_row(reader, project):
    """U03: closing tags, an open fence and terminal codes broke the layout of all later rows."""
    page, shapes = reader.page, []
    texts = json.loads((BUGS / "U03_pre_fence_ansi.json").read_text(encoding="utf-8"))
    hostile = next(one["content"] for one in texts if one["role"] == "tool")
    for printed in (hostile, "calm"):
        session = make_session(
            project, user("go"), call("c1", "terminal"), result("c1", printed), assistant("**after** `it`")
        )
        reader.visit(f"/s/{session.public_id}/")
        page.locator("summary.call").first.click()
        after = page.locator("#r3")
        shapes.append((after.inner_html().replace(session.public_id, ""), after.bounding_box()["x"]))
        expect(page.locator("#rows > [data-key]")).to_have_count(3)
    (hostile_html, hostile_x), (calm_html, calm_x) = shapes
    assert without_ids(hostile_html) == without_ids(calm_html)
    assert hostile_x == calm_x


def without_ids(html):
    """The markup without the numbers of the stored row."""
    return "".join(character for character in html if not character.isdigit())


def test_a_long_summary_is_read_copied_and_reached_by_keyboard(open_reader, project):
    """U07: a summary was cut at 140 characters with no way to the rest."""
    text = "## Key Decisions\n" + "\n".join(
        f"- decision {number}: keep module {number} as it is" for number in range(140)
    )
    session = make_session(project, *[user("one"), assistant("two"), user("three"), assistant("four")] * 3)
    ids = tuple(MessageRow.objects.filter(session=session, position__in=(3, 4, 5)).values_list("id", flat=True))
    edit = Edit(ids, (), (NewRow(RowKind.MICRO_SUMMARY, 3, Message(Role.ASSISTANT, text), 900),))
    services.archive_and_compact(
        session.pk,
        edit=edit,
        state=CompactionState(rolling_summary=text),
        record=PassRecord(PassKind.MICRO, Outcome.ABSORBED, edit=edit, summary_after=text),
        expected_revision=0,
        circumstances=services.Circumstances(token_counter=COUNTER.name, trigger="turn"),
    )
    reader = open_reader(permissions=["clipboard-read", "clipboard-write"])
    page = reader.page
    reader.visit(f"/s/{session.public_id}/#v1")
    summary = page.locator("#v1")
    expect(summary).to_contain_text("decision 139")
    expect(summary).to_contain_text("stands for 3 archived rows")
    summary.locator(".sum-text").focus()
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.classList.contains('sum-text')")
    summary.get_by_role("button", name="copy").click()
    expect(summary.get_by_role("button", name="copied")).to_be_visible()
    assert "decision 139" in page.evaluate("navigator.clipboard.readText()")
    expect(summary.get_by_role("link", name="history and diff")).to_have_attribute(
        "href", f"/s/{session.public_id}/summary/1/"
    )


def test_reading_a_transcript_asks_no_other_site(reader, project):
    """U09: rendering a transcript loaded remote pictures and leaked data in their addresses."""
    session = imported(project, "U09_remote_images.json")
    page = reader.page
    reader.visit(f"/s/{session.public_id}/?open=all")
    expect(page.locator("#rows")).to_contain_text("click")
    page.wait_for_load_state("networkidle")
    assert reader.foreign_requests == []
    for link in page.locator("main a[href^='http']").all():
        assert "noreferrer" in (link.get_attribute("rel") or "")

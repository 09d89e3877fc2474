"""The pages of a session over real HTTP requests of the test client: what they hold, and that they never grow."""

import csv
import io
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from page_reading import client_of, page
from row_builder import RowBuilder, assistant, call, result, user

from compaction.edits import Edit, NewRow
from compaction.messages import ImagePart, Message, Role, RowKey, RowKind, TextPart
from compaction.records import Outcome, PassKind, PassRecord, Span
from sessions_app import services
from sessions_app.models import MessageRow, SummaryRevision
from sessions_app.pages.pass_places import MOST_SILENT
from sessions_app.services import NewMessage

pytestmark = pytest.mark.django_db

ROW_ANCHOR = re.compile(r'id="r(\d+)"')
NEXT_LINK = re.compile(r'hx-get="([^"]+)" hx-target="closest \.gap"[^>]* data-load-next')
GROUP_LINK = re.compile(r'<div class="pass-rows" hx-get="([^"]+)"')
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def client(owner):
    return client_of(owner)


def unescaped(path):
    return path.replace("&amp;", "&")


def queries_of(client, path):
    page(client, path)
    with CaptureQueriesContext(connection) as captured:
        page(client, path)
    return len(captured)


def absorb_oldest(rows, count):
    """`count` passes, each over the oldest exchange that is still live."""
    for number in range(count):
        live = [row for row in rows.live() if row.kind == "message"]
        start = next(i for i, row in enumerate(live) if row.role == "assistant" and i > 4)
        end = next(i for i in range(start, len(live)) if live[i].role == "user")
        rows.absorb([row.pk for row in live[start:end]], text=f"## Key Decisions\n- step {number}")


def followed(client, path):
    """A page, and all that its links to what is not loaded lead to, one after the other."""
    pieces, waiting = [], [path]
    while waiting:
        html = page(client, waiting.pop(0), **{"HX-Request": "true"} if pieces else {})
        pieces.append(html)
        waiting += [unescaped(one) for one in (*NEXT_LINK.findall(html), *GROUP_LINK.findall(html))]
    return "".join(pieces)


def rows_on(html):
    return [int(position) for position in ROW_ANCHOR.findall(html)]


def test_every_row_of_a_session_with_twenty_passes_can_be_reached_by_following_its_links(client, session, rows):
    """U05: the way back ended at the first compaction, and most rows were out of reach."""
    rows.turns(60)
    absorb_oldest(rows, 20)
    seen = rows_on(followed(client, f"/s/{session.public_id}/"))
    stored = MessageRow.objects.filter(session=session, kind="message").values_list("position", flat=True)
    assert sorted(seen) == sorted(stored)


SUMMARY_CARD = re.compile(r'<section class="sum" id="([^"]+)"')


@pytest.mark.parametrize("show", ["", "?show=live"])
def test_a_long_session_opens_with_its_live_summary_in_sight_between_two_gaps(client, session, rows, show):
    rows.turns(160)
    absorb_oldest(rows, 60)
    html = page(client, f"/s/{session.public_id}/{show}")
    assert SUMMARY_CARD.findall(html) == ["v60"]
    before, behind = html.split('class="sum"')
    assert len(NEXT_LINK.findall(before)) == len(NEXT_LINK.findall(behind)) == 1
    if not show:
        # It stands right behind all that the newest pass archived.
        newest = before[before.rindex("data-gap") :]
        archived = MessageRow.objects.filter(session=session, archived_by__number=60, kind="message").count()
        assert 'id="p60"' in newest and f"archived {archived} row" in newest


@pytest.mark.parametrize("show", ["", "?show=live"])
def test_loading_what_lies_around_the_live_summary_brings_each_row_once_and_the_summary_never_again(
    client, session, rows, show
):
    rows.turns(160)
    absorb_oldest(rows, 60)
    html = followed(client, f"/s/{session.public_id}/{show}")
    stored = MessageRow.objects.filter(session=session, kind="message")
    if show:
        stored = stored.filter(died_seq__isnull=True)
    assert SUMMARY_CARD.findall(html) == ["v60"]
    assert sorted(rows_on(html)) == sorted(stored.values_list("position", flat=True))


@pytest.mark.parametrize(("turns", "passes"), [(44, 38), (52, 20), (70, 30), (70, 12), (40, 3)])
def test_wherever_the_live_summary_stands_it_is_seen_once_and_no_gap_is_empty(client, session, rows, turns, passes):
    rows.turns(turns)
    absorb_oldest(rows, passes)
    html = page(client, f"/s/{session.public_id}/")
    assert SUMMARY_CARD.findall(html) == [f"v{passes}"]
    for link in NEXT_LINK.findall(html):
        assert ROW_ANCHOR.search(page(client, unescaped(link), **{"HX-Request": "true"})) or GROUP_LINK.search(
            page(client, unescaped(link), **{"HX-Request": "true"})
        )


def test_after_a_defrag_the_newest_group_is_whole_and_the_summary_stands_behind_it(client, session, rows):
    rows.turns(160)
    absorb_oldest(rows, 60)
    micro = rows.live_micro()
    newest = MessageRow.objects.filter(session=session, archived_by__number=60, kind="message").order_by("position")
    rows.defrag("## Key Decisions\n- all of it, shorter")
    assert rows.live_micro().pk != micro.pk and rows.live_micro().position == newest[0].position
    html = page(client, f"/s/{session.public_id}/")
    assert html.count('id="p60"') == 1 and f"archived {newest.count()} row" in html
    assert html.index('id="p60"') < html.index('class="sum"')


def test_a_row_at_which_a_batch_summary_stands_is_shown_with_the_card(client, session, rows):
    rows.append(user("start"), assistant("begun"))
    for number in range(60):
        rows.append(user(f"question {number}"), assistant(f"answer {number}"))
    rows.absorb([row.pk for row in rows.live() if (row.content or "").startswith("answer")])
    html = page(client, f"/s/{session.public_id}/?row={rows.live_micro().position}")
    assert len(SUMMARY_CARD.findall(html)) == 1


def test_a_summary_whose_pass_archived_several_groups_stands_behind_the_last_of_them(client, session, rows):
    rows.append(user("start"), assistant("begun"))
    for number in range(3):
        rows.append(user(f"question {number}"), assistant(f"answer {number}"))
    answers = [row.pk for row in rows.live() if (row.content or "").startswith("answer")]
    rows.append(user("and now?"))
    rows.absorb(answers)
    html = page(client, f"/s/{session.public_id}/")
    assert len(SUMMARY_CARD.findall(html)) == 1
    assert html.index("question 2") < html.index('class="sum"') < html.index("and now?")
    assert html.rindex("data-pass-item") < html.index('class="sum"')


def test_opening_all_passes_shows_every_archived_row(client, session, rows):
    rows.turns(12)
    absorb_oldest(rows, 5)
    html = page(client, f"/s/{session.public_id}/?open=all")
    archived = MessageRow.objects.filter(session=session, archived_by__isnull=False, kind="message")
    assert {row.position for row in archived} <= {int(one) for one in ROW_ANCHOR.findall(html)}


@pytest.mark.parametrize(
    "tail", ["", "?show=live", "?show=model", "?row=30", "passes/", "summary/", "occupancy/", "events/"]
)
def test_a_page_makes_no_more_queries_for_a_long_session_than_for_a_short_one(client, project, tail):
    paths = []
    text = "a word and another one " * 60
    for turns in (150, 600):
        session = services.create_session(project, f"{turns} turns", window_tokens=200_000)
        rows = RowBuilder(session.pk)
        for start in range(0, turns, 50):
            rows.append(*[one for _ in range(min(50, turns - start)) for one in (user(text), assistant(text))])
        paths.append(f"/s/{session.public_id}/{tail}")
    short, long = (queries_of(client, path) for path in paths)
    assert long <= short <= 40


def test_a_group_of_very_many_archived_rows_is_counted_and_not_read(client, session, rows):
    rows.append(user("start"), assistant("begun"))
    rows.append(*[assistant(f"step {number}") for number in range(1_200)])
    rows.append(user("end"))
    middle = [row.pk for row in rows.live() if row.content.startswith("step")]
    rows.absorb(middle)
    html = page(client, f"/s/{session.public_id}/")
    assert "archived 1,200 rows" in html
    assert "step 600" not in html
    group = page(client, unescaped(GROUP_LINK.search(html).group(1)), **{"HX-Request": "true"})
    assert "step 149" in group
    assert "step 151" not in group
    more = re.search(r'hx-get="([^"]+more=1)"', group).group(1)
    assert "step 151" in page(client, unescaped(more), **{"HX-Request": "true"})


def test_a_row_of_five_megabytes_is_cut_and_loaded_piece_by_piece(client, session, rows):
    text = "\n".join(f"line {number}" for number in range(400_000))
    rows.append(user("look"), assistant(text), assistant("after it"))
    html = page(client, f"/s/{session.public_id}/")
    assert len(html) < 100_000
    assert "after it" in html
    row_path = re.search(r'href="(/s/[^"]+/row/\d+/)" hx-get', html).group(1)
    piece = page(client, row_path, **{"HX-Request": "true"})
    assert len(piece) < 400_000
    first = int(re.search(r"first=(\d+)", piece).group(1))
    assert text[first : first + 40] in page(client, f"{row_path}?first={first}&part=next", **{"HX-Request": "true"})


def test_a_result_is_shown_under_its_call_and_counted_with_it(client, session, rows):
    rows.append(user("read"), call("c1"), result("c1", "the file"), assistant("done"))
    html = page(client, f"/s/{session.public_id}/")
    call_row = html[html.index('id="r1"') : html.index('id="r3"')]
    assert "the file" in call_row
    tokens = sum(MessageRow.objects.filter(session=session, position__in=(1, 2)).values_list("tokens", flat=True))
    assert f"<span>{tokens}</span>" in call_row


def test_a_result_without_its_call_stands_by_itself(client, session, rows):
    rows.append(user("read"), result("nobody", "an orphan"), assistant("done"))
    assert "an orphan" in page(client, f"/s/{session.public_id}/")


def test_the_model_view_page_by_page_is_the_whole_model_view(client, session, rows):
    rows.turns(160)
    absorb_oldest(rows, 3)
    seen, path = [], f"/s/{session.public_id}/?show=model"
    while path:
        html = page(client, path)
        seen += re.findall(r"question (\d+)", html)
        following = re.search(r'<a href="(\?show=model[^"]+)" rel="next">', html)
        path = f"/s/{session.public_id}/{unescaped(following.group(1))}" if following else ""
    assert seen == [str(number) for number in range(160)]


def test_what_the_model_saw_at_an_event_before_a_pass_is_shown_without_the_pass(client, session, rows):
    rows.turns(6)
    seq = rows.session.last_seq
    absorb_oldest(rows, 1)
    now, then = (page(client, f"/s/{session.public_id}/?show=model{at}") for at in ("", f"&at={seq}"))
    assert 'class="tag tag-summary">summary' in now
    assert 'class="tag tag-summary">summary' not in then
    assert f"At event {seq}" in then


def test_a_summary_is_a_card_and_never_a_row(client, session, rows):
    rows.turns(6)
    absorb_oldest(rows, 2)
    html = page(client, f"/s/{session.public_id}/")
    assert 'id="v2"' in html
    assert "Rolling summary" in html
    summary = MessageRow.objects.get(session=session, kind="micro_summary", died_seq__isnull=True)
    assert f'id="item-{summary.pk}"' in html
    assert "step 1" in html


def test_the_summary_page_marks_what_changed_between_versions(client, session, rows):
    rows.turns(6)
    absorb_oldest(rows, 2)
    html = page(client, f"/s/{session.public_id}/summary/")
    assert "v1 → v2" in html
    assert "<del>0</del>" in html
    assert "<ins>1</ins>" in html
    assert client.get(f"/s/{session.public_id}/summary/99/").status_code == 404


def test_unknown_figures_are_said_to_be_unknown(client, project):
    session = services.create_session(project, "Nobody knows its window", model="a-model-of-our-own")
    RowBuilder(session.pk).append(user("hello"))
    html = page(client, f"/s/{session.public_id}/")
    assert "Unknown" in html
    assert "nobody has said how large the window of a-model-of-our-own is" in html
    listed = page(client, "/")
    assert 'aria-label="occupancy unknown"' in listed


def test_the_updates_after_an_event_hold_the_new_rows_and_the_row_they_answer(client, session, rows):
    rows.append(user("read it"), call("c1"))
    seq = rows.session.last_seq
    rows.append(result("c1", "the file"), assistant("read"))
    html = page(client, f"/s/{session.public_id}/events/?after={seq}")
    assert f'data-seq="{rows.session.last_seq}" data-plain="yes"' in html
    assert ROW_ANCHOR.findall(html[html.index("data-items") :]) == ["1", "2", "3"]


def test_updates_that_contain_a_pass_ask_the_page_to_read_its_rows_anew(client, session, rows):
    rows.turns(6)
    seq = rows.session.last_seq
    absorb_oldest(rows, 1)
    assert 'data-plain="no"' in page(client, f"/s/{session.public_id}/events/?after={seq}")


def test_the_raw_row_is_json_with_the_passes_that_made_and_archived_it(client, session, rows):
    rows.turns(6)
    absorb_oldest(rows, 1)
    row = MessageRow.objects.filter(session=session, archived_by__isnull=False).first()
    response = client.get(f"/s/{session.public_id}/row/{row.pk}/raw/")
    assert response.headers["Content-Type"].startswith("application/json")
    stored = json.loads(response.content)
    assert stored["archived_by_pass"] == 1
    assert stored["position"] == row.position


def test_a_stored_picture_is_served_and_anything_else_is_not(client, session, rows):
    picture = ImagePart(json.dumps({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}))
    drawing = ImagePart(json.dumps({"image_url": {"url": "data:image/svg+xml;base64,PHN2Zz48L3N2Zz4="}}))
    rows.append(NewMessage(Message(Role.USER, (TextPart("see"), picture, drawing))))
    row = MessageRow.objects.get(session=session)
    path = f"/s/{session.public_id}/row/{row.pk}/picture"
    response = client.get(f"{path}/1/")
    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.content.startswith(b"\x89PNG")
    assert [client.get(f"{path}/{number}/").status_code for number in (0, 2, 9)] == [404, 404, 404]


def test_the_csv_has_a_line_per_event_with_offsets_and_empty_unknowns(client, session, rows):
    rows.turns(3)
    response = client.get(f"/s/{session.public_id}/occupancy.csv")
    lines = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [int(line["seq"]) for line in lines] == list(range(1, rows.session.last_seq + 1))
    assert all(line["at"].endswith("+00:00") for line in lines)
    assert all(line["pass"] == "" for line in lines)


def test_a_permalink_to_an_archived_row_loads_its_surroundings_with_the_group_open(client, session, rows):
    rows.turns(60)
    absorb_oldest(rows, 20)
    row = MessageRow.objects.filter(session=session, archived_by__number=15, role="tool").first()
    html = page(client, f"/s/{session.public_id}/?row={row.position}")
    assert f'id="r{row.position}"' in html
    assert "are not loaded" in html


def test_addresses_that_make_no_sense_show_the_page_without_them(client, session, rows):
    rows.turns(3)
    for tail in ("?row=-1", "?row=x", "?show=nothing", "?after=x&before=-", "?open=99999999999", "?at=" + "9" * 30):
        page(client, f"/s/{session.public_id}/{tail}")
    for tail in ("?sort=nothing", "?after=x~y", "?before=~", "?over=many", "?period=never", "?q=" + "x" * 500):
        page(client, f"/{tail}")


def test_a_pass_that_archived_nothing_stands_where_it_looked(client, session, rows):
    rows.turns(4)
    live = rows.live()
    first = next(row for row in live if row.position == 5)
    span = Span(RowKey(first.position, first.pk), RowKey(first.position + 2, first.pk + 2), 3, 30)
    record = PassRecord(PassKind.MICRO, Outcome.SUMMARIZE_FAILED, reason="timeout", exchanges=(span,))
    rows.commit(Edit(), record)
    html = page(client, f"/s/{session.public_id}/")
    assert html.index('id="r4"') < html.index('id="p1"') < html.index('id="r5"')
    assert "the summarizer gave no reply in time" in html


def gone_to(client, path, row, **more):
    response = client.get(path, {"go": "1", "row": str(row), **more})
    assert response.status_code == 302, response.status_code
    return response.headers["Location"]


def test_going_to_a_row_leads_to_its_place_on_the_page_and_keeps_the_number(client, session, rows):
    rows.turns(60)
    path = f"/s/{session.public_id}/"
    address = gone_to(client, path, 203)
    assert address == f"{path}?row=203#r203"
    html = page(client, address)
    assert 'id="r203"' in html
    assert 'value="203"' in html
    assert "no-such-row" not in html


def test_going_to_a_row_that_the_filter_hides_leaves_the_filter_out(client, session, rows):
    rows.turns(3)
    rows.absorb([row.pk for row in rows.live()][1:4])
    path = f"/s/{session.public_id}/"
    assert gone_to(client, path, 2, show="live") == f"{path}?row=2#r2"
    assert gone_to(client, path, 8, show="live") == f"{path}?row=8&show=live#r8"
    assert gone_to(client, path, 2, show="archived") == f"{path}?row=2&show=archived#r2"


def test_a_row_number_past_the_end_is_said_to_be_none(client, session, rows):
    rows.turns(2)
    path = f"/s/{session.public_id}/"
    html = page(client, gone_to(client, path, 99))
    assert "There is no row 99: the last one is row 7." in html
    assert client.get(path, {"go": "1", "row": "x"}).status_code == 200


def test_a_row_deep_in_a_large_group_is_on_the_page_with_links_to_what_lies_around_it(client, session, rows):
    rows.append(user("go"), *(assistant(f"step {number}") for number in range(600)), user("thanks"))
    rows.absorb([row.pk for row in rows.live()][1:-1])
    html = page(client, f"/s/{session.public_id}/?row=400")
    assert 'id="r400"' in html
    assert html.count('id="r') < 200
    loads = [unescaped(one) for one in re.findall(r'hx-get="([^"]+more=1)"', html)]
    assert len(loads) == 2
    assert 'id="r1"' in page(client, loads[0])


def test_passes_without_a_place_of_their_own_cost_no_query_each_and_do_not_fill_a_page(client, session, rows):
    rows.turns(3)
    path = f"/s/{session.public_id}/"
    counts = []
    for more in (2, 300):
        for _ in range(more):
            rows.commit(Edit((), (), ()), PassRecord(PassKind.BATCH, Outcome.BLOCKED, edit=Edit((), (), ())))
        counts.append(queries_of(client, path))
    assert counts[0] == counts[1]
    html = page(client, path)
    assert html.count("data-pass-item") == MOST_SILENT
    assert "Pass 302" in html


def test_a_version_that_cannot_be_compared_is_not_called_the_first(client, session, rows):
    rows.turns(6)
    absorb_oldest(rows, 3)
    SummaryRevision.objects.filter(session=session, number=2).update(text=None)
    said = [page(client, f"/s/{session.public_id}/summary/{number}/") for number in (1, 2, 3)]
    heads = [html[html.index('class="diff-sum"') :][:400] for html in said]
    assert "first version" in heads[0]
    assert "this version can&#x27;t be read" in heads[1] or "this version can't be read" in heads[1]
    assert "the version before it can&#x27;t be read" in heads[2] or "the version before it can't be read" in heads[2]


def counts_of(html):
    chips = html[html.index('aria-label="Rows shown"') :].partition("</nav>")[0]
    return [int(re.search(rf">{word} ([\d,]+)\b", chips).group(1)) for word in ("All", "Live", "Archived")]


def test_the_counts_of_the_filters_add_up_and_a_stub_is_one_row_with_its_original(client, session, rows):
    rows.turns(4)
    rows.absorb([row.pk for row in rows.live()][1:4])
    pruned = next(row for row in rows.live() if row.role == "tool")
    message = Message(Role.TOOL, "[pruned]", tool_call_id=pruned.tool_call_id)
    stub = NewRow(RowKind.PRUNE_STUB, pruned.position, message, 12, replaces=pruned.pk)
    edit = Edit(archived=(pruned.pk,), inserted=(stub,))
    rows.commit(edit, PassRecord(PassKind.PRUNE, Outcome.PRUNED, edit=edit))
    html = page(client, f"/s/{session.public_id}/")
    assert counts_of(html) == [16, 13, 3]
    assert "14 live (1 summary), 4 archived (1 pruned, with a live stub)" in html
    shown = page(client, f"/s/{session.public_id}/?open=all")
    assert len(set(ROW_ANCHOR.findall(shown))) == 16
    assert len(ROW_ANCHOR.findall(page(client, f"/s/{session.public_id}/?show=archived"))) == 3

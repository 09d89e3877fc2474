"""The cache tab: bills of requests and passes, what is unknown, paging, CSV, and who may see it."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from page_reading import client_of, page
from row_builder import RowBuilder, assistant, call, result, user

from compaction.cache_prices import shipped_price_table
from compaction.economics import BreakEven, Verdict, money
from compaction.prompt_cache import SentMessage, SentRequest, bill_requests
from sessions_app import services
from sessions_app.cache_assumption import assume
from sessions_app.models import CompactionPass, MessageRow
from sessions_app.pages.cache import CacheReader
from sessions_app.queries.moments import row_ids_as_of

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


@pytest.fixture
def client(owner):
    return client_of(owner)


def lines(client, path):
    response = client.get(path)
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def talk(rows, turns, seconds_between=20):
    """Turns of four rows, the rows a while apart."""
    for number in range(turns):
        for message in (
            user(f"question {number} " * 100),
            call(f"c{number}"),
            result(f"c{number}", f"file {number} " * 300),
            assistant("done"),
        ):
            rows.append(message)
    for number, row in enumerate(MessageRow.objects.filter(session_id=rows.session_id).order_by("id")):
        MessageRow.objects.filter(pk=row.pk).update(at=START + timedelta(seconds=seconds_between * number))


def absorb_oldest(rows, count=1):
    for number in range(count):
        live = [row for row in rows.live() if row.kind == "message"]
        start = next(i for i, row in enumerate(live) if row.role == "assistant" and i > 4)
        end = next(i for i in range(start, len(live)) if live[i].role == "user")
        rows.absorb([row.pk for row in live[start:end]], text=f"step {number}")


def figures_of(session, table="anthropic-5m", **more):
    return CacheReader(session, assume(table, "", session, **{"has_no_pauses": False, **more}))


def test_bills_are_those_of_the_contexts_that_were_sent(session, rows):
    talk(rows, 6)
    absorb_oldest(rows, 2)
    talk(rows, 2)
    services.undo_last_pass(session.pk)
    talk(rows, 2)
    stored = {row.pk: row for row in MessageRow.objects.filter(session=session)}
    replies = sorted(
        (row for row in stored.values() if row.role == "assistant" and not row.made_by_id), key=lambda r: r.pk
    )
    sent = []
    for reply in replies:
        ids = row_ids_as_of(session.pk, born(reply) - 1)
        overhead = SentMessage("overhead", session.fixed_overhead_tokens)
        messages = (overhead, *(SentMessage(pk, stored[pk].tokens) for pk in ids))
        sent.append(SentRequest(messages, reply.at.timestamp()))
    prices = shipped_price_table().named("anthropic-5m")
    found = figures_of(rows.session).requests()
    assert [one.bill for one in found] == list(bill_requests(sent, prices))


def born(row):
    earlier = row.lifetimes.order_by("born_seq").first()
    return earlier.born_seq if earlier else row.born_seq


def test_a_pass_is_billed_for_what_stands_behind_its_first_change_while_the_cache_is_warm(session, rows):
    talk(rows, 8)
    absorb_oldest(rows)
    talk(rows, 1)
    (cost,) = figures_of(rows.session).passes()
    change = cost.strips
    assert cost.is_cache_warm
    assert change.before.sent_tokens > change.after.sent_tokens
    assert cost.economics.rebilled_tokens == change.after.sent_tokens - change.after.cached_tokens
    assert cost.economics.break_even.verdict is Verdict.AFTER_CALLS


def test_a_pass_that_made_the_context_larger_is_never_earned_back(client, session, rows):
    talk(rows, 8)
    live = rows.live()
    rows.absorb([live[7].pk], text="much longer than what it stands for " * 40)
    talk(rows, 1)
    (cost,) = figures_of(rows.session).passes()
    assert cost.economics.break_even == BreakEven(Verdict.NEVER)
    assert "never" in page(client, f"/s/{session.public_id}/cache/?table=anthropic-5m")


def test_after_the_cache_expired_a_pass_costs_its_summarizer_alone(session, rows):
    talk(rows, 8, seconds_between=4_000)
    absorb_oldest(rows)
    talk(rows, 1, seconds_between=4_000)
    (cost,) = figures_of(rows.session).passes()
    assert cost.is_cache_warm is False
    assert (cost.economics.rebilled_tokens, cost.economics.billed_tokens) == (0, 0.0)


def test_where_times_are_missing_bills_are_unknown_and_said_to_be_so(client, session, rows):
    talk(rows, 4)
    MessageRow.objects.filter(session=session).update(at=None)
    assert figures_of(rows.session).bills.ahead_tokens is None
    html = page(client, f"/s/{session.public_id}/cache/?table=anthropic-5m")
    assert "is unknown: the times of" in html
    assumed = page(client, f"/s/{session.public_id}/cache/?table=anthropic-5m&pauses=none")
    assert "Every request is taken to have come while the cache lived." in assumed
    assert "is unknown:" not in assumed


def test_unknown_figures_are_empty_cells_and_never_zero(client, session, rows):
    talk(rows, 4)
    MessageRow.objects.filter(session=session).update(at=None)
    found = lines(client, f"/s/{session.public_id}/cache.csv?view=requests&table=anthropic-5m")
    assert len(found) == 8
    assert [found[-1][name] for name in ("cached_tokens", "rebilled_tokens", "running_billed_tokens")] == ["", "", ""]
    assert all(int(line["sent_tokens"]) > 0 for line in found)


def test_a_summarizer_whose_price_is_unknown_makes_the_verdict_unknown_and_leaves_the_requests_known(
    client, session, rows
):
    talk(rows, 8)
    absorb_oldest(rows)
    CompactionPass.objects.filter(session=session).update(
        aux_model="nobody-knows-it", input_tokens=900, output_tokens=80
    )
    html = page(client, f"/s/{session.public_id}/cache/?table=anthropic-5m&model=gpt-5.2")
    assert "what the summarizer of 1 pass cost is unknown" in html
    assert figures_of(rows.session).bills.totals.billed_tokens is not None


def test_a_summarizer_that_is_the_model_itself_is_billed_at_its_prices(session, rows):
    talk(rows, 8)
    absorb_oldest(rows)
    CompactionPass.objects.filter(session=session).update(aux_model="gpt-5.2", input_tokens=1_000, output_tokens=100)
    reader = CacheReader(rows.session, assume("", "gpt-5.2", rows.session, has_no_pauses=False))
    (cost,) = reader.passes()
    assert cost.summarizer_tokens == pytest.approx(1_000 + 100 * 8)
    assert money(1_000_000, assume("", "gpt-5.2", session, has_no_pauses=False).input_usd) == pytest.approx(1.75)


def test_a_model_without_a_table_is_told_and_another_table_can_be_chosen(client, session, rows):
    talk(rows, 2)
    assert "No price table is known" in page(client, f"/s/{session.public_id}/cache/")
    chosen = page(client, f"/s/{session.public_id}/cache/?table=openai-gpt56")
    assert "No price table is known" not in chosen
    assert "Not confirmed by the provider: read." in chosen


def test_the_page_of_many_passes_is_paged_and_its_links_reach_every_pass(client, session, rows):
    talk(rows, 40)
    absorb_oldest(rows, 35)
    path, seen = f"/s/{session.public_id}/cache/", []
    while path:
        html = page(client, path)
        seen += [int(one) for one in re.findall(r'<tr id="p(\d+)"', html)]
        older = re.search(r'rel="next" href="([^"#]+)', html)
        path = f"/s/{session.public_id}/cache/{older.group(1).replace('&amp;', '&')}" if older else None
    assert seen == list(range(35, 0, -1))


def test_pass_figures_come_as_csv_with_one_line_for_each_pass(client, session, rows):
    talk(rows, 8)
    absorb_oldest(rows, 2)
    found = lines(client, f"/s/{session.public_id}/cache.csv?view=passes&table=anthropic-5m")
    assert [line["pass"] for line in found] == ["1", "2"]
    assert int(found[0]["tokens_before"]) > int(found[0]["tokens_after"])


def test_what_the_provider_reported_stands_beside_the_model(client, session, rows):
    talk(rows, 2)
    reply = MessageRow.objects.filter(session=session, role="assistant").last()
    MessageRow.objects.filter(pk=reply.pk).update(input_tokens=5_000, cache_read_tokens=4_321)
    assert "4,321 of 5,000 cached" in page(client, f"/s/{session.public_id}/cache/?view=requests")


def test_the_page_makes_no_more_queries_for_many_passes_than_for_few(client, project):
    counts = []
    for turns in (10, 60):
        session = services.create_session(project, f"{turns} turns", window_tokens=200_000)
        rows = RowBuilder(session.pk)
        talk(rows, turns)
        absorb_oldest(rows, turns - 6)
        with CaptureQueriesContext(connection) as captured:
            page(client, f"/s/{session.public_id}/cache/")
        counts.append(len(captured))
    assert counts[1] <= counts[0] <= 40


def test_strangers_find_no_cache_tab(session):
    stranger = Client()
    stranger.force_login(User.objects.create_user("nobody"))
    for path in ("cache/", "cache.csv"):
        assert stranger.get(f"/s/{session.public_id}/{path}").status_code == 404


def test_every_figure_of_the_tab_has_its_unit(client, session, rows):
    talk(rows, 8)
    absorb_oldest(rows)
    talk(rows, 1)
    address = f"/s/{session.public_id}/cache/?table=anthropic-5m"
    sums = re.findall(r"(?s)<dt>([^<]+)</dt>\s*<dd>(.*?)</dd>", page(client, address).partition('class="sums"')[2])
    assert len(sums) == 5
    assert [name for name, told in sums if "tokens" not in told] == []
    for view, without_unit in (
        ("passes", {"#", "Earned back after", "Cached share of later requests"}),
        ("requests", {}),
    ):
        html = page(client, f"{address}&view={view}").partition('id="cache-table"')[2]
        heads = set(re.findall(r"<th [^>]*>([^<]*)</th>", html)) - {"Answered by", "When"} - set(without_unit)
        labels = set(re.findall(r'data-l="([^"]*)"', html)) - {"When"} - set(without_unit)
        assert heads and labels
        assert [one for one in heads | labels if "tokens" not in one] == []

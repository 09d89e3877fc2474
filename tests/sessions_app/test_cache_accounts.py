"""Long sessions on the cache tab: counted by a job, carried on, and shown as far as they are counted."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from page_reading import client_of
from row_builder import RowBuilder, assistant, call, result, user

from compaction.request_history import HistoryState
from sessions_app import cache_counting, cache_packing, clock, services
from sessions_app.cache_assumption import assume
from sessions_app.cache_counting import carry_on, count_at_once, count_on
from sessions_app.cache_packing import (
    pack_history,
    unpack_bills,
    unpack_history,
    unpack_pass,
    unpack_request,
)
from sessions_app.models import CacheAccount, MessageRow, Session
from sessions_app.services.cache_accounts import ACCOUNTS_KEPT, SILENT_AFTER, wanted_account

pytestmark = pytest.mark.django_db
TABLE = "anthropic-5m"


@pytest.fixture
def client(owner):
    return client_of(owner)


@pytest.fixture
def all_are_long(monkeypatch):
    """Every session counts as a long one, and steps and chunks are short."""
    monkeypatch.setattr(cache_counting, "ROWS_AT_ONCE", 0)
    monkeypatch.setattr(cache_counting, "EVENTS_A_STEP", 7)


def talk(rows, turns):
    for number in range(turns):
        name = f"c{number}-{rows.session.last_seq}"
        rows.append(
            user(f"question {number} " * 60), call(name), result(name, f"file {number} " * 200), assistant("done")
        )


def absorb_oldest(rows):
    live = [row for row in rows.live() if row.kind == "message"]
    start = next(i for i, row in enumerate(live) if row.role == "assistant" and i > 2)
    end = next(i for i in range(start, len(live)) if live[i].role == "user")
    rows.absorb([row.pk for row in live[start:end]], text="in short")


def assumption(session, table=TABLE, **more):
    return assume(table, "", session, **{"has_no_pauses": False, **more})


def account_of(rows):
    return wanted_account(rows.session, assumption(rows.session))


def assert_is_as_counted_at_once(session):
    """The stored account, every request and every pass of it, to the last bit."""
    account = CacheAccount.objects.get(session=session, through_seq=session.last_seq)
    whole = count_at_once(session, assumption(session))
    stored = [unpack_request(one) for chunk in account.chunks.order_by("number") for one in chunk.requests]
    passes = [unpack_pass(one.figures) for one in account.pass_figures.order_by("number")]
    assert unpack_bills(account.bills) == whole.state
    assert tuple(stored) == whole.requests
    assert tuple(passes) == whole.passes
    *_, last = count_on(session, assumption(session), HistoryState(), unpack_bills(None))
    assert unpack_history(account.history) == last.walk.state()


@pytest.mark.usefixtures("all_are_long")
def test_an_account_carried_on_over_passes_undo_and_reset_is_that_of_counting_all_at_once(session, rows, monkeypatch):
    monkeypatch.setattr(cache_packing, "REQUESTS_A_CHUNK", 5)
    monkeypatch.setattr(services.cache_accounts, "REQUESTS_A_CHUNK", 5)
    for act in (
        lambda: talk(rows, 4),
        lambda: absorb_oldest(rows),
        lambda: talk(rows, 2),
        lambda: absorb_oldest(rows),
        lambda: services.undo_last_pass(session.pk),
        lambda: talk(rows, 2),
        lambda: services.reset_session(session.pk),
        lambda: talk(rows, 3),
        lambda: absorb_oldest(rows),
        lambda: rows.append(user("and now?"), assistant("this"), assistant("and that")),
    ):
        act()
        carry_on(account_of(rows).pk)
        assert_is_as_counted_at_once(rows.session)
    branch = services.branch_session(session.pk, rows.session.last_seq - 4)
    talk(RowBuilder(branch.pk), 2)
    branch.refresh_from_db()
    carry_on(wanted_account(branch, assumption(branch)).pk)
    assert_is_as_counted_at_once(branch)


def test_a_counted_long_session_shows_what_it_would_show_if_it_were_short(client, session, rows, monkeypatch):
    talk(rows, 40)
    absorb_oldest(rows)
    talk(rows, 1)
    absorb_oldest(rows)
    paths = [f"/s/{session.public_id}/cache/?table={TABLE}&view={view}" for view in ("passes", "requests")]
    csvs = [f"/s/{session.public_id}/cache.csv?table={TABLE}&view={view}" for view in ("passes", "requests")]
    short = [shown(client, path) for path in paths], [lines(client, path) for path in csvs]
    monkeypatch.setattr(cache_counting, "ROWS_AT_ONCE", 0)
    carry_on(account_of(rows).pk)
    assert ([shown(client, path) for path in paths], [lines(client, path) for path in csvs]) == short


@pytest.mark.usefixtures("all_are_long")
def test_the_requests_of_a_long_session_are_paged_and_each_is_reached_once(client, session, rows):
    talk(rows, 150)
    carry_on(account_of(rows).pk)
    path, seen = f"/s/{session.public_id}/cache/?view=requests&table={TABLE}", []
    while path:
        html = shown(client, path)
        seen += [int(one) for one in re.findall(r'class="dim s-sub">event (\d+)<', html)]
        older = re.search(r'rel="next" href="([^"#]+)', html)
        path = f"/s/{session.public_id}/cache/{older.group(1).replace('&amp;', '&')}" if older else None
    assert seen == [one.seq for one in reversed(count_at_once(rows.session, assumption(rows.session)).requests)]


@pytest.mark.usefixtures("all_are_long")
def test_while_nothing_is_counted_the_page_shows_no_figure_and_says_why(client, session, rows):
    talk(rows, 3)
    html = shown(client, f"/s/{session.public_id}/cache/?table={TABLE}")
    assert "none of its 12 events so far" in html
    assert 'class="sums"' not in html
    assert 'hx-trigger="every 2s"' in html


@pytest.mark.usefixtures("all_are_long")
def test_a_session_that_went_on_shows_what_is_counted_and_up_to_which_event(client, session, rows):
    talk(rows, 3)
    carry_on(account_of(rows).pk)
    talk(rows, 2)
    path = f"/s/{session.public_id}/cache/?table={TABLE}&view=requests"
    html = shown(client, path)
    assert "up to event 12 of 20 so far. All figures here hold up to event 12." in html
    assert html.count("<tr data-item>") == 6
    assert len(lines(client, path.replace("/cache/", "/cache.csv"))) == 10
    carry_on(account_of(rows).pk)
    assert "in the background" not in shown(client, path)


@pytest.mark.usefixtures("all_are_long")
def test_a_job_is_asked_for_once_however_often_the_page_is_read_and_again_when_it_fell_silent(rows, monkeypatch):
    talk(rows, 2)
    account = account_of(rows)
    account_of(rows)
    assert jobs_for(account) == 1
    later = clock.now() + SILENT_AFTER + timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    account_of(rows)
    assert jobs_for(account) == 2


@pytest.mark.usefixtures("all_are_long")
def test_accounts_that_newer_questions_push_out_are_given_up_and_their_jobs_do_nothing(rows):
    talk(rows, 3)
    oldest = account_of(rows)
    for model in ("a", "b", "c", "d"):
        wanted_account(rows.session, assume(TABLE, model, rows.session, has_no_pauses=False))
    assert CacheAccount.objects.filter(session=rows.session).count() == ACCOUNTS_KEPT
    carry_on(oldest.pk)
    assert not CacheAccount.objects.filter(pk=oldest.pk).exists()


@pytest.mark.usefixtures("all_are_long")
def test_a_job_that_was_overtaken_stores_nothing(rows, monkeypatch):
    talk(rows, 5)
    account = account_of(rows)
    real = cache_counting.store_step

    def overtaken(account_id, after, *rest):
        CacheAccount.objects.filter(pk=account_id).update(through_seq=after + 1)
        return real(account_id, after, *rest)

    monkeypatch.setattr(cache_counting, "store_step", overtaken)
    carry_on(account.pk)
    account.refresh_from_db()
    assert (account.through_seq, account.chunks.count(), account.bills) == (1, 0, None)


@pytest.mark.usefixtures("all_are_long")
def test_another_fixed_overhead_is_another_question(rows):
    talk(rows, 3)
    first = account_of(rows)
    Session.objects.filter(pk=rows.session_id).update(fixed_overhead_tokens=4_321)
    second = account_of(rows)
    assert first.pk != second.pk
    carry_on(second.pk)
    assert_is_as_counted_at_once(rows.session)


def test_the_page_of_a_counted_session_makes_no_more_queries_for_a_longer_one(client, project, monkeypatch):
    monkeypatch.setattr(cache_counting, "ROWS_AT_ONCE", 0)
    shown(client, "/")
    counts = []
    for turns in (80, 400):
        rows = RowBuilder(services.create_session(project, f"{turns} turns", window_tokens=200_000).pk)
        talk(rows, turns)
        absorb_oldest(rows)
        carry_on(account_of(rows).pk)
        for view in ("passes", "requests"):
            with CaptureQueriesContext(connection) as captured:
                shown(client, f"/s/{rows.session.public_id}/cache/?table={TABLE}&view={view}")
            counts.append(len(captured))
    assert counts[2] <= counts[0] and counts[3] <= counts[1]
    assert max(counts) <= 40


def test_a_history_with_places_of_any_size_is_unpacked_as_it_was_packed(session, rows):
    talk(rows, 3)
    MessageRow.objects.filter(session=session).update(position=F("position") + 9_000_000_000_000)
    *_, last = count_on(rows.session, assumption(rows.session), HistoryState(), unpack_bills(None))
    assert unpack_history(pack_history(last.walk.state())) == last.walk.state()


def shown(client, path):
    response = client.get(path)
    assert response.status_code == 200, path
    return re.sub(r'csrfmiddlewaretoken" value="[^"]+"', "", response.content.decode())


def lines(client, path):
    text = b"".join(client.get(path).streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def jobs_for(account):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM procrastinate_jobs WHERE task_name = %s AND args ->> 'account_id' = %s",
            ["sessions_app.jobs.count_cache", str(account.pk)],
        )
        return cursor.fetchone()[0]

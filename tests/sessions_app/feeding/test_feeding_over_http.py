"""Recordings fed over real HTTP: everything arrives once, whatever the network does, and a feed goes on."""

import asyncio
import math
from dataclasses import replace

import httpx
import pytest
from flaky_proxy import flaky
from row_builder import COUNTER

from compaction.wire import message_to_openai
from sessions_app.feeding import http_client
from sessions_app.feeding.figures import Figures, percentile_ms, report_of
from sessions_app.feeding.http_client import Target
from sessions_app.feeding.http_player import FeedPlan, client_id_of, feed, plays_of
from sessions_app.feeding.pace import Pace
from sessions_app.feeding.report_text import progress_text, report_text
from sessions_app.feeding.sources import recordings_named
from sessions_app.feeding.steps import FinishTurn, steps_of
from sessions_app.models import MessageRow, Session, Turn
from sessions_app.queries.totals import counted, recounted
from sessions_app.samples.catalogue import COMPACTED, FAILING
from sessions_app.services.tokens import issue_token, revoke_token
from tests.patience import PATIENCE_SECONDS

FAST = Pace(rate=math.inf)


@pytest.fixture(scope="module")
def recordings():
    """The beginnings of two: enough for several turns with calls."""
    told = (*recordings_named(FAILING, 1, COUNTER), *recordings_named(COMPACTED, 1, COUNTER))
    return tuple(replace(recording, rows=recording.rows[:40]) for recording in told)


def fed(plan, target, stop=None):
    figures = Figures()

    async def run():
        await feed(plan, target, figures, stop or asyncio.Event())

    asyncio.run(run())
    return figures


def stored(session_id):
    rows = MessageRow.objects.filter(session_id=session_id, kind="message").order_by("position", "id")
    return list(rows.values_list("foreign_id", flat=True))


def check(plan):
    """Each play's session holds the recording's rows, each once and in order, and its turns all had their replies."""
    for play in plays_of(plan):
        session = Session.objects.get(foreign_id=play.client_id)
        assert stored(session.pk) == [row.client_id for row in play.recording.rows]
        assert counted(session) == recounted(session.pk)
        turns = Turn.objects.filter(session=session)
        assert turns.count() == session.turns_total > 0
        assert not turns.filter(reply_sent_at__isnull=True).exists()


def test_two_recordings_are_fed_as_four_sessions_and_come_back_from_the_api_as_they_were(site_url, secret, recordings):
    plan = FeedPlan(recordings, sessions=4, at_once=3, pace=FAST)
    figures = fed(plan, Target(site_url, secret))
    assert (figures.sessions_done, figures.failed, dict(figures.retries)) == (4, [], {})
    assert figures.rows_added == 2 * sum(len(recording.rows) for recording in recordings)
    check(plan)
    session = Session.objects.get(foreign_id=plays_of(plan)[1].client_id)
    messages, after = [], ""
    with httpx.Client(base_url=f"{site_url}/api/v1", headers={"Authorization": f"Bearer {secret}"}) as api:
        while after is not None:
            page = api.get(f"/sessions/{session.public_id}/rows", params={"limit": 200, "after": after}).json()
            messages += [row["message"] for row in page["rows"]]
            after = page["next"]
    assert messages == [message_to_openai(row.message) for row in recordings[1].rows]


def test_a_feed_that_is_started_again_adds_nothing_and_another_run_plays_anew(site_url, secret, recordings):
    plan = FeedPlan(recordings[1:], pace=FAST)
    rows = len(recordings[1].rows)
    assert fed(plan, Target(site_url, secret)).rows_added == rows
    again = fed(plan, Target(site_url, secret))
    assert (again.rows_added, again.rows_there, again.turns, again.sessions_done) == (0, rows, 0, 1)
    assert fed(FeedPlan(recordings[1:], pace=FAST, run="two"), Target(site_url, secret)).rows_added == rows
    assert Session.objects.count() == 2


def test_answers_that_are_late_lost_or_refused_cost_time_but_no_row_and_double_none(
    site_url, secret, recordings, monkeypatch
):
    monkeypatch.setattr(http_client, "WAITS", replace(http_client.WAITS, longest_wait_seconds=0.02))
    plan = FeedPlan(recordings[1:], sessions=3, pace=FAST)
    with flaky(site_url, seed=4) as proxy:
        figures = fed(plan, Target(proxy.url, secret))
    assert figures.failed == []
    assert figures.sessions_done == 3
    check(plan)
    assert set(figures.retries) == {"429", "503", "408", "connection"}
    assert sum(figures.retries.values()) >= len([fate for fate in proxy.fates if fate != "pass"]) > 20
    assert figures.rows_there > 0


class StopAfter(Figures):
    """Asks the feed to stop as soon as so many appends were answered."""

    __slots__ = ("left", "stop")

    def appended(self, added, already_present, seconds):
        super().appended(added, already_present, seconds)
        self.left -= 1
        if self.left == 0:
            self.stop.set()


def test_a_feed_stopped_after_any_append_goes_on_and_finishes_each_turn_once_it_is_whole(site_url, secret, recordings):
    plan = FeedPlan(recordings[:1], pace=FAST)
    for appends in (1, 2, 3, 5, 8):
        figures, stop = StopAfter(), asyncio.Event()
        figures.left, figures.stop = appends, stop
        asyncio.run(feed(plan, Target(site_url, secret), figures, stop))
        assert figures.was_stopped
    assert fed(plan, Target(site_url, secret)).failed == []
    check(plan)
    told = [step.interrupted for step in steps_of(recordings[0]) if isinstance(step, FinishTurn)]
    assert list(Turn.objects.order_by("number").values_list("interrupted", flat=True)) == told
    assert len(told) > 5


def test_a_stop_ends_every_play_at_the_edge_of_a_step(site_url, secret, recordings):
    stop, figures = asyncio.Event(), Figures()
    plan = FeedPlan(recordings, sessions=6, at_once=2, pace=Pace(longest_pause_seconds=3_600.0, rate=0.001))

    async def run():
        feeding = asyncio.create_task(feed(plan, Target(site_url, secret), figures, stop))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not figures.append_seconds:
                await asyncio.sleep(0.01)
        stop.set()
        await feeding

    asyncio.run(run())
    assert figures.was_stopped
    assert (figures.sessions_done, figures.failed) == (0, [])
    assert fed(FeedPlan(recordings, sessions=6, pace=FAST), Target(site_url, secret)).sessions_done == 6


def test_what_asking_again_would_not_change_ends_the_play_with_the_sites_own_words(
    site_url, project, secret, recordings
):
    reader = issue_token(project, "reader").secret
    figures = fed(FeedPlan(recordings[1:], pace=FAST), Target(site_url, reader))
    assert "403 This token may read but not write." in figures.failed[0]
    assert revoke_token(project, "feeder")
    figures = fed(FeedPlan(recordings[1:], pace=FAST), Target(site_url, secret))
    assert "401 Send a token that is in force" in figures.failed[0]
    assert figures.sessions_done == 0


def test_a_site_that_does_not_come_back_is_given_up_when_patience_ends(recordings):
    figures = fed(FeedPlan(recordings[1:], pace=FAST), Target("http://127.0.0.1:9", "hms_x", patience_seconds=0.0))
    assert len(figures.failed) == 1
    assert "GET /projects came to nothing in 1 attempts; at last: connection" in figures.failed[0]


def test_ids_of_plays_are_the_same_each_time_differ_from_each_other_and_fit(recordings):
    plan = FeedPlan(recordings, sessions=5)
    ids = [play.client_id for play in plays_of(plan)]
    assert ids == [play.client_id for play in plays_of(plan)]
    assert len(set(ids)) == 5
    long = [client_id_of("", number, "x" * 300) for number in (1, 2)]
    assert long[0] != long[1]
    assert {len(one) for one in long} == {200}


def test_a_report_tells_figures_and_unknown_ones_are_left_out():
    figures = Figures(sessions=2, sessions_done=1, failed=["One: it was refused"])
    nothing = report_text(report_of(figures, 2.0))
    assert "latency" not in nothing
    assert "again      nothing" in nothing
    for number in range(1, 101):
        figures.appended(2, 1, number / 1_000)
    figures.retries["503"] += 3
    report = report_of(figures, 10.0)
    assert (report.p50_ms, report.p95_ms, report.appends_per_second) == (50.0, 95.0, 10.0)
    assert "rows       200 stored, 100 were there already" in report_text(report)
    assert "given up   One: it was refused" in report_text(report)
    assert progress_text(report) == "1 of 2 sessions · 200 rows · 0 turns · 10.0 appends/s · p95 95 ms · 3 tried again"
    assert percentile_ms([], 50) is None


def test_latencies_are_sorted_once_for_all_figures_of_a_report():
    sorts = []

    class Second(float):
        def __lt__(self, other):
            sorts.append(1)
            return float(self) < other

    figures = Figures(append_seconds=[Second(number) for number in range(100)])
    report = report_of(figures, 1.0)
    assert (report.p50_ms, report.p95_ms) == (49_000.0, 94_000.0)
    # A list that rises is sorted with one comparison less than it has values.
    assert len(sorts) == 99

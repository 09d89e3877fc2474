import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.pages.occupancy import share_ticks
from sessions_app.rendering.curve import MAX_POINTS, Point, draw_curve, draw_sparkline, thin_out
from sessions_app.rendering.gauge import Zone, draw_gauge
from sessions_app.rendering.rail import Mark, lay_out
from sessions_app.templatetags.charts import PLOT_HEIGHT, end_label, has_mark

shares = st.one_of(st.none(), st.floats(0, 300, allow_nan=False))


def points_of(values):
    return [Point(seq, value) for seq, value in enumerate(values, start=1)]


def test_unknown_points_break_the_line_and_leave_a_gap():
    curve = draw_curve(points_of([10.0, 20.0, None, None, 30.0, 40.0]))
    assert curve.path.count("M") == 2
    assert len(curve.gaps) == 1
    assert curve.gaps[0].left_pct == curve.left_pct(2)


def test_a_session_of_which_nothing_is_known_has_no_line():
    curve = draw_curve(points_of([None, None, None]))
    assert curve.path == ""
    assert curve.gaps[0].width_pct == 100.0


@given(st.lists(shares, min_size=1, max_size=50))
def test_every_known_point_is_drawn_inside_the_box(values):
    curve = draw_curve(points_of(values))
    for place in curve.path.replace("M", "L").split("L")[1:]:
        x, y = map(float, place.split())
        assert 0 <= x <= 1_000
        assert 0 <= y <= 100


def at_random(few, count, seed):
    """Values drawn as a few, mixed with others: choosing each of a thousand by itself takes a hundred times as long."""
    chance = random.Random(seed)
    return [chance.choice((chance.choice(few), chance.choice(few), chance.uniform(0, 300))) for _ in range(count)]


@given(st.lists(shares, min_size=1, max_size=20), st.integers(MAX_POINTS + 1, 3 * MAX_POINTS), st.integers(0))
def test_thinning_keeps_the_ends_the_extremes_and_every_unknown_point(few, count, seed):
    points = points_of(at_random(few, count, seed))
    thinned = thin_out(points)
    assert [point.seq for point in thinned] == sorted({point.seq for point in thinned})
    assert {points[0], points[-1]} <= set(thinned)
    assert [point for point in points if point.pct is None] == [point for point in thinned if point.pct is None]
    known = [point.pct for point in points if point.pct is not None]
    kept = [point.pct for point in thinned if point.pct is not None]
    assert not known or (min(known), max(known)) == (min(kept), max(kept))


def test_a_sparkline_of_nothing_known_is_none():
    assert draw_sparkline([None, None]) is None


def test_a_sparkline_near_the_threshold_is_hot():
    assert draw_sparkline([10.0, 95.0]).is_hot
    assert not draw_sparkline([10.0, 85.0]).is_hot


def test_gauge_segments_follow_each_other_and_fill_the_used_part():
    gauge = draw_gauge(((Zone.HEAD, 100), (Zone.SUMMARY, 0), (Zone.MIDDLE, 300), (Zone.TAIL, 100)), 800, 1_000, 62.5)
    assert [segment.zone for segment in gauge.segments] == [Zone.HEAD, Zone.MIDDLE, Zone.TAIL]
    assert [segment.left_pct for segment in gauge.segments] == [0.0, 10.0, 40.0]
    assert gauge.threshold_pct == 80.0
    assert gauge.used_tokens == 500


def test_a_gauge_without_window_and_threshold_is_as_long_as_what_is_there():
    gauge = draw_gauge(((Zone.HEAD, 50), (Zone.TAIL, 150)), None, None, None)
    assert sum(segment.width_pct for segment in gauge.segments) == 100.0
    assert gauge.threshold_pct is None


def marks_at(*places, current=None):
    return [
        Mark(number, "micro", "", "/", place, place, is_current=number == current)
        for number, place in enumerate(places, start=1)
    ]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=100))
def test_marks_stay_on_the_rail_and_in_order(places):
    laid = lay_out(marks_at(*sorted(places)))
    shown = [mark.shown_pct for mark in laid]
    assert shown == sorted(shown)
    assert min(shown) >= 0
    assert max(shown) <= 100


def test_neighbours_are_pushed_apart_and_keep_a_leader():
    first, second = lay_out(marks_at(50.0, 50.1))
    assert second.shown_pct - first.shown_pct >= 0.8
    assert second.is_moved


def test_the_current_mark_always_has_its_number():
    laid = lay_out(marks_at(*[10 + place / 10 for place in range(20)], current=7))
    assert laid[6].has_label
    assert laid[6].has_narrow_label
    assert sum(mark.has_label for mark in laid) < len(laid)


@pytest.mark.parametrize(("share", "side"), [(60.0, "above"), (98.0, "below"), (104.0, "below"), (5.0, "above")])
def test_the_figure_at_the_end_of_a_curve_keeps_away_from_the_label_of_the_threshold(share, side):
    curve = draw_curve([Point(1, 0.0), Point(2, share)], 112.0)
    end = curve.last_down_pct * PLOT_HEIGHT / 100
    assert (end_label(curve, share_ticks(curve)) > end) is (side == "below")


def test_a_legend_says_what_stands_on_the_rail():
    laid = lay_out(marks_at(10.0, 20.0))
    assert has_mark(laid, laid[0].icon)
    assert not has_mark(laid, "batch")

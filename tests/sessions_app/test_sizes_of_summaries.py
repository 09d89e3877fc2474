"""The chart of the sizes of a summary's versions: gaps where a size is unknown, and a scale of round numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.pages.summary_sizes import Size, draw_sizes, round_half


def chart_of(*tokens, defrag=None):
    return draw_sizes([Size(number, one, False) for number, one in enumerate(tokens, 1)], defrag)


def test_a_version_of_unknown_size_breaks_the_line():
    chart = chart_of(100, 200, None, 150, 120)
    assert chart.path.count("M") == 2
    assert [dot.number for dot in chart.dots] == [1, 2, 4, 5]


def test_of_sizes_that_are_all_unknown_nothing_is_drawn():
    assert chart_of(None, None) is None


def test_the_line_of_the_defrag_threshold_lies_where_a_version_of_that_size_would():
    chart = chart_of(500, 2_000, defrag=2_000)
    assert chart.defrag_down_pct == chart.dots[1].down_pct
    assert chart_of(500, 2_000).defrag_down_pct is None


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=60))
def test_every_dot_and_the_scale_lie_inside_the_box(sizes):
    chart = chart_of(*sizes)
    assert all(0 <= place <= 100 for dot in chart.dots for place in (dot.left_pct, dot.down_pct))
    assert all(0 <= tick.down_pct <= 100 for tick in chart.ticks)


@pytest.mark.parametrize(("top", "half"), [(2_661, 1_000), (4_000, 2_000), (120, 50), (11, 5), (1.2, 1), (20, 10)])
def test_the_scale_names_a_round_number_up_to_half_the_height(top, half):
    assert round_half(top) == half

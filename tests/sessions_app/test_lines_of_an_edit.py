"""Both sides of an edit beside each other: nothing is lost, what stays is opposite to itself."""

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.pages.edit_lines import EditLine, Fold, set_beside

KEPT, LEAVES, ENTERS = "", "−", "+"


def line(sign, position, role="assistant"):
    return EditLine(sign, str(position), position, position, role, "words", False, 10, role == "user")


def sides(signs):
    """Rows in order: what was there before, and what is there after."""
    rows = [line(sign, position) for position, sign in enumerate(signs)]
    return [row for row in rows if row.sign != ENTERS], [row for row in rows if row.sign != LEAVES]


@given(st.lists(st.sampled_from((KEPT, LEAVES, ENTERS)), max_size=40))
def test_the_bands_are_both_sides_again_and_same_ones_hold_what_stays(signs):
    before, after = sides(signs)
    bands = set_beside(before, after)
    assert [one for band in bands for one in band.before] == before
    assert [one for band in bands for one in band.after] == after
    for band in bands:
        assert band.is_same == (band.before == band.after)
        assert band.is_same == all(not one.sign for one in (*band.before, *band.after))


def test_what_enters_stands_opposite_to_what_left():
    first, last = line(KEPT, 1, "user"), line(KEPT, 5, "user")
    gone, new = (line(LEAVES, 2), line(LEAVES, 3)), line(ENTERS, 2, "summary")
    _, changed, _ = set_beside([first, *gone, last], [first, new, last])
    assert (changed.before, changed.after) == (gone, (new,))
    assert (changed.archived_rows, changed.superseded) == (2, "")


def test_a_summary_that_leaves_alone_is_named_and_is_no_archived_row():
    old, kept = line(LEAVES, 1, "summary"), line(KEPT, 2, "user")
    band, _ = set_beside([old, kept], [kept])
    assert (band.archived_rows, band.superseded) == (0, "1")


def test_a_fold_counts_all_the_rows_it_stands_for():
    fold = Fold(90, 10, 99, True, False)
    (band,) = set_beside([line(LEAVES, 9), fold], [line(ENTERS, 9, "summary")])
    assert band.archived_rows == 91

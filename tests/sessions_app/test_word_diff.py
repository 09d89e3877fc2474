from hypothesis import given
from hypothesis import strategies as st

from sessions_app.rendering.word_diff import Change, LineKind, changes, compare_words, set_text

texts = st.text(alphabet="ab c\n-#`文字。", max_size=80)


def side(before, after, dropped):
    return "".join(text for change, text in changes(before, after) if change is not dropped)


@given(texts, texts)
def test_both_texts_can_be_read_off_the_diff(before, after):
    assert side(before, after, Change.INSERTED) == before
    assert side(before, after, Change.REMOVED) == after


@given(texts)
def test_a_text_compared_with_itself_has_no_change(text):
    diff = compare_words(text, text)
    assert (diff.words_inserted, diff.words_removed) == (0, 0)
    assert all(piece.change is Change.KEPT for line in diff.lines for piece in line.pieces)


def test_only_the_word_that_changed_is_marked():
    diff = compare_words("- keep the old code", "- keep the new code")
    assert [(piece.change, piece.text.strip()) for piece in diff.lines[0].pieces] == [
        (Change.KEPT, "keep the"),
        (Change.REMOVED, "old"),
        (Change.INSERTED, "new"),
        (Change.KEPT, "code"),
    ]
    assert diff.kept_pct == 75.0


def test_chinese_is_compared_by_character():
    diff = compare_words("我们决定使用重试", "我们决定不使用重试")
    inserted = [piece.text for line in diff.lines for piece in line.pieces if piece.change is Change.INSERTED]
    assert inserted == ["不"]


def test_headings_and_items_are_told_apart():
    kinds = [line.kind for line in set_text("## Key Decisions\n- one\nplain")]
    assert kinds == [LineKind.HEADING, LineKind.ITEM, LineKind.TEXT]


def test_words_between_backticks_are_code():
    pieces = set_text("run `make test` now")[0].pieces
    assert [(piece.text, piece.is_code) for piece in pieces] == [("run ", False), ("make test", True), (" now", False)]


def test_a_first_version_keeps_no_share_of_nothing():
    assert compare_words("", "all new").kept_pct is None


def test_very_long_texts_are_compared_by_line():
    before = " ".join(f"w{number}" for number in range(5_000))
    diff = compare_words(before, before.replace("w17 ", "changed "))
    assert diff.words_removed == 5_000

"""How texts are cut into words, what queries mean, and what a snippet marks: pure functions, no database."""

import pytest

from sessions_app.search.query import ONLY_EXCLUDED, read_query
from sessions_app.search.snippet import snippet_of
from sessions_app.search.vector import FIRST_WORDS, LAST_WORDS, MOST_WORDS, vector_of
from sessions_app.search.words import MOST_CHARS_OF_WORD, words_of


def forms(text):
    return [word.forms for word in words_of(text)]


def asked(text):
    return read_query(text).expression()


def marked(text, query):
    snippet = snippet_of([text], read_query(query).wanted)
    return None if snippet is None else [piece.text for piece in snippet.pieces if piece.is_marked]


def places(vector):
    return {int(place) for word in vector.split() for place in word.rpartition(":")[2].split(",") if place.isdigit()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße ÉCOLE", [("strasse",), ("ecole",)]),
        ("cafe\u0301 caf\u00e9", [("cafe",), ("cafe",)]),
        ("ｆｕｌｌ ﬁne", [("full",), ("fine",)]),
        ("ze\u200bro\u00ad \u202eabc\u202c", [("zero",), ("abc",)]),
        ("src/a_b.py:12", [("src",), ("a",), ("b",), ("py",), ("12",)]),
        ("TypeError", [("typeerror", "type", "error")]),
        ("HTTPServer", [("httpserver", "http", "server")]),
        ("数据库", [("数据",), ("据库",), ("库",)]),
        ("v2数据", [("v2",), ("数据",), ("据",)]),
        ("... --- !!! \U0001f600", []),
    ],
)
def test_a_text_is_cut_into_words_without_case_width_accents_and_invisible_characters(text, expected):
    assert forms(text) == expected


def test_a_word_of_any_length_is_known_by_its_beginning():
    assert forms("x" * 100_000) == [("x" * MOST_CHARS_OF_WORD,)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("retry", "('retry':*)"),
        ("go", "('go')"),
        ("go*", "('go':*)"),
        ('"retry"', "('retry')"),
        ("one two", "('one':*) & ('two':*)"),
        ('"one two"', "('one' <-> 'two')"),
        ("“one two”", "('one' <-> 'two')"),
        ('"never closed', "('never' <-> 'closed')"),
        ("one -two", "('one':*) & !('two':*)"),
        ('one -"two three"', "('one':*) & !('two' <-> 'three')"),
        ("--no-verify", "('no' <-> 'verify':*)"),
        ("src/app.py", "('src' <-> 'app' <-> 'py')"),
        ("E0382", "('e0382':*)"),
        ("检索", "('检索')"),
        ("数据库", "('数据' <-> '据库')"),
        ("数", "('数':*)"),
        ("a'b & c | !d <-> e:*\\", "('a' <-> 'b') & ('c') & ('d') & ('e')"),
    ],
)
def test_a_query_means_what_the_help_says(query, expected):
    assert asked(query) == expected


@pytest.mark.parametrize("query", ["", "   ", "!!!", '""', "-", "\u200b", "\U0001f600"])
def test_a_query_without_a_letter_or_digit_says_so(query):
    assert "needs a letter" in read_query(query).problem


def test_a_query_that_only_excludes_says_so():
    assert read_query("-one -two").problem == ONLY_EXCLUDED


def test_the_name_of_a_session_can_not_be_typed_as_a_word():
    assert asked("@s1") == "('s1')"


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("the Retries of a retry", "retr*", ["Retries", "retry"]),
        ("import the port", "port", ["port"]),
        ("open src/app.py now", "src/app.py", ["src/app.py"]),
        ("一个数据库的问题", "数据库", ["数据库"]),
        ("raise TypeError(x)", "error", ["TypeError"]),
        ("nothing of it", "else", None),
    ],
)
def test_marks_stand_on_what_was_found_and_nowhere_else(text, query, expected):
    assert marked(text, query) == expected


def test_a_snippet_is_cut_around_the_first_hit_of_a_long_text():
    snippet = snippet_of(["word " * 9_000 + "needle here " + "word " * 9_000], read_query("needle").wanted)
    assert snippet.starts_inside and snippet.ends_inside
    assert snippet.first_char == 45_000
    assert sum(len(piece.text) for piece in snippet.pieces) < 300


@pytest.mark.parametrize(
    "text",
    [
        "w%d " * 60_000 % tuple(range(60_000)),
        "数据库里的问题" * 20_000,
        "Ab1/" * 500_000,
        "x" * 5_000_000,
        "ﷺ½" * 40_000,
    ],
    ids=["words", "chinese", "pieces", "one word", "ligatures"],
)
def test_no_text_makes_more_of_an_index_entry_than_the_limit(text):
    vector = vector_of([text, text], ["@s1"])
    assert max(places(vector)) <= MOST_WORDS + 2 < 16_383
    assert len(vector.encode()) < 1_000_000


def test_the_beginning_and_the_end_of_a_long_text_are_indexed():
    words = [f"w{number}" for number in range(9_000)]
    vector = vector_of([" ".join(["first", *words * 3, "last"])], [])
    assert "first:1 " in vector and "last:" in vector
    assert FIRST_WORDS + LAST_WORDS == MOST_WORDS


def test_a_phrase_does_not_reach_from_one_text_of_a_row_into_the_next():
    assert vector_of(["one", "two"], []) == "one:1 two:3"

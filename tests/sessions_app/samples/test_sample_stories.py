"""Reading and telling stories: what the form allows, and how it refuses the rest."""

import subprocess
import sys

import pytest

from sessions_app.samples.catalogue import NAMES, sample_session, story_named
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.clock import time_phase
from sessions_app.samples.drafts import Piece
from sessions_app.samples.generator import generate
from sessions_app.samples.patches import unified_diff
from sessions_app.samples.placeholders import UnknownFact, find_slip, resolve
from sessions_app.samples.replies import RepliesError, read_replies
from sessions_app.samples.sharing import Demand, share_out
from sessions_app.samples.story_text import StoryError, read_story
from sessions_app.samples.tools import UnknownVerb

HEAD = """id: s1
title: A story
model: m
start: 2026-11-24T08:00:00Z
cwd: /home/x
system:
| Be careful.
"""
PHASE = "== work tokens=2000 hours=0.5\n"
TURN = """>> 1.5 pause=10
Look at messages.
--
? Which file?
Reading.
! read compaction/messages.py Row
! sh exit=1 ls nowhere
| nothing there
~ listing compaction
--
It holds.
- one
- two
"""


def test_a_story_is_read_into_values():
    story = read_story(HEAD + PHASE + TURN)
    (turn,) = story.turns
    assert (turn.request, turn.weight, turn.pause_seconds) == ("Look at messages.", 1.5, 600)
    first, last = turn.steps
    assert (first.prose, first.reasoning) == ("Reading.", "Which file?")
    read, shell = first.calls
    assert (read.verb, read.words) == ("read", "compaction/messages.py Row")
    assert shell.exit_code == 1 and [segment.filler for segment in shell.segments] == ["", "listing"]
    assert last.prose == "It holds.\n- one\n- two" and not last.calls


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("title: x\n" + PHASE + TURN, "line 1: the header lacks cwd, id, model, start, system"),
        (HEAD + "nonsense\n" + PHASE + TURN, "line 8: expected `key: value`"),
        (HEAD + "== work tokens=many hours=1\n" + TURN, "line 8: a phase needs tokens=N and hours=N"),
        (HEAD + PHASE, "line 8: a phase without turns"),
        (HEAD + PHASE + ">> 1\nAsk.\n--\n! sh ls\n", "line 9: a turn is a request"),
        (HEAD + PHASE + TURN.replace("| nothing there", "nothing there"), "line 16: neither answer nor patch"),
    ],
)
def test_a_story_that_breaks_the_form_is_refused_with_its_line(text, problem):
    with pytest.raises(StoryError) as refused:
        read_story(text)
    assert str(refused.value).startswith(problem)


def test_a_call_that_does_not_exist_is_refused(checkout, counter):
    with pytest.raises(UnknownVerb, match="! reed: known are"):
        generate(read_story(HEAD + PHASE + TURN.replace("! read", "! reed")), checkout, counter)


def test_a_filler_that_does_not_exist_is_refused(checkout, counter):
    with pytest.raises(UnknownVerb, match="~ listings: known are"):
        generate(read_story(HEAD + PHASE + TURN.replace("~ listing", "~ listings")), checkout, counter)


@pytest.mark.parametrize("name", NAMES)
def test_the_stories_follow_their_form(name):
    story = story_named(name)
    assert len(story.turns) >= 20


def test_the_stories_speak_of_this_checkout(counter):
    checkout = Checkout()
    for name in NAMES:
        sample_session(name, checkout, counter)
    # A rename here and there may run ahead of the stories; `write_samples` tells which ones.
    assert len([place for place in checkout.missing if " " not in place]) <= 5


def test_a_fact_of_the_checkout_is_filled_in(checkout):
    text = resolve(
        checkout, "{{name compaction/messages.py RowKind}} stands at {{line compaction/messages.py RowKind}}"
    )
    number = next(
        n for n, line in enumerate(checkout.files["compaction/messages.py"].lines, 1) if "class RowKind" in line
    )
    assert text == f"RowKind stands at {number}"


def test_a_fact_nobody_knows_is_refused(checkout):
    with pytest.raises(UnknownFact, match="known are"):
        resolve(checkout, "{{colour compaction/messages.py RowKind}}")


def test_a_symbol_that_was_renamed_is_replaced_by_the_nearest_and_reported():
    copy = Checkout()
    assert copy.symbol("compaction/messages.py", "RowKnid").name == "RowKind"
    assert "compaction/messages.py RowKnid" in copy.missing


def test_a_slip_is_one_small_mistake_in_a_statement(checkout):
    copy = checkout.working_copy()
    copy.write("x.py", ["def f(a):\n", '    """Never a < b."""', "    # a < b", "    return a < 3"])
    slip = find_slip(copy.working_copy(), "x.py", "f")
    assert (slip.line, slip.wrong) == (4, "    return a <= 3")


def test_a_patch_whose_result_is_on_disk_is_read_as_it_was_before(counter):
    checkout = Checkout()
    checkout.write("x.py", ["one = 1", "two = 2", "three = 3"])
    turn = ">> 1\nChange it.\n--\n! read x.py\n--\n! patch x.py\n- two = 0\n+ two = 2\n! read x.py\n--\nDone.\n"
    session = generate(read_story(HEAD + PHASE + turn), checkout.working_copy(), counter)
    first, patch, second = (row.message.text for row in session.rows if row.message.name)
    assert "    2|two = 0" in first and "    2|two = 2" in second
    assert "\n one = 1\n-two = 0\n+two = 2\n three = 3\n" in patch


def test_a_file_that_a_story_writes_is_there_from_then_on(counter):
    write = "! write tests/test_new.py\n| def test_it():\n|     assert True\n"
    turn = f">> 1\nTest it.\n--\n{write}--\n! patch tests/test_new.py\n+ def test_more():\n+     assert 1\n"
    turn += "! test tests/test_new.py\n--\nGreen.\n"
    checkout = Checkout()
    session = generate(read_story(HEAD + PHASE + turn), checkout, counter)
    tested = next(row.message.text for row in session.rows if row.message.name == "run_tests")
    assert "test_new.py::test_it PASSED [ 50%]" in tested and "test_new.py::test_more PASSED [100%]" in tested
    assert "==== 2 passed in" in tested and "tests/test_new.py" not in checkout.files


def test_a_diff_stat_tells_what_the_session_has_edited_so_far(counter):
    stat = "! sh git diff --stat\n~ changes .\n"
    write = "! write new.txt\n| one\n| two\n"
    patch = "! patch x.py\n- two = 2\n+ two = 20\n+ three = 3\n"
    text = HEAD + PHASE + f">> 1\nEdit.\n--\n{write}{stat}--\n{patch}{stat}--\nDone.\n"
    checkout = Checkout()
    checkout.write("x.py", ["one = 1", "two = 2"])
    session = generate(read_story(text), checkout.working_copy(), counter)
    first, second = (row.message.text.split("\n{")[0] for row in session.rows if row.message.name == "terminal")
    assert first.endswith("|   2 ++\n 1 files changed, 2 insertions(+), 0 deletions(-)")
    assert "|   3 ++-\n" in second and second.endswith(" 2 files changed, 4 insertions(+), 1 deletions(-)")


def test_a_command_takes_as_long_as_the_story_says(counter):
    text = HEAD + PHASE + ">> 1\nBuild.\n--\n! sh exit=2 took=64.5 make\n| failed\n--\nIt failed.\n"
    session = generate(read_story(text), Checkout(), counter)
    (build,) = (row for row in session.rows if row.message.name == "terminal")
    assert build.seconds == 64.5 and build.message.text == 'failed\n{"exit_code": 2, "seconds": 64.5}'


def test_a_story_can_play_before_some_files_existed(checkout, counter):
    hidden, next_one = (file.path for file in checkout.below("compaction")[:2])
    text = (HEAD + PHASE + TURN).replace("cwd:", f"hidden: {hidden}\ncwd:")
    session = generate(read_story(text), Checkout(), counter)
    listing = next(row.message.text for row in session.rows if row.message.name == "terminal").splitlines()
    assert next_one in listing and hidden not in listing


def test_a_diff_keeps_what_both_sides_share_as_context():
    lines = ["a", "b", "c", "d", "e"]
    assert unified_diff("x.py", lines, 2, ["b", "c"], ["b", "C"]) == (
        "--- a/x.py",
        "+++ b/x.py",
        "@@ -1,5 +1,5 @@",
        " a",
        " b",
        "-c",
        "+C",
        " d",
        " e",
    )


def test_a_piece_shows_what_stands_before_it_only_when_there_is_room():
    piece = Piece(("c", "d"), is_elastic=True, least=1, lead=("a", "b"))
    assert [piece.shown(count) for count in (1, 2, 3, 4)] == [
        ("c",),
        ("c", "d"),
        ("b", "c", "d"),
        ("a", "b", "c", "d"),
    ]


def test_shares_add_up_and_respect_what_each_can_take():
    demands = [Demand(1, 50, 100), Demand(1, 300, 900), Demand(2, 50, 2_000)]
    shares = share_out(1_200, demands)
    assert sum(shares) == pytest.approx(1_200, abs=1)
    assert shares[0] == pytest.approx(100) and shares[2] == pytest.approx(2 * shares[1], abs=1)


def test_shares_never_ask_for_more_than_there_is():
    assert share_out(10_000, [Demand(1, 0, 30), Demand(1, 0, 40)]) == (30, 40)


def test_a_phase_lasts_exactly_as_long_as_it_should(checkout, counter):
    from random import Random

    story = read_story(HEAD + PHASE + TURN + TURN)
    session = generate(story, checkout, counter)
    timed = list(time_phase(story.phases[0], session.turns, 100.0, Random(1), has_begun=True))
    assert timed[-1].rows[-1].at - 100.0 == pytest.approx(1_800)


def test_replies_build_on_each_other():
    script = "\n@absorb 1.5\n## A\n- one\n@error timeout 30\n@absorb 2\n## A\n- two\n@echo 1\n@rewrite 1\n## A\n- both"
    texts = [reply.get("text", reply.get("error")) for reply in read_replies(script)]
    assert texts == ["## A\n- one", "timeout", "## A\n- one\n- two", "## A\n- one\n- two", "## A\n- both"]


def test_a_reply_that_does_not_exist_is_refused():
    with pytest.raises(RepliesError, match="@shout"):
        list(read_replies("\n@shout 1\n## A"))


def test_the_generators_know_nothing_of_the_site():
    code = "import sys, sessions_app.samples.catalogue, sessions_app.samples.many_rows; print('django' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

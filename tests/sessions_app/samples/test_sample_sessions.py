"""What the samples promise: length, shape, and that they are valid sessions."""

import re

import pytest
from sample_validity import assert_valid

from compaction.messages import Role
from compaction.tokens import row_tokens
from sessions_app.samples.catalogue import CHINESE, COMPACTED, FAILING, LONG, NAMES, sample_session
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.patches import plant_slips
from sessions_app.samples.placeholders import find_slip

MORNING_TURNS = 45


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_a_valid_session(tell, name):
    assert_valid(tell(name).rows)


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_as_long_as_its_story_says(tell, name):
    session = tell(name)
    wanted = sum(phase.tokens for phase in session.story.phases)
    assert session.tokens == pytest.approx(wanted, rel=0.01)
    seconds = session.rows[-1].at - session.story.started_at
    assert seconds == pytest.approx(sum(phase.seconds for phase in session.story.phases), abs=1)


def test_the_long_session_has_120_turns_in_ten_hours_and_200_000_tokens(tell, counter):
    session = tell(LONG)
    assert len(session.turns) == 120
    assert sum(row_tokens(row.message, counter) for row in session.rows) == pytest.approx(200_000, rel=0.01)
    assert session.rows[-1].at - session.rows[0].at == pytest.approx(36_000, abs=1)


def test_the_long_session_begins_with_a_review_of_75_000_tokens_in_three_and_a_half_hours(tell):
    session = tell(LONG)
    review = [turn for turn in session.turns if turn.phase == "review"]
    assert len(review) == MORNING_TURNS
    assert session.system.tokens + sum(turn.tokens for turn in review) == pytest.approx(75_000, rel=0.01)
    assert review[-1].rows[-1].at - session.rows[0].at == pytest.approx(3.5 * 3_600, abs=1)


def test_the_long_session_is_heavy_with_tools_and_light_with_user_text(tell):
    session = tell(LONG)
    tokens = {role: sum(row.tokens for row in session.rows if row.message.role is role) for role in Role}
    assert tokens[Role.USER] <= 0.06 * session.tokens
    assert tokens[Role.TOOL] >= 0.6 * session.tokens
    assert sum(len(row.message.tool_calls) > 1 for row in session.rows) >= 60


def test_no_turn_of_the_long_session_is_out_of_proportion(tell):
    session = tell(LONG)
    assert session.system.tokens + session.turns[0].tokens <= 0.25 * 320_000
    assert max(turn.tokens for turn in session.turns) <= 5_000


def test_requests_differ_in_length_and_hardly_ever_in_nothing_else(tell):
    requests = [turn.rows[0].message.text for turn in tell(LONG).turns]
    assert len(set(requests)) == len(requests)
    lengths = sorted(len(request) for request in requests)
    assert lengths[0] < 30 and lengths[-1] > 500


@pytest.mark.parametrize("name", NAMES)
def test_the_same_checkout_tells_the_same_session(tell, counter, name):
    assert sample_session(name, Checkout(), counter) == tell(name)


def test_telling_one_sample_leaves_the_files_of_the_next_alone(checkout, tell):
    before = dict(checkout.files)
    tell(LONG)
    assert checkout.files == before


@pytest.mark.parametrize("kept", [0.75, 0.9])
def test_the_length_holds_when_every_file_gets_shorter(counter, kept):
    changed = Checkout()
    for path, file in list(changed.files.items()):
        changed.write(path, file.lines[: max(1, round(len(file.lines) * kept))])
    session = sample_session(LONG, changed.working_copy(), counter)
    assert session.tokens == pytest.approx(200_000, rel=0.01)
    assert len(session.turns) == 120
    assert_valid(session.rows)


def test_the_length_holds_without_the_tests_and_the_documents(counter):
    installed = Checkout()
    for path in list(installed.files):
        if path.startswith(("tests/", "docs/", "scripts/")):
            del installed.files[path]
    session = sample_session(LONG, installed.working_copy(), counter)
    assert session.tokens == pytest.approx(200_000, rel=0.01)
    assert_valid(session.rows)


def test_a_checkout_without_any_file_still_gives_valid_sessions(tmp_path, counter):
    for name in NAMES:
        session = sample_session(name, Checkout(tmp_path), counter)
        assert_valid(session.rows)


def test_text_follows_the_code(checkout, tell, counter):
    changed = Checkout()
    lines = checkout.files["compaction/messages.py"].lines
    place = next(number for number, line in enumerate(lines) if line.startswith("class Message"))
    changed.write("compaction/messages.py", (*lines[: place + 1], "    # Rewritten since.", *lines[place + 1 :]))
    told_again = sample_session(LONG, changed.working_copy(), counter)
    assert told_again != tell(LONG)
    assert any("Rewritten since." in row.message.text for row in told_again.rows)


def test_what_the_morning_finds_the_afternoon_mends(checkout, tell):
    """Before a mend the session reads the slip, afterwards the line as it is on disk."""
    session = tell(LONG)
    slip = find_slip(checkout, "compaction/exchanges.py", "_collect")
    wrong, right = (re.escape(f"|{line}") for line in (slip.wrong, slip.right))
    reads = [row.message.text for row in session.rows if row.message.name == "read_file"]
    seen = [bool(re.search(wrong, text)) for text in reads if re.search(f"{wrong}|{right}", text)]
    assert seen[0] is True and seen[-1] is False


def test_every_mended_slip_is_one_changed_line(checkout, tell):
    copy = checkout.working_copy()
    plant_slips(tell(LONG).story, copy)
    changed = {path for path, file in copy.files.items() if file != checkout.files[path]}
    assert changed
    for path in changed:
        pairs = zip(copy.files[path].lines, checkout.files[path].lines, strict=True)
        assert 1 <= sum(planted != right for planted, right in pairs) <= 4


@pytest.mark.parametrize("name", NAMES)
def test_no_mark_of_the_story_form_is_left_in_the_text(tell, name):
    for row in tell(name).rows:
        assert "{{" not in row.message.text or row.message.role is Role.TOOL
        assert "{pct}" not in row.message.text and "{count}" not in row.message.text


def test_the_chinese_session_is_chinese(tell):
    said = "".join(row.message.text for row in tell(CHINESE).rows if row.message.role in (Role.USER, Role.ASSISTANT))
    characters = len(re.findall("[\u4e00-\u9fff]", said))
    words = len(re.findall("[A-Za-z]+", said))
    assert characters > 1_500 and characters > 4 * words
    requests = [turn.rows[0].message.text for turn in tell(CHINESE).turns]
    assert all(re.search("[\u4e00-\u9fff]", request) for request in requests)


def test_samples_differ_in_model_and_size(tell):
    assert len({tell(name).story.model for name in NAMES}) == len(NAMES)
    assert tell(CHINESE).tokens < min(tell(FAILING).tokens, tell(COMPACTED).tokens) < tell(LONG).tokens / 3

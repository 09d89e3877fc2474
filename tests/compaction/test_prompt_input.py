"""What a summarizer is given to read is bounded before it is redacted."""

from compaction.messages import Message, Role
from compaction.prompt_input import READ_LIMIT_CHARS, prompt_input
from tests.compaction.transcripts import assistant, result, user


def test_a_short_stretch_is_read_whole():
    messages = (user("a"), assistant("b"), result("1", "c"))
    read = prompt_input(messages)
    assert (read.messages, read.omitted, read.notes) == (messages, 0, ())


def test_of_a_long_stretch_both_ends_are_read_and_the_rest_is_counted():
    messages = [user(f"message {n} " + "word " * 100) for n in range(1_000)]
    read = prompt_input(messages, 50_000)
    assert read.messages[0] == messages[0]
    assert read.messages[-1] == messages[-1]
    assert len(read.messages) + read.omitted == 1_000
    assert read.notes == (f"records left out of the question: {read.omitted}",)
    text = read.text(read.messages, 50_000)
    assert len(text) <= 50_000
    assert f"{read.omitted:,} records in between left out" in text


def test_no_message_stands_on_both_sides_of_the_gap():
    for count in range(1, 12):
        messages = [user(f"{n} " + "x" * 3_000) for n in range(count)]
        read = prompt_input(messages, 5_000)
        texts = [message.text for message in read.messages]
        assert len(texts) == len(set(texts))
        assert len(texts) + read.omitted == count


def test_a_huge_result_is_cut_at_white_space_so_that_no_secret_is_halved():
    key = "sk-ant-api03-" + "a1B2" * 24
    filler = "x" * 40 + " "
    for offset in range(0, 400, 13):
        text = (filler * 1_000)[: READ_LIMIT_CHARS // 2 - offset] + f" {key} " + filler * 2_000
        read = prompt_input([Message(Role.TOOL, text, tool_call_id="1")])
        shown = read.messages[0].text
        assert "a1B2a1B2" not in shown
        assert "characters not read" in shown

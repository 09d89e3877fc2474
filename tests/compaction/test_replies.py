"""Which answers of a summarizer are usable (ENGINE 7.1)."""

import json
from pathlib import Path

import pytest

from compaction.markers import END_MARK, OPENING, summary_message
from compaction.replies import Unusable, Usable, judge_reply
from compaction.summarizer import Purpose, Reply, SummaryRequest

REQUEST = SummaryRequest(Purpose.ABSORB, "role", "Merge the new part of the transcript. " * 20, "", (), 1_500, 2_500)
NOTES = "## Key Decisions\n- keep sqlite"
INPUTS = Path(__file__).parent.parent / "data" / "bugs"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(error="timeout"), "timeout"),
        (Reply(error="http_529"), "http_529"),
        (Reply(text=""), "empty"),
        (Reply(text=None), "empty"),
        (Reply(text=" \n "), "empty"),
        (Reply(text="", reasoning="The user wants a.py"), "thinking_only"),
        (Reply(text="<think>only thoughts</think>"), "thinking_only"),
        (Reply(text="<think>cut off in thought"), "thinking_only"),
        (Reply(text="Half a sen", finish_reason="length"), "length"),
        (Reply(text="Half a sen", finish_reason="max_tokens"), "length"),
        (Reply(text=None, refusal="no"), "refusal"),
        (Reply(text="I'm sorry, I can't summarize this conversation."), "refusal"),
        (Reply(text="抱歉,我无法总结这段对话。"), "refusal"),
        (Reply(text="Error generating summary: timeout"), "error_text"),
        (Reply(text="<html><body>502 Bad Gateway</body></html>"), "error_text"),
        (Reply(text='{"error": {"message": "overloaded"}}'), "error_text"),
        (Reply(text="## Key Decisions\n- none\n\n## Constraints\n(none)\n"), "bare_template"),
        (Reply(text='<tool_call>{"name": "x"}</tool_call>'), "tool_call_markup"),
        (Reply(text=None, has_tool_calls=True), "tool_call_markup"),
        (Reply(text=REQUEST.user), "echo_of_prompt"),
        (Reply(text=f"Sure!\n<transcript_part>\n[USER]: hello\n</transcript_part>\n{NOTES}"), "echo_of_prompt"),
        (Reply(text="I should look at it first.</think>"), "thinking_only"),
        (Reply(text="<|channel|>analysis<|message|>thoughts<|channel|>final<|message|>"), "thinking_only"),
        (Reply(text="Half a sen", finish_reason="MAX_TOKENS"), "length"),
        (Reply(text="", finish_reason="SAFETY"), "refusal"),
        (Reply(text="As an AI language model, I can't do that."), "refusal"),
        (Reply(text="作为一个人工智能语言模型，我无法总结。"), "refusal"),
        (Reply(text="I'm afraid I cannot help with this."), "refusal"),
        (Reply(text="Request timed out."), "error_text"),
        (Reply(text="API Error: 529 overloaded"), "error_text"),
        (Reply(text="Failed to generate summary"), "error_text"),
        (Reply(text="请求超时，请稍后再试"), "error_text"),
        (Reply(text='{"type": "error", "error": {"type": "overloaded_error"}}'), "error_text"),
        (Reply(text='[TOOL_CALLS] [{"name": "read_file"}]'), "tool_call_markup"),
        (Reply(text='```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```'), "tool_call_markup"),
        (Reply(text="## Key Decisions\n- <decision>\n\n## Constraints\n- ...\n- 无\n"), "bare_template"),
        (Reply(text="<running_notes>\nfoo\n</running_notes>"), "echo_of_prompt"),
    ],
)
def test_unusable_answers_have_a_named_reason(reply, reason):
    judged = judge_reply(reply, REQUEST)
    assert isinstance(judged, Unusable)
    assert judged.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        NOTES,
        f"<think>let me see</think>\n{NOTES}",
        f"```markdown\n{NOTES}\n```",
        f"{OPENING}\n{NOTES}\n{END_MARK}",
        f"{NOTES}\n<tool_call>{{}}</tool_call>",
        f"I should keep it short.</think>\n\n{NOTES}",
        f"Sure, I can do that!\n\nHere are the updated notes:\n\n{NOTES}",
        f"以下是更新后的笔记：\n\n{NOTES}",
        f"<|channel|>analysis<|message|>thoughts<|end|><|channel|>final<|message|>{NOTES}<|return|>",
        f"{NOTES}<|im_end|>",
    ],
)
def test_good_notes_are_freed_of_what_does_not_belong_to_them(text):
    assert judge_reply(Reply(text=text, finish_reason="stop"), REQUEST) == Usable(NOTES)


def test_notes_that_speak_of_errors_or_refusals_are_fine():
    for text in ("Error handling: we decided to raise.\n" + NOTES, NOTES + "\n- I can't reproduce the crash"):
        assert isinstance(judge_reply(Reply(text=text), REQUEST), Usable)


def test_secrets_in_an_answer_are_masked():
    judged = judge_reply(Reply(text=f"{NOTES}\n- key sk-ant-api03-{'a1B2' * 12}"), REQUEST)
    assert "[REDACTED]" in judged.text
    assert "a1B2a1B2" not in judged.text


def test_e12_answers_without_usable_content_are_failures_with_distinct_reasons():
    lines = (INPUTS / "E12_summariser_replies.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line) for line in lines if line.strip()]
    judged = [
        judge_reply(
            Reply(
                text=reply.get("content"),
                reasoning=reply.get("reasoning_content"),
                finish_reason=reply.get("finish_reason"),
            ),
            REQUEST,
        )
        for reply in replies
    ]
    reasons = [found.reason if isinstance(found, Unusable) else "usable" for found in judged]
    assert reasons == ["thinking_only", "empty", "thinking_only", "empty", "length", "error_text", "usable"]


def test_e20_the_frame_of_a_quoted_summary_is_not_stored_again():
    earlier = summary_message(NOTES).text
    text = f"PREVIOUSLY: {earlier}\nSTILL IN PROGRESS: src/m5.py"
    judged = judge_reply(Reply(text=text, finish_reason="stop"), REQUEST)
    assert isinstance(judged, Usable)
    assert OPENING not in judged.text
    assert END_MARK not in judged.text
    assert "keep sqlite" in judged.text


def test_a_secret_at_the_place_where_an_unusable_answer_is_cut_is_not_shown_in_part():
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    judged = judge_reply(Reply(text=None, refusal="no " * 60 + secret + " is a key"), REQUEST)
    assert isinstance(judged, Unusable)
    assert secret[:12] not in judged.detail
    assert "[REDACTED]" in judged.detail

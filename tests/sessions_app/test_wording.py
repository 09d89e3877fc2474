"""Texts of the engine that can be said in another language."""

import copy
import pickle

from django.utils import translation

from compaction.policy import CompactionPolicy
from compaction.threshold import Window, effective_threshold
from compaction.wording import worded
from sessions_app.translated import translated


def test_a_wording_is_the_english_text_and_keeps_what_it_was_made_of():
    text = worded("{} of {:,}", "60 %", 200_000)
    assert text == "60 % of 200,000" and f"{text}!" == "60 % of 200,000!"
    assert (text.template, text.figures) == ("{} of {:,}", ("60 %", 200_000))


def test_a_wording_can_be_copied_and_stored():
    text = worded("cap of {:,}", 5)
    assert copy.deepcopy(text).figures == pickle.loads(pickle.dumps(text)).figures == (5,)


def test_every_step_of_a_threshold_is_told_in_the_readers_language():
    policy = CompactionPolicy.from_mapping({"compression": {"threshold": 0.6, "threshold_tokens": 70_000}}).policy
    threshold = effective_threshold(policy, Window(100_000), aux_window_tokens=60_000)
    with translation.override("zh-hans"):
        told = [translated(step.what) for step in threshold.steps]
    assert told == [
        "输入窗口 100,000 的 60 %",
        "75 %，因为窗口小于 512,000",
        "上限 70,000（threshold_tokens）",
        "撰写摘要的模型的窗口",
    ]
    assert translated("words of nobody's") == "words of nobody's"


def test_what_is_wrong_with_a_setting_is_told_in_the_readers_language_with_what_was_written():
    written = {"compression": {"threshold": "plenty", "protect_first_n": 5_000, "their_key": 1, "in_place": True}}
    problems = CompactionPolicy.from_mapping(written).problems
    with translation.override("zh-hans"):
        told = [translated(problem.message) for problem in problems]
    assert told == [
        "'plenty' 不是数字；改用 0.5",
        "5000 超出范围；使用最大值 1000",
        "不认识这个键；它会保留，但不起作用",
        "此处不使用：行从不改写，所以会话始终保留其编号",
    ]

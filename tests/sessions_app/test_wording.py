"""Texts of this program that can be said in another language, also after they were stored."""

import copy
import json
import pickle

import pytest
from django.utils import translation

from compaction.policy import CompactionPolicy
from compaction.threshold import Window, effective_threshold
from compaction.wording import (
    Wording,
    reworded,
    worded,
    wording_from_json,
    wording_from_text,
    wording_to_json,
    wording_to_text,
)
from sessions_app import services
from sessions_app.mapping import storable_json
from sessions_app.models import PolicyRevision, Session
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
        "此处不使用：行从不改写，所以会话始终保留其 id",
    ]


NESTED = worded("{}: {}", worded("row {}", 7), worded("{:,} tokens would become {!r}", 1_000, 'a "{} b'))
SOMEBODYS = '{"says":"{0.__class__}","of":[1]}'


@pytest.mark.parametrize(
    "text", ["", "plain", "a {} b", SOMEBODYS, NESTED, worded("all {}", None), worded("{:.1f}", 0.5)]
)
def test_what_is_stored_of_a_text_gives_the_text_again(text):
    assert wording_from_text(wording_to_text(text)) == text
    kept = json.loads(json.dumps(wording_to_json(text)))
    assert wording_from_json(kept) == text


def test_a_stored_wording_keeps_its_template_and_its_figures():
    for read in (wording_from_text(wording_to_text(NESTED)), wording_from_json(wording_to_json(NESTED))):
        assert read.template == "{}: {}"
        assert [figure.template for figure in read.figures] == ["row {}", "{:,} tokens would become {!r}"]
        assert [figure.figures for figure in read.figures] == [(7,), (1_000, 'a "{} b')]


def test_a_text_of_somebody_elses_is_never_read_as_a_template():
    assert wording_from_text(wording_to_text(SOMEBODYS)).figures == (SOMEBODYS,)


def test_what_is_changed_in_a_wording_is_only_what_came_from_outside():
    changed = reworded(worded("key {} of {}: {}", "key-1", 3, worded("the key {}", "key-2")), str.upper)
    assert changed == "key KEY-1 of 3: the key KEY-2"
    assert changed.template == "key {} of {}: {}"
    assert reworded("plain", str.upper) == "PLAIN"


def test_storable_data_keeps_wordings_and_takes_out_what_no_column_holds():
    kept = storable_json({"detail": worded("there is no {}", "a\x00b")})
    assert kept == {"detail": {"says": "there is no {}", "of": ["a\ufffdb"]}}


@pytest.mark.django_db
def test_columns_give_back_wordings_and_the_texts_that_were_there_before(session):
    Session.objects.filter(pk=session.pk).update(last_error=worded("Pass after turn {}: the session kept changing.", 3))
    stored = Session.objects.get(pk=session.pk).last_error
    assert isinstance(stored, Wording) and stored == "Pass after turn 3: the session kept changing."
    with translation.override("zh-hans"):
        assert translated(stored) == "第 3 轮之后的压缩：会话一直在变化。"
    Session.objects.filter(pk=session.pk).update(last_error="An old sentence.")
    assert Session.objects.values_list("last_error", flat=True).get(pk=session.pk) == "An old sentence."


@pytest.mark.django_db
def test_a_note_of_the_sites_own_is_stored_as_a_wording_and_one_of_a_persons_as_it_was_typed(project):
    services.save_policy(project.pk, {}, None, worded("Back to revision {}", 1))
    services.save_policy(project.pk, {}, None, "Back to revision 1")
    notes = PolicyRevision.objects.filter(project=project).order_by("number").values_list("note", flat=True)
    with translation.override("zh-hans"):
        assert [translated(note) for note in notes] == ["默认值", "回到修订 1", "Back to revision 1"]

"""Every setting changes something that the engine or the site does. The table below has one line per setting: a setting
without a line, and a line whose value changes nothing, fail."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from row_builder import NewMessage, RowBuilder, user

from compaction.batch import BatchPlan, no_need, plan_batch, settle_batch
from compaction.endpoints.endpoint import endpoint_of
from compaction.errors import InvalidPolicy
from compaction.http_main_model import talk_settings
from compaction.http_summarizer import client_settings
from compaction.live_rows import LiveRows
from compaction.main_model import read_main_model
from compaction.messages import Message, Role
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.passes import Settlement
from compaction.policy_reading import read_policy
from compaction.prune import plan_prune
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window, effective_threshold
from sessions_app import services
from sessions_app.main_model.readying import ready_session
from sessions_app.main_model.sending import sending_of
from sessions_app.models import Project, Session
from sessions_app.policy_changes import put
from sessions_app.session_policy import window_of
from sessions_app.setting_paths import EVERY_SETTING
from sessions_app.summarizers import summarizer_for_policy
from tests.compaction.transcripts import COUNTER, assistant, call, result, rows_of, system
from tests.compaction.transcripts import user as asks

MICRO = {"compression.micro_compact": True, "compression.threshold_floor": False, "compression.target_ratio": 0.1}
SMALL = {"compression.threshold_floor": False, "compression.target_ratio": 0.1}
PRUNING = {**SMALL, "compression.proactive_prune_tokens": 1}
SHORT_RESULTS = {**SMALL, "compression.proactive_prune_min_result_chars": 200}
OLLAMA = {"auxiliary.compression.provider": "ollama", "auxiliary.compression.model": "small"}
HERE = {"model.default": "big", "model.base_url": "https://models.example/v1"}


def blocks_of(values):
    blocks: dict[str, Any] = {}
    for path, value in values.items():
        put(blocks, path, value)
    return blocks


def policy_of(values):
    reading = read_policy(blocks_of(values))
    assert not reading.problems, reading.problems
    return reading.policy


def main_of(values):
    reading = read_main_model(blocks_of(values).get("model", {}))
    assert not reading.problems, reading.problems
    return reading.model


def transcript():
    """Twelve turns of one tool call each, 10,000 tokens or so."""
    messages = [system()]
    for number in range(12):
        name, path = f"c{number}", f"/srv/app/part_{number}.py"
        answer = f"{path} " + f"line {number} of the file " * 160
        messages += [asks(f"question {number}"), assistant("", call(name)), result(name, answer), assistant("done")]
    rows = LiveRows(10_000)
    for row in rows_of(*messages):
        rows.insert(row)
    return rows


def context_of(values, window=20_000, **more):
    return make_context(policy_of(values), Window(window), COUNTER, main_model="big-window", **more)


# What is looked at


def threshold(values, window=200_000):
    return effective_threshold(policy_of(values), Window(window), model="big-window").tokens


def small_threshold(values):
    return threshold(values, 100_000)


def needs_no_batch(values):
    return no_need(context_of(values), 1_000_000)


def zones(values):
    found = context_of(values).zones_of(transcript())
    return (found.head_rows, found.tail_rows)


def micro(values, **more):
    plan = plan_micro(transcript(), CompactionState(), context_of(values, **more))
    return (len(plan.exchanges), repr(plan.request)) if isinstance(plan, MicroPlan) else plan.reason


def micro_with_a_warm_cache(values):
    return micro(values, is_cache_cold=False)


def micro_summary(values):
    plan = plan_micro(transcript(), CompactionState(), context_of(values))
    settled = settle_micro(plan, Reply(text="## Key Decisions\n- keep the parser as it is", finish_reason="stop"))
    return settled.record.summary_after


def batch_plan(values):
    plan = plan_batch(transcript(), CompactionState(), context_of(values), now=0.0)
    assert isinstance(plan, BatchPlan)
    return plan


def batch_question(values):
    rows = LiveRows(10_000)
    long = [asks("question")] + [assistant("word " * 60_000), asks("and?")] * 2 + [assistant("done")]
    for row in rows_of(system(), *long):
        rows.insert(row)
    plan = plan_batch(rows, CompactionState(), context_of(values, 100_000), now=0.0)
    assert isinstance(plan, BatchPlan)
    return plan.request.budget_tokens


def batch_summary(values):
    reply = Reply(text="## Key Decisions\n- keep the parser as it is", finish_reason="stop")
    return [row.message.text for row in settle_batch(batch_plan(values), reply).record.edit.inserted]


def pruned(values):
    plan = plan_prune(transcript(), CompactionState(), context_of(values))
    return (len(plan.record.edit.archived), plan.record.tokens_after) if isinstance(plan, Settlement) else plan.reason


def who_summarises(values):
    return type(summarizer_for_policy(policy_of(values), COUNTER)).__name__


def asked_endpoint(values):
    try:
        endpoint = endpoint_of(policy_of(values).auxiliary)
    except InvalidPolicy as error:
        return str(error)
    return (endpoint, client_settings(endpoint).limits)


def talked_to(values):
    model = main_of(values)
    return (model.is_reachable and model.endpoint(), talk_settings(model, is_streamed=True).limits)


# What is looked at in a session


def a_session(values):
    project = services.create_project(f"effects-{Project.objects.count()}", "Effects")
    services.save_policy(project.pk, blocks_of(values), None)
    project.refresh_from_db()
    return services.create_session(project, "x")


def sent_tokens(values):
    rows = RowBuilder(a_session({**values, "model.context_length": 50_000}).pk)
    thought = NewMessage(Message(Role.ASSISTANT, "answer", reasoning="because " * 50))
    rows.append(user("one"), thought, user("two"))
    return sending_of(Session.objects.select_related("project").get(pk=rows.session_id)).tokens


def waited_a_second(values):
    """Whether a request waits for a pass that does not come, while a worker lives."""
    rows = RowBuilder(a_session({**values, "model.context_length": 50_000}).pk)
    rows.append(user("one"), NewMessage(Message(Role.ASSISTANT, "answer")))
    services.finish_turn(rows.session_id)
    with connection.cursor() as cursor:
        cursor.execute("insert into procrastinate_workers (last_heartbeat) values (now())")
    return ready_session(rows.session_id).waited_ms >= 1_000


def window_of_a_session(values):
    return window_of(Session.objects.select_related("project").get(pk=a_session(values).pk))


@dataclass(frozen=True)
class Effect:
    """`value` of a setting changes what `look` sees, on top of other values."""

    value: Any
    look: Any
    on_top_of: dict[str, Any] = field(default_factory=dict)


EFFECTS = {
    "compression.enabled": Effect(False, needs_no_batch),
    "compression.micro_compact": Effect(True, micro, SMALL),
    "compression.micro_compact_every_n_turns": Effect(3, micro, MICRO),
    "compression.micro_compact_max_exchanges": Effect(3, micro, MICRO),
    "compression.micro_compact_defrag_threshold_tokens": Effect(500, micro, MICRO),
    "compression.micro_compact_min_reclaim_tokens": Effect(50_000, micro, MICRO),
    "compression.micro_compact_when": Effect("cache_cold", micro_with_a_warm_cache, MICRO),
    "compression.threshold": Effect(0.9, threshold),
    "compression.threshold_floor": Effect(False, threshold),
    "compression.threshold_minimum_tokens": Effect(80_000, small_threshold),
    "compression.threshold_tokens": Effect(50_000, threshold),
    "compression.model_thresholds": Effect({"big": 0.9}, threshold),
    "compression.target_ratio": Effect(0.4, zones, SMALL),
    "compression.tail_mode": Effect("lean", zones, {**SMALL, "compression.target_ratio": 0.15}),
    "compression.protect_first_n": Effect(8, zones, SMALL),
    "compression.min_tail_user_messages": Effect(6, zones, SMALL),
    "compression.summary_tokens_ceiling": Effect(2_000, batch_question, SMALL),
    "compression.anchor_index_tokens_batch": Effect(0, batch_summary, {**SMALL, "compression.threshold": 0.2}),
    "compression.anchor_index_tokens_micro": Effect(0, micro_summary, MICRO),
    "compression.proactive_prune_tokens": Effect(
        1, pruned, {**SMALL, "compression.proactive_prune_min_result_chars": 200}
    ),
    "compression.proactive_prune_min_result_chars": Effect(200, pruned, PRUNING),
    "compression.proactive_prune_min_reclaim_tokens": Effect(
        10**6, pruned, {**PRUNING, "compression.proactive_prune_min_result_chars": 200}
    ),
    "compression.resend_reasoning": Effect("all", sent_tokens),
    "compression.finalize_wait_seconds": Effect(1, waited_a_second, {"compression.finalize_wait_seconds": 0}),
    "auxiliary.compression.provider": Effect("ollama", who_summarises),
    "auxiliary.compression.model": Effect("other", asked_endpoint, OLLAMA),
    "auxiliary.compression.base_url": Effect("https://models.example/v1", asked_endpoint, OLLAMA),
    "auxiliary.compression.timeout": Effect(7, asked_endpoint, OLLAMA),
    "auxiliary.compression.context_length": Effect(9_000, threshold),
    "auxiliary.compression.key_env": Effect("MY_API_KEY", asked_endpoint, OLLAMA),
    "auxiliary.compression.api_key_secret": Effect("mine", asked_endpoint, OLLAMA),
    "model.default": Effect("other", talked_to, HERE),
    "model.provider": Effect("ollama", talked_to, {"model.default": "big"}),
    "model.base_url": Effect("https://other.example/v1", talked_to, HERE),
    "model.key_env": Effect("MY_API_KEY", talked_to, HERE),
    "model.api_key_secret": Effect("mine", talked_to, HERE),
    "model.context_length": Effect(77_000, window_of_a_session),
    "model.max_tokens": Effect(7_000, window_of_a_session, {"model.context_length": 50_000}),
    "model.timeout": Effect(7, talked_to, HERE),
    "model.read_timeout": Effect(7, talked_to, HERE),
}


def test_no_setting_was_forgotten():
    assert {one.path for one in EVERY_SETTING} == set(EFFECTS)


@pytest.mark.django_db
@pytest.mark.parametrize("path", EFFECTS)
def test_the_setting_changes_what_is_done(path):
    effect = EFFECTS[path]
    before = effect.look(effect.on_top_of)
    assert effect.look({**effect.on_top_of, path: effect.value}) != before

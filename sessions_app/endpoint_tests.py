"""A test of endpoints in the background: each is asked the same question, one after the other.

Must not ask inside a transaction. A call can take as long as its endpoint's time limit, so it is made in a thread of
its own while this one listens for a wish to stop: then the answer is not waited for. What was stored before a crash is
not asked again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final

from compaction.budgets import rolling_output_tokens, rolling_target_tokens
from compaction.endpoint_probe import EndpointProbe, compare_endpoints, probe_endpoint
from compaction.errors import InvalidInput
from compaction.policy import CompactionPolicy
from compaction.prompts import SummaryLimits, absorb_request
from compaction.summarizer import Summarizer, SummaryRequest
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app.models import EndpointTest, JobStatus
from sessions_app.queries.recorded_exchanges import RecordedExchange, usual_exchange
from sessions_app.services.endpoint_tests import (
    begin_endpoint_test,
    finish_endpoint_test,
    is_cancel_requested,
    store_probe,
)
from sessions_app.session_policy import policy_of
from sessions_app.summarizers import asked_place, summarizer_for_policy

# How often a wish to stop is looked for while a call is under way.
LISTEN_SECONDS: Final = 0.5
# The result of an endpoint that could not be asked because of what is written down about it.
NOT_ASKED: Final = "not_asked"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. recorded: the exchange it was made of, None for the made-up one."""

    request: SummaryRequest | None
    recorded: RecordedExchange | None

    def facts(self) -> dict[str, int] | None:
        """Where the recorded exchange stands and how large it is."""
        if self.recorded is None:
            return None
        exchange = self.recorded.exchange
        return {
            "first": self.recorded.first,
            "last": self.recorded.last,
            "rows": len(exchange.rows),
            "tokens": exchange.tokens,
        }


class TestStopped(Exception):
    """Somebody asked the test to stop."""

    __test__ = False


def run_endpoint_test(test_id: int, counter: TokenCounter) -> None:
    """Run a queued test to its end. One that was interrupted goes on with the endpoint it had come to."""
    test = EndpointTest.objects.select_related("project", "session").filter(pk=test_id).first()
    if test is None or test.is_over:
        return
    try:
        _run(test, counter)
    except TestStopped:
        finish_endpoint_test(test, JobStatus.CANCELLED)
    except InvalidInput as error:
        finish_endpoint_test(test, JobStatus.FAILED, error.said)
    except Exception as error:
        finish_endpoint_test(
            test, JobStatus.FAILED, worded("The test ended with a fault of ours ({}).", type(error).__name__)
        )
        raise


def _run(test: EndpointTest, counter: TokenCounter) -> None:
    summarizers = [summarizer_for_policy(policy_of_block(block), counter, test.project_id) for block in test.endpoints]
    question = _question(test, summarizers, counter)
    begin_endpoint_test(test, question.facts())
    for summarizer in summarizers[len(test.report) :]:
        store_probe(test, _asked(test, summarizer, counter, question.request))
    finish_endpoint_test(test, JobStatus.DONE)


def policy_of_block(block: Mapping[str, Any]) -> CompactionPolicy:
    """The policy whose summarizer is the endpoint of an `auxiliary.compression` block."""
    return CompactionPolicy.from_mapping({"auxiliary": {"compression": dict(block)}}).policy


def _question(test: EndpointTest, summarizers: list[Summarizer], counter: TokenCounter) -> Question:
    """The question of the test. Raises InvalidInput when the session it was to come from has none."""
    if not test.is_recorded:
        return Question(None, None)
    found = None if test.session is None else usual_exchange(test.session.pk)
    if found is None:
        raise InvalidInput(
            worded("the session is gone, or has no complete exchange: an answer that a person has followed up")
        )
    limits = limits_of(policy_of(test.project))
    windows = [summarizer.window_tokens for summarizer in summarizers if summarizer.window_tokens]
    messages = [row.message for row in found.exchange.rows]
    request = absorb_request("", messages, limits, counter, min(windows, default=None))
    if request is None:
        raise InvalidInput(worded("a window of {:,} tokens is too small to write summaries", min(windows)))
    return Question(request, found)


def limits_of(policy: CompactionPolicy) -> SummaryLimits:
    """The sizes of a rolling summary under a policy."""
    return SummaryLimits(rolling_target_tokens(policy), rolling_output_tokens(policy))


def _asked(
    test: EndpointTest, summarizer: Summarizer, counter: TokenCounter, request: SummaryRequest | None
) -> dict[str, Any]:
    """The result of one endpoint. Raises TestStopped."""
    place = asked_place(summarizer)
    named = {"provider": place.provider, "address": place.address, "model": summarizer.model}
    try:
        probe = _waited_for(test, summarizer, counter, request)
    except InvalidInput as error:
        return {**named, "is_usable": False, "reason": NOT_ASKED, "detail": error.said}
    return {**named, **asdict(probe)}


def _waited_for(
    test: EndpointTest, summarizer: Summarizer, counter: TokenCounter, request: SummaryRequest | None
) -> EndpointProbe:
    """The probe, made in a thread that touches no database; it is left to itself when somebody asks to stop."""
    if is_cancel_requested(test):
        raise TestStopped
    answers: SimpleQueue[EndpointProbe | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_probed(summarizer, counter, request))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, name=f"endpoint-test-{test.pk}", daemon=True).start()
    while True:
        try:
            answer = answers.get(timeout=LISTEN_SECONDS)
        except Empty:
            if is_cancel_requested(test):
                raise TestStopped from None
            continue
        if isinstance(answer, Exception):
            raise answer
        return answer


def _probed(summarizer: Summarizer, counter: TokenCounter, request: SummaryRequest | None) -> EndpointProbe:
    if request is None:
        return probe_endpoint(summarizer, counter)
    return compare_endpoints((summarizer,), counter, request)[0]

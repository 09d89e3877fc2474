"""Which summarizer is used, by the names that settings and runs give them.

Nothing is contacted unless a provider or an address was set; without one the offline summarizer writes the summaries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from django.conf import settings

from compaction.command_arguments import offline_summarizer
from compaction.endpoints.address import OutboundRules
from compaction.endpoints.endpoint import endpoint_of
from compaction.errors import InvalidInput, InvalidPolicy
from compaction.extractive import ExtractiveSummarizer
from compaction.http_summarizer import HttpSummarizer
from compaction.policy import AuxiliaryModel, CompactionPolicy
from compaction.summarizer import Reply, Summarizer, SummaryRequest
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app.secret_keys import stored_key

EXTRACTIVE: Final = "extractive"
HTTP: Final = "http"
# Providers that stand for "what this installation has", which without an address is the offline summarizer.
_OFFLINE_PROVIDERS: Final = frozenset({"", "auto", EXTRACTIVE})
NO_ENDPOINT: Final = "no_endpoint"


class MisconfiguredSummarizer:
    """Stands for an endpoint that can't be asked because of its settings: every question fails and says why."""

    def __init__(self, model: str, why: str) -> None:
        self._model, self._why = model, why

    @property
    def model(self) -> str:
        """The model as set."""
        return self._model

    @property
    def window_tokens(self) -> int | None:
        """Nothing is known of it."""
        return None

    def ask(self, request: SummaryRequest) -> Reply:
        """A reply that says what is wrong with the settings."""
        return Reply(error=NO_ENDPOINT, error_detail=self._why)


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """Where a summarizer asks, as the ledger of calls names it. address: without its query, which may hold a key;
    empty when nobody is contacted. cost_usd: what a call costs there whatever it holds, None when that depends."""

    provider: str = ""
    address: str = ""
    cost_usd: Decimal | None = None


def asked_place(summarizer: Summarizer) -> AskedPlace:
    """The place of `summarizer`; one without a name for summarizers that are told what to say."""
    if isinstance(summarizer, ExtractiveSummarizer):
        return AskedPlace(EXTRACTIVE, cost_usd=Decimal(0))
    if not isinstance(summarizer, HttpSummarizer):
        return AskedPlace()
    return AskedPlace(summarizer.endpoint.provider, summarizer.endpoint.shown_address)


def summarizer_for_policy(policy: CompactionPolicy, counter: TokenCounter, project_id: int | None = None) -> Summarizer:
    """The summarizer for recorded passes under `policy`. Settings that name no endpoint make passes fail with their
    reason; they never make the turn fail. project_id: whose stored keys may be named; without one there are none."""
    auxiliary = policy.auxiliary
    if is_offline(auxiliary):
        return ExtractiveSummarizer(counter)
    try:
        key = None if project_id is None else stored_key(project_id, auxiliary.key_secret)
        # As a stream, so that the ledger knows the time to the first token.
        return HttpSummarizer(endpoint_of(auxiliary), settings.OUTBOUND_RULES, stored_key=key, is_streamed=True)
    except InvalidPolicy as error:
        return MisconfiguredSummarizer(auxiliary.model, error.said)


def is_offline(auxiliary: AuxiliaryModel) -> bool:
    """Whether nobody is to be contacted. A model without an address is no such wish: its passes say what is missing."""
    provider = auxiliary.provider.strip().lower()
    if auxiliary.base_url or provider not in _OFFLINE_PROVIDERS:
        return False
    return provider == EXTRACTIVE or not auxiliary.model.strip()


def summarizer_for_run(name: str, counter: TokenCounter) -> Summarizer:
    """The summarizer of a simulated replay. Raises InvalidInput for a name that is none."""
    if name != EXTRACTIVE:
        raise InvalidInput(worded("unknown summarizer {!r}, expected {}", name, EXTRACTIVE), "summarizer")
    return ExtractiveSummarizer(counter)


def summarizer_for_command(spec: str, counter: TokenCounter, policy: CompactionPolicy) -> Summarizer:
    """The summarizer a command line names: `extractive`, `scripted:FILE`, or `http` for the endpoint of `policy`.

    Raises InvalidInput for anything else, and for settings that name no endpoint.
    """
    if spec == HTTP:
        return HttpSummarizer(endpoint_of(policy.auxiliary), operator_rules())
    return offline_summarizer(spec, counter, (HTTP,))


def operator_rules() -> OutboundRules:
    """What whoever may run commands on this machine may reach: also the machine and its network, with any key. A list
    of allowed hosts holds for them too, and what is never contacted is not contacted for them either."""
    rules: OutboundRules = settings.OUTBOUND_RULES
    return replace(rules, allow_loopback=True, allow_private=True, keys=("*@*",))

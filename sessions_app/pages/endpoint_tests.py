"""What the pages of endpoint tests show: tests so far, and one test endpoint by endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from compaction.endpoint_probe import SLOW_SECONDS, ProbeWarning
from compaction.wording import wording_from_json
from sessions_app.models import EndpointTest, Project
from sessions_app.pages.endpoint_faults import FaultWords, fault_words
from sessions_app.rendering.markdown import render_markdown
from sessions_app.summarizers import EXTRACTIVE
from sessions_app.translated import translated

NEWEST_TESTS: Final = 20
WARNINGS: Final = {
    ProbeWarning.REASONS: gettext_lazy(
        "It thinks before it answers: that takes time and tokens at every pass. A small, fast model without reasoning "
        "suits best, or one whose thinking can be switched off."
    ),
    ProbeWarning.SLOW: gettext_lazy(
        "It is slow: a pass would take longer than %(seconds)d seconds. In this order: a faster host, a smaller model, "
        "fewer passes (every n turns), or batch passes only."
    ),
    ProbeWarning.USAGE_UNKNOWN: gettext_lazy(
        "It does not report how many tokens it used, so the costs of passes will be unknown."
    ),
    ProbeWarning.OTHER_MODEL: gettext_lazy("Another model answered than the one that was asked for."),
    ProbeWarning.FACTS_LOST: gettext_lazy(
        "It lost exact facts of the question. Summaries by this model may forget paths, numbers and decisions."
    ),
}


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """What one endpoint did. Tokens and times as in `EndpointProbe`, None where unknown."""

    name: str
    host: str
    is_offline: bool
    is_usable: bool
    fault: FaultWords
    detail: str
    served_model: str
    duration_ms: int | None
    first_token_ms: int | None
    tokens_per_second: float | None
    is_speed_estimated: bool
    pass_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    facts_kept: int | None
    facts_asked: int | None
    warnings: tuple[str, ...]
    sample: SafeString | None
    is_fastest: bool


@dataclass(frozen=True, slots=True)
class ListedTest:
    """One test in the list."""

    test: EndpointTest
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndpointTestPage:
    """One test. waiting: the endpoints without a result, the first of which is being asked while the test runs."""

    test: EndpointTest
    lines: tuple[ProbeLine, ...]
    waiting: tuple[str, ...]
    total: int
    progress_pct: float

    @property
    def is_comparison(self) -> bool:
        return self.total > 1


def newest_tests(project: Project) -> tuple[ListedTest, ...]:
    """The newest tests of a project."""
    tests = EndpointTest.objects.filter(project_id=project.pk).defer("report").order_by("-id")[:NEWEST_TESTS]
    return tuple(ListedTest(test, tuple(block_name(block) for block in test.endpoints)) for test in tests)


def read_endpoint_test(test: EndpointTest) -> EndpointTestPage:
    """One test with the results so far."""
    total = len(test.endpoints)
    times = [one["duration_ms"] for one in test.report if one.get("is_usable") and one.get("duration_ms") is not None]
    fastest = min(times) if len(times) > 1 else None
    return EndpointTestPage(
        test=test,
        lines=tuple(probe_line(one, fastest) for one in test.report),
        waiting=tuple(block_name(block) for block in test.endpoints[len(test.report) :]),
        total=total,
        progress_pct=round(100 * len(test.report) / total, 1) if total else 100.0,
    )


def block_name(block: Mapping[str, Any]) -> str:
    """A name for an endpoint that has not answered: its model, and where it is; never a query, which may hold a key."""
    if block.get("provider") == EXTRACTIVE:
        return EXTRACTIVE
    place = host_of(str(block.get("base_url") or "")) or str(block.get("provider") or "")
    return ", ".join(part for part in (str(block.get("model") or ""), place) if part)


def host_of(address: str) -> str:
    """Host and port of an address; empty when it has none."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def probe_line(stored: Mapping[str, Any], fastest_ms: int | None) -> ProbeLine:
    """The result of an endpoint as it was stored."""
    usage = stored.get("usage") or {}
    is_offline = stored.get("provider") == EXTRACTIVE
    seconds = stored.get("pass_seconds")
    duration_ms = stored.get("duration_ms")
    sample = stored.get("sample") or ""
    return ProbeLine(
        name=stored.get("model") or stored.get("provider") or "?",
        host=host_of(stored.get("address") or "") or stored.get("provider") or "",
        is_offline=is_offline,
        is_usable=bool(stored.get("is_usable")),
        fault=fault_words(stored.get("reason") or ""),
        detail=translated(wording_from_json(stored.get("detail") or "")),
        served_model=stored.get("served_model") or "",
        duration_ms=duration_ms,
        first_token_ms=stored.get("first_token_ms"),
        tokens_per_second=None if is_offline else stored.get("tokens_per_second"),
        is_speed_estimated=bool(stored.get("is_speed_estimated")),
        pass_ms=None if seconds is None or is_offline else round(seconds * 1_000),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        reasoning_tokens=usage.get("reasoning_tokens"),
        facts_kept=stored.get("facts_kept"),
        facts_asked=stored.get("facts_asked"),
        warnings=() if is_offline else tuple(warning_words(one) for one in stored.get("warnings") or ()),
        sample=render_markdown(sample) if sample else None,
        is_fastest=fastest_ms is not None and duration_ms == fastest_ms and bool(stored.get("is_usable")),
    )


def warning_words(name: str) -> str:
    """The sentence for a warning; its name when it has none."""
    try:
        return str(WARNINGS[ProbeWarning(name)]) % {"seconds": SLOW_SECONDS}
    except (KeyError, ValueError):
        return name

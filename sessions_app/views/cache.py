"""The cache tab: what a prompt cache made of the session, and the same figures as CSV."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from compaction.cache_prices import shipped_price_table
from compaction.economics import money
from sessions_app.access import get_session
from sessions_app.cache_assumption import CacheAssumption
from sessions_app.cache_counting import is_short
from sessions_app.forms import CacheForm
from sessions_app.models import Session
from sessions_app.pages.cache_export import all_passes, all_requests
from sessions_app.pages.cache_page import CacheView, read_cache_page
from sessions_app.pages.session_head import read_head
from sessions_app.services.cache_accounts import wanted_account
from sessions_app.views.csv_answer import csv_answer
from sessions_app.views.page_request import PageRequest

REQUEST_COLUMNS = (
    *("request", "seq", "reply_row_id", "sent_tokens", "cached_tokens", "rebilled_tokens", "new_tokens"),
    *("written_tokens", "billed_tokens", "running_billed_tokens", "running_usd"),
    *("sent_without_passes_tokens", "billed_without_passes_tokens", "running_billed_without_passes_tokens"),
)
PASS_COLUMNS = (
    *("pass", "seq", "kind", "outcome", "was_cache_warm", "tokens_before", "tokens_after"),
    *("before_cached_tokens", "before_rebilled_tokens", "after_cached_tokens", "after_rebilled_tokens"),
    *("truncation_cached_tokens", "truncation_rebilled_tokens", "summarizer_billed_tokens", "rebilled_tokens"),
    *("billed_tokens", "saved_tokens_per_call", "gain_per_call_billed_tokens", "break_even", "break_even_calls"),
    *("cached_pct_of_last_request", "cached_pct_of_first_request_after", "cached_pct_of_second_request_after"),
    *("cached_pct_before_if_only_head_cached", "cached_pct_after_if_only_head_cached"),
)


@require_safe
def cache(request: PageRequest, public_id: str) -> HttpResponse:
    """The tab under the chosen prices. A long session is counted in the background."""
    found = get_session(request.user, public_id)
    form = CacheForm(request.GET)
    view, assumption = form.cache_view(found), form.assumption(found)
    account = None if is_short(found) else wanted_account(found, assumption)
    context = {
        "section": "sessions",
        "tab": "cache",
        "session": found,
        "head": read_head(found),
        "tables": shipped_price_table(),
        "page": read_cache_page(found, assumption, view, form.before_number(), account),
    }
    return render(request, "session/cache.html", context)


@require_safe
def cache_csv(request: PageRequest, public_id: str) -> StreamingHttpResponse:
    """Every request, or every pass, in one line."""
    found = get_session(request.user, public_id)
    form = CacheForm(request.GET)
    view, assumption = form.cache_view(found), form.assumption(found)
    lines = request_lines(found, assumption) if view is CacheView.REQUESTS else pass_lines(found, assumption)
    return csv_answer(request, f"cache-{view}-{found.public_id}-{assumption.prices.id}.csv", lines)


def request_lines(session: Session, assumption: CacheAssumption) -> Iterator[tuple[object, ...]]:
    """The head and one line for each request; unknown is empty."""
    yield REQUEST_COLUMNS
    for number, one in enumerate(all_requests(session, assumption), start=1):
        bill = one.bill
        yield (
            *(number, one.seq, one.reply_id, bill.sent_tokens, bill.cached_tokens, bill.rebilled_tokens),
            *(bill.new_tokens, bill.written_tokens, bill.billed_tokens, one.running_tokens),
            money(one.running_tokens, assumption.input_usd),
            *(one.spared.sent_tokens, one.spared.billed_tokens, one.running_spared_tokens),
        )


def pass_lines(session: Session, assumption: CacheAssumption) -> Iterator[tuple[object, ...]]:
    """The head and one line for each pass; unknown is empty."""
    yield PASS_COLUMNS
    for one in all_passes(session, assumption):
        made_by, strips, economics = one.made_by, one.strips, one.economics
        truncated = strips.truncated if strips else None
        sizes = (strips.before.sent_tokens, strips.after.sent_tokens) if strips else (None, None)
        shown = (strips.before, strips.after, truncated) if strips else (None, None, None)
        parts = [
            part
            for strip in shown
            for part in ((strip.cached_tokens, strip.rebilled_tokens) if strip else (None, None))
        ]
        yield (
            *(made_by.number, made_by.seq, made_by.kind, made_by.outcome, one.is_cache_warm, *sizes, *parts),
            one.summarizer_tokens,
            *(
                (economics.rebilled_tokens, economics.billed_tokens, economics.saved_tokens)
                if economics
                else (None,) * 3
            ),
            *((economics.gain_per_call_tokens, economics.break_even.verdict) if economics else (None, None)),
            economics.break_even.calls if economics else None,
            *one.cached_shares_pct,
            *(one.cold_shares_pct or (None, None)),
        )

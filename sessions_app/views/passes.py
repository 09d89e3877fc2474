"""The passes tab: the ledger."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.access import get_session
from sessions_app.forms import LedgerForm
from sessions_app.pages.ledger import read_ledger, read_sums
from sessions_app.pages.session_head import read_head
from sessions_app.views.page_request import PageRequest


@require_safe
def passes(request: PageRequest, public_id: str) -> HttpResponse:
    """Every pass with its facts, filtered as the address says."""
    found = get_session(request.user, public_id)
    ledger_filter = LedgerForm(request.GET).ledger_filter()
    context = {
        "section": "sessions",
        "tab": "passes",
        "session": found,
        "head": read_head(found),
        "filter": ledger_filter,
        "page": read_ledger(found, ledger_filter),
        "sums": read_sums(found),
    }
    return render(request, "session/passes.html", context)

"""What an open page fetches when it hears that something happened."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.access import get_session, may_write
from sessions_app.forms import UpdatesForm
from sessions_app.pages.chat import CHAT, read_chat
from sessions_app.pages.session_head import read_head
from sessions_app.pages.side import read_side
from sessions_app.pages.transcript import RowFilter
from sessions_app.pages.updates import read_updates
from sessions_app.views.page_request import PageRequest


@never_cache
@require_safe
def session_updates(request: PageRequest, public_id: str) -> HttpResponse:
    """New rows, the head and the side column, each in the partial that made the page."""
    found = get_session(request.user, public_id)
    form = UpdatesForm(request.GET)
    head = read_head(found)
    context = {
        "session": found,
        "head": head,
        "tab": form.tab_name(),
        "row_filter": RowFilter.ALL,
        "updates": read_updates(found, form.after_seq(), head.outlook),
        "side": read_side(found),
    }
    if context["tab"] == CHAT:
        context["chat"] = read_chat(found, may_write=may_write(request.user, found.project))
    return render(request, "session/_updates.html", context)

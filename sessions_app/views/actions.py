"""Acting on a session: a pass now, undo, hold, reset, branch."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from sessions_app import services
from sessions_app.access import get_session, may_write, require_writer
from sessions_app.acting import act_on
from sessions_app.action_form import Action, ActionForm, SeqForm
from sessions_app.origins import page_origin
from sessions_app.pages.actions import read_actions
from sessions_app.pages.session_head import read_head
from sessions_app.views.page_request import PageRequest

_TO_PASSES = (Action.MICRO, Action.BATCH, Action.UNDO)


@require_http_methods(["GET", "HEAD", "POST"])
def actions(request: PageRequest, public_id: str) -> HttpResponse:
    """What can be done with a session; a mistake comes back with 422."""
    found = get_session(request.user, public_id)
    form = ActionForm(request.POST or None, session=found)
    if request.method == "POST":
        require_writer(request.user, found.project)
        if form.is_valid():
            action = Action(form.cleaned_data["action"])
            try:
                shown = act_on(page_origin(request), found, action, form.cleaned_data)
            except services.NothingToUndo:
                form.add_error(None, gettext("There is no pass that could be taken back."))
            else:
                return redirect("passes" if action in _TO_PASSES else "session", public_id=shown.public_id)
    head, chosen = read_head(found), SeqForm(request.POST if request.method == "POST" else request.GET).seq_or_none()
    context = {"section": "sessions", "tab": "actions", "session": found, "head": head, "form": form}
    context |= {
        "page": read_actions(found, chosen, head.summary_number),
        "chosen_seq": chosen,
        "may_write": may_write(request.user, found.project),
    }
    return render(request, "session/actions.html", context, status=422 if form.errors else 200)

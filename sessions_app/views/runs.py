"""Simulations: start one, watch it, stop it, look at what came of it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.access import get_run, get_session, may_write, require_writer
from sessions_app.pages.runs import newest_runs, read_run
from sessions_app.pages.session_head import read_head
from sessions_app.services.replays import cancel_replay, request_replay
from sessions_app.simulation_form import SimulationForm
from sessions_app.views.page_request import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
def runs(request: PageRequest, public_id: str) -> HttpResponse:
    """The form and the runs so far. A mistake in the form comes back with 422 and everything that was typed."""
    found = get_session(request.user, public_id)
    head = read_head(found)
    form = SimulationForm(request.POST or None, session=found, outlook=head.outlook)
    if request.method == "POST":
        require_writer(request.user, found.project)
        if form.is_valid():
            asked = form.simulation()
            run = request_replay(
                found,
                asked.policy,
                settings=asked.settings,
                window_tokens=asked.window_tokens,
                created_by=request.user,
            )
            return redirect("run", public_id=public_id, run_id=run.pk)
    context = {"section": "sessions", "tab": "runs", "session": found, "head": head, "form": form}
    context |= {"runs": newest_runs(found), "may_write": may_write(request.user, found.project)}
    return render(request, "runs/list.html", context, status=422 if form.errors else 200)


@require_GET
def run(request: PageRequest, public_id: str, run_id: int) -> HttpResponse:
    """One run; for htmx only its changing part, as long as it runs."""
    found = get_run(request.user, public_id, run_id)
    after = request.GET.get("after", "")
    page = read_run(
        found, int(after) if after.isdecimal() and len(after) < 10 else 0, only_passes="passes" in request.GET
    )
    context = {"section": "sessions", "tab": "runs", "session": found.session, "page": page, "run": found}
    if request.htmx:
        return render(request, "runs/_run.html", context)
    context |= {"head": read_head(found.session), "may_write": may_write(request.user, found.session.project)}
    return render(request, "runs/run.html", context)


@require_POST
def run_cancel(request: PageRequest, public_id: str, run_id: int) -> HttpResponse:
    """Ask a run to stop."""
    found = get_run(request.user, public_id, run_id)
    require_writer(request.user, found.session.project)
    cancel_replay(found.pk)
    return redirect("run", public_id=public_id, run_id=run_id)

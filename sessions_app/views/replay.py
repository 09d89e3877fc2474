"""Replay pages: one step of one pass, recorded or simulated."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from sessions_app.access import get_pass, get_run, get_session, visible_sessions
from sessions_app.forms import NextForm
from sessions_app.models import ReplayStep
from sessions_app.pages.neighbours import read_neighbours
from sessions_app.pages.next_pass import read_next
from sessions_app.pages.replay import ReplayPage, read_recorded, read_simulated
from sessions_app.pages.replay_steps import first_step
from sessions_app.views.page_request import PageRequest


@require_safe
def replay(request: PageRequest, public_id: str, number: int, step: int) -> HttpResponse:
    """A step of a recorded pass."""
    made_by = get_pass(request.user, public_id, number)
    page = read_recorded(made_by.session, made_by, step, show_all="all" in request.GET)
    return show(request, page)


@require_safe
def replay_start(request: PageRequest, public_id: str, number: int) -> HttpResponse:
    """A pass without a step: where looking at it begins."""
    made_by = get_pass(request.user, public_id, number)
    return redirect("replay", public_id, number, first_step(made_by))


@require_safe
def next_pass(request: PageRequest, public_id: str, step: int = 1) -> HttpResponse:
    """A step of the pass to come."""
    found = get_session(request.user, public_id)
    page = read_next(found, step, NextForm(request.GET).choice(), show_all="all" in request.GET)
    return show(request, page)


@require_safe
def run_replay(request: PageRequest, public_id: str, run_id: int, number: int, step: int) -> HttpResponse:
    """A step of a decision of a simulation."""
    run = get_run(request.user, public_id, run_id)
    decision = get_object_or_404(ReplayStep, run=run, number=number)
    return show(request, read_simulated(run, decision, step, show_all="all" in request.GET))


def show(request: PageRequest, page: ReplayPage | None) -> HttpResponse:
    """The one template for both."""
    if page is None:
        raise Http404("no such step")
    context = {"section": "sessions", "page": page, "session": page.session}
    context["neighbours"] = read_neighbours(visible_sessions(request.user), page.session)
    context["choice"] = NextForm(request.GET).choice()
    return render(request, "replay/replay.html", context)

"""Plays: start one, look how far it is, pause it, go on, stop it."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from sessions_app.access import get_play, may_write, require_writer, visible_sessions, writable_projects
from sessions_app.models import Play
from sessions_app.pages.plays import bar_of
from sessions_app.play_form import RATES, PlayForm
from sessions_app.services.plays import cancel_play, change_rate, pause_play, request_play, resume_play
from sessions_app.views.page_request import PageRequest

ACTIONS = {"pause": pause_play, "resume": resume_play, "cancel": cancel_play}


@require_http_methods(["GET", "HEAD", "POST"])
def plays(request: PageRequest) -> HttpResponse:
    """The form; a mistake comes back with 422. A play that was started is watched on its session's page."""
    projects = writable_projects(request.user)
    form = PlayForm(
        request.POST if request.method == "POST" else None,
        sessions=visible_sessions(request.user),
        projects=projects,
        asked=request.GET.get("source", "")[:100],
        into=request.GET.get("project", "")[:100],
    )
    if request.method == "POST" and form.is_valid():
        source = form.play_source()
        title = gettext("%(title)s (played)") % {"title": source.title}
        play = request_play(form.cleaned_data["project"], source, form.rate_chosen(), title, request.user)
        return redirect("session", public_id=play.session.public_id)
    context = {"section": "sessions", "form": form, "has_projects": projects.exists()}
    return render(request, "plays/form.html", context, status=422 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def play(request: PageRequest, public_id: str) -> HttpResponse:
    """The bar of a play, for htmx; an action on it."""
    found = get_play(request.user, public_id)
    if request.method == "POST":
        require_writer(request.user, found.session.project)
        _act(found, request)
        found.refresh_from_db()
    if not request.htmx:
        return redirect("session", public_id=public_id)
    context = {
        "session": found.session,
        "bar": bar_of(found),
        "may_write": may_write(request.user, found.session.project),
    }
    return render(request, "plays/_bar.html", context)


def _act(found: Play, request: PageRequest) -> None:
    """What the button that was pressed asks for, or 404."""
    act, rate = ACTIONS.get(request.POST.get("action", "")), request.POST.get("rate", "")
    if act is not None:
        act(found.pk)
    elif rate in dict(RATES):
        change_rate(found.pk, float(rate))
    else:
        raise Http404("no such action")

"""The chat page: say something, follow the answer, stop it, ask again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from sessions_app.access import (
    get_session,
    may_write,
    require_writer,
    writable_projects,
)
from sessions_app.chat.answering import begin_answering
from sessions_app.chat.streaming import answer_events
from sessions_app.chat_form import NewChatForm, SayForm, new_client_id
from sessions_app.models import ChatAnswer, Session
from sessions_app.pages.chat import Blocked, blocked_by, read_chat
from sessions_app.pages.session_head import read_head
from sessions_app.pages.transcript import Place, RowFilter, TranscriptReader
from sessions_app.pages.zone_labels import with_zone_labels
from sessions_app.services.chat import AnswerRunning, Begun, NothingToAnswer, ask_again, say, stop_answer
from sessions_app.services.opening import Opening, open_session
from sessions_app.token_counting import site_counter
from sessions_app.views.page_request import PageRequest
from sessions_app.views.session import with_frame
from sessions_app.watchers import Watcher

NEWEST = Place(is_gap=True, from_end=True)
UNPROCESSABLE, CONFLICT = 422, 409


@require_http_methods(["GET", "HEAD", "POST"])
def new_chat(request: PageRequest) -> HttpResponse:
    """Choose a project and say the first thing; a mistake comes back with 422."""
    projects = writable_projects(request.user)
    data = request.POST if request.method == "POST" else None
    form = NewChatForm(data, projects=projects, asked=request.GET.get("project", "")[:100])
    if request.method == "POST" and form.is_valid():
        project, client_id = form.cleaned_data["project"], form.cleaned_data["client_id"]
        session, _is_new = open_session(project, Opening(title=form.title(), client_id=f"chat-{client_id}"))
        answer_to(say(session.pk, client_id, form.cleaned_data["text"], site_counter()))
        return redirect("chat", public_id=session.public_id)
    context = {"section": "sessions", "form": form, "client_id": form["client_id"].value()}
    return render(request, "chat/new.html", context, status=UNPROCESSABLE if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def chat(request: PageRequest, public_id: str) -> HttpResponse:
    """The newest rows with a field beneath them. Scripts get JSON for what they send, everybody else a page."""
    found = get_session(request.user, public_id)
    if request.method != "POST":
        return chat_page(request, found, SayForm(None, initial={"client_id": new_client_id()}))
    require_writer(request.user, found.project)
    match request.POST.get("action"):
        case "say":
            return said(request, found)
        case "again":
            return asked_again(request, found)
        case "stop":
            for answer in ChatAnswer.objects.filter(session_id=found.pk, status="running"):
                stop_answer(answer.pk)
            return accepted(request, found)
    raise Http404("no such action")


def chat_page(request: PageRequest, found: Session, form: SayForm, status: int = 200, error: str = "") -> HttpResponse:
    """The page, with what was typed."""
    head = read_head(found)
    items = TranscriptReader(found, RowFilter.ALL, head.outlook).read(NEWEST).items
    context: dict[str, Any] = {"section": "sessions", "tab": "chat", "session": found, "head": head}
    context |= {"items": with_zone_labels(items, head, RowFilter.ALL), "row_filter": RowFilter.ALL, "place": Place()}
    context |= {"chat": read_chat(found, may_write=may_write(request.user, found.project)), "form": form}
    context |= {"client_id": form["client_id"].value() or new_client_id(), "error": error}
    return render(request, "chat/chat.html", with_frame(found, context), status=status)


def said(request: PageRequest, found: Session) -> HttpResponse:
    """Store what was said and have it answered."""
    form = SayForm(request.POST)
    if not form.is_valid():
        error = " ".join(str(one) for errors in form.errors.values() for one in errors)
        return refused(request, found, form, error, UNPROCESSABLE)
    if blocked := blocked_by(found, True):
        return refused(request, found, form, blocked_words(blocked), CONFLICT)
    try:
        answer_to(say(found.pk, form.cleaned_data["client_id"], form.cleaned_data["text"], site_counter()))
    except AnswerRunning:
        error = gettext("The model is still answering: wait for it, or stop it. What you typed is kept.")
        return refused(request, found, form, error, CONFLICT)
    return accepted(request, found)


def asked_again(request: PageRequest, found: Session) -> HttpResponse:
    """Have the last thing that was said answered once more. Where that makes no sense any more nothing happens."""
    if blocked := blocked_by(found, True):
        return refused(request, found, SayForm(None), blocked_words(blocked), CONFLICT)
    client_id = request.POST.get("client_id", "")[:64] or new_client_id()
    with suppress(AnswerRunning, NothingToAnswer):
        answer_to(ask_again(found.pk, client_id, site_counter()))
    return accepted(request, found)


def answer_to(begun: Begun) -> None:
    """Ask the model, unless somebody has begun that already."""
    if begun.is_new:
        begin_answering(begun.answer)


def wants_json(request: PageRequest) -> bool:
    """Whether a script of ours asks."""
    return request.headers.get("Accept", "") == "application/json"


def accepted(request: PageRequest, found: Session) -> HttpResponse:
    """It was done."""
    return JsonResponse({}) if wants_json(request) else redirect("chat", public_id=found.public_id)


def refused(request: PageRequest, found: Session, form: SayForm, error: str, status: int) -> HttpResponse:
    """It was not done, and nothing that was typed is lost."""
    if wants_json(request):
        return JsonResponse({"error": error}, status=status)
    return chat_page(request, found, form, status, error)


def blocked_words(blocked: Blocked) -> str:
    """Why nothing can be said."""
    return {
        Blocked.READER: gettext("You can read this project but not write in it."),
        Blocked.IMPORTED: gettext("This session was imported. Branch it, and talk in the branch."),
        Blocked.PLAYING: gettext("A recording is being played in this session: pause or stop it first."),
        Blocked.NO_MODEL: gettext("No main model is set for this project."),
    }[blocked]


@never_cache
@require_GET
def chat_stream(request: PageRequest, public_id: str, answer_id: int) -> HttpResponseBase:
    """The answer as it comes, as server-sent events."""
    found = get_session(request.user, public_id)
    answer = get_object_or_404(ChatAnswer, pk=answer_id, session_id=found.pk)
    watcher = Watcher(found.pk, request.user.pk, request.session.session_key or "")
    response = StreamingHttpResponse(answer_events(watcher, answer.pk), content_type="text/event-stream")
    # Proxies must pass each event on as it comes.
    response["X-Accel-Buffering"] = "no"
    return response

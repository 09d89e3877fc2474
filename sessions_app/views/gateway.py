"""The addresses that OpenAI's clients ask: chat completions and models.

Programs ask here, with a token in a header: no login page, no form token, and every error in the shape they know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from sessions_app.gateway.callers import calling_token
from sessions_app.gateway.models import ModelShape, models_of
from sessions_app.gateway.refusals import GatewayRefusal, refusal
from sessions_app.gateway.relay import JSON_TYPE, Head, Relay, fault_of_the_site
from sessions_app.main_model.releasing import release_connection
from sessions_app.models import Project

# Between here and a client nobody may collect what is to be read as it comes.
_UNBUFFERED = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


@csrf_exempt
@login_not_required
async def chat_completions(request: HttpRequest) -> HttpResponseBase:
    """POST: the answer of the project's main model to a compacted history, stored and passed on as it comes."""
    try:
        relay = await _begun(request)
    except GatewayRefusal as refused:
        return _refused(refused)
    try:
        head = await relay.head()
        if head.is_stream:
            return _streaming(relay, head)
        whole = b"".join([piece async for piece in relay.pieces()])
    except asyncio.CancelledError:
        relay.cancel()
        raise
    return HttpResponse(whole, status=head.status, content_type=head.media_type or JSON_TYPE, headers=_headers(head))


async def _begun(request: HttpRequest) -> Relay:
    """The work on a POST. Before the caller is known no body is read into memory and no work begins.

    Raises GatewayRefusal for another method, a caller who may not write, a body over the limit, and too much work.
    """
    if request.method != "POST":
        raise refusal(405, "Chat completions are asked for by POST.", "method_not_allowed", headers={"Allow": "POST"})
    # In the loop's own threads, of which there are few: a flood of strangers waits there and starts none.
    project = await sync_to_async(_calling_project, thread_sensitive=False)(request)
    relay = Relay(project, _body(request), request.headers)
    relay.start()
    return relay


def _calling_project(request: HttpRequest) -> Project:
    try:
        return calling_token(request.headers, writes=True).project
    except GatewayRefusal:
        raise
    except Exception as error:
        raise fault_of_the_site(error) from error
    finally:
        release_connection()


def _body(request: HttpRequest) -> bytes:
    """The body. Raises GatewayRefusal when it is over the limit."""
    limit_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    too_large = refusal(413, f"A body may have at most {limit_bytes:,} bytes.", "too_large")
    try:
        body = request.body
    except RequestDataTooBig:
        raise too_large from None
    if len(body) > limit_bytes:
        raise too_large
    return body


def _streaming(relay: Relay, head: Head) -> StreamingHttpResponse:
    headers = {**_headers(head), **_UNBUFFERED}
    content_type = f"{head.media_type}; charset=utf-8"
    return StreamingHttpResponse(relay.pieces(), status=head.status, content_type=content_type, headers=headers)


def _headers(head: Head) -> dict[str, str]:
    return {"Cache-Control": "no-store", **dict(head.headers)}


def _refused(refused: GatewayRefusal) -> HttpResponse:
    headers = {"Cache-Control": "no-store", **refused.headers}
    return HttpResponse(refused.body, status=refused.status, content_type=JSON_TYPE, headers=headers)


def _told(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view whose refusals are told in the shape of this door."""

    @wraps(view)
    def told(request: HttpRequest, *parts: Any, **named: Any) -> HttpResponse:
        try:
            return view(request, *parts, **named)
        except GatewayRefusal as refused:
            return _refused(refused)

    return told


@csrf_exempt
@login_not_required
@_told
def model_list(request: HttpRequest) -> HttpResponse:
    """GET: the main model of the token's project; an empty list when none can be asked."""
    models = _readable_models(request)
    return JsonResponse({"object": "list", "data": [model.to_mapping() for model in models]})


@csrf_exempt
@login_not_required
@_told
def model(request: HttpRequest, name: str) -> HttpResponse:
    """GET: one model by its name."""
    found = next((one for one in _readable_models(request) if one.name == name), None)
    if found is None:
        raise refusal(404, f"The model {name[:200]!r} does not exist here.", "model_not_found", param="model")
    return JsonResponse(found.to_mapping())


def _readable_models(request: HttpRequest) -> tuple[ModelShape, ...]:
    if request.method not in ("GET", "HEAD"):
        raise refusal(405, "Models are read by GET.", "method_not_allowed", headers={"Allow": "GET, HEAD"})
    return models_of(calling_token(request.headers, writes=False).project)


@csrf_exempt
@login_not_required
@_told
def nothing_here(request: HttpRequest) -> HttpResponse:
    """Every other address below /v1/."""
    calling_token(request.headers, writes=False)
    message = "There is nothing here. This gateway has /v1/chat/completions and /v1/models."
    raise refusal(404, message, "unknown_url")

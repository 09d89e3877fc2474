"""Errors as the API tells them: always {error, detail, fields}, whatever went wrong and whoever noticed.

error: a word for programs. detail: a sentence for people. fields: the places in the request that are wrong, by path
(`messages.0.message.role`, `compression.threshold`), empty when the request as a whole is.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from pydantic import Field

from compaction.storable import storable_text

logger = logging.getLogger(__name__)

JSON_TYPE: Final = "application/json; charset=utf-8"
MOST_FIELDS: Final = 100
NOT_FOUND: Final = "There is nothing here, or your token may not see it."


class FieldProblem(Schema):
    """One place in the request and what is wrong with it."""

    path: str = Field(description="Dotted path in the body, or the name of a parameter.")
    message: str


class Problem(Schema):
    """What every error looks like."""

    error: str = Field(description="A word for programs, such as `invalid` or `not_found`.")
    detail: str = Field(description="A sentence for people.")
    fields: list[FieldProblem] = Field(description="The places that are wrong; empty when it is the whole request.")


class Refusal(Exception):
    """A request that is not carried out."""

    def __init__(
        self,
        status: int,
        error: str,
        detail: str,
        fields: Iterable[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.error, self.detail = status, error, detail
        self.fields, self.headers = tuple(fields), dict(headers or {})


def unprocessable(fields: Iterable[FieldProblem], detail: str = "Something in the body can't be used.") -> Refusal:
    """The body is JSON, but says something that can't be done."""
    return Refusal(422, "invalid", detail, fields)


def out_of_date(newest: int) -> Refusal:
    """The settings were made on a revision that is not the newest any more."""
    detail = f"Revision {newest} was saved meanwhile. Read the settings again and make your change on them."
    return Refusal(409, "out_of_date", detail, [FieldProblem(path="base", message=f"the newest is {newest}")])


def bad_parameter(name: str, message: str) -> Refusal:
    """A parameter of the address can't be used."""
    return Refusal(400, "bad_request", "A parameter can't be used.", [FieldProblem(path=name, message=message)])


def too_many_requests(wait: timedelta) -> Refusal:
    """The token's allowance is used up."""
    seconds = max(1, math.ceil(wait.total_seconds()))
    detail = f"This token has used up its requests. Try again in {seconds} s."
    return Refusal(429, "too_many_requests", detail, headers={"Retry-After": str(seconds)})


def answer(refusal: Refusal) -> HttpResponse:
    """The response for a refusal."""
    fields = [
        {"path": storable_text(field.path), "message": storable_text(field.message)}
        for field in refusal.fields[:MOST_FIELDS]
    ]
    body = {"error": refusal.error, "detail": storable_text(refusal.detail), "fields": fields}
    text = json.dumps(body, ensure_ascii=False)
    return HttpResponse(text, status=refusal.status, content_type=JSON_TYPE, headers=refusal.headers)


def install(api: NinjaAPI) -> None:
    """Tell every error in our shape."""
    api.add_exception_handler(Refusal, on_refusal)
    api.add_exception_handler(ValidationError, on_invalid)
    api.add_exception_handler(AuthenticationError, on_stranger)
    api.add_exception_handler(HttpError, on_http_error)
    api.add_exception_handler(Http404, on_missing)
    api.add_exception_handler(RequestDataTooBig, on_too_big)
    api.add_exception_handler(Exception, on_fault)


def on_refusal(request: HttpRequest, refusal: Refusal | type[Refusal]) -> HttpResponse:
    """A refusal of ours."""
    assert isinstance(refusal, Refusal)
    return answer(refusal)


def on_invalid(request: HttpRequest, error: ValidationError | type[ValidationError]) -> HttpResponse:
    """Parameters or a body that don't have their declared shape. A path that can't exist does not exist."""
    assert isinstance(error, ValidationError)
    places = {str(one["loc"][0]) for one in error.errors}
    if "path" in places:
        return answer(not_found())
    fields = [FieldProblem(path=path_of(one["loc"]), message=message_of(one)) for one in error.errors]
    if "query" in places:
        return answer(Refusal(400, "bad_request", "A parameter can't be used.", fields))
    return answer(unprocessable(fields))


def path_of(loc: Iterable[Any]) -> str:
    """A place as pydantic tells it, without the source and the argument's name in front."""
    source, *rest = loc
    inner = rest[1:] if source == "body" or len(rest) > 1 else rest
    return ".".join(map(str, inner))


def message_of(error: Mapping[str, Any]) -> str:
    """Pydantic's message, without its own words in front of ours."""
    return str(error["msg"]).removeprefix("Value error, ")


def not_found() -> Refusal:
    """What is told of everything that is not there or not the token's."""
    return Refusal(404, "not_found", NOT_FOUND)


def on_missing(request: HttpRequest, error: Http404 | type[Http404]) -> HttpResponse:
    """Nothing there, or nothing the token may see."""
    return answer(not_found())


def on_stranger(request: HttpRequest, error: AuthenticationError | type[AuthenticationError]) -> HttpResponse:
    """No token, or none that is in force."""
    detail = "Send a token that is in force: Authorization: Bearer TOKEN."
    return answer(Refusal(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"}))


def on_http_error(request: HttpRequest, error: HttpError | type[HttpError]) -> HttpResponse:
    """The framework's own errors; the one for a body that can't be parsed has ours as its cause."""
    if isinstance(error, HttpError) and isinstance(error.__cause__, Refusal):
        return answer(error.__cause__)
    status = error.status_code if isinstance(error, HttpError) else 400
    return answer(Refusal(status, "bad_request", str(error)))


def on_too_big(request: HttpRequest, error: RequestDataTooBig | type[RequestDataTooBig]) -> HttpResponse:
    """A body that says itself how much too large it is."""
    return answer(too_big())


def too_big() -> Refusal:
    """A body over the limit."""
    limit_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return Refusal(413, "too_large", f"A body may have at most {limit_bytes:,} bytes. Send fewer rows at once.")


def on_fault(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """A fault of ours: loud in the log, without its details for the other side."""
    logger.error("%s %s failed", request.method, request.path, exc_info=error if isinstance(error, Exception) else None)
    return answer(Refusal(500, "internal", "This failed because of a fault of the site. It is in the site's log."))

"""Which errors an operation declares, by what it takes. The OpenAPI description is made of these."""

from __future__ import annotations

from typing import Any, Final

from sessions_app.api.errors import Problem

_ALWAYS: Final = (400, 401, 404, 405, 429, 500)
_FORBIDDEN: Final = (403,)
_WITH_BODY: Final = (413, 422)


def reads(shape: Any) -> dict[Any, Any]:
    """The answers of an operation that reads."""
    return {200: shape, _ALWAYS: Problem}


def searches(shape: Any) -> dict[Any, Any]:
    """The answers of an operation that reads and can search; a search that takes too long is stopped (503)."""
    return {200: shape, (*_ALWAYS, 503): Problem}


def writes(shape: Any, *done: int) -> dict[Any, Any]:
    """The answers of an operation that changes something. done: statuses of success, 200 when none is named."""
    return {done or (200,): shape, (*_ALWAYS, *_FORBIDDEN, *_WITH_BODY): Problem}


def acts_on_hosted(shape: Any) -> dict[Any, Any]:
    """The answers of an operation that changes a session, unless it was imported (409)."""
    return {**writes(shape), 409: Problem}


def acts(shape: Any) -> dict[Any, Any]:
    """The answers of an operation that changes something and takes no body."""
    return {200: shape, (*_ALWAYS, *_FORBIDDEN): Problem}

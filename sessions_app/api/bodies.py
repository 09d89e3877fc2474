"""JSON in and out: limits and odd characters are dealt with here, once.

A body has at most `settings.DATA_UPLOAD_MAX_MEMORY_SIZE` bytes and `MOST_LEVELS` levels. What is no JSON is refused
with the place. Numbers that JSON has no word for (NaN, Infinity) are refused. Answers are UTF-8.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, NoReturn

from django.conf import settings
from django.http import HttpRequest
from ninja.parser import Parser
from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder

from compaction.storable import storable_value
from sessions_app.api.errors import Refusal, too_big, unprocessable

MOST_LEVELS: Final = 100


class BodyParser(Parser):
    """Reads bodies. A refusal raised here reaches the other side as it stands."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The JSON value of the body."""
        body = request.body
        # A body that came in pieces does not say its size beforehand.
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise too_big()
        try:
            value = json.loads(body, parse_constant=refuse_constant)
        except RecursionError:
            raise too_deep() from None
        except ValueError as error:
            raise Refusal(400, "not_json", f"The body is not JSON: {error}.") from None
        require_flat(value)
        return value


def refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON value")


def require_flat(value: object) -> None:
    """Raise Refusal for a value nested too deeply. Walks level by level, so depth itself costs nothing."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for outer in level for inner in inner_values(outer)]
        if not level:
            return
    raise too_deep()


def inner_values(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def too_deep() -> Refusal:
    return unprocessable((), f"The body is nested more than {MOST_LEVELS} levels deep.")


class AnswerEncoder(NinjaJSONEncoder):
    """Times as the database holds them: to the microsecond, so that two answers about one moment are equal."""

    def default(self, o: Any) -> Any:
        """What JSON has no word for."""
        return o.isoformat().replace("+00:00", "Z") if isinstance(o, datetime) else super().default(o)


class AnswerRenderer(JSONRenderer):
    """Writes answers as UTF-8."""

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        """The bytes of an answer. Half a surrogate pair, which an old record may hold in escaped form, is replaced."""
        try:
            return self._text(data).encode()
        except UnicodeEncodeError:
            return self._text(storable_value(data)).encode()

    def _text(self, data: object) -> str:
        return json.dumps(data, cls=AnswerEncoder, ensure_ascii=False, separators=(",", ":"))

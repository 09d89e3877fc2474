"""What goes wrong, in the shape that OpenAI's clients understand: {"error": {message, type, param, code}}."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from compaction.endpoints.faults import FaultName
from compaction.redaction import redact
from compaction.storable import storable_text
from compaction.talk import TalkAnswer
from sessions_app.api.errors import Refusal

_INVALID: Final = "invalid_request_error"
# Ours where an endpoint could not be asked: the status tells clients whether asking again makes sense.
_STATUS_OF: Final = {
    FaultName.TIMEOUT.value: 504,
    FaultName.CONNECT_TIMEOUT.value: 504,
    FaultName.CIRCUIT_OPEN.value: 503,
    FaultName.ENDPOINT_BUSY.value: 503,
    FaultName.KEY_MISSING.value: 500,
    FaultName.KEY_INVALID.value: 500,
    FaultName.KEY_REFUSED.value: 500,
    FaultName.ADDRESS_REFUSED.value: 500,
    FaultName.REDIRECT_REFUSED.value: 502,
}
_CODE_OF: Final = {
    "unauthorized": "invalid_api_key",
    "too_many_requests": "rate_limit_exceeded",
    "not_json": "invalid_json",
}
_TYPE_OF: Final = {429: "rate_limit_error", 403: "permission_error", 404: _INVALID, 500: "server_error"}


class GatewayRefusal(Exception):
    """A request that is not answered. body: the JSON text that is sent."""

    def __init__(self, status: int, body: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(body)
        self.status, self.body, self.headers = status, body, dict(headers or {})


def refusal(
    status: int,
    message: str,
    code: str,
    *,
    param: str | None = None,
    kind: str = "",
    headers: Mapping[str, str] | None = None,
) -> GatewayRefusal:
    """A refusal of ours."""
    told = {"message": message, "type": kind or _TYPE_OF.get(status, _INVALID), "param": param, "code": code}
    return GatewayRefusal(status, _written(told), headers)


def from_api(found: Refusal) -> GatewayRefusal:
    """A refusal of the API in this shape."""
    param = found.fields[0].path if found.fields else None
    code = _CODE_OF.get(found.error, found.error)
    return refusal(found.status, found.detail, code, param=param, headers=found.headers)


def no_such_token() -> GatewayRefusal:
    """No token, or none in force."""
    message = "Send an API token of a project that is in force: Authorization: Bearer TOKEN."
    return refusal(401, message, "invalid_api_key", headers={"WWW-Authenticate": "Bearer"})


def from_upstream(answer: TalkAnswer) -> GatewayRefusal:
    """What the main model's endpoint said, with its status; or why it could not be asked."""
    headers = {}
    if answer.retry_after_seconds is not None:
        headers["Retry-After"] = str(math.ceil(answer.retry_after_seconds))
    if answer.status is None:
        status = _STATUS_OF.get(answer.error, 502)
        message = f"The main model can't be asked: {answer.error_detail}."
        return refusal(status, message, answer.error, kind="upstream_error", headers=headers)
    if (told := _own_words(answer.error_body)) is not None:
        return GatewayRefusal(answer.status, told, headers)
    message = f"The main model refused: {answer.error_detail}."
    return refusal(answer.status, message, answer.error, kind="upstream_error", headers=headers)


def broken_off(answer: TalkAnswer) -> str:
    """The error that is told inside a stream that broke off."""
    told = {"message": f"The answer broke off: {answer.error_detail}.", "type": "upstream_error", "param": None}
    return _written({**told, "code": answer.error})


def _own_words(body: str) -> str | None:
    """The endpoint's body if it is an error in this shape, without secrets."""
    try:
        document = json.loads(redact(body).text)
    except (ValueError, RecursionError):
        return None
    error = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(error, str) and error:
        return _written({"message": error, "type": "upstream_error", "param": None, "code": None})
    return json.dumps(document) if isinstance(error, Mapping) and error.get("message") else None


def _written(error: Mapping[str, Any]) -> str:
    return json.dumps({"error": {**error, "message": storable_text(str(error["message"]))}}, ensure_ascii=False)

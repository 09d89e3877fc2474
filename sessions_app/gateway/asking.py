"""What a client asks: the body of a chat completion, split into what stands beside the conversation and its history.

System messages in front are no part of the history: many clients write them anew for each request. They and the tools
are facts of the session. All other fields of the body go on as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from compaction.messages import Message, Role
from compaction.storable import storable_text
from compaction.tokens import TokenCounter, row_tokens
from compaction.wire import message_from_openai
from sessions_app.api.bodies import refuse_constant, require_flat
from sessions_app.api.errors import Refusal
from sessions_app.gateway.refusals import from_api, refusal
from sessions_app.told_history import Told, digest_of_texts, told_history

MOST_MESSAGES: Final = 20_000
LONGEST_NAME: Final = 200
_ROLES: Final = frozenset({*(role.value for role in Role), "function"})
_PROMPT_ROLES: Final = ("system", "developer")
_TITLE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a chat completion.

    fields: the JSON object as it came, without messages. prompt: system messages in front, tools: the tools, both as
    JSON texts. told: the history behind the prompt. session_name: what the client calls its session, empty if nothing.
    is_retry: the client says that it asks again.
    """

    fields: str
    prompt: tuple[str, ...]
    tools: str
    told: tuple[Told, ...]
    model: str
    is_streamed: bool
    session_name: str = ""
    is_retry: bool = False

    @property
    def prompt_digest(self) -> str:
        """The digest of what stands beside the conversation."""
        return digest_of_texts(*self.prompt, self.tools)

    @property
    def title(self) -> str:
        """The beginning of the first thing a user says."""
        texts = (one.message.text for one in self.told if one.message.role is Role.USER)
        line = " ".join(next(texts, "").split())
        return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"

    def overhead_tokens(self, counter: TokenCounter) -> int:
        """What stands beside the conversation costs in each request."""
        messages = sum(row_tokens(_message(json.loads(text)), counter) for text in self.prompt)
        return messages + (counter.count(self.tools) if self.tools else 0)


def read_asked(body: bytes, headers: Mapping[str, str]) -> Asked:
    """Read a request. Raises GatewayRefusal naming the field that can't be used."""
    fields = _document(body)
    messages = _messages(fields.pop("messages", None))
    model = fields.get("model") or ""
    if not isinstance(model, str):
        raise refusal(400, "model must be a name.", "invalid_type", param="model")
    front = next((n for n, one in enumerate(messages) if one.get("role") not in _PROMPT_ROLES), len(messages))
    tools = fields.get("tools")
    return Asked(
        fields=json.dumps(fields),
        prompt=tuple(map(json.dumps, messages[:front])),
        tools=json.dumps(tools) if tools else "",
        told=told_history((_message(one), json.dumps(one)) for one in messages[front:]),
        model=storable_text(model)[:LONGEST_NAME],
        is_streamed=fields.get("stream") is True,
        session_name=_session_name(headers.get("X-Hermes-Session", "")),
        is_retry=headers.get("X-Stainless-Retry-Count", "0") not in ("", "0"),
    )


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body, parse_constant=refuse_constant)
        require_flat(document)
    except RecursionError:
        raise refusal(400, "The body is nested too deeply.", "invalid_json") from None
    except Refusal as found:
        raise from_api(found) from None
    except ValueError as error:
        raise refusal(400, f"The body is not JSON: {error}.", "invalid_json") from None
    if not isinstance(document, dict):
        raise refusal(400, "The body must be a JSON object.", "invalid_type")
    return document


def _messages(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not value:
        raise refusal(400, "messages must be a list that is not empty.", "invalid_type", param="messages")
    if len(value) > MOST_MESSAGES:
        raise refusal(400, f"messages holds more than {MOST_MESSAGES:,} messages.", "too_many", param="messages")
    for number, one in enumerate(value):
        if not isinstance(one, dict):
            raise refusal(400, "A message must be an object.", "invalid_type", param=f"messages.{number}")
        if one.get("role") not in _ROLES:
            message = f"The role must be one of {', '.join(sorted(_ROLES))}."
            raise refusal(400, message, "invalid_value", param=f"messages.{number}.role")
    return value


def _message(mapping: Mapping[str, Any]) -> Message:
    return message_from_openai(mapping, lambda problem: None)


def _session_name(written: str) -> str:
    name = written.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        message = f"X-Hermes-Session must be a name of at most {LONGEST_NAME} printable characters."
        raise refusal(400, message, "invalid_value", param="X-Hermes-Session")
    return name

"""What addresses may say: the types of their parts, and that nothing they say is ignored in silence."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any, Final

from django.http import HttpRequest
from ninja import Path, Schema
from ninja.operation import Operation
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from compaction.storable import is_storable, storable_text
from sessions_app.api.errors import FieldProblem, Refusal, answer, bad_parameter

MOST_INT8: Final = 2**63 - 1
MOST_TOKENS: Final = 100_000_000


def require_storable(text: str) -> str:
    """The text, or ValueError: nothing that is stored can contain such a character."""
    if not is_storable(text):
        raise ValueError("contains a NUL or half a surrogate pair")
    return text


def made_storable(value: object) -> object:
    return storable_text(value) if isinstance(value, str) else value


PublicId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The session's id, as in its address.")]
Slug = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The project's slug, as in its address.")]
Number = Annotated[int, Path(ge=0, le=MOST_INT8)]
Seq = Annotated[int, Field(ge=0, le=MOST_INT8)]
SearchText = Annotated[str, Field(max_length=200), AfterValidator(require_storable)]
# Text of a body: what a database can't hold is replaced, as in messages.
Text = Annotated[str, BeforeValidator(made_storable)]
JsonObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": True})]


class BodySchema(Schema):
    """A body. Keys that mean nothing are refused, so that a typing error does not count as left out."""

    model_config = ConfigDict(extra="forbid")


class PageQuery(Schema):
    """How much of a list."""

    limit: int = Field(50, ge=1, le=200, description="At most so many.")


def cursor_text(place: str) -> str:
    """A place as a word that needs no escaping in an address."""
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def cursor_place(name: str, cursor: str) -> str:
    """The place that `cursor_text` wrote. Raises Refusal for anything else."""
    try:
        place = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise bad_parameter(name, "this is no cursor of this list") from None
    return place


def refusing_unknown(run: Callable[..., Any]) -> Callable[..., Any]:
    """An operation that answers 400 to parameters it does not have, instead of ignoring them."""
    operation: Operation = run.__self__  # type: ignore[attr-defined]  # a bound method
    known = frozenset(query_names(operation))

    @wraps(run)
    def checked(request: HttpRequest, **path_parts: Any) -> Any:
        unknown = [name for name in request.GET if name not in known]
        if unknown:
            return answer(unknown_parameters(unknown, known))
        return run(request, **path_parts)

    return checked


def query_names(operation: Operation) -> Iterator[str]:
    """The parameters that may stand behind the question mark."""
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            yield from getattr(model, "__ninja_flatten_map__", None) or model.model_fields


def unknown_parameters(unknown: list[str], known: frozenset[str]) -> Refusal:
    there_are = f"There are: {', '.join(sorted(known))}." if known else "There are none here."
    fields = [FieldProblem(path=name, message="there is no such parameter") for name in unknown]
    return Refusal(400, "bad_request", f"A parameter is not known. {there_are}", fields)

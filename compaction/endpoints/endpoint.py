"""An endpoint: where a model is asked, in which dialect, and under which name its key is kept.

It is made from the `auxiliary.compression` block, or from another one of that shape. Nothing is contacted and no key
is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from compaction.endpoints.stored_key import origin_of
from compaction.errors import InvalidPolicy
from compaction.policy import AuxiliaryModel
from compaction.policy_reading import AUXILIARY_COMPRESSION
from compaction.wording import worded


class Dialect(StrEnum):
    """How questions are put."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@dataclass(frozen=True, slots=True)
class Provider:
    """A known provider: its address, and the environment variable its key is usually kept in (empty: no key).

    needs_model: whether it refuses a question that names no model.
    """

    name: str
    base_url: str
    key_env: str = ""
    dialect: Dialect = Dialect.OPENAI
    needs_model: bool = True


PROVIDERS: Final = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", needs_model=False),
    Provider("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", Dialect.ANTHROPIC),
    Provider("ollama", "http://127.0.0.1:11434/v1"),
    Provider("llamacpp", "http://127.0.0.1:8080/v1", needs_model=False),
    Provider("vllm", "http://127.0.0.1:8000/v1"),
)
_ALIASES: Final = (("llama.cpp", "llamacpp"), ("llama-cpp", "llamacpp"), ("claude", "anthropic"))
# Names for "whatever is at this address".
_UNNAMED: Final = frozenset({"", "auto", "custom", "openai-compatible"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where questions go. url: complete, without user name and fragment. key_env: empty sends no key.

    key_secret: the name of a stored key that is sent instead; empty for none. Never both.
    """

    provider: str
    dialect: Dialect
    url: str
    model: str = ""
    key_env: str = ""
    window_tokens: int | None = None
    total_seconds: float = 120.0
    key_secret: str = ""

    @property
    def host(self) -> str:
        """The host's name or address."""
        return urlsplit(self.url).hostname or ""

    @property
    def shown_address(self) -> str:
        """Where it is asked, without the query, which may hold a key."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

    @property
    def origin(self) -> str:
        """Scheme, host and port, as stored keys name their place."""
        return origin_of(self.url)

    @property
    def gate_key(self) -> str:
        """What callers share a circuit breaker and places by: the address and the key's name, not the model."""
        return f"{self.url} {self.key_env or self.key_secret}"


def endpoint_of(auxiliary: AuxiliaryModel, block: str = AUXILIARY_COMPRESSION, model_key: str = "model") -> Endpoint:
    """The endpoint of a policy's summarizer. Raises InvalidPolicy naming the setting that is missing or wrong.

    block, model_key: where the settings stand and what the model's name is called there, for the messages.
    """
    name = auxiliary.provider.strip().lower()
    name = dict(_ALIASES).get(name, name)
    provider = next((known for known in PROVIDERS if known.name == name), None)
    base_url = auxiliary.base_url or (provider.base_url if provider else "")
    if not base_url:
        raise _missing_address(name, block)
    parts = _checked(base_url, f"{block}.base_url")
    dialect = provider.dialect if provider else _dialect_at(parts)
    if not auxiliary.model and (provider.needs_model if provider else dialect is Dialect.ANTHROPIC):
        task = "name the model that writes the summaries" if block == AUXILIARY_COMPRESSION else "name the model"
        raise InvalidPolicy(task, f"{block}.{model_key}")
    if auxiliary.key_env and auxiliary.key_secret:
        raise InvalidPolicy(worded("name a variable or a stored key, not both"), f"{block}.api_key_secret")
    return Endpoint(
        provider=provider.name if provider else name if name not in _UNNAMED else parts.hostname or "",
        dialect=dialect,
        url=_complete(parts, dialect),
        model=auxiliary.model,
        key_env="" if auxiliary.key_secret else auxiliary.key_env or _usual_key(provider, parts),
        key_secret=auxiliary.key_secret,
        window_tokens=auxiliary.window_tokens,
        total_seconds=float(auxiliary.timeout_seconds),
    )


def _missing_address(name: str, block: str) -> InvalidPolicy:
    known = ", ".join(provider.name for provider in PROVIDERS)
    if name in _UNNAMED:
        message = worded("no endpoint is set: give an address, or one of these as provider: {}", known)
        return InvalidPolicy(message, f"{block}.base_url")
    message = worded("{!r} is not known: give its address as base_url, or one of these: {}", name, known)
    return InvalidPolicy(message, f"{block}.provider")


def _checked(base_url: str, where: str) -> SplitResult:
    """The address in parts. It may hold a password, so no message repeats it."""
    try:
        parts = urlsplit(base_url.strip())
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise InvalidPolicy(worded("this is not an address"), where) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        raise InvalidPolicy(worded("an address starts with http:// or https:// and a host"), where)
    if parts.username is not None or parts.password is not None:
        raise InvalidPolicy(worded("an address must not contain a user name or password; name a key variable"), where)
    if not base_url.isascii() or any(character.isspace() for character in base_url.strip()):
        raise InvalidPolicy(worded("an address has no spaces and only ASCII characters"), where)
    return parts


def _dialect_at(parts: SplitResult) -> Dialect:
    is_anthropic = parts.hostname == "api.anthropic.com" or parts.path.rstrip("/").endswith(("/messages", "/anthropic"))
    return Dialect.ANTHROPIC if is_anthropic else Dialect.OPENAI


def _complete(parts: SplitResult, dialect: Dialect) -> str:
    """The address of the call itself. People write it with and without /v1, and with and without the last part."""
    path = parts.path.rstrip("/")
    ending = "/messages" if dialect is Dialect.ANTHROPIC else "/chat/completions"
    if not path.endswith(ending):
        is_versioned = bool(path) if dialect is Dialect.OPENAI else path.endswith("/v1")
        path += ending if is_versioned else f"/v1{ending}"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _usual_key(provider: Provider | None, parts: SplitResult) -> str:
    """The usual key variable, at the provider's own address only: elsewhere a key is sent only when it is named."""
    if provider is None or parts.hostname != urlsplit(provider.base_url).hostname:
        return ""
    return provider.key_env

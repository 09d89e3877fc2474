"""The key of an endpoint, and how it is kept out of what people are told.

It is read by its name from the environment at each call, or was stored for one place and goes nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.answer_body import stated_reason
from compaction.endpoints.dialects import headers
from compaction.endpoints.endpoint import Endpoint
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.stored_key import StoredKey
from compaction.redaction import MASK, redact
from compaction.storable import storable_text
from compaction.wording import reworded, worded

_USER_AGENT: Final = "hermes-sessions"
_LONGEST_DETAIL_CHARS: Final = 500


class EndpointKey:
    """The key that `endpoint` names, as `rules` allow it to be sent."""

    def __init__(
        self,
        endpoint: Endpoint,
        rules: OutboundRules,
        environment: Mapping[str, str],
        stored_key: StoredKey | None = None,
    ) -> None:
        self._endpoint, self._rules, self._environment = endpoint, rules, environment
        self._stored_key = stored_key

    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers of a question, the key's among them. Raises EndpointFault when there should be one and is not,
        or when it may not go to this host."""
        return (("user-agent", _USER_AGENT), *headers(self._endpoint.dialect, self._checked()))

    def clean(self, text: str) -> str:
        """`text` without the key."""
        key = self._value()
        return text.replace(key, MASK) if key else text

    def told(self, fault: EndpointFault) -> str:
        """What people are told of a fault: our words, then the endpoint's own, without any secret."""
        stated = stated_reason(fault.body, self.clean) if fault.body else ""
        return reworded(worded("{}: {}", fault.said, stated) if stated else fault.said, self._readable)

    def _readable(self, text: str) -> str:
        told = redact(self.clean(storable_text(text))).text
        return told if len(told) <= _LONGEST_DETAIL_CHARS else told[:_LONGEST_DETAIL_CHARS] + "…"

    def _value(self) -> str:
        if self._endpoint.key_secret:
            return "" if self._stored_key is None else self._stored_key.value.strip()
        return self._environment.get(self._endpoint.key_env, "").strip() if self._endpoint.key_env else ""

    def _checked(self) -> str:
        variable = self._endpoint.key_secret or self._endpoint.key_env
        if not variable:
            return ""
        if refusal := self._rules.key_refusal(variable, self._endpoint.host):
            raise EndpointFault(FaultName.KEY_REFUSED, refusal)
        if self._endpoint.key_secret:
            self._require_stored_key()
        key = self._value()
        if not key:
            raise EndpointFault(FaultName.KEY_MISSING, worded("the environment variable {} is not set", variable))
        if not key.isascii() or not key.isprintable():
            raise EndpointFault(FaultName.KEY_INVALID, self._no_key(variable))
        return key

    def _no_key(self, variable: str) -> str:
        if self._endpoint.key_secret:
            return worded("the stored key {} does not hold a key", variable)
        return worded("the environment variable {} does not hold a key", variable)

    def _require_stored_key(self) -> None:
        """Raise EndpointFault unless there is a stored key, it can be read, and it is for this place."""
        stored, name = self._stored_key, self._endpoint.key_secret
        if stored is None or not (stored.value.strip() or stored.problem):
            raise EndpointFault(FaultName.KEY_MISSING, worded("the project stores no key named {}", name))
        if stored.problem:
            raise EndpointFault(FaultName.KEY_INVALID, stored.problem)
        if stored.origin != self._endpoint.origin:
            message = worded(
                "the stored key {} is for {} and is not sent to {}", name, stored.origin, self._endpoint.origin
            )
            raise EndpointFault(FaultName.KEY_REFUSED, message)

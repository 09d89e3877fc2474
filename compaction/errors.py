"""Errors of the engine, split by who is to blame.

`InvalidInput` and its kinds: the caller's data is wrong; the message says what and where. `SummarizerError`: the other
side failed. Anything else that escapes the engine is a fault of ours and is meant to be loud. What an error says can be
a wording (`wording`); `said` keeps it, where `str(error)` is English.
"""

from __future__ import annotations

from compaction.wording import worded


class InvalidInput(ValueError):
    """The caller's data can't be used. `where` names the place (a key, a line, a row) for people; `said` is both."""

    def __init__(self, message: str, where: str = "") -> None:
        self.said = worded("{}: {}", where, message) if where else message
        super().__init__(self.said)
        self.message = message
        self.where = where


class InvalidMessage(InvalidInput):
    """A message has a shape that no provider accepts and that can't be read with a warning either."""


class InvalidPolicy(InvalidInput):
    """A compression setting has a wrong type or lies out of range."""


class InvalidSource(InvalidInput):
    """A file is not of a known transcript format, or is damaged beyond its first record."""


class SummarizerError(Exception):
    """The summarizer could not be asked. `retryable` says whether asking again may help."""

    def __init__(self, message: str, *, reason: str, retryable: bool) -> None:
        super().__init__(message)
        self.said = message
        self.reason = reason
        self.retryable = retryable

"""Punctuation between words that are put together from several texts, as the reader's language writes it."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import pgettext


def comma() -> str:
    """Between parts of one thing."""
    return pgettext("punctuation", ", ")


def semicolon() -> str:
    """Between things."""
    return pgettext("punctuation", "; ")


def colon() -> str:
    """Between a name and what is said of it."""
    return pgettext("punctuation", ": ")


def stop() -> str:
    """Between sentences."""
    return pgettext("punctuation", ". ")


def end() -> str:
    """After the last sentence."""
    return pgettext("punctuation", ".")


def opening() -> str:
    """Before an aside."""
    return pgettext("punctuation", " (")


def closing() -> str:
    """After an aside."""
    return pgettext("punctuation", ")")


def listed(words: Iterable[str]) -> str:
    """Words with commas between them."""
    return comma().join(words)

"""Addresses of the pages of a session, for the lines of a transcript: hundreds on a page, each put together from an
address that was looked up once.

prefix, here and there: where the site is mounted (`get_script_prefix`), so that no address is remembered for another
place.
"""

from __future__ import annotations

from functools import lru_cache

from django.urls import get_script_prefix, reverse


def session_address(name: str, public_id: str) -> str:
    """A page of a session."""
    return _session_address(name, public_id, get_script_prefix())


def row_address(name: str, public_id: str, row_id: int) -> str:
    """A page of a row."""
    before, behind = _around_numbers(name, public_id, 1, get_script_prefix())
    return f"{before}{row_id}{behind}"


def step_address(public_id: str, pass_number: int, step: int) -> str:
    """A step of the replay of a pass that is stored."""
    before, behind = _around_numbers("replay", public_id, 2, get_script_prefix())
    return f"{before}{pass_number}/{step}{behind}"


@lru_cache(maxsize=1_024)
def _session_address(name: str, public_id: str, prefix: str) -> str:
    return reverse(name, args=[public_id])


@lru_cache(maxsize=1_024)
def _around_numbers(name: str, public_id: str, numbers: int, prefix: str) -> tuple[str, str]:
    """What stands in front of and behind the numbers in an address; they are its last parts that are numbers."""
    before, _, behind = reverse(name, args=[public_id, *[0] * numbers]).rpartition("/0" * numbers + "/")
    return f"{before}/", f"/{behind}"

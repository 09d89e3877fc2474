"""Typed reading of environment variables for the settings module, and nothing else.

The idea: a value is either absent (then the default stands) or it means exactly one thing. Whatever means nothing is
refused with the variable's name, the value and what would have been accepted. An empty value counts as absent, so that
`NAME= command` switches a setting off.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

TRUE_WORDS: Final = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS: Final = frozenset({"0", "false", "no", "off"})
DATABASE_SCHEMES: Final = ("postgresql://", "postgres://")
REDIS_SCHEMES: Final = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Where a PostgreSQL database lies; empty strings mean "libpq's default"."""

    name: str
    user: str
    password: str
    host: str
    port: str
    options: tuple[tuple[str, str], ...]


def refuse(name: str, value: str, wanted: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={value!r} is not {wanted}.")


def text(name: str, default: str = "", environ: Mapping[str, str] = os.environ) -> str:
    """The variable as stripped text, or the default when it is absent or blank."""
    return environ.get(name, "").strip() or default


def boolean(name: str, default: bool, environ: Mapping[str, str] = os.environ) -> bool:
    value = text(name, "", environ)
    if not value:
        return default
    if value.lower() in TRUE_WORDS:
        return True
    if value.lower() in FALSE_WORDS:
        return False
    raise refuse(name, value, "a yes or no (1, true, yes, on, 0, false, no, off)")


def integer(name: str, default: int, at_least: int, at_most: int, environ: Mapping[str, str] = os.environ) -> int:
    value = text(name, "", environ)
    if not value:
        return default
    # int() also accepts "1_000" and Arabic digits, which nobody means in an environment variable.
    if not (value.isascii() and value.removeprefix("-").isdigit() and at_least <= int(value) <= at_most):
        raise refuse(name, value, f"a whole number from {at_least} to {at_most}")
    return int(value)


def word(name: str, default: str, allowed: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> str:
    """One of a few words, compared without regard to case; returned as it stands in `allowed`."""
    value = text(name, default, environ)
    for candidate in allowed:
        if candidate.lower() == value.lower():
            return candidate
    raise refuse(name, value, f"one of: {', '.join(allowed)}")


def word_or_folder(name: str, default: str, allowed: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> str:
    """One of a few words, or the absolute path of a folder that exists."""
    value = text(name, default, environ)
    if value in allowed or (os.path.isabs(value) and os.path.isdir(value)):
        return value
    raise refuse(name, value, f"one of {', '.join(allowed)}, or the absolute path of a folder")


def words(name: str, default: tuple[str, ...] = (), environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """A list separated by commas; blanks around the entries are dropped, an empty entry is refused."""
    value = text(name, "", environ)
    if not value:
        return default
    entries = tuple(entry.strip() for entry in value.split(","))
    if not all(entries):
        raise refuse(name, value, "a list separated by commas without empty entries")
    return entries


def folder(name: str, default: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The absolute path of a folder, which need not exist; `~` is somebody's home."""
    value = text(name, str(default), environ)
    try:
        return Path(value).expanduser().resolve()
    except RuntimeError:
        raise refuse(name, value, "a folder: nobody has that home") from None


def time_zone(name: str, default: str, environ: Mapping[str, str] = os.environ) -> str:
    value = text(name, default, environ)
    try:
        ZoneInfo(value)
    except (ValueError, OSError, LookupError):
        raise refuse(name, value, "a time zone, such as UTC or Europe/Berlin") from None
    return value


def redis_url(name: str, environ: Mapping[str, str] = os.environ) -> str | None:
    value = text(name, "", environ)
    if value and not value.startswith(REDIS_SCHEMES):
        raise refuse(name, value, f"an address starting with {', '.join(REDIS_SCHEMES)}")
    return value or None


def database_address(name: str, environ: Mapping[str, str] = os.environ) -> DatabaseAddress | None:
    """The address in a `postgresql://user:password@host:port/name?option=value` variable, or None when it is absent.

    The password never appears in the error.
    """
    value = text(name, "", environ)
    if not value:
        return None
    if not value.startswith(DATABASE_SCHEMES):
        scheme, separator, _ = value.partition("://")
        raise refuse(
            name,
            f"{scheme}://…" if separator else "…",
            "a PostgreSQL address (postgresql://user:password@host:port/database)",
        )
    try:
        parts = {key: str(part) for key, part in conninfo_to_dict(value).items() if part is not None}
    except ProgrammingError:
        raise refuse(name, "postgresql://…", "a PostgreSQL address that libpq understands") from None
    if not parts.get("dbname"):
        raise refuse(name, "postgresql://…", "complete: the name of the database is missing after the last slash")
    return DatabaseAddress(
        name=parts.pop("dbname"),
        user=parts.pop("user", ""),
        password=parts.pop("password", ""),
        host=parts.pop("host", ""),
        port=parts.pop("port", ""),
        options=tuple(sorted(parts.items())),
    )

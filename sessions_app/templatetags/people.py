"""Template words of people and their roles. Formatting only."""

from __future__ import annotations

import re
from typing import Final

from django import template
from django.utils.translation import pgettext

from sessions_app.models import MemberRole, TokenScope

register = template.Library()

# Who calls itself several things is named by the first of these that it calls itself.
BROWSERS: Final = (
    ("Edge", re.compile(r"\bEdg(?:e|A|iOS)?/(\d+)")),
    ("Opera", re.compile(r"\bOPR/(\d+)")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/(\d+)")),
    ("Chrome", re.compile(r"(?:Chrome|CriOS)/(\d+)")),
    ("Safari", re.compile(r"\bVersion/(\d+)\S* (?:Mobile/\S+ )?Safari/")),
)
SYSTEMS: Final = ("Windows", "Android", "iPhone", "iPad", "CrOS", "Mac OS X", "Linux")
SYSTEM_NAMES: Final = {"CrOS": "ChromeOS", "Mac OS X": "macOS"}


@register.filter
def role_name(role: str | None) -> str:
    """A role in the reader's language; nothing for somebody without one."""
    names = {
        MemberRole.OWNER: pgettext("role", "owner"),
        MemberRole.EDITOR: pgettext("role", "editor"),
        MemberRole.VIEWER: pgettext("role", "viewer"),
    }
    return names[MemberRole(role)] if role else ""


@register.filter
def scope_name(scope: str) -> str:
    """What a token may do, in the reader's language."""
    names = {TokenScope.READ: pgettext("token", "read"), TokenScope.WRITE: pgettext("token", "read and write")}
    return names[TokenScope(scope)]


@register.filter
def browser_name(agent: str) -> str:
    """Browser and system of a User-Agent header, such as "Firefox 128, Linux"; the header itself when it names none."""
    for name, pattern in BROWSERS:
        if found := pattern.search(agent):
            system = next((word for word in SYSTEMS if word in agent), "")
            return f"{name} {found[1]}" + (f", {SYSTEM_NAMES.get(system, system)}" if system else "")
    return agent

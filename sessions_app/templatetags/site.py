"""Template words of every page: theme, icons, numbers, times, addresses with changed parameters.

Formatting only. Unknown stays visible as a dash or as the word; nothing here turns None into 0.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.http import HttpRequest
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext

from compaction.cache_prices import shipped_price_table
from sessions_app import punctuation
from sessions_app.access import may_manage, may_write, writable_projects
from sessions_app.languages import other_languages
from sessions_app.models import Project, Session
from sessions_app.themes import next_theme_after, theme_of
from sessions_app.token_counting import exact_counter_name
from sessions_app.translated import translated

register = template.Library()
for mark in (
    punctuation.comma,
    punctuation.semicolon,
    punctuation.colon,
    punctuation.stop,
    punctuation.end,
    punctuation.opening,
    punctuation.closing,
):
    register.simple_tag(mark)

DASH = "–"
MINUS = "−"
PLAIN_ICON_CLASS = "i"


@register.simple_tag(takes_context=True)
def theme(context: dict[str, Any]) -> str:
    """The reader's theme: auto, light or dark. Pages rendered without a request follow the system."""
    request = context.get("request")
    return theme_of(request) if isinstance(request, HttpRequest) else theme_of(None)


@register.simple_tag(takes_context=True)
def next_theme(context: dict[str, Any]) -> str:
    """The theme that the switch leads to."""
    return next_theme_after(theme(context))


@register.simple_tag
def languages_to_change_to() -> tuple[tuple[str, str], ...]:
    """The languages of the pages but the one that is shown: code and own name of each."""
    return other_languages(get_language() or "")


@register.filter
def told(text: str) -> str:
    """What this program says of something, in the reader's language; a text of others stays as it is."""
    return translated(text)


@register.filter
def source_name(source: str) -> str:
    """Where a session came from: the name of a program or format, or this site."""
    return pgettext("source of a session", "hosted") if source == Session.HOSTED else source


@register.simple_tag
def zone_name() -> str:
    """The zone in which this page writes times."""
    return timezone.get_current_timezone_name()


@register.simple_tag(takes_context=True)
def can_write(context: dict[str, Any], project: Project) -> bool:
    """Whether the reader may change the project, for controls that only then make sense. Asked once for a page."""
    request = context["request"]
    known: dict[int, bool] = request.__dict__.setdefault("writable_projects", {})
    if project.pk not in known:
        known[project.pk] = may_write(request.user, project)
    return known[project.pk]


@register.simple_tag(takes_context=True)
def can_write_somewhere(context: dict[str, Any]) -> bool:
    """Whether there is a project to which the reader may add sessions."""
    return writable_projects(context["request"].user).exists()


@register.simple_tag(takes_context=True)
def can_manage(context: dict[str, Any], project: Project) -> bool:
    """Whether the reader may change the project's settings and people."""
    return may_manage(context["request"].user, project)


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """One mark of the sprite. Decoration: the word beside it says the same."""
    css = f"{PLAIN_ICON_CLASS} {classes}".strip()
    return format_html('<svg class="{}" aria-hidden="true"><use href="#i-{}"/></svg>', css, name)


@register.filter
def number(value: int | float | None) -> str:
    """A count with thousands commas; None is a dash."""
    return DASH if value is None else f"{value:,}".replace("-", MINUS)


@register.filter
def signed(value: int | None) -> str:
    """A change with its sign: +12, −8,433, 0; None is a dash."""
    if value is None:
        return DASH
    return f"{value:+,}".replace("-", MINUS) if value else "0"


@register.filter
def percent(value: float | None) -> str:
    """One decimal and a space before the sign; None is a dash."""
    return DASH if value is None else f"{float(value):,.1f} %".replace("-", MINUS)


@register.filter
def one_decimal(value: float | None) -> str:
    """One decimal without a unit; None is a dash."""
    return DASH if value is None else f"{float(value):,.1f}".replace("-", MINUS)


@register.filter
def whole(value: float | None) -> str:
    """A mean as a whole number with thousands commas; None is a dash."""
    return DASH if value is None else number(round(value))


@register.filter
def whole_ms(value: float | None) -> str:
    """A mean duration; None is a dash."""
    return duration_ms(None if value is None else round(value))


@register.filter
def plain(value: int | None) -> str:
    """A row's number, which takes no commas; None is a dash."""
    return DASH if value is None else str(value)


@register.filter
def duration_ms(value: int | None) -> str:
    """A duration given in milliseconds as people say it: 120 ms, 4.1 s, 3 m 12 s, 1 h 5 m; None is a dash."""
    if value is None:
        return DASH
    if value < 1_000:
        return f"{value} ms"
    if value < 60_000:
        return f"{value / 1000:.1f} s"
    minutes, seconds = divmod(round(value / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} m" if hours else f"{minutes} m {seconds} s"


@register.filter
def size_bytes(value: int | None) -> str:
    """A size in bytes, kB, MB or GB (powers of 1,000); None is a dash."""
    if value is None:
        return DASH
    if value < 1_000:
        return f"{value} B"
    if value < 1_000_000:
        return f"{value / 1e3:,.1f} kB"
    return f"{value / 1e6:,.1f} MB" if value < 1_000_000_000 else f"{value / 1e9:,.1f} GB"


@register.simple_tag
def counted_with() -> str:
    """With what this site counts tokens."""
    name = exact_counter_name()
    if name is None:
        return gettext("Tokens are estimated")
    return gettext("Tokens counted with %(counter)s") % {"counter": name}


@register.simple_tag
def prices_date() -> str:
    """When the prices that ship with the site were read: year and month."""
    return shipped_price_table().as_of


@register.simple_tag
def when(moment: datetime | None) -> SafeString:
    """A time as day, month and minute, with the full one, zone included, in the tooltip."""
    if moment is None:
        return format_html("<span>{}</span>", DASH)
    local = timezone.localtime(moment)
    is_this_year = local.year == timezone.localtime().year
    shape = pgettext("date format", "j M H:i") if is_this_year else pgettext("date format", "j M Y H:i")
    return time_element(local, formats.date_format(local, shape))


@register.simple_tag
def clock(moment: datetime | None) -> SafeString:
    """Only hours and minutes, for lists where the day is known."""
    if moment is None:
        return format_html("<span>{}</span>", DASH)
    local = timezone.localtime(moment)
    return time_element(local, f"{local:%H:%M}")


@register.simple_tag
def ago(moment: datetime | None) -> SafeString:
    """How long ago, coarsely: now, 2 min, 3 h, yesterday, 26 Nov."""
    if moment is None:
        return format_html("<span>{}</span>", DASH)
    local = timezone.localtime(moment)
    return time_element(local, ago_words(local, timezone.localtime()))


def ago_words(local: datetime, now: datetime) -> str:
    elapsed = now - local
    if elapsed < timedelta(minutes=1):
        return gettext("now")
    if elapsed < timedelta(hours=1):
        minutes = int(elapsed.total_seconds() // 60)
        return gettext("%(minutes)d min") % {"minutes": minutes}
    if elapsed < timedelta(hours=24) and local.date() == now.date():
        hours = int(elapsed.total_seconds() // 3600)
        return gettext("%(hours)d h") % {"hours": hours}
    if local.date() == now.date() - timedelta(days=1):
        return gettext("yesterday")
    shape = pgettext("date format", "j M") if local.year == now.year else pgettext("date format", "j M Y")
    return formats.date_format(local, shape)


def time_element(local: datetime, words: str) -> SafeString:
    """A <time> with the machine's form in `datetime` and the zone's in `title`."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d %H:%M:%S %Z}",
        words,
    )


@register.simple_tag(takes_context=True)
def address(context: dict[str, Any], **changes: object) -> str:
    """This page's address with some parameters changed; None or an empty string takes one away."""
    parameters = context["request"].GET.copy()
    for name, value in changes.items():
        parameters.pop(name, None)
        if value not in (None, ""):
            parameters[name] = str(value)
    query = parameters.urlencode()
    return f"?{query}" if query else context["request"].path


@register.simple_tag(takes_context=True)
def address_query(context: dict[str, Any], **changes: object) -> str:
    """The query of this page's address with some parameters changed, for another page that takes the same ones."""
    found = address(context, **changes)
    return found if found.startswith("?") else ""

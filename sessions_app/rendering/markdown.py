"""Text of a transcript as safe HTML.

Two locks, either of which would do: the parser never passes HTML through (it is shown as text), and what it makes is
cleaned against a short list of tags. Each text is rendered alone, so nothing in it can reach the next row. Viewing
must cause no request to anywhere: pictures become words, links wait for a click and send no referrer.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from sessions_app.rendering.code import highlighted

ALLOWED_TAGS = frozenset(
    ("p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "h3", "h4", "h5", "h6")
    + ("table", "thead", "tbody", "tr", "th", "td", "a", "span")
)
ALLOWED_ATTRIBUTES = {
    "a": {"href", "target"},
    "span": {"class"},
    "ol": {"start"},
    "th": {"scope"},
}
LINK_SCHEMES = frozenset({"http", "https", "mailto"})
# Terminal colours and cursor movements mean nothing on a page; raw JSON keeps them.
TERMINAL_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
HIGHEST_HEADING = 3


def render_markdown(text: str) -> SafeString:
    """`text` as HTML that is safe to print. Headings start at h3; HTML in the text is shown, not obeyed."""
    tokens = parser().parse(without_terminal_codes(text))
    settle_headings(tokens)
    html = parser().renderer.render(tokens, parser().options, {})
    clean = nh3.clean(
        html,
        tags=set(ALLOWED_TAGS),
        attributes={tag: set(names) for tag, names in ALLOWED_ATTRIBUTES.items()},
        url_schemes=set(LINK_SCHEMES),
        link_rel="noopener noreferrer nofollow",
    )
    # A block of code scrolls sideways, so the keyboard must be able to reach it. Cleaned, it has no attributes.
    return mark_safe(clean.replace("<pre>", '<pre tabindex="0">'))


def without_terminal_codes(text: str) -> str:
    """The text without escape sequences of terminals."""
    return TERMINAL_CODES.sub("", text) if "\x1b" in text else text


class TranscriptMarkdown(MarkdownIt):
    """A parser with its own idea of which addresses may become links."""

    def validateLink(self, url: str) -> bool:
        return is_absolute_link(url)


def mark_code(code: str, language: str, _attributes: str) -> str:
    """A block of code with its parts marked; empty leaves it to the parser, which escapes it."""
    return highlighted(code, language) or ""


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """One parser for all: CommonMark with tables and strike-through, line breaks kept, no HTML, no relative links."""
    options = {"html": False, "breaks": True, "highlight": mark_code}
    markdown = TranscriptMarkdown("commonmark", options).enable(["table", "strikethrough"])
    markdown.add_render_rule("image", render_picture)
    markdown.add_render_rule("link_open", render_link)
    return markdown


def is_absolute_link(address: str) -> bool:
    """A relative address would point into this site, where it means nothing; script and data addresses are refused."""
    try:
        return urlsplit(address.strip()).scheme.lower() in LINK_SCHEMES or address.startswith("data:image/")
    except ValueError:
        return False


def render_link(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    """A link opens apart, so that a transcript stays where it is."""
    tokens[index].attrSet("target", "_blank")
    return renderer.renderToken(tokens, index, options, env)


def render_picture(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    """A picture in Markdown becomes its words and its host; nothing is loaded."""
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    host = gettext("inside the text") if source.startswith("data:") else urlsplit(source).netloc
    words = gettext("picture not loaded: %(name)s (%(host)s)") % {"name": token.content or "–", "host": host}
    return f'<span class="tag">{escape(words)}</span>'


def settle_headings(tokens: Sequence[Token]) -> None:
    """Let the highest heading be h3, and the others follow: a page's own end at h2, and no level is skipped."""
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    shift = HIGHEST_HEADING - min((int(token.tag[1]) for token in headings), default=HIGHEST_HEADING)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) + shift)}"

"""A session as one HTML page that needs nothing else: no script, no picture, no address outside itself.

Every text goes through the template engine, which escapes it, or through the Markdown renderer, which cleans it. The
page's own policy allows its one style sheet by its hash, and nothing more.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import lru_cache

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

from compaction.messages import Role
from sessions_app.exporting.reading import ToldRow, told_rows, told_title
from sessions_app.models import Session
from sessions_app.pages.row_text import MARKDOWN_CHARS
from sessions_app.rendering.markdown import render_markdown


def html_pieces(session: Session, *, is_redacted: bool) -> Iterator[bytes]:
    """The head, then each row, then the end."""
    style = page_style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    head = {
        "session": session,
        "title": told_title(session, is_redacted=is_redacted),
        "is_redacted": is_redacted,
        "style": mark_safe(f"<style>{style}</style>"),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    }
    yield get_template("export/head.html").render(head).encode()
    row = get_template("export/row.html")
    for told in told_rows(session, is_redacted=is_redacted):
        yield row.render({"told": told, "html": html_of(told)}).encode("utf-8", "replace")
    yield get_template("export/foot.html").render({}).encode()


def html_of(told: ToldRow) -> SafeString | None:
    """The text as Markdown, None where it is shown as it is."""
    if told.row.role == Role.TOOL or len(told.text) > MARKDOWN_CHARS:
        return None
    return render_markdown(told.text)


@lru_cache(maxsize=1)
def page_style() -> str:
    """The style sheet of the page, in the site's colours. It is ours, not of a session, so it may stand as it is."""
    return mark_safe(get_template("export/style.css").render({}).strip())

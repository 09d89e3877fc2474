"""What the engine says, in the reader's language."""

from __future__ import annotations

from django.utils.translation import gettext

from compaction.wording import Wording


def translated(text: str) -> str:
    """`text` in the language of the page, its figures unchanged but for texts among them; what is no text of the engine
    stays as it is."""
    if not isinstance(text, Wording):
        return text
    figures = (translated(one) if isinstance(one, Wording) else one for one in text.figures)
    return gettext(text.template).format(*figures)

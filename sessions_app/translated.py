"""What the engine says, in the reader's language."""

from __future__ import annotations

from django.utils.translation import gettext

from compaction.wording import Wording


def translated(text: str) -> str:
    """`text` in the language of the page, its figures unchanged; what is no text of the engine stays as it is."""
    return gettext(text.template).format(*text.figures) if isinstance(text, Wording) else text

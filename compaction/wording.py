"""Text for people that can be said in another language later.

The engine speaks English and knows no languages. What it says is a string like any other, which remembers the template
it was made from and the figures that were put in; whoever shows it can translate the template and put them in again.
A wording is stored as these two, never as a finished sentence alone, so that what is read years later is still told in
the reader's language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

Figure = str | int | float | None

_TEMPLATE: Final = "says"
_FIGURES: Final = "of"
# How the text of a stored wording begins. No other text is stored so: `wording_to_text` sees to it.
_MARK: Final = f'{{"{_TEMPLATE}":'


class Wording(str):
    """A text made from a template. Equal to, and used as, the English text.

    template: with places as `str.format` has them, without names. figures: what stands in these places, in order;
    wordings may stand among them.
    """

    template: str
    figures: tuple[Figure, ...]

    def __getnewargs__(self) -> tuple[str]:
        return (str(self),)


def worded(template: str, *figures: Figure) -> Wording:
    """The text of `template` with `figures` in its places."""
    text = Wording(template.format(*figures))
    text.template, text.figures = template, figures
    return text


def reworded(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` made to what is not our own in it: the texts among a wording's figures, else all of it."""
    if not isinstance(text, Wording):
        return change(text)
    return worded(text.template, *(reworded(one, change) if isinstance(one, str) else one for one in text.figures))


def wording_to_json(text: str) -> object:
    """`text` as a JSON value: a wording as {"says": template, "of": figures}, any other text as it is."""
    if not isinstance(text, Wording):
        return text
    figures = [wording_to_json(one) if isinstance(one, str) else one for one in text.figures]
    return {_TEMPLATE: text.template, _FIGURES: figures}


def wording_from_json(value: object) -> str:
    """The text that `wording_to_json` made `value` of."""
    if not isinstance(value, Mapping):
        return str(value)
    figures = (wording_from_json(one) if isinstance(one, str | Mapping) else one for one in value[_FIGURES])
    return worded(value[_TEMPLATE], *figures)


def wording_to_text(text: str) -> str:
    """`text` for a column of text: a wording as JSON, any other text as it is."""
    if not isinstance(text, Wording) and text.startswith(_MARK):
        text = worded("{}", text)
    return json.dumps(wording_to_json(text), separators=(",", ":")) if isinstance(text, Wording) else text


def wording_from_text(text: str) -> str:
    """The text that `wording_to_text` made `text` of."""
    return wording_from_json(json.loads(text)) if text.startswith(_MARK) else text

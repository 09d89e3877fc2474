"""Text for people that can be said in another language later.

The engine speaks English and knows no languages. What it says is a string like any other, which remembers the template
it was made from and the figures that were put in; whoever shows it can translate the template and put them in again.
"""

from __future__ import annotations


class Wording(str):
    """A text made from a template. Equal to, and used as, the English text.

    template: with places as `str.format` has them, without names. figures: what stands in these places, in order.
    """

    template: str
    figures: tuple[object, ...]

    def __getnewargs__(self) -> tuple[str]:
        return (str(self),)


def worded(template: str, *figures: object) -> Wording:
    """The text of `template` with `figures` in its places."""
    text = Wording(template.format(*figures))
    text.template, text.figures = template, figures
    return text

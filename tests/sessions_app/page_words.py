"""The words a reader meets on a page: its text, and the attributes that are shown or read out."""

import re
from html.parser import HTMLParser

# What is quoted, not said: code, keys, names and texts of others.
QUOTED_ELEMENTS = {"script", "style", "code", "pre", "kbd", "textarea", "bdi"}
QUOTED_CLASSES = {"mono", "md", "diff", "row-role", "rl", "tx", "fed-text", "fn", "arg", "brand", "live-url"}
SHOWN_ATTRIBUTES = {"title", "aria-label", "placeholder", "alt"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
HAN = r"[\u3400-\u9fff]"
# Half a width where Chinese writes a full one.
HALF_WIDTH = re.compile(rf"{HAN}\s?[,;:!?()](?!\w)|[,;:!?(]\s?{HAN}|{HAN}\.(?:\s|$)")
# Names of things: identifiers, paths, addresses, figures with their unit.
NAMES = re.compile(
    r"https?://\S+|[\w.-]*[_/=@\\][\w./=@-]*|\b[\w.-]+\.(?:com|db|json|jsonl|yaml|zip)\b|\b[a-z0-9]{12}\b|\S*\d\S*",
    re.ASCII,
)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts = []
        self._open = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        is_quoted = (
            self._is_quoted or tag in QUOTED_ELEMENTS or bool(QUOTED_CLASSES & set((given.get("class") or "").split()))
        )
        if not is_quoted:
            self.texts += [text for name, text in attributes if name in SHOWN_ATTRIBUTES and text]
        if tag not in VOID:
            self._open.append((tag, is_quoted))

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        if not self._is_quoted and text.strip():
            self.texts.append(" ".join(text.split()))

    @property
    def _is_quoted(self):
        return bool(self._open) and self._open[-1][1]


def texts_of(html):
    """What is said on a page, piece by piece."""
    reader = _Reader()
    reader.feed(html)
    return reader.texts


def latin_words(text, names=()):
    """The Latin words in `text` that are no names. names: patterns of what else is one."""
    for name in names:
        text = re.sub(name, " ", text)
    return WORD.findall(NAMES.sub(" ", text))


def has_half_width(text):
    """Whether `text` has punctuation of half a width beside Chinese characters."""
    return bool(HALF_WIDTH.search(text))

#!/usr/bin/env python
"""The catalogues of the pages' languages: collect the texts, compile what was translated, say what is missing.

    python scripts/translations.py collect    put new texts of templates and code into each catalogue, take old ones out
    python scripts/translations.py compile    write the compiled catalogues, which the site reads
    python scripts/translations.py check      print what is missing or wrong; exit code 1 if anything is

Texts are found in `{% translate %}`, `{% blocktranslate %}` and `_("...")` of templates, in gettext calls and wordings
of code, and in the price tables.
Nothing but Python is needed; the compiled files belong into the repository, so that a site needs no such tool.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_python
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po

ROOT: Final = Path(__file__).resolve().parent.parent
LOCALE: Final = ROOT / "locale"
PRICES: Final = ROOT / "compaction" / "data" / "prices.json"
CODE: Final = ("compaction", "sessions_app", "hermes_site")
KEYWORDS: Final = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "worded": None,
}
HEADER: Final = (
    "# Texts of the pages. Collected and compiled by scripts/translations.py; translations are written here."
)
_NOISE: Final = tuple(f'"{word}' for word in ("POT-", "PO-", "Last-", "Report-", "Generated-", "Language-Team"))
_PLACEHOLDER: Final = re.compile(r"%\(\w+\)[sdf]|(?<!%)%[sd]|\{\w*(?:![rsa])?(?::[^{}]*)?\}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text to translate. singular and plural are the same when it has one form."""

    singular: str
    plural: str
    context: str | None
    place: str

    @property
    def id(self) -> str | tuple[str, str]:
        """As catalogues name it."""
        return self.singular if self.singular == self.plural else (self.singular, self.plural)


def texts_of(source: str, place: str) -> Iterator[Text]:
    """The texts in Python code, or in what Django makes of a template for this purpose."""
    for line, keyword, message, _comments in extract_python(io.BytesIO(source.encode()), KEYWORDS, [], {}):
        function = str(keyword)
        parts = [str(part) for part in (message if isinstance(message, (tuple, list)) else (message,)) if part]
        context = parts.pop(0) if parts and function.startswith(("pgettext", "npgettext")) else None
        if parts:
            plural = parts[1] if function.startswith(("ngettext", "npgettext")) else parts[0]
            yield Text(parts[0], plural, context, f"{place}:{line}")


def all_texts() -> list[Text]:
    """The texts of all templates and all code, by place."""
    from django.conf import settings
    from django.utils.translation.template import templatize

    if not settings.configured:
        settings.configure()
    found: list[Text] = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        # Its lines stand for a template's: what stands before a tag counts as indentation only by accident.
        code = "\n".join(line.lstrip() for line in templatize(path.read_text("utf-8")).splitlines())
        found += texts_of(code, str(path.relative_to(ROOT)))
    for path in sorted(path for folder in CODE for path in (ROOT / folder).rglob("*.py")):
        found += texts_of(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    return found + price_labels()


def price_labels() -> list[Text]:
    """The names of the price tables that ship with the product."""
    providers = json.loads(PRICES.read_text("utf-8"))["providers"]
    return [Text(one["label"], one["label"], None, f"{PRICES.relative_to(ROOT)}:1") for one in providers]


def template_of(texts: list[Text]) -> Catalog:
    """A catalogue of the texts without translations."""
    catalog = Catalog(project="Hermes Sessions", charset="utf-8")
    for text in texts:
        path, _, line = text.place.rpartition(":")
        catalog.add(text.id, locations=[(path, int(line))], context=text.context)
    return catalog


def catalogues() -> list[Path]:
    """The catalogue files, one per language."""
    return sorted(LOCALE.glob("*/LC_MESSAGES/django.po"))


def read(path: Path) -> Catalog:
    """A catalogue with its translations."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parent.parent.name, charset="utf-8")


def collect(path: Path) -> None:
    """Bring a catalogue up to the texts there are; a text that changed is a new text."""
    catalog = read(path)
    catalog.update(template_of(all_texts()), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    catalog.header_comment = HEADER
    catalog.fuzzy = False
    with path.open("wb") as file:
        write_po(file, catalog, width=118, sort_output=True, no_location=True)
    # Dates would make every collecting a change.
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(_NOISE)), "utf-8")


def compile_(path: Path) -> None:
    """Write the form that the site reads. A text that is not translated yet is left out and shown in English."""
    catalog = read(path)
    for message in [message for message in catalog if message.id and not all(_as_tuple(message.string))]:
        catalog.delete(message.id, message.context)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalog)


def complaints(path: Path) -> list[str]:
    """What is missing in a catalogue or wrong with it, one line each."""
    catalog, told = read(path), []
    for text in {(text.id, text.context): text for text in all_texts()}.values():
        message = catalog.get(text.id, text.context)
        why = "is not in the catalogue" if message is None else _fault_of(message)
        if why:
            told.append(f"{text.place}: {text.singular!r} {why}")
    return told + _out_of_date(path, catalog)


def _fault_of(message: Message) -> str:
    forms = _as_tuple(message.string)
    if message.fuzzy or not all(forms):
        return "is not translated"
    wanted = placeholders(_as_tuple(message.id)[-1])
    return "" if all(placeholders(form) == wanted for form in forms) else "has other placeholders in its translation"


def _as_tuple(words: object) -> tuple[str, ...]:
    return tuple(str(one) for one in words) if isinstance(words, (tuple, list)) else (str(words or ""),)


def placeholders(text: str) -> frozenset[str]:
    """What is to be filled in: names, or numbers in the order of places without a name. What stands twice counts
    once."""
    found = _PLACEHOLDER.findall(text)
    unnamed = itertools.count()
    return frozenset(f"{{{next(unnamed)}{one[1:]}" if one[:2] in ("{}", "{:", "{!") else one for one in found)


def _out_of_date(path: Path, catalog: Catalog) -> list[str]:
    compiled = path.with_suffix(".mo")
    if not compiled.exists():
        return [f"{compiled.relative_to(ROOT)} is missing: compile the catalogue"]
    with compiled.open("rb") as file:
        there = _forms_by_text(read_mo(file))
    wanted = {text: forms for text, forms in _forms_by_text(catalog).items() if all(forms)}
    return [] if there == wanted else [f"{compiled.relative_to(ROOT)} is older than its catalogue: compile it"]


def _forms_by_text(catalog: Catalog) -> dict[tuple[tuple[str, ...], str | None], tuple[str, ...]]:
    return {(_as_tuple(one.id), one.context): _as_tuple(one.string) for one in catalog if one.id}


def main(words: list[str]) -> int:
    """Do what the word says for each catalogue; 2 for a word that is none."""
    if len(words) != 1 or words[0] not in ("collect", "compile", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = 0
    for path in catalogues():
        if words[0] == "collect":
            collect(path)
        elif words[0] == "compile":
            compile_(path)
        else:
            told = complaints(path)
            wrong += len(told)
            print("\n".join([*told, f"{path.relative_to(ROOT)}: {len(told) or 'no'} complaints"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The catalogues are complete: a reader never meets two languages on one page."""

import re

import pytest
from django.conf import settings

from scripts.translations import catalogues, complaints, placeholders


@pytest.mark.parametrize("path", catalogues(), ids=lambda path: path.parent.parent.name)
def test_every_text_of_the_pages_is_translated_and_compiled(path):
    told = complaints(path)
    assert not told, "\n".join(["run scripts/translations.py collect, translate, compile", *told[:20]])


def test_there_is_a_catalogue_beside_english():
    assert [path.parent.parent.name for path in catalogues()] == ["zh_Hans"]


def test_placeholders_may_change_their_order_but_none_may_be_lost():
    assert placeholders("{} of {}") == placeholders("{1} / {0}") != placeholders("{} of")
    assert placeholders("%(rows)s rows") == placeholders("%(rows)s 行") != placeholders("行")
    assert placeholders("100 %%") == frozenset()


def test_no_text_is_the_same_for_one_and_for_many():
    """Catalogues would hold it without a plural, and pages that ask for the plural would not find it."""
    told = []
    for path in sorted((settings.BASE_DIR / "templates").rglob("*.html")):
        blocks = re.findall(r"{% blocktranslate\b[^%]*%}(.*?){% endblocktranslate %}", path.read_text("utf-8"), re.S)
        pairs = [block.split("{% plural %}") for block in blocks if "{% plural %}" in block]
        told += [(path.name, one) for one, many in pairs if one.strip() == many.strip()]
    for path in sorted((settings.BASE_DIR / "sessions_app").rglob("*.py")):
        pairs = re.findall(r'ngettext(?:_lazy)?\(\s*"([^"]*)",\s*"([^"]*)"', path.read_text("utf-8"))
        told += [(path.name, one) for one, many in pairs if one == many]
    assert told == []

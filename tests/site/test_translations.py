"""The catalogues are complete: a reader never meets two languages on one page."""

import pytest

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

"""`make screenshots` forgets no page: every address of the site is pictured, or it is said why not."""

import re
import sys

import pytest
from django.urls import Resolver404, URLPattern, get_resolver, resolve

from tests.site.conftest import CHECKOUT


@pytest.fixture(scope="module")
def page_shots():
    sys.path.insert(0, str(CHECKOUT / "scripts"))
    import page_shots

    yield page_shots
    sys.path.remove(str(CHECKOUT / "scripts"))


def names_of(patterns):
    """The names of all addresses below; those of the API are its one page."""
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            yield pattern.name
        elif pattern.app_name == "ninja":
            yield "openapi-view"
        else:
            yield from names_of(pattern.url_patterns)


def pictured_names(shots):
    for shot in shots:
        path = re.sub(r"\{\w+\}", "1", shot.path).partition("?")[0]
        try:
            yield resolve(path).url_name
        except Resolver404:
            assert shot.status in (404, 500), shot.path


def test_every_page_is_pictured_or_excepted_with_a_reason(page_shots):
    names = {name for name in names_of(get_resolver().url_patterns) if name}
    pictured = set(pictured_names(page_shots.SHOTS))
    assert names - pictured - set(page_shots.EXCEPTIONS) == set(), "add a Shot, or an exception with its reason"
    assert pictured & set(page_shots.EXCEPTIONS) == set()
    assert set(page_shots.EXCEPTIONS) <= names


def test_no_two_pictures_have_the_same_name(page_shots):
    names = [shot.name for shot in page_shots.SHOTS]
    assert sorted(names) == sorted(set(names))


def test_the_readme_shows_pictures_that_are_taken_and_small(page_shots):
    shown = re.findall(r"\]\(docs/pictures/([\w-]+)\.png\)", (CHECKOUT / "README.md").read_text())
    assert len(shown) == 4
    assert set(shown) <= {shot.name for shot in page_shots.SHOTS}
    for name in shown:
        assert (CHECKOUT / "docs" / "pictures" / f"{name}.png").stat().st_size < 300_000

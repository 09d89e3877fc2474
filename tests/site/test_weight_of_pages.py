"""What a page weighs: the scripts of the site, and everything compressed on its way."""

import gzip
import re

import pytest
from django.test import AsyncClient

from tests.site.conftest import CHECKOUT

STATIC = CHECKOUT / "static"
OWN_SCRIPTS = sorted((STATIC / "js").glob("*.js"))
VENDOR_SCRIPTS = sorted((STATIC / "vendor").rglob("*.js"))
TEMPLATES = sorted((CHECKOUT / "templates").rglob("*.html"))
MOST_OWN_BYTES, MOST_BYTES = 40_000, 160_000
IMPORT = re.compile(r'^import .*"\./(\w+\.js)";', re.MULTILINE)
COMMENT = re.compile(r"^\s*//.*$|^\s+", re.MULTILINE)


def minified(path):
    """About what a minifier leaves: no comments on lines of their own, and no indentation."""
    return len(COMMENT.sub("", path.read_text(encoding="utf-8")).encode())


def loaded_by(path):
    """A script and all it imports."""
    found, waiting = set(), [path]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [one.parent / name for name in IMPORT.findall(one.read_text(encoding="utf-8"))]
    return found


@pytest.mark.parametrize("script", [path.name for path in OWN_SCRIPTS])
def test_no_page_loads_more_of_the_sites_own_scripts_than_the_budget(script):
    loaded = loaded_by(STATIC / "js" / "app.js") | loaded_by(STATIC / "js" / script)
    assert sum(path.stat().st_size for path in loaded) < MOST_OWN_BYTES


def test_all_scripts_together_keep_to_their_budget():
    assert sum(map(minified, OWN_SCRIPTS)) + sum(path.stat().st_size for path in VENDOR_SCRIPTS) < MOST_BYTES


def test_the_chart_library_is_loaded_by_pages_with_a_zooming_chart_alone():
    users = {path.relative_to(CHECKOUT / "templates").as_posix() for path in TEMPLATES if "uplot" in path.read_text()}
    assert users == {"session/occupancy.html"}


async def test_static_files_travel_compressed_and_are_not_sent_again_unchanged():
    path = "/static/vendor/htmx/htmx.min.js"
    first = await AsyncClient().get(path, headers={"Accept-Encoding": "gzip, br"})
    whole = (STATIC / "vendor/htmx/htmx.min.js").read_bytes()
    assert first.headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in first.headers["Vary"]
    assert gzip.decompress(first.content) == whole
    assert int(first.headers["Content-Length"]) == len(first.content) < len(whole) / 2
    again = await AsyncClient().get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.django_db
def test_pages_travel_compressed_to_those_who_take_it(client):
    taken = client.get("/login/", headers={"Accept-Encoding": "gzip"})
    assert taken.headers["Content-Encoding"] == "gzip"
    assert b"<html" in gzip.decompress(taken.content)
    plain = client.get("/login/")
    assert "Content-Encoding" not in plain.headers and b"<html" in plain.content

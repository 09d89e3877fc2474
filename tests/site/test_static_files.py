import warnings

import pytest
from django.test import AsyncClient

from tests.site.conftest import CHECKOUT

FILE = "css/tokens.css"
CONTENT = (CHECKOUT / "static" / FILE).read_bytes()


@pytest.fixture
def get():
    async def ask(**headers):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return await AsyncClient().get(f"/static/{FILE}", headers=headers)

    return ask


async def test_a_static_file_is_served_whole_without_a_login_and_without_a_warning(get):
    answer = await get()
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert answer.headers["Content-Type"].startswith("text/css")
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_a_file_that_has_not_changed_is_not_sent_again(get):
    first = await get()
    second = await get(**{"If-None-Match": first.headers["ETag"]})
    assert (second.status_code, second.content) == (304, b"")


async def test_a_part_of_a_file_can_be_asked_for(get):
    answer = await get(Range="bytes=2-5")
    assert (answer.status_code, answer.content) == (206, CONTENT[2:6])


async def test_nothing_outside_the_static_folders_is_served(client):
    for path in ("/static/../manage.py", "/static/%2e%2e/manage.py", "/static//etc/passwd", "/static/css/"):
        assert client.get(path).status_code in (302, 404)

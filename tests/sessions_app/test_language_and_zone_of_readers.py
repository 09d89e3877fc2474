"""Pages in the reader's language and zone; programs get the same whoever asks."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from row_builder import RowBuilder, assistant, user

from sessions_app import clock, services
from sessions_app.models import MemberRole

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(project):
    someone = User.objects.create_user("olga")
    services.add_member(project, someone, MemberRole.OWNER)
    client = Client()
    client.force_login(someone)
    return client


@pytest.fixture
def session(project):
    with clock.played(datetime(2024, 3, 1, 22, 30, tzinfo=UTC)):
        session = services.create_session(project, "Half past ten in the evening")
        RowBuilder(session.pk).append(user("hello"), assistant("hi"))
    return session


def page(client, address, **headers):
    return client.get(address, **headers).content.decode()


def test_a_reader_changes_the_language_and_stays_on_the_page(client):
    answer = client.post("/language/", {"language": "zh-hans", "next": "/p/?page=1"})
    assert (answer.status_code, answer.url) == (302, "/p/?page=1")
    assert '<html lang="zh-hans"' in page(client, "/p/")
    client.post("/language/", {"language": "en", "next": "/p/"})
    assert '<html lang="en"' in page(client, "/p/")


def test_a_language_that_is_none_changes_nothing_and_nobody_is_led_off_the_site(client):
    answer = client.post("/language/", {"language": "xx", "next": "https://elsewhere.example/"})
    assert answer.url == "/"
    assert "hermes_sessions_language" not in answer.cookies


def test_without_a_choice_the_browser_decides(client):
    assert '<html lang="zh-hans"' in page(client, "/p/", HTTP_ACCEPT_LANGUAGE="zh-CN,zh;q=0.9")
    assert '<html lang="en"' in page(client, "/p/", HTTP_ACCEPT_LANGUAGE="eo")


def test_programs_get_english_whatever_language_they_wish(client):
    plain = client.get("/api/v1/projects")
    wished = client.get("/api/v1/projects", HTTP_ACCEPT_LANGUAGE="zh-CN")
    assert plain.status_code == 401
    assert wished.content == plain.content
    assert "Accept-Language" not in wished.headers.get("Vary", "")


@pytest.mark.parametrize(
    ("zone", "name", "shown"),
    [
        (
            "Asia/Shanghai",
            "Asia/Shanghai",
            '<time datetime="2024-03-02T06:30:00+08:00" title="2024-03-02 06:30:00 CST">2 Mar 2024 06:30',
        ),
        (
            "Asia%2FShanghai",
            "Asia/Shanghai",
            '<time datetime="2024-03-02T06:30:00+08:00" title="2024-03-02 06:30:00 CST">2 Mar 2024 06:30',
        ),
        (
            "America/Sao_Paulo",
            "America/Sao_Paulo",
            '<time datetime="2024-03-01T19:30:00-03:00" title="2024-03-01 19:30:00 -03">1 Mar 2024 19:30',
        ),
        ("", "UTC", '<time datetime="2024-03-01T22:30:00+00:00" title="2024-03-01 22:30:00 UTC">1 Mar 2024 22:30'),
        (
            "../../etc/passwd",
            "UTC",
            '<time datetime="2024-03-01T22:30:00+00:00" title="2024-03-01 22:30:00 UTC">1 Mar 2024 22:30',
        ),
    ],
)
def test_times_are_written_in_the_readers_zone_which_is_named(client, session, zone, name, shown):
    """U11: a time without its zone is read wrong."""
    client.cookies["hermes_sessions_zone"] = zone
    html = page(client, f"/s/{session.public_id}/")
    assert shown in html
    assert f"Times in {name}" in html


def test_the_overview_of_a_project_tells_its_settings_and_roles_in_the_readers_language(client, project):
    client.cookies["hermes_sessions_language"] = "zh-hans"
    html = client.get(f"/p/{project.slug}/").content.decode()
    assert "<b>微压缩</b>" in html and "每轮结束后，把最早的交互段折叠进滚动摘要。" in html
    assert '<td class="soft">所有者</td>' in html
    assert ">密钥<" in html and "Micro compaction" not in html


def test_a_simulation_tells_its_settings_and_what_is_wrong_with_them_in_the_readers_language(client, session):
    client.cookies["hermes_sessions_language"] = "zh-hans"
    asked = {"policy": "micro", "window_tokens": "100000", "threshold": "7"}
    html = client.post(f"/s/{session.public_id}/runs/", asked).content.decode()
    assert "每 n 个结束的轮次进行一次微压缩。" in html and "Run a micro pass" not in html
    assert "超出范围：应在" in html


def test_counts_whose_words_are_the_same_for_one_and_many_are_told_in_the_readers_language(client):
    client.cookies["hermes_sessions_language"] = "zh-hans"
    assert "您参与的有 1 个" in client.get("/p/").content.decode()

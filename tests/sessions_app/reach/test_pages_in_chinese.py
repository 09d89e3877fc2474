"""Every page in Chinese: what this site says is Chinese, its punctuation too, also where it was stored before.

The world's own words (names, titles, rows) are English and listed here, and so are the terms that Chinese keeps. Any
other Latin word on a page is one of ours that nobody can translate: a finished sentence that was stored, or one that
does not go through the catalogue.
"""

import re
import stat
import zipfile

import pytest
from django.test import Client
from page_words import has_half_width, latin_words, texts_of
from reach_table import PAGES, QUERIES
from reach_world import SECRETS_KEYS, World
from row_builder import COUNTER, RowBuilder
from talk import EARLY_MICRO_PASSES, Talk, with_settings

from compaction.summarizer import Reply
from compaction.wording import worded
from sessions_app import services
from sessions_app.endpoint_tests import run_endpoint_test
from sessions_app.import_jobs import run_import_job
from sessions_app.models import AuditSource, CompactionPass, EndpointTest, ReplayRun, Session, TurnStep
from sessions_app.passes.failing import tell_failed_pass
from sessions_app.samples.catalogue import NAMES as SAMPLES
from sessions_app.samples.catalogue import story_named
from sessions_app.services import AuditOrigin
from sessions_app.services.accounts import create_account
from sessions_app.services.endpoint_tests import request_endpoint_test
from sessions_app.services.imports import UploadedFile, request_import

pytestmark = pytest.mark.django_db
CHINESE_KEEPS = """
token API id JSON JSONL YAML CSV PNG Markdown HTML ZIP HTTP SSL TLS ASCII UTC ms MB GB https cookie Bearer
Authorization TOKEN REDACTED Enter Shift English Hermes Sessions OpenAI Anthropic Claude Code DeepSeek Gemini
GPT Flash PostgreSQL Debian Ubuntu Django openai anthropic openrouter ollama llamacpp vllm hermes extractive
compression auxiliary model lean ratio legacy auto tiktoken stop length openai-chat claude-code micro batch
prune none window all
"""
TERMS = frozenset(CHINESE_KEEPS.split())
# Rows, titles and names of this world.
NAMES = (
    *(re.escape(story_named(name).title) for name in SAMPLES),
    r"[\w-]+-of-\w+",
    r"\b(olga|[Rr]eview|A review|A talk|a token|a-model|small|done|see|Gone|ValueError)\b",
    r"\b(question|answer) \d+|(file \d+ ?)+|(line of c\d+ ?)+|what happened so far",
    r"\b(system|user|assistant|tool)\b",
    # Quoted: what a model said, what the JSON library found.
    r"I'm sorry, I can't help with that|Unterminated string starting at",
)
SETTINGS = {**EARLY_MICRO_PASSES, "auxiliary": {"compression": {"provider": "ollama", "model": "small"}}}


@pytest.fixture
def world(settings, tmp_path):
    settings.SECRETS_KEYS = SECRETS_KEYS
    settings.VAR_DIR = tmp_path
    world = World("review")
    with_settings(world.project, SETTINGS)
    world.tmp_path = tmp_path
    return world


@pytest.fixture
def reader(world):
    person = world.people["owner"]
    person.is_superuser = True
    person.save()
    client = Client()
    client.force_login(person)
    client.cookies["hermes_sessions_language"] = "zh-hans"
    return client


def untranslated(client, path):
    """What a Chinese reader finds on a page that is not Chinese, with the page."""
    response = client.get(path, follow=True)
    if not response.headers["Content-Type"].startswith("text/html") or response.streaming:
        return []
    texts = texts_of(response.content.decode())
    odd = [text for text in texts if set(latin_words(text, NAMES)) - TERMS or has_half_width(text)]
    return [(path, text) for text in odd]


def bad_archive(folder):
    """An archive in which nothing can be read: a link, a name that climbs out, an archive in the archive, and noise."""
    path = folder / "talks.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("link.jsonl")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "elsewhere")
        archive.writestr("../out.jsonl", "{}")
        archive.writestr("inner.zip", "x")
        archive.writestr("empty.jsonl", "")
        archive.writestr("noise.jsonl", '{"role": "us')
        archive.writestr(
            "talk.jsonl", '{"messages": [{"role": "user", "content": "question 1"}, 7]}\n// c\n{"a": 1}\n[]\n'
        )
    return path


def imported_badly(world):
    path = bad_archive(world.tmp_path)
    job = request_import(world.project, [UploadedFile("talks.zip", str(path), path.stat().st_size)])
    run_import_job(job.pk)
    return f"/import/{job.pk}/"


def compacted_badly(world):
    """A session whose passes failed in every way that has words, and the pages that tell of it."""
    session = services.create_session(world.project, "A talk", window_tokens=6_000)
    talk = Talk(
        RowBuilder(session.pk),
        Reply(error="timeout", error_detail=worded("no complete answer within {:g} s", 30)),
        Reply(text="", finish_reason="stop"),
        Reply(text="I'm sorry, I can't help with that.", finish_reason="stop"),
        Reply(text="## Key Decisions\n- question 1", finish_reason="length"),
    )
    talk.turns(8)
    tell_failed_pass(session.pk, TurnStep.MICRO, worded("after turn {}", 3), ValueError("x"))
    base = f"/s/{session.public_id}/"
    made = CompactionPass.objects.filter(session=session).order_by("number")
    assert any(one.detail for one in made)
    steps = [f"{base}replay/{one.number}/{step}/" for one in made for step in range(1, 5)]
    return [
        base,
        base + "passes/",
        base + "summary/",
        base + "cache/",
        base + "act/",
        base + "next/1/?kind=batch",
        *steps,
    ]


def asked_badly(world):
    test = request_endpoint_test(
        world.project, [{"provider": "custom", "base_url": "http://127.0.0.1:9/v1", "model": "small"}]
    )
    run_endpoint_test(test.pk, COUNTER)
    return f"/p/{world.project.slug}/endpoints/{test.pk}/"


def test_no_page_holds_words_that_are_not_chinese(world, reader):
    shown = [route for route, page in PAGES.items() if page.get[-1] == "o" and not route.startswith(("api", "logout"))]
    found = [one for route in shown for one in untranslated(reader, world.address(route) + QUERIES.get(route, ""))]
    assert len(shown) > 50
    assert found == []


def test_what_went_wrong_is_told_in_chinese(world, reader):
    pages = [imported_badly(world), *compacted_badly(world), asked_badly(world), "/health/", "/"]
    assert [one for path in pages for one in untranslated(reader, path)] == []


def test_what_was_noted_of_deeds_is_told_in_chinese(world, reader):
    origin = AuditOrigin(AuditSource.SITE)
    create_account(origin, "olga", None, is_administrator=True)
    services.save_session_policy(
        world.session.pk, {"compression": {"micro_compact": False}}, None, worded("Main model")
    )
    ReplayRun.objects.update(status="failed", error=worded("The replay ended with a fault of ours ({}).", "ValueError"))
    EndpointTest.objects.update(
        status="failed", error=worded("The test ended with a fault of ours ({}).", "ValueError")
    )
    Session.objects.update(last_error=worded("Pass after turn {}: the session kept changing.", 3))
    slug, base = world.project.slug, f"/s/{world.session.public_id}/"
    pages = [f"/p/{slug}/audit/", "/audit/", f"/p/{slug}/settings/revisions/", f"/p/{slug}/settings/revisions/1/"]
    pages += [f"{base}settings/", base, "/health/", world.address("s/<str:public_id>/runs/<int:run_id>/")]
    pages += [world.address("p/<slug:slug>/endpoints/<int:test_id>/"), f"/p/{slug}/settings/"]
    assert [one for path in pages for one in untranslated(reader, path)] == []

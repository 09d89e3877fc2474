"""Hostile texts in every text that a transcript, a tool, a log, a person or a setting can carry, in a real browser.

Nothing may run, nothing may be asked of another host, no page may complain, and no element or attribute may come of a
text. Columns are found from the models, so a new one is filled too.
"""

import json
import random
import re

import pytest
from django.contrib.auth.models import User
from django.db import models
from hostile_payloads import PAYLOADS
from story import COUNTER, tell_story

from compaction.messages import Message, Role, ToolCall
from sessions_app import services
from sessions_app.import_jobs import run_import_job
from sessions_app.models import (
    CompactionPass,
    EndpointTest,
    MemberRole,
    MessageRow,
    ModelCall,
    ReplayRun,
    ReplayStep,
    Session,
    SummaryRevision,
)
from sessions_app.origins import command_origin
from sessions_app.services import NewMessage
from sessions_app.services.imports import UploadedFile, request_import
from sessions_app.services.replays import request_replay
from sessions_app.services.tokens import issue_token

pytestmark = pytest.mark.django_db(transaction=True)
# Columns whose words are the engine's own or lead somewhere; all others are filled.
OWN_WORDS = {
    "kind",
    "role",
    "outcome",
    "status",
    "purpose",
    "origin",
    "public_id",
    "source",
    "token_hash",
    "fingerprint",
}
# JSON whose texts come from outside.
FOREIGN_JSON = {"notes", "telemetry", "extras", "import_report", "report", "repairs", "tool_calls"}
# What a text must never have become. The second half of each rule is what our own pages are made of.
BECOME = """
() => {
  const banned = ["iframe", "object", "embed", "base", "portal", "style", "marquee", "math", "audio", "video"];
  const own = {script: ["src", "/static/"], link: ["href", "/static/"], form: ["action", "/"], img: ["src", "/s/"]};
  const leads = /^(href|src|action|formaction|xlink:href|data|srcset)$/i, asks = /^hx-(get|post|put|delete|patch)$/;
  const found = [];
  for (const one of document.querySelectorAll("*")) {
    const name = one.localName, [from, start] = own[name] ?? [];
    const place = from && new URL(one.getAttribute(from) ?? "", location).href;
    const isOurs = !from || place.startsWith(location.origin + start);
    if (banned.includes(name) || !isOurs || one.httpEquiv) found.push(one.outerHTML.slice(0, 120));
    for (const {name: attribute, value} of one.attributes) {
      const isHandler = /^on|^hx-on|^data-hx/i.test(attribute);
      const isScript = leads.test(attribute) && /^\\s*(javascript|vbscript|data):/i.test(value);
      const isForeign = asks.test(attribute) && !/^[/?](?![/])/.test(value);
      const isStyle = attribute === "style" && /url|fixed/.test(value);
      if (isHandler || isScript || isForeign || isStyle) found.push(`${name} ${attribute}=${value.slice(0, 80)}`);
    }
  }
  return found;
}
"""


class Payloads:
    """The payloads, one after the other, for ever."""

    def __init__(self):
        self._next = 0

    def __call__(self, most_chars=None):
        self._next += 1
        return PAYLOADS[self._next % len(PAYLOADS)].replace("\0", "")[:most_chars]


payload = Payloads()


def fill(rows):
    """Put payloads into every text column of some rows."""
    for row in rows:
        values = {field.attname: filled(field, row) for field in row._meta.concrete_fields}
        changes = {name: value for name, value in values.items() if value is not None}
        type(row).objects.filter(pk=row.pk).update(**changes)


def filled(field, row):
    if field.name in OWN_WORDS or field.choices or field.unique or field.primary_key:
        return None
    if isinstance(field, models.CharField | models.TextField):
        return payload(field.max_length)
    if isinstance(field, models.JSONField) and field.name in FOREIGN_JSON:
        return hostile(getattr(row, field.attname)) or ([payload(), payload()] if field.name == "notes" else None)
    return None


def hostile(value):
    """The same shape with payloads for texts."""
    if isinstance(value, str):
        return payload()
    if isinstance(value, list):
        return [hostile(one) for one in value]
    return {key: hostile(one) for key, one in value.items()} if isinstance(value, dict) else value


def exchange(number):
    """Four rows with payloads in every part of a message."""
    call_id = f"{number} {payload()}"
    arguments = json.dumps({payload(): payload(), "path": payload(), "command": payload()})
    return (
        NewMessage(Message(Role.USER, payload(), name=payload(60))),
        NewMessage(Message(Role.ASSISTANT, payload(), (ToolCall(call_id, payload(), arguments),), reasoning=payload())),
        NewMessage(Message(Role.TOOL, payload(), tool_call_id=call_id, name=payload(60))),
        NewMessage(Message(Role.ASSISTANT, f"{payload()}\n\n{payload()}"), model=payload()),
    )


@pytest.fixture
def hostile_project(owner):
    project = services.create_project("review", payload(200), owner)
    services.save_policy(project.pk, {"compression": {"micro_compact": True, "target_ratio": 0.1}}, owner, payload())
    blocks = {
        "compression": {"micro_compact": True, payload(): payload(), "threshold": payload()},
        payload(): payload(),
    }
    blocks["auxiliary"] = {"compression": {"model": payload(), payload(): payload(), "api_key_secret": payload()}}
    services.save_policy(project.pk, blocks, owner, payload())
    type(project).objects.filter(pk=project.pk).update(main_model=payload())
    project.refresh_from_db()
    return project


@pytest.fixture
def story(hostile_project):
    story = tell_story(hostile_project, title=payload())
    for number in range(len(PAYLOADS) // 2):
        story.append(*exchange(number))
    session = Session.objects.filter(pk=story.session.pk)
    rows = MessageRow.objects.filter(session=story.session).order_by("id")
    run = request_replay(story.session, "micro")
    ReplayStep.objects.create(run=run, number=1, turn=1, kind="micro", outcome="absorbed", detail=payload())
    for one in (CompactionPass, SummaryRevision, ModelCall):
        fill(one.objects.filter(session=story.session))
    fill(ReplayRun.objects.filter(session=story.session))
    fill(ReplayStep.objects.filter(run__session=story.session))
    fill(rows[:12])
    fill(session)
    return story


@pytest.fixture
def things_around(hostile_project, owner, tmp_path):
    """Other sessions, people, tokens, an import and a test of endpoints, all named by payloads."""
    for number, text in enumerate(PAYLOADS):
        text = text.replace("\0", "")
        session = services.create_session(hostile_project, text, model=text, foreign_id=f"{number} {text}")
        services.append_rows(session.pk, exchange(0)[:1], COUNTER)
    for text in random.Random(7).sample(PAYLOADS, 20):
        person = User.objects.create_user(text.replace("\0", "")[:150])
        services.add_member(hostile_project, person, MemberRole.VIEWER)
        issue_token(hostile_project, text.replace("\0", "")[:100], origin=command_origin(text[:100]))
    EndpointTest.objects.create(
        project=hostile_project, status="failed", error=payload(), endpoints=[{"model": payload()}]
    )
    files = []
    for number in range(6):
        path = tmp_path / f"{number}.jsonl"
        line = json.dumps({"role": payload(), "content": payload(), payload(): payload()})
        path.write_text(f"{line}\n{payload()}\n{{\n" * 5, encoding="utf-8", errors="replace")
        files.append(UploadedFile(payload().replace("/", "_")[:100], str(path), path.stat().st_size))
    job = request_import(hostile_project, files, owner)
    run_import_job(job.pk)
    return job


def session_paths(story):
    own = ("", "?show=live", "?show=archived", "?show=model", "?open=all", "?row=20&open=all", "?end=on")
    tabs = ("summary/", "summary/2/", "passes/", "occupancy/", "cache/", "runs/", "act/", "delete/", "export/", "next/")
    steps = tuple(f"replay/2/{step}/" for step in range(1, 8))
    run = ReplayRun.objects.get(session=story.session)
    found = ReplayStep.objects.filter(run=run).first()
    runs = (f"runs/{run.pk}/", f"runs/{run.pk}/{found.number}/1/")
    row = MessageRow.objects.filter(session=story.session, role="tool").order_by("id").first()
    return [story.path + one for one in (*own, *tabs, *steps, *runs, f"row/{row.pk}/")]


def site_paths(job, project):
    of_project = ("", "settings/", "settings/scopes/", "settings/revisions/", "settings/revisions/3/", "settings/yaml/")
    access = ("people/", "tokens/", "keys/", "audit/", "endpoints/")
    words = (
        "/?q=script",
        "/?q=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E",
        "/?model=%3Csvg+onload%3Dalert(1)%3E",
        "/?sort=tokens",
    )
    test = EndpointTest.objects.get(project=project)
    own = ("/", *words, "/import/", f"/import/{job.pk}/", "/p/", "/health/", "/account/", "/play/", "/s/new/")
    return [*own, *(f"/p/review/{one}" for one in (*of_project, *access, f"endpoints/{test.pk}/"))]


def test_the_corpus_is_large_and_has_no_text_twice():
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60


def test_no_text_runs_asks_or_becomes_anything_on_any_page(reader, story, things_around, hostile_project):
    dialogs, seen = [], set()
    reader.context.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for path in [*session_paths(story), *site_paths(things_around, hostile_project)]:
        response = reader.visit(path)
        assert response.status == 200, f"{path}: {response.status}"
        reader.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        reader.page.wait_for_load_state("networkidle")
        assert reader.page.evaluate(BECOME) == [], path
        assert reader.page.url == reader.site + path or "/next/" in path, path
        assert (dialogs, reader.complaints, reader.foreign_requests) == ([], [], []), path
        seen |= set(re.findall(r"alert\((\d+)\)|evil\.example/(\d+)", reader.page.text_content("body")))
    assert {int(one or other) for one, other in seen} == set(range(1, len(PAYLOADS) + 1))


def test_the_check_finds_what_it_looks_for(reader):
    reader.visit("/")
    for markup in ("<div onclick=x></div>", "<a href=' javascript:x'>x</a>", "<form action=//evil.example></form>"):
        found = reader.page.evaluate(
            f"markup => {{ document.querySelector('main').innerHTML = markup; return ({BECOME})(); }}", markup
        )
        assert len(found) == 1, markup
    # The browser has complained of the handler, as it should.
    assert reader.notes
    reader.notes.clear()


def test_an_exported_page_opened_by_itself_is_as_harmless(reader, story, tmp_path):
    dialogs = []
    reader.context.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    answer = reader.context.request.get(f"{reader.site}{story.path}export/session.html")
    assert answer.status == 200
    saved = tmp_path / "session.html"
    saved.write_bytes(answer.body())
    page = reader.context.new_page()
    page.on("console", lambda message: reader.notes.append(message.text))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(saved.as_uri())
    assert [url for url in asked if not url.startswith("file:")] == []
    reader.foreign_requests.clear()
    assert page.locator("script, iframe, object, embed, base").count() == 0
    assert dialogs == []

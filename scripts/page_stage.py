"""What the pictured pages show beside the sample sessions, made through the site's own pages.

An empty project, a second person with a role, tokens, a key, revisions, an import with faults in it, a simulation, an
endpoint test, a play that pauses. Whatever is made is told as a word for the addresses of scripts/page_shots.py.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from page_shots import EDITOR, OWNER, STRANGER  # noqa: E402 (the checkout is on the path now)
from playwright.sync_api import Browser, BrowserContext, FilePayload, Page  # noqa: E402
from scripted_model import ScriptedModel  # noqa: E402

from compaction.tokens import RoughCounter  # noqa: E402

PASSWORD: Final = "a long enough password"
SAVE: Final = "main form .btn-primary"
PATIENCE_MS: Final = 90_000
SAMPLES: Final = {"long": "Review before", "short": "Occupancy as", "imported": "Embedded database"}
PLAIN_SESSION: Final = (
    {"role": "user", "content": "Which of the two import paths do we keep?"},
    {
        "role": "assistant",
        "content": "The streaming one: it needs no second copy of the file. Remove the other?",
    },
    {"role": "user", "content": "Yes, and say so in the changelog."},
    {"role": "assistant", "content": "Done: `read_whole` is gone, and the changelog has a line about it."},
)
ANSWER: Final = """Three files take two thirds of the time:

| file | seconds | why |
|---|---|---|
| `test_import.py` | 41 | it unpacks the same archive for each test |
| `test_search.py` | 22 | it waits for the index |
| `test_login.py` | 9 | it hashes passwords as in production |

I would begin with the archive: **unpack it once** for the whole file."""


class Speaker(ScriptedModel):
    """A model that answers in words."""

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same, whatever was asked."""
        super().answer(body)
        return {"content": ANSWER}


class Stage:
    """Makes everything. words: for addresses; states: the cookies of each person."""

    def __init__(self, browser: Browser, address: str, login: str) -> None:
        self.words: dict[str, str] = {"empty": "drafts"}
        self.states: dict[str, Any] = {STRANGER: {"cookies": [], "origins": []}}
        self._browser, self._address = browser, address
        owner = self._context()
        self._page = owner.new_page()
        self._page.set_default_timeout(PATIENCE_MS)
        self._page.goto(login)
        self.states[OWNER] = owner.storage_state()

    def make_all(self) -> None:
        """Everything, in an order in which each has what it needs."""
        self._find_samples()
        self._make_project()
        self._make_revisions()
        self._make_people()
        self._make_tokens()
        self._store_key()
        self._import_files()
        self._play()
        self._chat()
        self._simulate()
        self._test_endpoints()
        self._page.context.close()

    def _context(self) -> BrowserContext:
        return self._browser.new_context(locale="en")

    def _go(self, path: str) -> Page:
        self._page.goto(self._address + path.format(**self.words))
        return self._page

    def _send(self, path: str, values: Mapping[str, str], press: str = SAVE) -> Page:
        """Fill the fields of a page's form by their names, and press its button."""
        page = self._go(path)
        for name, value in values.items():
            field = page.locator(f"main [name='{name}']").first
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        with page.expect_navigation():
            page.locator(press).first.click()
        return page

    def _last_number(self) -> str:
        return str(re.findall(r"\d+", self._page.url)[-1])

    def _wait_until_over(self) -> None:
        """Until the page no longer asks for its changing part."""
        self._page.locator("main [hx-trigger^=every]").wait_for(state="detached")

    def _find_samples(self) -> None:
        links = self._go("/?project=samples").locator("a[href^='/s/']")
        found = links.evaluate_all("all => all.map(one => [one.textContent.trim(), one.pathname.split('/')[2]])")
        for name, start in SAMPLES.items():
            self.words[name] = next(public_id for title, public_id in found if title.startswith(start))
        failed = self._go("/s/{short}/passes/?outcome=failed").locator(".ledger a[href*='/replay/']").first
        self.words["failed"] = (failed.get_attribute("href") or "").split("/")[4]
        texts = self._go("/s/{short}/?open=all").locator("main a[href*='/row/']:not([href*='/raw/'])").first
        self.words["row"] = (texts.get_attribute("href") or "").split("/")[4]

    def _make_project(self) -> None:
        self._send("/p/new/", {"name": "Drafts", "slug": "drafts"})

    def _make_revisions(self) -> None:
        """Two of a project, one of a session."""
        page, save = "/p/samples/settings/", "main button[value=save]"
        every_second = {"compression.micro_compact_every_n_turns": "2", "note": "Half of the cache breaks"}
        self._send(page, every_second, save)
        self._send(page, {"compression.threshold": "0.75", "note": "Passes come earlier"}, save)
        self._send("/s/{long}/settings/", {"compression.target_ratio": "0.15", "note": "A shorter tail"}, SAVE)

    def _make_people(self) -> None:
        """An editor who came by an invitation, and an invitation that is still open."""
        used = self._invitation("editor", "Mira, who reviews")
        self.words["invitation"] = self._invitation("viewer", "the auditors")
        context = self._context()
        self._page, owner = context.new_page(), self._page
        self._send(f"/invitation/{used}", {"username": "mira", "password": PASSWORD, "password_again": PASSWORD})
        self.states[EDITOR] = context.storage_state()
        context.close()
        self._page = owner

    def _invitation(self, role: str, note: str) -> str:
        """The secret of a new one."""
        form = "main form[action$='/people/invitations/'] .btn-primary"
        page = self._go("/p/samples/people/")
        fields = page.locator("main form[action$='/people/invitations/']")
        fields.locator("[name=role]").select_option(role)
        fields.locator("[name=note]").fill(note)
        with page.expect_navigation():
            page.locator(form).click()
        return page.locator("#once").inner_text().rpartition("/")[2]

    def _make_tokens(self) -> None:
        self._send("/p/samples/tokens/", {"name": "build agent", "scope": "write"})
        self._send("/p/samples/tokens/", {"name": "dashboard", "days": ""})
        self._send("/p/samples/tokens/", {"name": "old laptop"})
        with self._page.expect_navigation():
            self._page.get_by_label("Revoke old laptop").click()

    def _store_key(self) -> None:
        key = {"name": "TEAM_API_KEY", "place": "api.example.com", "value": "not-a-real-key"}
        self._send("/p/samples/keys/", key)

    def _import_files(self) -> None:
        """A whole session, one with lines that can't be read, and a file that is none."""
        lines = [json.dumps(message) for message in PLAIN_SESSION]
        contents = {
            "import-paths.json": json.dumps(PLAIN_SESSION),
            "cut-off.jsonl": "\n".join([*lines[:2], '{"role": "assistant", "cont', *lines[2:]]),
            "shopping.txt": "bread\nsalt\n",
        }
        page = self._go("/import/?project=samples")
        files = [FilePayload(name=name, mimeType="text/plain", buffer=text.encode()) for name, text in contents.items()]
        page.locator("#uploads").set_input_files(files)
        with page.expect_navigation():
            page.locator("main .btn-primary").click()
        self.words["job"] = self._last_number()
        self._wait_until_over()
        link = page.locator("main .table a[href^='/s/']").first.get_attribute("href") or ""
        self.words["plain"] = link.split("/")[2]

    def _play(self) -> None:
        """A play that has begun, and pauses."""
        page = self._send("/play/", {"source": "sample:release_review", "rate": "20", "project": "samples"})
        self.words["played"] = page.url.split("/")[4]
        page.locator("#rows .row").nth(3).wait_for()
        page.locator("#play-switch[value=pause]").click()
        page.locator("#play-switch[value=resume]").wait_for()

    def _chat(self) -> None:
        """A chat with a model whose words are scripted, and one with a model that does not answer."""
        self._send("/p/new/", {"name": "Talks", "slug": "talks"})
        save, settings = "main button[value=save]", "/p/talks/settings/"
        speaker = Speaker(RoughCounter())
        model = {"model.default": "scripted", "model.base_url": speaker.url, "model.context_length": "32000"}
        self._send(settings, model, save)
        self.words["chat"] = self._say("Which of our tests are slow, and why?")
        self._page.locator("#rows").get_by_text("unpack it once").wait_for()
        speaker.stop()
        self.words["chat_failed"] = self._say("And which of them can go?")
        self._page.get_by_role("button", name="Ask again").wait_for()

    def _say(self, words: str) -> str:
        """The session in which it was said."""
        page = self._go("/s/new/?project=talks")
        page.locator("main textarea").fill(words)
        with page.expect_navigation():
            page.locator(SAVE).click()
        return page.url.split("/")[4]

    def _simulate(self) -> None:
        page = self._go("/s/{short}/runs/")
        with page.expect_navigation():
            page.locator("main .sim-form .btn-primary").click()
        self.words["run"] = self._last_number()
        self._wait_until_over()
        passes = self._go("/s/{short}/runs/{run}/?passes").locator(".ledger a[href*='/runs/']").first
        self.words["decision"] = (passes.get_attribute("href") or "").split("/")[5]

    def _test_endpoints(self) -> None:
        """The extractive summarizer, and one at an address where nobody listens."""
        page = self._go("/p/samples/endpoints/")
        page.locator("[name=offline]").check()
        page.locator("[name=other1-model]").fill("qwen3-4b")
        page.locator("[name=other1-base_url]").fill("http://127.0.0.1:9/v1")
        with page.expect_navigation():
            page.locator("main .sim-form .btn-primary").click()
        self.words["test"] = self._last_number()
        self._wait_until_over()

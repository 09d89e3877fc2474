"""Pictures of every page, at two widths, in both themes and in every language the site speaks.

Starts a site of its own with the sample sessions (its database and files go to a folder that is thrown away), or takes
one that runs already, and writes PNG files named page-width-theme-language.png. `--readme` writes the four pictures
that the README shows to docs/pictures instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WIDTHS = (1440, 390)
THEMES = ("light", "dark")
LOGIN_LINK = re.compile(r"http://\S+/login/once/\S+")
README_PICTURES = ("session", "summary", "replay-edit", "cache")
README_HEIGHT = 900


@dataclass(frozen=True, slots=True)
class Shot:
    """One page. path: with {long}, {short} and {imported} for sample sessions."""

    name: str
    path: str
    opens: str = ""


SHOTS = (
    Shot("sessions", "/"),
    Shot("session", "/s/{short}/"),
    Shot("session-archived", "/s/{long}/?show=archived"),
    Shot("session-model", "/s/{long}/?show=model"),
    Shot("summary", "/s/{short}/summary/"),
    Shot("summary-side-by-side", "/s/{long}/summary/?as=sides"),
    Shot("passes", "/s/{short}/passes/"),
    Shot("occupancy", "/s/{short}/occupancy/"),
    Shot("chat", "/s/{short}/chat/"),
    Shot("new-chat", "/s/new/"),
    Shot("play", "/play/"),
    Shot("endpoints", "/p/samples/endpoints/"),
    Shot("cache", "/s/{long}/cache/"),
    Shot("cache-requests", "/s/{imported}/cache/?view=requests"),
    Shot("replay-zones", "/s/{short}/replay/1/1/"),
    Shot("replay-sent", "/s/{short}/replay/1/3/"),
    Shot("replay-reply", "/s/{short}/replay/1/4/"),
    Shot("replay-edit", "/s/{short}/replay/1/5/"),
    Shot("replay-database", "/s/{short}/replay/1/6/"),
    Shot("replay-telemetry", "/s/{short}/replay/1/7/"),
    Shot("next-pass", "/s/{short}/next/5/?with=extractive"),
    Shot("act", "/s/{short}/act/"),
    Shot("export", "/s/{short}/export/"),
    Shot("simulate", "/s/{short}/runs/"),
    Shot("import", "/import/"),
    Shot("projects", "/p/"),
    Shot("project", "/p/samples/"),
    Shot("health", "/health/"),
    Shot("help", "/", opens="?"),
)


def main() -> None:
    """Parse the command line, and take the pictures."""
    options = read_options()
    running = running_site() if not options.url else given_site(options.url)
    with running as (address, login), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        take_all(browser, address, login, options)
        browser.close()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "screenshots", help="folder for the pictures")
    parser.add_argument("--only", nargs="*", default=[], help="names of pages, else all")
    parser.add_argument("--widths", nargs="*", type=int, default=list(WIDTHS))
    parser.add_argument("--themes", nargs="*", default=list(THEMES))
    parser.add_argument("--languages", nargs="*", default=[], help="else all the site has")
    parser.add_argument("--url", default="", help="a site that runs, with DATABASE_URL set as for it")
    parser.add_argument("--readme", action="store_true", help="only the four pictures of the README")
    return parser.parse_args()


def take_all(browser: Browser, address: str, login: str, options: argparse.Namespace) -> None:
    sessions = sample_sessions(browser, address, login)
    state = sessions.pop("state")
    shots = [shot for shot in SHOTS if not options.only or shot.name in options.only]
    if options.readme:
        options.out = ROOT / "docs" / "pictures"
        shots = [shot for shot in SHOTS if shot.name in README_PICTURES]
        options.widths, options.themes, options.languages = [1280], ["light"], ["en"]
    options.out.mkdir(parents=True, exist_ok=True)
    for language in options.languages or languages():
        for theme in options.themes:
            for width in options.widths:
                context = browser.new_context(
                    viewport={"width": width, "height": README_HEIGHT},
                    color_scheme=theme,
                    locale=language,
                    storage_state=json.loads(state),
                )
                page = context.new_page()
                for shot in shots:
                    name = f"{shot.name}.png" if options.readme else f"{shot.name}-{width}-{theme}-{language}.png"
                    take(page, address + shot.path.format(**sessions), shot, options.out / name, not options.readme)
                context.close()


def take(page: Page, address: str, shot: Shot, target: Path, is_whole: bool) -> None:
    response = page.goto(address, wait_until="load")
    if response is None or response.status != 200:
        print(f"{shot.name}: {response.status if response else 'no answer'}", file=sys.stderr)
        return
    if shot.opens:
        page.keyboard.press(shot.opens)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=target, full_page=is_whole, animations="disabled")
    print(target)


def sample_sessions(browser: Browser, address: str, login: str) -> dict[str, str]:
    """The ids of the sample sessions by what they are good for, and the login."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(login)
    if (button := page.get_by_role("button", name="Log in")).count():
        button.click()
    page.goto(f"{address}/?project=samples")
    links = page.locator("a[href^='/s/']").evaluate_all(
        "found => found.map(one => [one.textContent.trim(), one.getAttribute('href').split('/')[2]])"
    )
    found = {"state": json.dumps(context.storage_state())}
    for words, public_id in links:
        for key, start in (("long", "Review before"), ("short", "Occupancy as"), ("imported", "Embedded database")):
            if words.startswith(start):
                found[key] = public_id
    context.close()
    return found


def languages() -> list[str]:
    """The languages the site has a catalogue of, English first."""
    folders = ROOT.glob("locale/*/LC_MESSAGES/django.mo")
    return ["en", *(folder.parts[-3].replace("_", "-") for folder in folders if folder.parts[-3] != "en")]


@contextmanager
def running_site() -> Iterator[tuple[str, str]]:
    """A site with samples on a free port, and the link that logs in; gone at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="hermes-pictures-") as folder:
        # Started by root, the database runs as somebody else, who must be able to enter.
        os.chmod(folder, 0o755)
        environment = os.environ | {"HERMES_SITE_VAR_DIR": folder, "PYTHONUNBUFFERED": "1"}
        environment.pop("DATABASE_URL", None)
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        served = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert served.stdout is not None
            link = next((found.group() for line in served.stdout if (found := LOGIN_LINK.search(line))), None)
            if link is None:
                raise SystemExit("the site did not start")
            # Whatever else it says is read and dropped: a full pipe would stop it.
            threading.Thread(target=served.stdout.read, daemon=True).start()
            yield f"http://127.0.0.1:{port}", link
        finally:
            served.terminate()
            served.wait(30)


@contextmanager
def given_site(url: str) -> Iterator[tuple[str, str]]:
    """A site that runs, and a link that logs in."""
    command = [sys.executable, "manage.py", "login_link", "--url", url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = LOGIN_LINK.search(done.stdout)
    if found is None:
        raise SystemExit(f"no login link: {done.stdout}{done.stderr}")
    yield url.rstrip("/"), found.group()


def chromium() -> str:
    """The browser of the machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"


if __name__ == "__main__":
    main()

"""Pictures of every page, at two widths, in both themes and in every language the site speaks.

Starts a site of its own with the sample sessions (its database and files go to a folder that is thrown away), makes in
it what the pages show, and writes PNG files named page-width-theme-language.png. `--readme` writes the four pictures
that the README shows to docs/pictures instead. Which pages: page_shots.py; what they show: page_stage.py.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from page_shots import BROKEN_PAGE, SHOTS, Shot
from page_stage import Stage
from playwright.sync_api import Browser, Page, Response, Route, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WIDTHS = (1440, 390)
THEMES = ("light", "dark")
LOGIN_LINK = re.compile(r"http://\S+/login/once/\S+")
README_PICTURES = ("session", "summary", "replay-edit", "cache")
README_HEIGHT = 900
HIGHEST_PICTURE = 16_000
RENDER_BROKEN_PAGE = """
import sys
import django
django.setup()
from django.template.loader import render_to_string
from django.utils.translation import override
with override(sys.argv[1]):
    print(render_to_string("500.html"))
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A site that runs. login: the link that logs its owner in; environment: for commands that belong to it."""

    address: str
    login: str
    environment: Mapping[str, str]


def main() -> None:
    """Parse the command line, and take the pictures; ends with 1 when a page was not what it should be."""
    options = read_options()
    with running_site() as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        stage = Stage(browser, site.address, site.login)
        stage.make_all()
        missed = take_all(browser, site, stage, options)
        browser.close()
    if missed:
        raise SystemExit(f"not as expected: {', '.join(missed)}")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "screenshots", help="folder for the pictures")
    parser.add_argument("--only", nargs="*", default=[], help="names of pages, else all")
    parser.add_argument("--widths", nargs="*", type=int, default=list(WIDTHS))
    parser.add_argument("--themes", nargs="*", default=list(THEMES))
    parser.add_argument("--languages", nargs="*", default=languages(), help="else all the site has")
    parser.add_argument("--readme", action="store_true", help="only the four pictures of the README")
    options = parser.parse_args()
    if options.readme:
        options.out, options.only = ROOT / "docs" / "pictures", README_PICTURES
        options.widths, options.themes, options.languages = [1280], ["light"], ["en"]
    return options


def take_all(browser: Browser, site: Site, stage: Stage, options: argparse.Namespace) -> list[str]:
    """Every picture asked for; the names of those that show something else."""
    shots = [shot for shot in SHOTS if not options.only or shot.name in options.only]
    options.out.mkdir(parents=True, exist_ok=True)
    missed = []
    for language, theme, width in product(options.languages, options.themes, options.widths):
        look = {"viewport": {"width": width, "height": README_HEIGHT}, "color_scheme": theme, "locale": language}
        for shot in shots:
            name = f"{shot.name}.png" if options.readme else f"{shot.name}-{width}-{theme}-{language}.png"
            context = browser.new_context(**look, storage_state=stage.states[shot.who])
            page = context.new_page()
            page.route(f"{site.address}{BROKEN_PAGE}", lambda route: answer_broken(route, site))
            address = site.address + shot.path.format(**stage.words)
            if not take(page, address, shot, options.out / name, is_whole=not options.readme):
                missed.append(name)
            context.close()
    return missed


def take(page: Page, address: str, shot: Shot, target: Path, is_whole: bool) -> bool:
    """The picture; whether the page answered as it should."""
    response = page.goto(address, wait_until="load")
    if shot.act is not None:
        response = sent_by(page, shot.act) or response
    page.wait_for_load_state("networkidle")
    if is_whole:
        stretch(page)
    page.screenshot(path=target, animations="disabled")
    print(target)
    return response is not None and response.status == shot.status


def stretch(page: Page) -> None:
    """A window as high as the page: bars that keep to its edge stand where the page ends, not across its middle."""
    size = page.viewport_size
    assert size is not None
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": min(height, HIGHEST_PICTURE)})
    page.wait_for_load_state("networkidle")


def sent_by(page: Page, act: Callable[[Page], None]) -> Response | None:
    """The answer to what the act sent; None when it sent nothing."""
    answers: list[Response] = []
    page.on("response", lambda found: answers.append(found) if found.request.is_navigation_request() else None)
    act(page)
    page.wait_for_load_state("networkidle")
    return answers[-1] if answers else None


def answer_broken(route: Route, site: Site) -> None:
    """The page of a site that broke, which no address of a sound site shows."""
    language = route.request.headers.get("accept-language", "en").partition(",")[0]
    command = [sys.executable, "-c", RENDER_BROKEN_PAGE, language]
    done = subprocess.run(command, cwd=ROOT, env=site.environment, capture_output=True, text=True, check=True)
    route.fulfill(status=500, content_type="text/html; charset=utf-8", body=done.stdout)


def languages() -> list[str]:
    """The languages the site has a catalogue of, English first."""
    folders = ROOT.glob("locale/*/LC_MESSAGES/django.mo")
    return ["en", *(folder.parts[-3].replace("_", "-") for folder in folders if folder.parts[-3] != "en")]


@contextmanager
def running_site() -> Iterator[Site]:
    """A site with samples on a free port, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="hermes-pictures-") as folder:
        # Started by root, the database runs as somebody else, who must be able to enter.
        os.chmod(folder, 0o755)
        environment = surroundings(folder)
        command = [sys.executable, "manage.py", "serve", "--port", str(free_port())]
        served = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert served.stdout is not None
            link = next((found.group() for line in served.stdout if (found := LOGIN_LINK.search(line))), None)
            if link is None:
                raise SystemExit("the site did not start")
            # Whatever else it says is read and dropped: a full pipe would stop it.
            threading.Thread(target=served.stdout.read, daemon=True).start()
            yield Site(link.partition("/login/")[0], link, environment)
        finally:
            served.terminate()
            served.wait(30)


def surroundings(folder: str) -> dict[str, str]:
    """The environment of the site: everything of its own, keys can be stored, this machine may be asked."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "hermes_site.settings",
        "HERMES_SITE_VAR_DIR": folder,
        "HERMES_SITE_OUTBOUND_LOOPBACK": "yes",
        "PYTHONUNBUFFERED": "1",
    }
    environment.pop("DATABASE_URL", None)
    command = [sys.executable, "manage.py", "new_secrets_key"]
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return environment | {"HERMES_SITE_SECRETS_KEY": made.stdout.strip()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def chromium() -> str:
    """The browser of the machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"


if __name__ == "__main__":
    main()

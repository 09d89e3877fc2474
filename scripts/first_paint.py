"""How soon a session's page is seen: first contentful paint in Chromium, over loopback, from a served site.

    python scripts/first_paint.py [--repeat N] [--rows N]

Serves a site on a database of its own, makes a session, and opens its page again and again in a fresh browser context,
so that nothing is cached. Prints the machine, the median with its spread, and what was transferred; the exit code is 1
when the median is over the limit.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import time
from typing import Any
from urllib.request import urlopen

from bench_pages import make_reader, make_session
from scratch_site import CHECKOUT, machine, scratch_site
from spread import Spread

LIMIT_MS = 500.0
PATIENCE_SECONDS = 30
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
PAINT = """() => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    const loaded = [performance.getEntriesByType("navigation")[0], ...performance.getEntriesByType("resource")];
    const sum = (name) => loaded.reduce((total, one) => total + one[name], 0);
    return [paint.startTime, sum("transferSize"), sum("decodedBodySize")];
}"""


def main() -> None:
    """Serve, open, measure, print."""
    parser = argparse.ArgumentParser(description="Measure the first contentful paint of a session's page.")
    parser.add_argument("--repeat", type=int, default=15, help="visits (15)")
    parser.add_argument("--rows", type=int, default=5_000, help="rows of the session (5,000)")
    options = parser.parse_args()
    with scratch_site():
        print(machine())
        client, project = make_reader()
        session = make_session(project, options.rows)
        cookie = next(iter(client.cookies.values()))
        port = free_port()
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "hermes_site.asgi:application", "--port", str(port)],
            cwd=CHECKOUT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/login/")
            site = f"http://127.0.0.1:{port}"
            found = measure(site, f"/s/{session.public_id}/", cookie.key, cookie.value, options.repeat)
        finally:
            server.terminate()
            server.wait(PATIENCE_SECONDS)
    paints = Spread.of([paint for paint, _, _ in found])
    _, sent, whole = found[-1]
    print(f"first contentful paint of a session of {options.rows:,} rows, median (p5 to p95) of {options.repeat}:")
    print(f"  {paints}   {sent / 1_000:,.1f} kB transferred for {whole / 1_000:,.1f} kB")
    sys.exit(0 if paints.median_ms < LIMIT_MS else 1)


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def wait_for(address: str) -> None:
    """Wait until the site answers."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with urlopen(address):
                return
        except OSError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.1)


def measure(site: str, path: str, name: str, value: str, repeat: int) -> list[tuple[float, int, int]]:
    """For each visit: milliseconds to the first contentful paint, bytes on the wire, bytes unpacked."""
    from playwright.sync_api import sync_playwright

    found: list[tuple[float, int, int]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for visit in range(repeat + 2):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            context.add_cookies([{"name": name, "value": value, "url": site}])
            page = context.new_page()
            page.goto(site + path, wait_until="load")
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
            measured: Any = page.evaluate(PAINT)
            if visit >= 2:
                found.append(tuple(measured))
            context.close()
        browser.close()
    return found


if __name__ == "__main__":
    main()

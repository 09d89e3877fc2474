"""A real browser in front of the real site: HTTP and websockets by uvicorn, the test database, a real login.

Playwright's synchronous API keeps an event loop in the test's thread, which Django takes for asynchronous code; its
guard is switched off for these tests, whose ORM calls are as synchronous as everywhere else.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from playwright.sync_api import expect, sync_playwright
from reader import PASSWORD, Reader

from sessions_app import services
from tests.serving import cut_connections, served_site

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), "chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=15_000)


@pytest.fixture(scope="module")
def chromium():
    """A browser for the tests of one file. Not for the whole run: while it lives, no other test can run a loop.

    Django keeps other connections while a loop runs. Those from before are closed, or `cut_connections` would cut them.
    """
    connections.close_all()
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def site(transactional_db):
    """The address of the site, served in a thread of its own."""
    with served_site() as port:
        yield f"http://127.0.0.1:{port}"
    cut_connections()


@pytest.fixture
def owner(transactional_db):
    return User.objects.create_user("olga", password=PASSWORD)


@pytest.fixture
def project(owner):
    project = services.create_project("review", "Review", owner)
    services.save_policy(
        project.pk, {"compression": {"micro_compact": True, "target_ratio": 0.1}}, owner, "Micro passes on"
    )
    project.refresh_from_db()
    return project


@pytest.fixture
def open_reader(chromium, site, owner):
    """Logs the owner in, in a browser of their own; says at the end if a page complained or asked another host."""
    readers = []

    def open_one(**options):
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        reader = Reader(context, site)
        readers.append(reader)
        reader.log_in(owner.username)
        return reader

    yield open_one
    for reader in readers:
        reader.close()
        assert reader.complaints == []
        assert reader.foreign_requests == []


@pytest.fixture
def reader(open_reader):
    return open_reader()


@pytest.fixture
def work(database_url, tmp_path):
    """Runs the jobs that wait, in a worker of its own, until none is left."""

    def run_worker():
        environment = os.environ | {"DATABASE_URL": database_url, "HERMES_SITE_VAR_DIR": str(tmp_path / "var")}
        command = [sys.executable, "manage.py", "procrastinate", "worker", "--one-shot"]
        done = subprocess.run(
            command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr

    return run_worker


@pytest.fixture
def data_folder():
    return Path(settings.BASE_DIR) / "tests" / "data" / "browser"

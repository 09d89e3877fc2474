"""The settings of a site behind TLS, read by a process of its own, as a server would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

CHECKOUT = Path(__file__).resolve().parents[2]
PRODUCTION = {
    "HERMES_SITE_BEHIND_TLS": "1",
    "HERMES_SITE_ALLOWED_HOSTS": "sessions.example.com",
    "HERMES_SITE_TRUSTED_ORIGINS": "https://sessions.example.com",
    "HERMES_SITE_SECRETS_KEY": Fernet.generate_key().decode(),
}
TOLD = """
import json, django
from django.conf import settings
django.setup()
names = ["SECURE_HSTS_SECONDS", "SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "DEBUG"]
print(json.dumps({name: getattr(settings, name) for name in names}))
"""


def run(arguments, tmp_path, **changes):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HERMES_SITE_", "DATABASE_URL"))}
    environment = kept | PRODUCTION | {"HERMES_SITE_VAR_DIR": str(tmp_path)} | changes
    environment["DJANGO_SETTINGS_MODULE"] = "hermes_site.settings"
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=120)


def told(tmp_path, **changes):
    done = run(["-c", TOLD], tmp_path, **changes)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_check_for_deployment_finds_nothing_behind_tls(tmp_path):
    done = run(["manage.py", "check", "--deploy", "--fail-level", "WARNING"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_behind_tls_cookies_redirects_and_hsts_are_on_and_each_can_be_set(tmp_path):
    on = told(tmp_path)
    assert on == {
        "SECURE_HSTS_SECONDS": 30 * 24 * 3600,
        "SECURE_SSL_REDIRECT": True,
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "DEBUG": False,
    }
    other = told(tmp_path, HERMES_SITE_HSTS_SECONDS="0", HERMES_SITE_TLS_REDIRECT="off")
    assert (other["SECURE_HSTS_SECONDS"], other["SECURE_SSL_REDIRECT"]) == (0, False)


def test_a_local_site_stays_on_plain_http(tmp_path):
    local = told(tmp_path, HERMES_SITE_BEHIND_TLS="")
    assert set(local.values()) == {0}


@pytest.mark.parametrize("key", ["short", "x" * 44, "a,b"])
def test_a_site_key_that_is_none_is_refused_without_being_repeated(tmp_path, key):
    done = run(["-c", TOLD], tmp_path, HERMES_SITE_SECRETS_KEY=key)
    assert done.returncode != 0
    assert "HERMES_SITE_SECRETS_KEY is not a key" in done.stderr
    assert key not in done.stderr.rpartition("ImproperlyConfigured")[2]

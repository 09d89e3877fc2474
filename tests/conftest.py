"""The database of the tests: one PostgreSQL server of its own per run, one database per worker.

The server is the site's own launcher's, on throw-away data. Whoever needs a database first starts it, so tests that
need none run without; the last worker to finish stops it. The schema is built once, into a template, and each worker's
database is a copy of that.

Each law gets as many generated examples as HYPOTHESIS_PROFILE says: "nightly" for ten thousand.
"""

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import TransactionTestCase
from hypothesis import HealthCheck

from hermes_site.postgres import embedded
from hermes_site.postgres.place import find_place
from hermes_site.postgres.postmaster import find_postmaster, stop
from tests.emptying import empty_tables

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
for _profile, _examples in (("test", 500), ("nightly", 10_000), ("quick", 40)):
    hypothesis.settings.register_profile(_profile, max_examples=_examples, deadline=None, suppress_health_check=_QUIET)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))

TEMPLATE = "hermes_template"
TEMPLATE_LOCK = 4_711_000


def is_worker(config):
    return hasattr(config, "workerinput")


def pytest_configure(config):
    home = Path(config.workerinput["run_folder"] if is_worker(config) else make_run_folder())
    config.run_folder = home
    settings.VAR_DIR = home / "var"
    settings.EMBEDDED_POSTGRES_HOME = home / "postgres"
    settings.EMBEDDED_POSTGRES_IS_DURABLE = False
    settings.DATABASES["default"] |= {"ENGINE": "hermes_site.postgres.backend", "NAME": "hermes_sessions"}
    # Loading the apps may have made a connection object for the database that DATABASE_URL names.
    for connection in connections.all(initialized_only=True):
        del connections[connection.alias]
    # By this name Django clears away what a test committed.
    TransactionTestCase._fixture_teardown = empty_tables


def make_run_folder():
    folder = Path(tempfile.mkdtemp(prefix="hermes-tests-"))
    # As root the server runs as another user, who has to get in.
    folder.chmod(0o755)
    return folder


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["run_folder"] = str(node.config.run_folder)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    embedded.close_connections_and_detach()


def pytest_unconfigure(config):
    if is_worker(config):
        return
    # Workers that crashed have not detached.
    place = find_place(config.run_folder / "postgres")
    if process := find_postmaster(place.data):
        stop(process, place.data)
    if place.has_private_sockets():
        shutil.rmtree(place.sockets)
    shutil.rmtree(config.run_folder, ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix, django_db_blocker):
    with django_db_blocker.unblock():
        build_template()
    connections["default"].settings_dict["TEST"]["TEMPLATE"] = TEMPLATE


def build_template():
    """Migrate once per run; the other workers wait for the first one's work."""
    address = embedded.attach("postgres")
    with psycopg.connect(address.url, autocommit=True) as maintenance:
        maintenance.execute("select pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        if maintenance.execute("select 1 from pg_database where datname = %s", [TEMPLATE]).fetchone():
            return
        maintenance.execute("drop database if exists hermes_unfinished")
        maintenance.execute("create database hermes_unfinished")
        migrate("hermes_unfinished")
        maintenance.execute(f"alter database hermes_unfinished rename to {TEMPLATE}")


def migrate(name):
    connection = connections["default"]
    usual_name = connection.settings_dict["NAME"]
    connection.settings_dict["NAME"] = name
    try:
        call_command("migrate", verbosity=0, interactive=False)
    finally:
        connection.close()
        connection.close_pool()
        connection.settings_dict["NAME"] = usual_name


@pytest.fixture(scope="session")
def database_url(django_db_setup):
    """The address of this worker's database, for other processes and for plain connections."""
    return embedded.attach(connections["default"].settings_dict["NAME"]).url

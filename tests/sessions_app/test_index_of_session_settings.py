"""The table of passes gets its index by session settings without being locked, whatever was there before."""

from importlib import import_module
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

pytestmark = pytest.mark.django_db(transaction=True)
MIGRATION = import_module("sessions_app.migrations.0021_index_of_session_settings")


def index():
    """Its identity and whether it is whole; None when there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid, indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [MIGRATION.NAME]
        )
        return cursor.fetchone()


def execute(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)


def make_index():
    with connection.schema_editor(atomic=False) as editor:
        MIGRATION.make_index(apps, editor)


def test_adding_the_column_makes_no_index_and_the_database_has_it_all_the_same():
    told = StringIO()
    call_command("sqlmigrate", "sessions_app", "0008", stdout=told)
    indexed = [
        line for line in told.getvalue().splitlines() if "INDEX" in line and "sessions_app_compactionpass" in line
    ]
    assert 'ADD COLUMN "session_policy_revision_id"' in told.getvalue() and indexed == []
    assert index()[1]


def test_an_index_that_was_made_before_stays():
    before = index()
    make_index()
    assert index() == before


def test_an_index_that_is_missing_or_unfinished_is_made():
    execute(f'DROP INDEX "{MIGRATION.NAME}"')
    make_index()
    whole = index()
    execute(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = {whole[0]}")
    make_index()
    assert index()[1] and index()[0] != whole[0]

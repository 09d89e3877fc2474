"""The tables of rows can be partitioned by session: each of their indexes begins with it, but for a named few."""

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db

TABLES = ("messagerow", "rowlifetime", "sessionevent", "turn", "summaryrevision", "modelcall", "rowwords")
# What docs/scaling.md says has to change before a table is partitioned.
OTHERS = {f"sessions_app_{table}_pkey" for table in TABLES} | {"row_words"}


def indexes(table):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, (SELECT attname FROM pg_attribute WHERE attrelid = i.indexrelid AND attnum = 1)"
            " FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indrelid = %s::regclass",
            [f"sessions_app_{table}"],
        )
        return cursor.fetchall()


@pytest.mark.parametrize("table", TABLES)
def test_every_index_but_the_named_ones_begins_with_the_session(table):
    found = indexes(table)
    assert {name for name, first in found if first != "session_id"} <= OTHERS
    assert any(first == "session_id" for _, first in found)


def test_all_but_one_link_to_a_row_name_its_session_too():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE contype = 'f' AND confrelid = 'sessions_app_messagerow'::regclass"
        )
        links = cursor.fetchall()
    alone = [table for table, text in links if "REFERENCES sessions_app_messagerow(session_id, id)" not in text]
    assert alone == ["sessions_app_session"]

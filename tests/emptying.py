"""Tests that commit leave rows behind. They are deleted, where Django would truncate every table of the site.

Truncating makes new files for all tables and their indexes, and the types and permissions that go with them have to be
written again: per test some fifty times the work of deleting the few rows there are. What holds still holds: whoever is
in the middle of a transaction is waited for, no row of the site is left (the queue keeps its jobs, as with Django), and
sequences go on.
"""

from functools import cache

from django.db import connection

# Written when the schema is made, and by no test.
KEPT = {"django_content_type", "auth_permission"}
# Tables that grew beyond this are truncated: rows that are only marked as deleted would make later tests slow.
LARGE_BYTES = 4_000_000


def empty_tables(_test_case=None, large_bytes=LARGE_BYTES):
    with connection.cursor() as cursor:
        cursor.execute(script(large_bytes))


@cache
def script(large_bytes):
    """One block of the database's own language, because asking from here whether each table is empty takes longer."""
    names = [connection.ops.quote_name(name) for name in tables_with_rows_of_tests()]
    every = ", ".join(names)
    sizes = " + ".join(f"pg_table_size('{name}')" for name in names)
    deletions = " ".join(f"if exists (select from {name}) then delete from {name}; end if;" for name in names)
    # Replicas fire no triggers: neither those that keep rows from being deleted nor those of foreign keys.
    return f"""do $$ begin
        lock table {every} in access exclusive mode;
        if {sizes} > {large_bytes} then truncate {every};
        else set local session_replication_role = replica; {deletions} end if;
    end $$"""


def tables_with_rows_of_tests():
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(names) - KEPT)

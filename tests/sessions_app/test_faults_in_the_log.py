"""What of an error may go to the log: tracebacks of ours, never the words of the database."""

import psycopg
import pytest
from django.db import IntegrityError

from sessions_app.passes.faults import traceback_for_log


def caught(raise_it):
    with pytest.raises(Exception) as found:
        raise_it()
    return found.value


def hidden_in_another(cause):
    try:
        raise cause
    except type(cause):
        raise ValueError("storing failed")  # noqa: B904 - the chain without `from` is the case


def test_a_fault_of_ours_keeps_its_traceback():
    error = caught(lambda: hidden_in_another(KeyError("x")))
    assert traceback_for_log(error) is error


@pytest.mark.parametrize("cause", [IntegrityError("DETAIL: row contents"), psycopg.DataError("row contents")])
def test_an_error_of_the_database_gives_none_also_at_the_bottom_of_a_chain(cause):
    assert traceback_for_log(cause) is None
    assert traceback_for_log(caught(lambda: hidden_in_another(cause))) is None
    assert traceback_for_log(ExceptionGroup("several", [ValueError("x"), cause])) is None

"""What of a failed pass may go to the log.

The idea: what the database says can hold the contents of rows (its DETAIL quotes them), and logs never hold what was
said in a session. So of such an error only the type is told, also when another error came of it.
"""

from __future__ import annotations

import psycopg
from django.db import Error


def traceback_for_log(error: BaseException) -> BaseException | None:
    """`error` for a log line's `exc_info`; None when the database's words would come with it."""
    return None if has_words_of_database(error) else error


def has_words_of_database(error: BaseException) -> bool:
    """Whether the database said this, or something from which it came."""
    met: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Error | psycopg.Error):
            return True
        met.add(id(one))
        came_of = (one.__cause__, one.__context__, *(one.exceptions if isinstance(one, BaseExceptionGroup) else ()))
        waiting += [other for other in came_of if other is not None and id(other) not in met]
    return False

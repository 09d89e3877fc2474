"""How log lines look: one readable line each, or one JSON object each for a machine to collect.

Both ways take the standard library's loggers and structlog's. Must not decide what is logged; a line carries ids and
figures, never the text of a session.
"""

import re
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied

from sessions_app.passes.faults import has_words_of_database

SHARED_PROCESSORS: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


# Whoever reads the log could log in or join with a link that nobody has used yet.
LOGIN_TOKEN = re.compile(r"(/(?:login/once|invitation)/)[^\s'\"?]+")


def hide_login_tokens(_logger: Any, _method: str, line: str) -> str:
    """The finished line without the secrets of login links and invitations, wherever in it they stood."""
    return LOGIN_TOKEN.sub(r"\1[hidden]", line)


def error_of(event: MutableMapping[str, Any]) -> BaseException | None:
    """The exception that the event tells of."""
    told = event.get("exc_info")
    if told is True:
        return sys.exc_info()[1]
    return told[1] if isinstance(told, tuple) else told if isinstance(told, BaseException) else None


def leave_out_trace_of_refusals(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Somebody who may not do a thing is no fault of the site: the line that says so is enough."""
    if isinstance(error_of(event), PermissionDenied):
        del event["exc_info"]
    return event


def hide_words_of_database(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The event without what the database says of an error, which quotes rows: where it happened and its type stay."""
    error = error_of(event)
    if error is not None and has_words_of_database(error):
        del event["exc_info"]
        frames = "".join(traceback.format_tb(error.__traceback__))
        event["exception"] = f"{frames}{type(error).__name__} (its words are not logged: they may quote rows)"
    return event


def logging_settings(shape: str, level: str) -> dict[str, Any]:
    """The value of Django's LOGGING. `shape` is "line" or "json"."""
    structlog.configure(
        processors=[*SHARED_PROCESSORS, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "chosen": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED_PROCESSORS,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    leave_out_trace_of_refusals,
                    hide_words_of_database,
                    *renderers(shape),
                    hide_login_tokens,
                ],
            },
            # The shape that the report on micro compaction reads, whatever the console shows.
            "agent_log": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        },
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "chosen"},
            "agent_log": {"class": "hermes_site.agent_log.AgentLogHandler", "formatter": "agent_log"},
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # Never quieter than INFO: these lines are a record, not chatter.
            "hermes.compaction": {"handlers": ["agent_log"], "level": "INFO"},
            # Both tell at their INFO what every start and every poll does anyway.
            "procrastinate": {"level": "WARNING"},
            "psycopg": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
        },
    }


def renderers(shape: str) -> tuple[Any, ...]:
    if shape == "json":
        return (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
    return (structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),)

"""Whether the site works: each part asked for itself, and what it said.

Every check answers for itself and none can break the page: a part that fails to answer is the answer.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

import django
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Min, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker

from compaction.tokens import TiktokenCounter
from compaction.vocabulary import VocabularyMissing
from sessions_app.models import Session
from sessions_app.pages.pass_words import words_of_reason
from sessions_app.restored import RESTORED_CALL, calls_made_here
from sessions_app.templatetags.site import duration_ms, size_bytes

LOW_DISK_BYTES = 1_000_000_000
LATE_JOB = timedelta(minutes=2)
# A worker says every ten seconds that it lives.
SILENT_WORKER = timedelta(seconds=30)
MOST_FAILURES = 20
NEWEST_CALLS = 20
# Of a session, or of the site, among which the newest are sought that asked somebody.
LOOKED_AT_CALLS = 200
NEWEST_SESSIONS = 100


class State(StrEnum):
    """How a part is."""

    GOOD = "good"
    UNKNOWN = "unknown"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One part and what it said."""

    name: str
    state: State
    words: str


@dataclass(frozen=True, slots=True)
class HealthPage:
    """All checks, and sessions of the reader in which something of ours failed last."""

    checks: tuple[Check, ...]
    failures: tuple[Session, ...]

    @property
    def worst(self) -> State:
        states = {check.state for check in self.checks}
        return next((state for state in (State.BAD, State.WARNING) if state in states), State.GOOD)


def read_health(visible: QuerySet[Session], *, is_administrator: bool) -> HealthPage:
    """The state of everything, now. Members see what concerns their sessions; figures of the whole site, which tell
    of others too, are for its administrators, and of others' projects even these see no words."""
    asked: list[tuple[str, Callable[[], tuple[State, str]]]] = [
        (_("Database"), database if is_administrator else database_answers),
        (_("Workers"), workers),
        (_("Jobs"), jobs if is_administrator else jobs_run),
        (_("Calls to models"), partial(model_calls, visible)),
        (_("Token counter"), token_counter),
    ]
    if is_administrator:
        asked += [
            (_("Calls to models, all projects"), all_model_calls),
            (_("Schema"), schema),
            (_("Disk"), disk),
            (_("Versions"), versions),
        ]
    checks = tuple(ask(name, check, tells_why=is_administrator) for name, check in asked)
    return HealthPage(checks, tuple(failures(visible)))


def ask(name: str, check: Callable[[], tuple[State, str]], *, tells_why: bool) -> Check:
    """A check's answer; a database that does not answer is one too. What it says may name hosts and paths."""
    try:
        state, words = check()
    except (DatabaseError, OSError) as error:
        return Check(name, State.BAD, str(error).split("\n")[0][:200] if tells_why else _("it does not answer"))
    return Check(name, state, words)


def database_answers() -> tuple[State, str]:
    with connection.cursor() as cursor:
        cursor.execute("select 1")
    return State.GOOD, _("answers")


def database() -> tuple[State, str]:
    with connection.cursor() as cursor:
        cursor.execute("select current_setting('server_version'), pg_database_size(current_database())")
        version, size = cursor.fetchone()
    return State.GOOD, _("PostgreSQL {}, {}").format(version, size_bytes(size))


def schema() -> tuple[State, str]:
    executor = MigrationExecutor(connection)
    waiting = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if waiting:
        text = ngettext("{} migration has not been applied", "{} migrations have not been applied", waiting)
        return State.BAD, text.format(waiting)
    return State.GOOD, _("up to date")


def workers() -> tuple[State, str]:
    """Those that have said of late that they live. One that ends takes itself off the list, one that dies does not."""
    now = timezone.now()
    heartbeats = list(ProcrastinateWorker.objects.order_by("-last_heartbeat").values_list("last_heartbeat", flat=True))
    if not heartbeats:
        return State.BAD, _("none runs; when the last one did is unknown")
    since = time_since(heartbeats[0], now)
    living = sum(now - heartbeat < SILENT_WORKER for heartbeat in heartbeats)
    if not living:
        return State.BAD, _("none runs: the last heartbeat was {} ago").format(since)
    text = ngettext("{} runs, last heartbeat {} ago", "{} run, last heartbeat {} ago", living)
    return State.GOOD, text.format(living, since)


def time_since(moment: datetime, now: datetime) -> str:
    """How long ago a moment is, in words; clocks of two machines may differ a little."""
    seconds = max(round((now - moment).total_seconds()), 0)
    return f"{seconds} s" if seconds < 60 else duration_ms(seconds * 1_000)


def jobs() -> tuple[State, str]:
    """Jobs that are due, run, and failed; one that waits for long means that no worker takes it."""
    found, now = ProcrastinateJob.objects.all(), timezone.now()
    waiting, running = found.filter(_due(now)).count(), found.filter(status="doing").count()
    later, failed = found.filter(status="todo", scheduled_at__gt=now).count(), found.filter(status="failed").count()
    words = _("{} waiting, {} set for later, {} running, {} failed").format(waiting, later, running, failed)
    if not waiting:
        return (State.WARNING if failed else State.GOOD), words
    since = oldest_due(now)
    if since is None:
        return State.UNKNOWN, _("{}; since when the oldest waits is unknown").format(words)
    words = _("{}; the oldest has waited for {}").format(words, time_since(since, now))
    if now - since > LATE_JOB:
        return State.BAD, _("{}: does a worker run?").format(words)
    return (State.WARNING if failed else State.GOOD), words


def jobs_run() -> tuple[State, str]:
    """The same without the counts of everybody's jobs."""
    now = timezone.now()
    since = oldest_due(now)
    if since is not None and now - since > LATE_JOB:
        return State.BAD, _("some have waited for over two minutes: is a worker running?")
    return State.GOOD, _("none waits for long")


def _due(now: datetime) -> Q:
    return Q(status="todo") & (Q(scheduled_at__isnull=True) | Q(scheduled_at__lte=now))


def oldest_due(now: datetime) -> datetime | None:
    """Since when the oldest of the jobs that are due waits; None when none does, or nobody noted it."""
    due = ProcrastinateJob.objects.filter(_due(now), procrastinateevent__type="deferred")
    # One that was set for later waits from then on; the database passes over what is null.
    since = Greatest("procrastinateevent__at", "scheduled_at")
    oldest: datetime | None = due.aggregate(oldest=Min(since))["oldest"]
    return oldest


def all_model_calls() -> tuple[State, str]:
    """How many of the newest calls of all projects failed; what was said to others is not told."""
    looked = calls_made_here().order_by("-id").values_list("endpoint", "error")[:LOOKED_AT_CALLS]
    errors = [error for endpoint, error in looked if endpoint][:NEWEST_CALLS]
    if not errors:
        return State.UNKNOWN, _("no model has been asked so far")
    failed = sum(1 for error in errors if error)
    words = _("{} of the newest {} failed").format(failed, len(errors))
    return (State.WARNING if 2 * failed >= len(errors) else State.GOOD), words


def model_calls(visible: QuerySet[Session]) -> tuple[State, str]:
    """The newest calls of the reader's sessions: when half of them failed, something is wrong with an endpoint."""
    newest = newest_call_errors(visible)
    failed = [error for error in newest if error]
    if not newest:
        return State.UNKNOWN, _("no model has been asked so far")
    if not failed:
        text = ngettext("the newest call was answered", "the newest {} calls were all answered", len(newest))
        return State.GOOD, text.format(len(newest))
    words = _("{} of the newest {} failed, last with: {}").format(len(failed), len(newest), words_of_reason(failed[0]))
    return (State.WARNING if 2 * len(failed) >= len(newest) else State.GOOD), words


# A look into each session by its index: over the whole ledger, a reader with few sessions would wait for everybody's.
# A summarizer that asks nobody is entered in the ledger too, without an endpoint. What came with an export was asked
# elsewhere.
NEWEST_ERRORS_QUERY = """
SELECT call.error FROM sessions_app_session AS session CROSS JOIN LATERAL (
    SELECT id, error, endpoint FROM sessions_app_modelcall
    WHERE session_id = session.id AND id > coalesce((session.extras ->> %s)::bigint, 0)
    ORDER BY id DESC LIMIT %s
) AS call WHERE session.id = ANY(%s::bigint[]) AND call.endpoint <> '' ORDER BY call.id DESC LIMIT %s
"""


def newest_call_errors(visible: QuerySet[Session]) -> list[str]:
    """Why the newest calls of the newest sessions failed, newest first; empty for one that was answered."""
    sessions = list(visible.order_by("-listed_at", "-id").values_list("pk", flat=True)[:NEWEST_SESSIONS])
    with connection.cursor() as cursor:
        bounds = (RESTORED_CALL, LOOKED_AT_CALLS, sessions, NEWEST_CALLS)
        cursor.execute(NEWEST_ERRORS_QUERY, bounds)
        return [error for (error,) in cursor.fetchall()]


def token_counter() -> tuple[State, str]:
    try:
        counter = TiktokenCounter()
    except VocabularyMissing:
        return State.WARNING, _("the vocabulary is missing: tokens are estimated")
    return State.GOOD, _("{}, exact").format(counter.name)


def disk() -> tuple[State, str]:
    free = shutil.disk_usage(settings.VAR_DIR).free
    words = _("{} free for uploads and logs").format(size_bytes(free))
    return (State.WARNING if free < LOW_DISK_BYTES else State.GOOD), words


def versions() -> tuple[State, str]:
    return State.GOOD, f"Django {django.get_version()}"


def failures(visible: QuerySet[Session]) -> QuerySet[Session]:
    """The reader's sessions in which something of ours failed, newest first."""
    return visible.exclude(last_error="").order_by("-last_error_at")[:MOST_FAILURES]

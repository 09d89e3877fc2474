"""The history that a client tells, brought together with what is stored of its session.

The client's word holds: what it says again is there already, what is new is appended, what it no longer says is taken
back. Rows that a pass folded away count as said, because the client knows nothing of passes. Taking back what was
folded away takes a branch (`MustBranch`): a summary can't forget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from compaction.messages import Message, Role
from compaction.tokens import TokenCounter
from sessions_app.mapping import ROW_COLUMNS, message_of
from sessions_app.models import MessageRow, Session, ToldMessage
from sessions_app.queries.told import birth_of, told_rows
from sessions_app.services.appending import CountedMessage, NewMessage, append_counted, count_messages
from sessions_app.services.branching import branch_session
from sessions_app.services.locking import lock_session, lock_sessions
from sessions_app.services.rewinding import can_rewind, rewind_session
from sessions_app.told_history import BEGINNING, Told, digest_of, overlap_of, prefix_of

_PROMPT_ROLES = (Role.SYSTEM, Role.DEVELOPER)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The stored history is the told one. row_keys: the row of each told message. last_prefix: of the stored history,
    which may have messages in front that the client has dropped."""

    row_keys: tuple[int, ...]
    kept: int
    added: int
    rewound: int
    last_prefix: str


@dataclass(frozen=True, slots=True)
class MustBranch:
    """The told history leaves the stored one behind message `known`, which is too far back to rewind."""

    known: int


def reconcile(session_id: int, told: Sequence[Told], counter: TokenCounter) -> Reconciled | MustBranch:
    """Make the stored history of a session the told one, or change nothing. Raises Session.DoesNotExist."""
    ahead = _counted_ahead(session_id, told, counter)
    with transaction.atomic():
        session = lock_session(session_id)
        chain = _brought_up_to_date(session)
        skipped, known = _parting([entry.digest for entry in chain], [one.digest for one in told])
        rewound = 0
        if known < len(chain):
            position = _position_of(session, chain[known])
            if position is None or not can_rewind(session, position):
                return MustBranch(known)
            rewound = rewind_session(session_id, position)
            ToldMessage.objects.filter(session_id=session_id, number__gte=known).delete()
        fresh = told[known - skipped :]
        last_prefix = chain[known - 1].prefix if known else BEGINNING
        counted = _counted_end(told, len(fresh), ahead, counter)
        added = _append(session, known, last_prefix, fresh, counted, counter.name)
        row_keys = (*(entry.row_key for entry in chain[skipped:known]), *(entry.row_key for entry in added))
        last_prefix = added[-1].prefix if added else last_prefix
    return Reconciled(row_keys, known - skipped, len(added), rewound, last_prefix)


def store_told_answer(session_id: int, base: str, answer: NewMessage, counter: TokenCounter) -> int | None:
    """Append an answer to the history that ends with prefix `base`; returns its row.

    None when the history has gone on meanwhile: another answer to the same question came first. Should the client go on
    with this one, it tells so with its next request.
    """
    counted = count_messages([answer], counter)
    with transaction.atomic():
        session = lock_session(session_id)
        number = _number_behind(session, base)
        if number is None:
            return None
        digest = digest_of(answer.message)
        row_key = append_counted(session_id, counted, counter.name).row_ids[0]
        _save_entries(session, number, [(digest, prefix_of(base, digest), True)], [row_key])
    return row_key


def _number_behind(session: Session, base: str) -> int | None:
    """The number of the next message, if the history ends with prefix `base`. Most often the end alone tells."""
    last = ToldMessage.objects.filter(session_id=session.pk).order_by("-number").first()
    if last is not None and last.prefix == base:
        end = told_rows(session).filter(pk=last.row_key).values_list("position", flat=True).first()
        if end is not None and not told_rows(session).filter(position__gt=end).exists():
            return last.number + 1
    chain = _brought_up_to_date(session)
    return len(chain) if (chain[-1].prefix if chain else BEGINNING) == base else None


def branch_told(session_id: int, known: int) -> Session | None:
    """A branch of a session that shares the first `known` messages of its history and goes on by itself.

    It begins with what the model saw right before the next message came. None when that can't be found any more.
    """
    with transaction.atomic():
        locked = lock_sessions((session_id, *_old_homes(session_id, known)))
        if (session := locked.get(session_id)) is None:
            raise Session.DoesNotExist
        chain = _brought_up_to_date(session)
        born = birth_of(chain[known].row_key) if known < len(chain) else None
        if born is None or born[0] not in locked or born[1] < 2:
            return None
        branch = branch_session(born[0], born[1] - 1)
        _copy_history(branch, chain[:known])
    return branch


def _old_homes(session_id: int, known: int) -> list[int]:
    """Where the row of message `known` may be at home: in a branch, with a session that it came from. Rows of others
    are in a history from its beginning, so what is known of it before the lock holds behind it."""
    entries = ToldMessage.objects.filter(session_id=session_id, number=known).values("row_key")
    return list(MessageRow.objects.filter(pk__in=entries).values_list("session_id", flat=True))


def _copy_history(branch: Session, chain: Sequence[ToldMessage]) -> None:
    """The parent's history as the branch's; each message stands for the branch's own row where that came along."""
    rows = MessageRow.objects.filter(pk__in=[entry.row_key for entry in chain])
    position_of = dict(rows.values_list("id", "position"))
    own = {row.position: row.pk for row in told_rows(branch).only("id", "position")}
    ToldMessage.objects.bulk_create(
        ToldMessage(
            session=branch,
            project_id=branch.project_id,
            number=entry.number,
            digest=entry.digest,
            prefix=entry.prefix,
            row_key=own.get(position_of.get(entry.row_key, -1), entry.row_key),
            is_answer=entry.is_answer,
        )
        for entry in chain
    )


def _common(stored: Sequence[str], told: Sequence[str]) -> int:
    """How many digests of both are the same from the beginning."""
    pairs = zip(stored, told, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(stored), len(told)))


def _skipped(stored: Sequence[str], told: Sequence[str]) -> int:
    """How many messages in front a client has dropped by itself: what it tells is the end of the stored history, at
    least two messages of it, and maybe more. 0 when it tells the beginning, or something else. Both by digests."""
    if not stored or len(told) < 2 or stored[0] == told[0]:
        return 0
    overlap = overlap_of(stored, told)
    return len(stored) - overlap if overlap > 1 else 0


def _parting(stored: Sequence[str], told: Sequence[str]) -> tuple[int, int]:
    """How many messages a client has dropped in front, and how many stored ones precede the first that is not told."""
    skipped = _skipped(stored, told)
    return skipped, skipped + _common(stored[skipped:], told)


def _position_of(session: Session, entry: ToldMessage) -> int | None:
    """Where the row of an entry stands; None when it is no row of this session."""
    rows = MessageRow.objects.filter(session_id=session.pk, pk=entry.row_key)
    return rows.values_list("position", flat=True).first()


def _counted_ahead(session_id: int, told: Sequence[Told], counter: TokenCounter) -> list[CountedMessage]:
    """The end of a told history that seems to be new, counted while nothing is locked. The history may still change."""
    entries = ToldMessage.objects.filter(session_id=session_id).order_by("number")
    stored = list(entries.values_list("digest", flat=True))
    skipped, known = _parting(stored, [one.digest for one in told])
    return _counted(told[known - skipped :], counter)


def _counted_end(
    told: Sequence[Told], length: int, ahead: Sequence[CountedMessage], counter: TokenCounter
) -> list[CountedMessage]:
    """The last `length` messages, counted. `ahead`: those at its end counted before, most often just these."""
    missing = told[len(told) - length : len(told) - len(ahead)]
    return [*_counted(missing, counter), *ahead[max(len(ahead) - length, 0) :]]


def _counted(told: Sequence[Told], counter: TokenCounter) -> list[CountedMessage]:
    return count_messages([NewMessage(one.message) for one in told], counter)


def _append(
    session: Session,
    number: int,
    prefix: str,
    fresh: Sequence[Told],
    counted: Sequence[CountedMessage],
    counter_name: str,
) -> list[ToldMessage]:
    """Append `fresh`, which is `counted`, behind the history that ends with `prefix`."""
    if not fresh:
        return []
    row_keys = append_counted(session.pk, counted, counter_name).row_ids
    facts = []
    for one in fresh:
        prefix = prefix_of(prefix, one.digest)
        facts.append((one.digest, prefix, one.is_answer))
    return _save_entries(session, number, facts, row_keys)


def _save_entries(
    session: Session, number: int, facts: Sequence[tuple[str, str, bool]], row_keys: Sequence[int]
) -> list[ToldMessage]:
    return ToldMessage.objects.bulk_create(
        ToldMessage(
            session_id=session.pk,
            project_id=session.project_id,
            number=number + index,
            digest=digest,
            prefix=prefix,
            row_key=row_key,
            is_answer=is_answer,
        )
        for index, ((digest, prefix, is_answer), row_key) in enumerate(zip(facts, row_keys, strict=True))
    )


def _brought_up_to_date(session: Session) -> list[ToldMessage]:
    """The history as it is known, after what else happened to the session: rows that were taken back are out of it,
    rows that came another way are in it. The session must be locked."""
    chain = list(ToldMessage.objects.filter(session_id=session.pk).order_by("number"))
    chain = _without_taken_back(session, chain)
    return [*chain, *_come_another_way(session, chain)]


def _without_taken_back(session: Session, chain: list[ToldMessage]) -> list[ToldMessage]:
    mine = MessageRow.objects.filter(session_id=session.pk, pk__in=[entry.row_key for entry in chain])
    gone = set(mine.filter(died_seq__isnull=False).values_list("id", flat=True))
    gone -= set(told_rows(session).filter(pk__in=gone, died_seq__isnull=False).values_list("id", flat=True))
    first = next((n for n, entry in enumerate(chain) if entry.row_key in gone), len(chain))
    if first < len(chain):
        ToldMessage.objects.filter(session_id=session.pk, number__gte=first).delete()
    return chain[:first]


def _come_another_way(session: Session, chain: list[ToldMessage]) -> list[ToldMessage]:
    known = MessageRow.objects.filter(session_id=session.pk, pk__in=[entry.row_key for entry in chain])
    last = known.order_by("-position").values_list("position", flat=True).first()
    rows = told_rows(session).filter(position__gt=-1 if last is None else last)
    found = [(row.pk, message_of(row)) for row in rows.only(*ROW_COLUMNS).order_by("position", "id")]
    if not chain:
        found = _behind_prompt(found)
    prefix, facts = chain[-1].prefix if chain else BEGINNING, []
    for _, message in found:
        digest = digest_of(message)
        prefix = prefix_of(prefix, digest)
        facts.append((digest, prefix, message.role is Role.ASSISTANT))
    return _save_entries(session, len(chain), facts, [pk for pk, _ in found])


def _behind_prompt(found: list[tuple[int, Message]]) -> list[tuple[int, Message]]:
    """Rows without the system prompt in front, which clients tell beside their history."""
    first = next((n for n, (_, message) in enumerate(found) if message.role not in _PROMPT_ROLES), len(found))
    return found[first:]

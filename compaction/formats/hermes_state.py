"""Reading a Hermes state.db.

The database is opened read-only and never touched. When another program has it open (a write-ahead log lies beside it)
the file and its log are copied to a temporary folder first, because even a reader of the original would take part in
the log's upkeep. Columns are looked up by name: they differ between versions, and old databases lack the ones that say
which rows are live. The rowid is the only safe order; times may go backwards.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from compaction.errors import InvalidSource
from compaction.formats.events import ImportReport, SourceSession
from compaction.formats.hermes_rows import Record
from compaction.formats.hermes_sessions import Origin, hermes_session
from compaction.formats.source_file import SourceFile
from compaction.wording import worded

_COPY_ATTEMPTS = 20
_LOG_HEAD_BYTES = 32
# A continuation is created within seconds of its parent's end; a sub-agent of a long session is older than that.
_CONTINUATION_SECONDS = 5.0
_SUMMARY_SEARCHED_ROWS = 200


def read_hermes_state(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The sessions of a state.db, oldest first. Raises InvalidSource when it is no Hermes database or is broken."""
    try:
        yield from _Store(file).sessions(report)
    except sqlite3.Error as error:
        raise InvalidSource(worded("the database can't be read: {}", str(error)), file.label) from error


class _Store:
    """An opened database. The temporary copy, if there is one, lives as long as any session of it is held."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._shared: sqlite3.Connection | None = None
        self._uri = self._readable_uri()
        with closing(self.connect()) as database:
            self._session_columns = _columns(database, "sessions")
            self._message_columns = _columns(database, "messages")
            self._has_prompts = bool(_columns(database, "system_prompts"))
        if "id" not in self._session_columns or not {"id", "session_id", "role"} <= set(self._message_columns):
            raise InvalidSource(worded("it is an SQLite database, but not of Hermes"), file.label)

    def connect(self) -> sqlite3.Connection:
        """A read-only connection whose rows are mappings by column."""
        database = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        database.row_factory = _as_mapping
        database.text_factory = _decode
        return database

    def rows(self, query: str, value: object) -> Iterator[Record]:
        """The rows of a query with one value. All sessions share one connection; it goes when the last of them goes."""
        if self._shared is None:
            self._shared = self.connect()
        try:
            yield from self._shared.execute(query, (value,))
        except sqlite3.Error as error:
            raise InvalidSource(worded("the database can't be read: {}", str(error)), self._file.label) from error

    def sessions(self, report: ImportReport) -> Iterator[SourceSession]:
        """All sessions, in the order in which they were started."""
        with closing(self.connect()) as database:
            order = "started_at, rowid" if "started_at" in self._session_columns else "rowid"
            all_facts = database.execute(f"select * from sessions order by {order}").fetchall()
            by_id = {str(facts["id"]): facts for facts in all_facts}
            for facts in all_facts:
                foreign_id = str(facts["id"])
                origin = self._origin(database, facts, by_id)
                whole = {**facts, "system_prompt": self._prompt(database, facts)}
                yield hermes_session(foreign_id, whole, _SessionRows(self, foreign_id), report, origin)

    def _prompt(self, database: sqlite3.Connection, facts: Record) -> object:
        if facts.get("system_prompt") or not facts.get("system_prompt_hash") or not self._has_prompts:
            return facts.get("system_prompt")
        query = "select prompt from system_prompts where hash = ?"
        found = database.execute(query, (facts["system_prompt_hash"],)).fetchone()
        return found["prompt"] if found else None

    def _origin(self, database: sqlite3.Connection, facts: Record, by_id: Mapping[str, Record]) -> Origin:
        parent_id = facts.get("parent_session_id")
        if not isinstance(parent_id, str) or not parent_id:
            return Origin()
        parent = by_id.get(parent_id, {})
        reason = parent.get("end_reason")
        if reason == "compression" and (_follows(facts, parent) or self._opens_with_summary(database, facts)):
            return Origin(parent_id, "compression")
        is_branch = reason == "branched" or "branch" in str(facts.get("model_config") or "")
        return Origin(parent_id, "branch" if is_branch else "subagent")

    def _opens_with_summary(self, database: sqlite3.Connection, facts: Record) -> bool:
        query = (
            "select 1 from (select content from messages where session_id = ? order by id limit ?) "
            "where content like '%[CONTEXT COMPACTION%' or content like '[CONTEXT SUMMARY]:%'"
        )
        return database.execute(query, (facts["id"], _SUMMARY_SEARCHED_ROWS)).fetchone() is not None

    def _readable_uri(self) -> str:
        path = self._file.path
        if self._file.entry is not None:
            return _uri(self._unpack(), "mode=ro&immutable=1")
        if _log(path).exists() and _log(path).stat().st_size:
            return _uri(self._copy(path), "mode=ro")
        # Without a log nobody has a database in this mode open, and a plain reader would create files beside it.
        return _uri(path, "mode=ro&immutable=1" if _keeps_log(self._file) else "mode=ro")

    def _unpack(self) -> Path:
        target = self._temporary() / "state.db"
        with self._file.open() as stream, target.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
        return target

    def _copy(self, path: Path) -> Path:
        """A copy of the database with its log, taken while neither was begun anew.

        What is written meanwhile is only added to the log, and a reader passes over what has no commit behind it. Only
        a checkpoint changes the database itself, and only then is the log begun anew.
        """
        target = self._temporary() / "state.db"
        for _ in range(_COPY_ATTEMPTS):
            before = _state(path)
            shutil.copyfile(path, target)
            if _log(path).exists():
                shutil.copyfile(_log(path), _log(target))
            if _state(path) == before:
                return target
        raise InvalidSource(worded("the database is being written to all the time; try again later"), self._file.label)

    def _temporary(self) -> Path:
        self._folder = tempfile.TemporaryDirectory(prefix="hermes-state-")
        return Path(self._folder.name)


class _SessionRows:
    """The stored rows of one session, read as they are asked for."""

    def __init__(self, store: _Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    def records(self) -> Iterator[tuple[int, Record]]:
        """All rows in order of their numbers."""
        query = "select * from messages where session_id = ? order by id"
        for record in self._store.rows(query, self._session_id):
            yield int(str(record["id"])), record

    def record(self, number: int) -> Record:
        """One row by its number."""
        for record in self._store.rows("select * from messages where id = ?", number):
            return record
        raise InvalidSource(worded("message {} is gone from the database", number), self._session_id)


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [str(row["name"]) for row in database.execute(f"pragma table_info({table})")]


def _as_mapping(cursor: sqlite3.Cursor, row: tuple[object, ...]) -> dict[str, object]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _uri(path: Path, options: str) -> str:
    return f"{path.resolve().as_uri()}?{options}"


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _keeps_log(file: SourceFile) -> bool:
    """Whether the database is of the kind that writes to a log first (byte 18 of its header)."""
    with file.open() as stream:
        return stream.read(20)[18:19] == b"\x02"


def _state(path: Path) -> tuple[int, int, bytes]:
    """Size and time of the last change of the database, and the head of its log, which names the log's salts."""
    stat = path.stat()
    try:
        with _log(path).open("rb") as log:
            head = log.read(_LOG_HEAD_BYTES)
    except FileNotFoundError:
        head = b""
    return stat.st_size, stat.st_mtime_ns, head


def _follows(facts: Record, parent: Record) -> bool:
    started, ended = facts.get("started_at"), parent.get("ended_at")
    if not isinstance(started, int | float) or not isinstance(ended, int | float):
        return False
    return abs(started - ended) <= _CONTINUATION_SECONDS

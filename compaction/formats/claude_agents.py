"""Files of Claude Code's sub-agents, which lie beside the file of the session that started them.

Three places are known: `<session>/subagents/`, `subagents/` and the session's own folder. A file belongs to a session
when its records name that session. A meta file beside it may name the call that started the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from compaction.errors import InvalidSource
from compaction.formats.json_lines import parse_json, read_document
from compaction.formats.source_file import SourceFile

_PREFIX = "agent-"
_PATTERN = "agent-*.jsonl"
_HEAD_BYTES = 1 << 16


def is_agent_name(file: SourceFile) -> bool:
    """Whether the file is named as a sub-agent's is."""
    return PurePosixPath(file.name).match(_PATTERN)


def agent_id(file: SourceFile) -> str:
    """The sub-agent's id in the file's name."""
    return file.stem.removeprefix(_PREFIX)


def agent_files(file: SourceFile, session_ids: Iterable[str]) -> Iterator[SourceFile]:
    """The files of the sub-agents of the session in `file`, whose records name one of `session_ids`."""
    wanted = set(session_ids)
    for folder in (f"{file.stem}/subagents", "subagents", "."):
        for found in file.neighbours(folder, _PATTERN):
            if session_of(found) in wanted:
                yield found


def call_in_meta(file: SourceFile) -> str | None:
    """The call that started the agent, as the meta file beside its file says; None when there is none."""
    for meta in file.neighbours(".", f"{file.stem}.meta.json"):
        try:
            with meta.open() as stream:
                value = read_document(stream, meta.label).value
        except InvalidSource:
            return None
        named = [value.get(key) for key in ("toolUseId", "toolUseID", "tool_use_id")] if isinstance(value, dict) else []
        return next((call for call in named if isinstance(call, str) and call), None)
    return None


def session_of(file: SourceFile) -> str:
    """The session named in the first records of a file; empty when there is none."""
    try:
        lines = file.head(_HEAD_BYTES).split(b"\n")
    except InvalidSource:
        return ""
    for line in lines:
        try:
            value = parse_json(line).value
        except ValueError:
            continue
        session_id = value.get("sessionId") if isinstance(value, dict) else None
        if isinstance(session_id, str) and session_id:
            return session_id
    return ""


def without_claimed(files: Sequence[SourceFile]) -> Iterator[SourceFile]:
    """The files, except those of sub-agents that are read together with a session's file in the list."""
    claims: dict[str, set[str]] = {}
    for file in files:
        if not is_agent_name(file) and not file.refusal and file.name.endswith(".jsonl"):
            claims.setdefault(_folder(file), set()).update((file.stem, session_of(file)))
    for file in files:
        if file.refusal or not is_agent_name(file) or not _is_claimed(file, claims):
            yield file


def _is_claimed(file: SourceFile, claims: dict[str, set[str]]) -> bool:
    folder = PurePosixPath(_folder(file))
    homes = [folder.parent.parent, folder.parent] if folder.name == "subagents" else [folder]
    session_id = session_of(file)
    return bool(session_id) and any(session_id in claims.get(str(home), ()) for home in homes)


def _folder(file: SourceFile) -> str:
    """The folder of a file, an archive's name in front, in one spelling."""
    if file.entry is None:
        return str(PurePosixPath(file.path.parent.as_posix()))
    return str(PurePosixPath(file.path.as_posix()) / PurePosixPath(file.entry).parent)

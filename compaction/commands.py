"""Shell commands in calls: finding them, telling which runs are the same command, and which are worth telling."""

from __future__ import annotations

import json
import re
from typing import Final

# Commands worth telling: they test, build, install, publish or change. Looking around is not.
_TELLING_COMMAND: Final = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|rspec|phpunit|ctest|go (?:test|build|vet|run|generate)|"
    r"cargo \w+|(?:npm|pnpm|yarn|bun|deno) (?:run|test|install|ci|build|add|i\b|exec|x)\b|npx|make\b|cmake|ninja|bazel|"
    r"gradlew?|mvn|dotnet|tsc|eslint|prettier|biome|ruff|mypy|pyright|black|flake8|golangci-lint|clippy|"
    r"pip3? install|uv (?:sync|add|pip|run)|poetry|conda|"
    r"apt(?:-get)? install|brew install|docker|docker-compose|podman|"
    r"kubectl|helm|terraform|ansible|alembic|manage\.py|psql|sqlite3|mysql|"
    r"git (?:commit|push|merge|rebase|tag|cherry-pick|revert|reset|stash|checkout -b|switch -c|am|apply)|"
    r"gh (?:pr|issue|release|run)|curl .*(?:-X|-d |--data|localhost|127\.0\.0\.1)|ssh|scp|"
    r"rsync|mise|just|tox|task\b|python3? \S+\.py|python3? -m|node \S+|bash (?!-c)\S+|"
    r"sh \S+\.sh|\./\S+)",
    re.IGNORECASE,
)
_COMMAND_PREFIX: Final = re.compile(
    r"^(?:cd \S+\s*(?:&&|;)\s*|export \S+\s*(?:&&|;)\s*|source \S+\s*(?:&&|;)\s*|\. \S+\s*(?:&&|;)\s*|[A-Z_]+=\S+ )+"
)
_COMMAND_END: Final = re.compile(r"\s*(?:\d?>&\d|\d?>\s?/dev/null|\|\|?)\s*")
_COMMIT: Final = re.compile(r"git (?:\S+ )*?commit [^|;&]*?-a?m\s*(?:\"(?:\$\(cat <<'?EOF'?\n)?([^\"\n]+)|'([^'\n]+))")
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})


def command_of(arguments: str) -> str:
    """The shell command among a call's arguments; empty when there is none."""
    try:
        loaded = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(loaded, dict):
        return ""
    command = loaded.get("command") or loaded.get("cmd")
    if isinstance(command, list):
        words = [str(word) for word in command]
        is_wrapped = len(words) == 3 and words[1] in ("-c", "-lc") and words[0].rpartition("/")[2] in _SHELLS
        command = words[2] if is_wrapped else " ".join(words)
    return command.strip() if isinstance(command, str) else ""


def command_key(command: str) -> str:
    """The command without what changes nothing about what it is: a change of folder, redirections, cut output."""
    text = " ".join(command.strip().split("\n")[0].split())
    text = _COMMAND_PREFIX.sub("", text)
    return _COMMAND_END.split(text, maxsplit=1)[0] or text


def is_telling_command(command: str) -> bool:
    """Whether a command tests, builds, installs, publishes or changes something; looking around does not count."""
    return _TELLING_COMMAND.search(command_key(command)) is not None


def commit_subject(command: str) -> str:
    """The first line of the message of a git commit; empty for any other command."""
    found = _COMMIT.search(command)
    return " ".join((found[1] or found[2]).split()) if found else ""

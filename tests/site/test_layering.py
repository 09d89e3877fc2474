"""The architecture, read from the source: which package may import what, and where the database may be written.

hermes_site -> sessions_app -> compaction. The engine is values and functions: no framework, no clock, no chance, and
one place each that talks HTTP or reads YAML. Rows are written by services, importing and jobs, nowhere else.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
# From top to bottom; a package may import itself and those after it.
LAYERS = ("hermes_site", "sessions_app", "compaction")
ENGINE_PACKAGES = {"tiktoken"}
# Third-party packages that exactly one part of the engine may use, and why.
ENGINE_EXCEPTIONS = {
    "httpx": "compaction/endpoints/http_",  # the only modules that talk to a network
    "httpcore": "compaction/endpoints/http_",  # httpx's own transport, to connect to the checked address and no other
    "ruamel": "compaction/config_yaml",  # reads and writes the shared configuration file, with line numbers
}
# A clock or a die inside the engine would make a replay differ from what happened.
ENGINE_FORBIDDEN_MODULES = {"time", "random", "secrets", "uuid", "socket", "subprocess", "asyncio", "urllib.request"}
# Asking a model over a network takes time, has addresses, and waits before it asks again.
ENGINE_TALKERS = ("compaction/endpoints/http_", "compaction/endpoints/timing.py")
ENGINE_FORBIDDEN_CALLS = {"now", "utcnow", "today", "urandom"}

# Who else talks HTTP, and why.
OTHER_TALKERS = ("sessions_app/feeding/http_",)  # plays recordings into a site as a program from outside does

WRITING_METHODS = {"save", "create", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}
WRITING_METHODS |= {f"a{method}" for method in WRITING_METHODS} | {"create_user", "create_superuser", "adelete"}
WRITING_STATEMENTS = ("insert ", "update ", "delete ", "copy ", "truncate ", "merge ")
WRITERS = (
    "sessions_app/services",
    "sessions_app/importing",
    "sessions_app/jobs",
    "sessions_app/migrations",
)
# One line each, with the reason. Adding to this list is a decision, not a way out.
OTHER_WRITERS = {
    "sessions_app/replay_runs.py": "the job of a simulated replay: writes the steps and the progress of its own run",
}


class Import(NamedTuple):
    module: str
    line: int


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the three packages: its path below the checkout, and its tree."""
    for package in LAYERS:
        for path in sorted((CHECKOUT / package).rglob("*.py")):
            yield path.relative_to(CHECKOUT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imports_of(tree: ast.AST) -> Iterator[Import]:
    """Everything imported, wherever in the module it stands, relative imports excepted (there are none, see below)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield Import("." * node.level + (node.module or ""), node.lineno)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield Import(argument.value, node.lineno)


def upward_imports(path: str, tree: ast.AST) -> list[str]:
    allowed = LAYERS[LAYERS.index(path.split("/")[0]) :]
    return [
        f"{path}:{found.line} imports {found.module}"
        for found in imports_of(tree)
        if found.module.startswith(".") or (top(found.module) in LAYERS and top(found.module) not in allowed)
    ]


def foreign_engine_imports(path: str, tree: ast.AST) -> list[str]:
    """Imports of the engine that are neither the standard library's, nor its own, nor listed above."""
    return [
        f"{path}:{found.line} imports {found.module}"
        for found in imports_of(tree)
        if top(found.module) not in sys.stdlib_module_names | ENGINE_PACKAGES | {"compaction"}
        and not path.startswith(ENGINE_EXCEPTIONS.get(top(found.module), "nothing"))
    ]


def chance_in_engine(path: str, tree: ast.AST) -> list[str]:
    """Where the engine could look at a clock, throw dice or touch the world."""
    if path.startswith(ENGINE_TALKERS):
        return []
    modules = [found for found in imports_of(tree) if found.module in ENGINE_FORBIDDEN_MODULES]
    calls = [
        Import(ast.unparse(node.func), node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ENGINE_FORBIDDEN_CALLS
    ]
    return [f"{path}:{found.line} uses {found.module}" for found in (*modules, *calls)]


def writes_of(path: str, tree: ast.AST) -> list[str]:
    """Calls that write rows: by the ORM's methods, or by a statement handed to a cursor."""
    if path.startswith((*WRITERS, *OTHER_WRITERS)):
        return []
    return [
        f"{path}:{node.lineno} calls {ast.unparse(node.func)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_write(node, node.func)
    ]


def is_write(call: ast.Call, method: ast.Attribute) -> bool:
    if method.attr in ("execute", "executemany", "copy"):
        return any(starts_with_a_write(argument) for argument in call.args[:1])
    if method.attr in ("update", "aupdate"):
        # A queryset's takes columns by name; a mapping's or a digest's takes one value.
        return not call.args and bool(call.keywords)
    if method.attr == "delete":
        # A row's and a queryset's take nothing.
        return not call.args
    return method.attr in WRITING_METHODS


def starts_with_a_write(argument: ast.expr) -> bool:
    first = argument.values[0] if isinstance(argument, ast.JoinedStr) and argument.values else argument
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return False
    return first.value.lstrip().lower().startswith(WRITING_STATEMENTS)


def top(module: str) -> str:
    return module.split(".")[0]


def test_packages_import_only_downwards_and_by_their_full_name():
    assert [line for path, tree in sources() for line in upward_imports(path, tree)] == []


def test_the_engine_imports_the_standard_library_tiktoken_and_what_is_listed():
    engine = [(path, tree) for path, tree in sources() if path.startswith("compaction/")]
    assert len(engine) > 10
    assert [line for path, tree in engine for line in foreign_engine_imports(path, tree)] == []


def test_the_engine_has_no_clock_and_no_chance():
    engine = [(path, tree) for path, tree in sources() if path.startswith("compaction/")]
    assert [line for path, tree in engine for line in chance_in_engine(path, tree)] == []


def test_httpx_is_imported_by_the_engines_http_modules_and_the_feeders_alone():
    users = {path for path, tree in sources() for found in imports_of(tree) if top(found.module) == "httpx"}
    assert [path for path in users if not path.startswith((ENGINE_EXCEPTIONS["httpx"], *OTHER_TALKERS))] == []


def test_rows_are_written_by_services_importing_and_jobs_alone():
    assert [line for path, tree in sources() for line in writes_of(path, tree)] == []


def test_every_listed_exception_is_still_one():
    paths = [path for path, _ in sources()]
    for prefix in OTHER_WRITERS:
        assert [path for path in paths if path.startswith(prefix)], f"{prefix} is gone: take it off the list"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("compaction/a.py", "import sessions_app.models"),
        ("compaction/a.py", "def f():\n    from hermes_site import settings"),
        ("sessions_app/a.py", "from hermes_site.postgres import embedded"),
        ("sessions_app/a.py", "import importlib\nimportlib.import_module('hermes_site.urls')"),
        ("sessions_app/a.py", "from . import models"),
    ],
)
def test_an_import_upwards_would_be_found(path, source):
    assert len(upward_imports(path, ast.parse(source))) == 1


@pytest.mark.parametrize("source", ["import django", "from channels.db import x", "import psycopg", "import httpx"])
def test_a_framework_in_the_engine_would_be_found(source):
    assert len(foreign_engine_imports("compaction/a.py", ast.parse(source))) == 1


@pytest.mark.parametrize("source", ["import time", "from random import random", "datetime.now()", "date.today()"])
def test_a_clock_or_a_die_in_the_engine_would_be_found(source):
    assert len(chance_in_engine("compaction/a.py", ast.parse(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "row.save()",
        "Row.objects.create(a=1)",
        "Row.objects.filter(a=1).update(b=2)",
        "Row.objects.all().delete()",
        "Row.objects.bulk_create(rows)",
        "await Row.objects.aget_or_create(a=1)",
        "cursor.execute('INSERT INTO x VALUES (1)')",
        "cursor.execute(f'update {table} set a = 1')",
        "cursor.copy('COPY x FROM STDIN')",
    ],
)
def test_a_write_in_a_page_would_be_found(source):
    tree = ast.parse(source)
    assert len(writes_of("sessions_app/views/a.py", tree)) == 1
    assert writes_of("sessions_app/services/a.py", tree) == []


@pytest.mark.parametrize("source", ["digest.update(data)", "seen.update({1: 2})", "cursor.execute('select 1')"])
def test_what_only_looks_like_a_write_is_left_alone(source):
    assert writes_of("sessions_app/views/a.py", ast.parse(source)) == []

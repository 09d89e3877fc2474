"""One line per tool result, for tools of every agent and for results of every shape."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.prune_lines import prune_line

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: src/b.py\n+z\n*** End Patch"
REFUSED = "<tool_use_error>String to replace not found</tool_use_error>"


def line(tool, result="", **arguments):
    return prune_line(tool, json.dumps(arguments, ensure_ascii=False), result)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (line("Bash", "Exit code 2\nno such file", command="make test"), "ran `make test` -> exit 2, 2 lines output"),
        (line("Bash", "a\nb", command="cat <<E\nx\nE"), "ran `cat <<E x E` -> exit ?, 2 lines output"),
        (line("Bash", "", command="true"), "ran `true` -> exit ?, 0 lines output"),
        (line("Read", "x" * 1_200, file_path="/srv/a.py", offset=40), "read /srv/a.py from line 40 (1,200 chars)"),
        (line("Write", "ok", file_path="a.py", content="1\n2\n3"), "wrote to a.py (3 lines)"),
        (line("Edit", "done", file_path="a.py", old_string="x"), "edit in a.py (4 chars result)"),
        (line("MultiEdit", "done", file_path="a.py", edits=[{}, {}]), "2 edits in a.py (4 chars result)"),
        (line("Grep", "a:1\nb:2", pattern="TODO", path="src"), "search for 'TODO' in src -> 2 lines output"),
        (line("Glob", "a.py", pattern="**/*.py"), "search for '**/*.py' in . -> 1 lines output"),
        (line("LS", "a\nb\nc", path="/srv"), "listed /srv (3 lines output)"),
        (line("WebFetch", "p" * 3_000, url="https://e.x/y", prompt="sum up"), "https://e.x/y (3,000 chars)"),
        (line("WebSearch", "r" * 500, query="prompt caching"), "query='prompt caching' (500 chars result)"),
        (line("Task", "r" * 500, description="Find the bug", prompt="..."), "'Find the bug' (500 chars result)"),
        (line("TodoWrite", "ok", todos=[{}, {}]), "updated task list (2 items)"),
        (line("AskUserQuestion", '{"answer": "the blue one"}', questions=[]), 'user responded: "the blue one"'),
        (line("apply_patch", "Done!", input=PATCH), "patched src/a.py, src/b.py (5 chars result)"),
        (prune_line("apply_patch", PATCH, "Done!"), "patched src/a.py, src/b.py (5 chars result)"),
        (line("shell", '{"exit_code": 1}', command=["bash", "-lc", "ls"]), "ran `ls` -> exit 1, 1 lines output"),
        (line("exec_command", "Process exited with code 3", cmd="ls"), "ran `ls` -> exit 3, 1 lines output"),
        (line("execute_bash", "x\n[finished with exit code 0]", command="ls"), "ran `ls` -> exit 0, 2 lines output"),
        (line("str_replace_editor", "x", command="view", path="/a", view_range=[7]), "read /a from line 7 (1 chars)"),
        (line("str_replace_editor", "ok", command="create", path="/a", file_text="1\n2"), "wrote to /a (2 lines)"),
        (line("str_replace_editor", "ok", command="str_replace", path="/a"), "str_replace in /a (2 chars result)"),
        (line("mcp__github__get_issue", "{}", owner="o", repo="r", n=1), "owner=o repo=r (2 chars result)"),
        (line("frobnicate", "abc"), "(3 chars result)"),
        (line("Edit", REFUSED, file_path="a.py"), "edit in a.py (60 chars result) FAILED: String to replace not found"),
        (line("Read", "Error: denied\nat x", file_path="a"), "read a from line 1 (18 chars) FAILED: denied"),
        (line("read_file", "x", file_path="a.py"), "read a.py from line 1 (1 chars)"),
        (line("functions.exec_command", "", cmd="ls"), "ran `ls` -> exit ?, 0 lines output"),
    ],
)  # fmt: skip
def test_a_result_is_told_by_its_tool_and_what_it_was_asked(told, expected):
    assert told.partition("] ")[2] == expected


def test_arguments_that_are_no_json_object_leave_the_tool_and_the_size():
    for arguments in ("", "not json", "[1, 2]", "null", "{" * 5_000, '{"a": ' + "9" * 5_000 + "}"):
        assert prune_line("mystery", arguments, "abc") == "[mystery] (3 chars result)"


ARGUMENTS = st.dictionaries(
    st.sampled_from(["command", "path", "file_path", "pattern", "url", "urls", "code", "goal", "content", "edits"]),
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text(), max_size=3)),
)
NAMES = """
terminal read_file write_file search_files patch browser_click web_search web_extract delegate_task execute_code
skill_view skills_list skill_manage memory clarify process_manage cronjob_manage Bash Read Edit Grep Task
apply_patch str_replace_editor mcp__a__b
"""
TOOLS = st.sampled_from(NAMES.split())
RESULTS = st.one_of(
    st.text(),
    st.dictionaries(
        st.sampled_from(["error", "success", "status", "responses", "job", "exit_code", "count", "skills"]),
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.dictionaries(st.text(), st.text()))),
    ).map(json.dumps),
)


@given(TOOLS, ARGUMENTS.map(json.dumps) | st.text(), RESULTS)
def test_a_line_names_its_tool_whatever_a_model_and_a_tool_wrote(tool, arguments, result):
    told = prune_line(tool, arguments, result)
    assert told.startswith((f"[{tool}]", f"[{tool.removesuffix('_manage')}]"))

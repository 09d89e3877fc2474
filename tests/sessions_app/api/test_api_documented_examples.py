"""The examples of docs/api.md run in their order, over HTTP, with a token made as the page says."""

import re
from pathlib import Path

from django.core.management import call_command

from sessions_app.services import create_project

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "api.md"
BLOCKS = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_run_as_they_stand(application, live_server, monkeypatch, capsys):
    create_project("default", "Default")
    call_command("create_token", "default", "--write", "--name", "my-agent")
    monkeypatch.setenv("HERMES_TOKEN", capsys.readouterr().out.strip())
    monkeypatch.setenv("HERMES_URL", live_server.url)
    monkeypatch.setenv("NO_PROXY", "*")
    names = {}
    for block in BLOCKS:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    assert len(BLOCKS) == 17
    assert names["exported"]["session"]["title"] == "Fix the build"


def test_the_page_names_every_status_the_api_answers_with():
    from sessions_app.api.site import api

    operations = [one for methods in api.get_openapi_schema()["paths"].values() for one in methods.values()]
    errors = {status for one in operations for status in map(int, one["responses"]) if status >= 400}
    assert {int(status) for status in re.findall(r"^\| (\d{3}) \|", DOCUMENT.read_text(), re.MULTILINE)} == errors

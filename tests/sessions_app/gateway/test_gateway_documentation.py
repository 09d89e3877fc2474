"""The examples of docs/gateway.md run in their order, with the real client."""

import re
from pathlib import Path

import pytest
from gateway_client import chunk

from sessions_app import services
from sessions_app.models import Session
from tests.compaction.loopback import completion, events

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "gateway.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_the_examples_run_as_they_stand(client, upstream, project, monkeypatch):
    services.save_main_model(project.pk, {"default": "the-model", "base_url": upstream.url})
    monkeypatch.setenv("HERMES_URL", client.site)
    monkeypatch.setenv("HERMES_TOKEN", client.token)
    monkeypatch.setenv("NO_PROXY", "*")
    words = (chunk({"role": "assistant"}), chunk({"content": "The newest rows."}), chunk(reason="stop"), "[DONE]")
    upstream.script = [completion("A place."), events(*words), completion("Done.")]
    names = {}
    for block in BLOCKS:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    assert len(BLOCKS) == 4
    assert names["words"] == "The newest rows."
    first, second = Session.objects.order_by("pk")
    assert (first.live_rows, second.live_rows, second.foreign_id) == (4, 2, "nightly run 7")
    assert names["session"] == second.public_id


def test_the_page_names_the_codes_that_the_gateway_answers_with():
    source = Path(services.__file__).parents[1]
    text = "".join(path.read_text() for path in [*(source / "gateway").glob("*.py"), source / "views" / "gateway.py"])
    told = set(re.findall(r'refusal\([^()]*?"([a-z_]+)"', text)) | {"rate_limit_exceeded", "invalid_api_key"}
    assert len(told) > 8
    assert {code for code in told - {"upstream_error"} if f"`{code}`" not in TEXT} == set()

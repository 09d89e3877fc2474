"""A summarizer that does not come to an end must not be felt by whoever writes the session."""

import asyncio
import threading

import httpx
import pytest
from django.db import connection, connections
from procrastinate.contrib.django import app
from row_builder import NewMessage, assistant, call, result, user

from compaction.endpoints.gates import PROCESS_GATES
from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.models import CompactionPass, MessageRow, Turn
from sessions_app.services.tokens import issue_token
from sessions_app.summarizers import operator_rules
from tests.compaction.loopback import completion, serving

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 30
SUMMARY = "## Key Decisions\n- the parser stays as it is"


class Slow:
    """An answer that comes when it is let go; `asked` is set when the question is there."""

    def __init__(self):
        self.asked, self.let_go = threading.Event(), threading.Event()

    def __call__(self, handler):
        self.asked.set()
        self.let_go.wait(PATIENCE_SECONDS)
        completion(SUMMARY)(handler)


@pytest.fixture
def api(rows, project, live_server, settings):
    """The session's API over real HTTP."""
    settings.OUTBOUND_RULES = operator_rules()
    secret = issue_token(project, "agent", may_write=True).secret
    base_url = f"{live_server.url}/api/v1/sessions/{rows.session.public_id}"
    with httpx.Client(
        base_url=base_url, headers={"Authorization": f"Bearer {secret}"}, trust_env=False, timeout=20
    ) as client:
        yield client
    PROCESS_GATES.forget()
    connections["default"].close_pool()


@pytest.fixture
def worker():
    """A real worker in a thread of its own, which empties the queue and goes home."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")

    async def run():
        with app.replace_connector(app.connector.get_worker_connector()) as working:
            async with working.open_async():
                await working.run_worker_async(wait=False, install_signal_handlers=False, listen_notify=False)

    return threading.Thread(target=lambda: asyncio.run(run()))


def send(api, *messages):
    answer = api.post("/rows", json={"rows": [{"message": message} for message in messages]})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_next_prompt_is_accepted_and_read_while_the_pass_still_waits_for_its_summary(rows, project, api, worker):
    """P08: a slow summarizer stands between no reply and the prompt after it; its pass then takes what it planned."""
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    for number in range(9):
        name = f"c{number}"
        rows.append(user(f"question {number}"), call(name), result(name, f"line {name} " * 60), assistant("fine"))
    slow = Slow()
    with serving(slow) as server:
        settings = {
            "compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5},
            "auxiliary": {"compression": {"base_url": server.url, "model": "slow"}},
        }
        services.save_policy(project.pk, settings, None)
        type(rows.session).objects.filter(pk=rows.session_id).update(window_tokens=8_000)
        assert api.post("/turns/finish", json={}).json() == {"turn": 9}
        worker.start()
        assert slow.asked.wait(PATIENCE_SECONDS)
        # From here on nothing below could be answered if it waited for the pass.
        sent = send(api, {"role": "user", "content": "the next prompt"})
        assert sent["added"] == 1
        assert api.get("/context").json()["messages"][-1]["content"] == "the next prompt"
        send(api, {"role": "assistant", "content": "the next answer"})
        assert Turn.objects.get(number=9).ended_at is None
        assert not CompactionPass.objects.exists()
        slow.let_go.set()
        worker.join(PATIENCE_SECONDS)
    assert not worker.is_alive()
    assert Turn.objects.get(number=9).ended_at is not None
    assert [one.outcome for one in CompactionPass.objects.all()] == ["absorbed"]
    newest = list(
        MessageRow.objects.filter(died_seq__isnull=True).order_by("-position").values_list("content", flat=True)
    )
    assert newest[:2] == ["the next answer", "the next prompt"]

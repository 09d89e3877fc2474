"""Testing endpoints from the pages of a project: real questions to a real server, results kept and explained."""

import threading

import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from django.urls import reverse
from row_builder import assistant, user

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.gates import PROCESS_GATES
from compaction.tokens import RoughCounter
from sessions_app import services
from sessions_app.endpoint_tests import run_endpoint_test
from sessions_app.models import EndpointTest, JobStatus, MemberRole
from sessions_app.pages.endpoint_faults import fault_words
from sessions_app.pages.endpoint_tests import read_endpoint_test
from sessions_app.services.endpoint_tests import cancel_endpoint_test, request_endpoint_test
from tests.compaction.loopback import KEY, completion, events, failure, raw, serving, silence
from tests.patience import eventually

pytestmark = pytest.mark.django_db

GOOD = (
    "## Key Decisions\n- src/billing/invoice.py: round once, to two digits; INV-20417 is 12.5\n"
    "- never edit migrations/0007_totals.py"
)
REACHABLE = OutboundRules(allow_loopback=True)


@pytest.fixture(autouse=True)
def rules():
    PROCESS_GATES.forget()
    with override_settings(OUTBOUND_RULES=REACHABLE):
        yield
    PROCESS_GATES.forget()


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


def block(server, **more):
    return {"provider": "custom", "base_url": server.url, "model": "small-model", **more}


def asked_of(project, *blocks, session=None):
    test = request_endpoint_test(project, blocks, session=session)
    run_endpoint_test(test.pk, RoughCounter())
    test.refresh_from_db()
    return test


def streamed(text, **usage):
    """A streamed answer in two pieces."""
    half = len(text) // 2
    pieces = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in (text[:half], text[half:])]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage, "model": "small-model"}
    return events(*pieces, end, "[DONE]")


def test_an_endpoint_is_asked_and_what_it_did_is_kept(project):
    with serving(streamed(GOOD, prompt_tokens=500, completion_tokens=60)) as server:
        test = asked_of(project, block(server))
    assert test.status == JobStatus.DONE
    (line,) = read_endpoint_test(test).lines
    assert line.is_usable and line.facts_kept == line.facts_asked == 4
    assert line.first_token_ms is not None and line.duration_ms is not None
    assert (line.input_tokens, line.output_tokens) == (500, 60)
    assert "never edit" in line.sample
    assert line.warnings == ()


def test_a_model_that_thinks_is_warned_about(project):
    usage = {"prompt_tokens": 500, "completion_tokens": 900, "completion_tokens_details": {"reasoning_tokens": 840}}
    with serving(completion(GOOD, usage=usage, reasoning_content="Let me see.")) as server:
        (line,) = read_endpoint_test(asked_of(project, block(server))).lines
    assert line.reasoning_tokens == 840
    assert "thinks before it answers" in " ".join(line.warnings)


@pytest.mark.parametrize(
    ("answer", "more", "said"),
    [
        (failure(401, "no such key"), {}, "did not accept the key"),
        (failure(404, "no such model"), {}, "no such model"),
        (raw(b"<!doctype html><title>Hello</title>", content_type="text/html"), {}, "web page"),
        (completion(GOOD), {"key_env": "ABSENT_API_KEY"}, "no key of that name"),
        (completion(GOOD), {"key_env": "HOME"}, "may not be sent"),
        (completion(""), {}, "no text"),
    ],
)
def test_each_failure_is_explained(project, answer, more, said):
    with serving(answer) as server:
        (line,) = read_endpoint_test(asked_of(project, block(server, **more))).lines
    assert not line.is_usable
    assert said in line.fault.happened
    assert line.fault.advice


def test_an_address_that_may_not_be_contacted_is_refused_and_nothing_is_sent(project):
    with override_settings(OUTBOUND_RULES=OutboundRules()), serving(completion(GOOD)) as server:
        (line,) = read_endpoint_test(asked_of(project, block(server))).lines
        assert server.asked == []
    assert "may not be contacted" in line.fault.happened
    assert "HERMES_SITE_OUTBOUND" in line.fault.advice


def test_a_block_that_names_no_endpoint_says_what_is_missing(project):
    (line,) = read_endpoint_test(asked_of(project, {"provider": "nobody-knows", "model": "m"})).lines
    assert "name no endpoint" in line.fault.happened and "nobody-knows" in line.detail


def test_endpoints_are_compared_on_one_recorded_exchange_of_the_project(project, session, rows):
    for number in range(4):
        rows.append(user(f"question {number}"), assistant(f"The parser lies in src/parser_{number}.py. " * 20))
    rows.append(user("thanks"))
    with serving(completion(GOOD)) as one, serving(completion(GOOD)) as other:
        test = asked_of(project, block(one), block(other), {"provider": "extractive"}, session=session)
        sent = [server.asked[0].body["messages"] for server in (one, other)]
    assert test.status == JobStatus.DONE
    page = read_endpoint_test(test)
    assert [line.is_usable for line in page.lines] == [True, True, True]
    assert sent[0] == sent[1]
    assert "src/parser_" in sent[0][1]["content"]
    assert test.question["rows"] == 1 and test.question["tokens"] > 60
    assert [line.is_offline for line in page.lines] == [False, False, True]


def test_a_session_without_a_complete_exchange_fails_with_a_reason(project, session):
    test = asked_of(project, {"provider": "extractive"}, session=session)
    assert test.status == JobStatus.FAILED and "no complete exchange" in test.error


@pytest.mark.django_db(transaction=True)
def test_a_wish_to_stop_is_heard_while_an_endpoint_says_nothing(project):
    with serving(silence) as server:
        test = request_endpoint_test(project, [block(server), block(server)])
        runner = threading.Thread(target=run_in_own_connection, args=(test.pk,))
        runner.start()
        eventually(lambda: server.asked, "the endpoint was not asked")
        assert runner.is_alive()
        assert cancel_endpoint_test(test.pk)
        runner.join(10)
        assert not runner.is_alive()
    test.refresh_from_db()
    assert test.status == JobStatus.CANCELLED and test.report == []


def run_in_own_connection(test_id):
    from django.db import connection

    try:
        run_endpoint_test(test_id, RoughCounter())
    finally:
        connection.close()


def test_a_test_that_was_interrupted_goes_on_with_the_endpoint_it_had_come_to(project):
    with serving(completion(GOOD)) as server:
        test = request_endpoint_test(project, [block(server), block(server)])
        test.report, test.status = [{"model": "first", "is_usable": True}], JobStatus.RUNNING
        test.save()
        run_endpoint_test(test.pk, RoughCounter())
        assert len(server.asked) == 1
    test.refresh_from_db()
    assert [one["model"] for one in test.report] == ["first", "small-model"]


def test_the_form_starts_a_test_of_what_was_typed(page, project):
    address = reverse("endpoint_tests", args=[project.slug])
    assert page.get(address).status_code == 200
    typed = {"other1-base_url": "http://127.0.0.1:9/v1", "other1-model": "m", "offline": "on", "session": ""}
    answer = page.post(address, typed)
    test = EndpointTest.objects.get()
    assert answer.url == reverse("endpoint_test", args=[project.slug, test.pk])
    assert test.endpoints == [{"model": "m", "base_url": "http://127.0.0.1:9/v1"}, {"provider": "extractive"}]
    assert "waiting" in page.get(answer.url).content.decode()
    run_endpoint_test(test.pk, RoughCounter())
    shown = page.get(answer.url).content.decode()
    assert "Nothing answers at this address and port." in shown and "Side by side" in shown


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "at least one endpoint"),
        ({"other1-base_url": "ftp://example.com"}, "starts with http"),
        ({"other1-provider": "anthropic"}, "name the model"),
        ({"other1-base_url": "http://127.0.0.1/", "other1-timeout": "0"}, "greater than or equal to 1"),
    ],
)
def test_a_mistake_comes_back_with_what_was_typed(page, project, typed, said):
    answer = page.post(reverse("endpoint_tests", args=[project.slug]), typed)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert all(value in answer.content.decode() for value in typed.values())
    assert not EndpointTest.objects.exists()


def test_the_projects_own_endpoint_is_offered_and_asked_with_its_key(page, project, monkeypatch):
    monkeypatch.setenv("TEAM_API_KEY", KEY)
    with serving(completion(GOOD)) as server:
        own = {"base_url": server.url, "model": "team-model", "key_env": "TEAM_API_KEY"}
        services.save_policy(project.pk, {"auxiliary": {"compression": own}}, None, "an endpoint")
        address = reverse("endpoint_tests", args=[project.slug])
        assert "team-model" in page.get(address).content.decode()
        page.post(address, {"own": "on"})
        run_endpoint_test(EndpointTest.objects.get().pk, RoughCounter())
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in page.get(f"{address}{EndpointTest.objects.get().pk}/").content.decode()


def test_readers_see_tests_and_start_none_and_strangers_see_nothing(client, project):
    test = request_endpoint_test(project, [{"provider": "extractive"}])
    viewer = User.objects.create_user("vera")
    services.add_member(project, viewer, MemberRole.VIEWER)
    addresses = [reverse("endpoint_tests", args=[project.slug]), reverse("endpoint_test", args=[project.slug, test.pk])]
    cancel = reverse("endpoint_test_cancel", args=[project.slug, test.pk])
    client.force_login(viewer)
    assert [client.get(address).status_code for address in addresses] == [200, 200]
    assert client.post(addresses[0], {"offline": "on"}).status_code == 403
    assert client.post(cancel).status_code == 403
    client.force_login(User.objects.create_user("stranger"))
    assert [client.get(address).status_code for address in addresses] == [404, 404]
    assert client.post(cancel).status_code == 404
    assert EndpointTest.objects.count() == 1


def test_an_editor_can_test_addresses_but_name_no_key(client, project):
    editor = User.objects.create_user("edda")
    services.add_member(project, editor, MemberRole.EDITOR)
    client.force_login(editor)
    typed = {"other1-base_url": "http://127.0.0.1:9/v1", "other1-key_env": "TEAM_API_KEY"}
    answer = client.post(reverse("endpoint_tests", args=[project.slug]), typed)
    assert answer.status_code == 422 and "Only an owner" in answer.content.decode()


def test_a_test_that_waits_is_cancelled_at_once(page, project):
    test = request_endpoint_test(project, [{"provider": "extractive"}])
    page.post(reverse("endpoint_test_cancel", args=[project.slug, test.pk]))
    run_endpoint_test(test.pk, RoughCounter())
    test.refresh_from_db()
    assert test.status == JobStatus.CANCELLED and test.report == []


def test_unknown_reasons_and_statuses_have_words_too():
    assert "503" in fault_words("http_503").happened
    assert "418" in fault_words("http_418").happened
    assert fault_words("something_new").happened == "something_new"
    assert fault_words("").happened == ""

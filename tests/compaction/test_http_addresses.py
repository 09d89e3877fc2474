"""Redirects and addresses: where a question goes, and where it never goes."""

import threading

import pytest

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.timing import TimeLimits
from tests.compaction.loopback import (
    KEY,
    SUMMARY,
    Caller,
    ask,
    completion,
    raw,
    serving,
)

ONCE = RetryRules(most_attempts=1)
SOON = TimeLimits(0.4, 0.4, 0.4)


def moved(location, status=307):
    return raw(b"", status=status, headers=[("location", location)])


def test_a_redirect_to_another_host_is_refused_and_the_other_host_hears_nothing():
    with serving(completion()) as other:
        location = f"http://localhost:{other.port}/v1/chat/completions"
        reply, server, _ = ask(moved(location), key_env="MY_API_KEY", environment={"MY_API_KEY": KEY})
        assert reply.error == "redirect_refused"
        assert "from 127.0.0.1 to localhost" in reply.error_detail
        assert other.asked == []


def test_a_redirect_to_another_port_is_another_host():
    with serving(completion()) as other:
        reply, _, _ = ask(moved(f"{other.url}/chat/completions"))
        assert (reply.error, other.asked) == ("redirect_refused", [])


def test_a_redirect_within_the_host_is_followed():
    reply, server, _ = ask(moved("/v2/chat/completions", 308), completion())
    assert reply.text == SUMMARY
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions", "/v2/chat/completions"]
    assert server.asked[1].body == server.asked[0].body


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_drop_the_question_is_refused(status):
    reply, server, _ = ask(moved("/v2", status))
    assert (reply.error, len(server.asked)) == ("redirect_refused", 1)


@pytest.mark.parametrize("location", ["", "//", "http://[", "ftp://127.0.0.1/", "file:///etc/passwd"])
def test_a_redirect_to_nowhere_is_refused(location):
    assert ask(moved(location))[0].error == "redirect_refused"


def test_redirects_in_a_circle_end():
    reply, server, _ = ask(moved("/round"))
    assert (reply.error, len(server.asked)) == ("redirect_refused", 4)


@pytest.mark.parametrize("address", ["169.254.169.254", "169.254.7.7", "fe80::1", "fd00:ec2::254", "100.100.100.200"])
def test_a_name_that_resolves_to_a_link_local_or_metadata_address_is_refused(address):
    rules = OutboundRules(
        ("summaries.example", "169.254.0.0/16", "*"), allow_loopback=True, allow_private=True, keys=("*@*",)
    )
    caller = Caller("http://summaries.example", rules=rules, resolve=lambda host, port: ("93.184.215.14", address))
    reply = caller.ask()
    assert reply.error == "address_refused"
    assert address in reply.error_detail


def test_the_address_that_was_checked_is_the_one_that_is_contacted():
    """A name that resolves differently the second time is asked for only once."""
    with serving(completion()) as server:
        resolved = []

        def rebinding(host, port):
            resolved.append(host)
            return ("127.0.0.1",) if len(resolved) == 1 else ("169.254.169.254",)

        caller = Caller(f"http://summaries.example:{server.port}/v1", resolve=rebinding)
        assert caller.ask().text == SUMMARY
        assert resolved == ["summaries.example"]
        assert server.asked[0].headers["host"] == f"summaries.example:{server.port}"
        assert caller.ask().error == "address_refused"


def test_loopback_is_refused_unless_it_is_allowed():
    reply, server, _ = ask(completion(), rules=OutboundRules())
    assert (reply.error, server.asked) == ("address_refused", [])
    assert "loopback is not allowed" in reply.error_detail


def test_a_host_that_is_not_on_the_list_is_refused():
    caller = Caller(
        "https://elsewhere.example",
        rules=OutboundRules(("api.example.com",)),
        resolve=lambda host, port: ("93.184.215.14",),
    )
    assert caller.ask().error == "address_refused"


def test_the_next_address_is_tried_when_the_first_takes_no_connection():
    with serving(completion()) as server:
        caller = Caller(
            f"http://summaries.example:{server.port}/v1", resolve=lambda host, port: ("127.0.0.2", "127.0.0.1")
        )
        assert caller.ask().text == SUMMARY


def test_a_name_nobody_knows_has_a_name_of_its_own():
    def unknown(host, port):
        raise OSError("no such name")

    reply = Caller("http://nowhere.example", resolve=unknown, retries=ONCE).ask()
    assert (reply.error, reply.error_detail) == ("dns_failed", "the name nowhere.example can't be resolved")


def test_a_resolver_that_hangs_is_not_waited_for():
    released = threading.Event()

    def hanging(host, port):
        released.wait(30)
        return ()

    caller = Caller("http://slow.example", resolve=hanging, limits=TimeLimits(0.1, 5, 5), real_time=True, retries=ONCE)
    reply = caller.ask()
    released.set()
    assert (reply.error, reply.error_detail) == ("connect_timeout", "no connection to slow.example within 0.1 s")

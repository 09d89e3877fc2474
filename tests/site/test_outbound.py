"""What an operator says about outgoing requests, read from the environment."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from compaction.endpoints.address import OutboundRules
from hermes_site.outbound import outbound_rules


def test_without_a_word_only_public_hosts_can_be_asked():
    assert outbound_rules({}) == OutboundRules()


def test_every_choice_is_read():
    rules = outbound_rules(
        {
            "HERMES_SITE_OUTBOUND_HOSTS": "api.example.com, *.models.example, 10.0.0.0/8, fd00::/8",
            "HERMES_SITE_OUTBOUND_LOOPBACK": "yes",
            "HERMES_SITE_OUTBOUND_PRIVATE": "1",
            "HERMES_SITE_OUTBOUND_KEYS": "TEAM_KEY@api.example.com,*_API_KEY",
        }
    )
    assert rules.allowed == ("api.example.com", "*.models.example", "10.0.0.0/8", "fd00::/8")
    assert (rules.allow_loopback, rules.allow_private) == (True, True)
    assert rules.keys == ("TEAM_KEY@api.example.com", "*_API_KEY")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HERMES_SITE_OUTBOUND_HOSTS", "https://api.example.com"),
        ("HERMES_SITE_OUTBOUND_HOSTS", "api.example.com:443"),
        ("HERMES_SITE_OUTBOUND_HOSTS", "api.example.com/v1"),
        ("HERMES_SITE_OUTBOUND_HOSTS", "10.0.0.0/99"),
        ("HERMES_SITE_OUTBOUND_KEYS", "TEAM KEY"),
        ("HERMES_SITE_OUTBOUND_KEYS", "TEAM_KEY@"),
        ("HERMES_SITE_OUTBOUND_LOOPBACK", "perhaps"),
    ],
)
def test_an_entry_that_could_never_match_is_refused_at_the_start(name, value):
    with pytest.raises(ImproperlyConfigured, match=name):
        outbound_rules({name: value})

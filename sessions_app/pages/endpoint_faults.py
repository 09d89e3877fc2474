"""Why a model could not be asked, or its answer not be used, and what somebody can do about it.

Reasons are those of the endpoints' faults, of unusable answers, and `http_` with a status. An unknown one is shown as
it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy


@dataclass(frozen=True, slots=True)
class FaultWords:
    """What happened, in one sentence, and what to do; the latter may be empty."""

    happened: str
    advice: str


_Lazy = tuple[Promise | str, Promise | str]

_CHECK_ADDRESS: Final = gettext_lazy(
    "Check the address: it should be the one of the API, often ending in /v1, not the one of a web page."
)
_CHECK_KEY: Final = gettext_lazy(
    "Set the variable where the site and its worker run and start them again, or let the project store the key. The "
    "settings hold only its name."
)
_OPERATOR: Final = gettext_lazy(
    "Whoever runs this site decides what it may contact: see HERMES_SITE_OUTBOUND_HOSTS, _LOOPBACK, _PRIVATE and _KEYS."
)
_TRY_LATER: Final = gettext_lazy("Try again in a moment. If it goes on, look at the status of the endpoint.")

_FAULTS: Final[dict[str, _Lazy]] = {
    "no_endpoint": (
        gettext_lazy("The settings name no endpoint that could be asked."),
        gettext_lazy("Give a provider or an address, and a model, in the project's settings."),
    ),
    "not_asked": (gettext_lazy("It was not asked."), gettext_lazy("Give a larger window, or leave the window empty.")),
    "key_missing": (gettext_lazy("There is no key of that name."), _CHECK_KEY),
    "key_invalid": (gettext_lazy("What stands under that name can't be a key."), _CHECK_KEY),
    "key_refused": (gettext_lazy("This key may not be sent to this host."), _OPERATOR),
    "address_refused": (gettext_lazy("This address may not be contacted from here."), _OPERATOR),
    "redirect_refused": (
        gettext_lazy("The endpoint sends the question on to somewhere else, which is not followed."),
        gettext_lazy("Use the address it redirects to, if you trust it."),
    ),
    "dns_failed": (gettext_lazy("The name of the host could not be resolved."), gettext_lazy("Check its spelling.")),
    "connect_failed": (
        gettext_lazy("Nothing answers at this address and port."),
        gettext_lazy("Check the address and the port, and that the server runs."),
    ),
    "connect_timeout": (
        gettext_lazy("The host did not answer when the connection was made."),
        gettext_lazy("Check the address and the port; a firewall may be in between."),
    ),
    "timeout": (
        gettext_lazy("No complete answer came within the time limit."),
        gettext_lazy("Take a smaller or faster model, or raise the time limit in the settings."),
    ),
    "connection_lost": (gettext_lazy("The connection broke before the answer was complete."), _TRY_LATER),
    "tls_failed": (
        gettext_lazy("The encrypted connection could not be made."),
        gettext_lazy("Check that the address begins with https:// rightly, and that its certificate is valid."),
    ),
    "not_http": (gettext_lazy("Something answered that does not speak HTTP."), _CHECK_ADDRESS),
    "html_page": (gettext_lazy("A web page came back instead of an answer."), _CHECK_ADDRESS),
    "invalid_json": (gettext_lazy("The answer is not JSON."), _CHECK_ADDRESS),
    "odd_shape": (gettext_lazy("The answer has a shape that no known API uses."), _CHECK_ADDRESS),
    "odd_encoding": (gettext_lazy("The answer is encoded in a way that can't be read."), _CHECK_ADDRESS),
    "reply_too_large": (gettext_lazy("The answer was far too large and was not read to its end."), _CHECK_ADDRESS),
    "empty_body": (gettext_lazy("The answer was empty."), _TRY_LATER),
    "provider_error": (gettext_lazy("The endpoint reported an error."), _TRY_LATER),
    "circuit_open": (
        gettext_lazy("The endpoint failed several times in a row and is left alone for a while."),
        gettext_lazy("Wait half a minute and try again; the reason it failed for stands beside this."),
    ),
    "endpoint_busy": (
        gettext_lazy("Too many calls to this endpoint are under way."),
        gettext_lazy("Try again when they are done."),
    ),
    "http_400": (
        gettext_lazy("The endpoint refused the question (400)."),
        gettext_lazy("Its own words say why; often the name of the model is wrong, or the context is too long for it."),
    ),
    "http_401": (
        gettext_lazy("The endpoint did not accept the key (401)."),
        gettext_lazy("Check which variable is named, and that it holds a key of this provider."),
    ),
    "http_402": (gettext_lazy("The account has no credit left (402)."), gettext_lazy("Top it up at the provider.")),
    "http_403": (
        gettext_lazy("The key may not do this (403)."),
        gettext_lazy("Check what the key is allowed, and for which models."),
    ),
    "http_404": (
        gettext_lazy("There is no such model, or nothing at this address (404)."),
        gettext_lazy("Check the name of the model and the address."),
    ),
    "http_408": (gettext_lazy("The endpoint gave up waiting (408)."), _TRY_LATER),
    "http_413": (
        gettext_lazy("The question is too large for the endpoint (413)."),
        gettext_lazy("Take a model with a larger window."),
    ),
    "http_429": (
        gettext_lazy("The endpoint allows no more questions for now (429)."),
        gettext_lazy("Wait, or ask the provider for a higher limit."),
    ),
    "empty": (gettext_lazy("The answer holds no text."), gettext_lazy("Try another model.")),
    "thinking_only": (
        gettext_lazy("The model thought and gave no answer."),
        gettext_lazy("Take a model that does not think aloud, or switch its thinking off."),
    ),
    "length": (
        gettext_lazy("The answer was cut off at its length limit."),
        gettext_lazy("A model that thinks aloud spends the limit on thinking: take one that does not."),
    ),
    "refusal": (gettext_lazy("The model refused to answer."), gettext_lazy("Try another model.")),
    "error_text": (gettext_lazy("The answer is the text of an error."), _TRY_LATER),
    "bare_template": (
        gettext_lazy("The answer is a template without facts."),
        gettext_lazy("The model is too small for this; try a larger one."),
    ),
    "tool_call_markup": (
        gettext_lazy("The model answered with a tool call."),
        gettext_lazy("Try another model, or switch tools off at the endpoint."),
    ),
    "echo_of_prompt": (
        gettext_lazy("The model repeated the question."),
        gettext_lazy("The model is too small for this; try a larger one."),
    ),
    "aux_window_too_small": (
        gettext_lazy("The question does not fit into the model's window."),
        gettext_lazy("Take a model with a larger window."),
    ),
    "site_stopped": (gettext_lazy("The site was stopped or started again while the model answered."), ""),
    "site_busy": (
        gettext_lazy("This site follows too many answers at once."),
        gettext_lazy("Ask again in a moment."),
    ),
    "our_fault": (gettext_lazy("Something of ours failed."), gettext_lazy("Ask again; the log of the site says more.")),
}
_SERVER_FAULT: Final = 500


def fault_words(reason: str) -> FaultWords:
    """The words for a named reason; empty ones for none."""
    if not reason:
        return FaultWords("", "")
    known = _FAULTS.get(reason)
    if known is not None:
        return FaultWords(str(known[0]), str(known[1]))
    status = reason.removeprefix("http_")
    if status == reason or not status.isdecimal():
        return FaultWords(reason, "")
    if int(status) >= _SERVER_FAULT:
        happened = gettext("The endpoint is in trouble (%(status)s).")
        return FaultWords(happened % {"status": status}, str(_TRY_LATER))
    return FaultWords(gettext("The endpoint said no (%(status)s).") % {"status": status}, str(_CHECK_ADDRESS))

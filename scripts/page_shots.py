"""Which pages are pictured, and why the other addresses are not.

A page is an address, who looks at it, and what is done on it before the picture is taken. Braces in an address stand
for what the stage has made (scripts/page_stage.py). A test holds both lists against the site's addresses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from playwright.sync_api import Page

OWNER, EDITOR, STRANGER = "owner", "editor", "stranger"
# The address at which the script answers as a site does that broke.
BROKEN_PAGE: Final = "/-/broken/"


def press_question_mark(page: Page) -> None:
    page.keyboard.press("?")


def ask_for_too_much(page: Page) -> None:
    """A threshold that no window has room for."""
    page.locator("[name='compression.threshold']").fill("7")
    page.locator("main button[value=save], main .savebar .btn-primary").first.click()


def save_on_an_old_base(page: Page) -> None:
    """What somebody else saved meanwhile differs from what is sent."""
    page.locator("main [name=base]").evaluate("field => { field.value = 1 }")
    page.locator("[name='compression.threshold']").fill("0.65")
    page.locator("main button[value=save]").click()


def check_the_text(page: Page) -> None:
    """A config.yaml with a good value, a bad one and a key nobody knows."""
    text = "compression:\n  threshold: 0.7\n  target_ratio: 4\n  threshhold: 0.5\nmodel:\n  default: gpt-5.2\n"
    page.locator("#text").fill(text)
    page.locator("button[value=check]").click()


def send_it_empty(page: Page) -> None:
    page.locator("main form button.btn-primary").first.click()


def type_another_id(page: Page) -> None:
    page.locator("#typed").fill("another")
    send_it_empty(page)


def ask_for_a_token(page: Page) -> None:
    page.locator("main [name=name]").fill(f"agent {uuid4().hex[:6]}")
    send_it_empty(page)


def ask_for_an_invitation(page: Page) -> None:
    page.locator("form[action$='/people/invitations/'] .btn-primary").click()


def log_in_with_a_wrong_password(page: Page) -> None:
    page.locator("[name=username]").fill("olga")
    page.locator("[name=password]").fill("not it")
    page.locator("main form button").click()


def send_too_many_fields(page: Page) -> None:
    page.locator("main form").first.evaluate(
        "form => form.insertAdjacentHTML('beforeend', '<input type=hidden name=more>'.repeat(2000)) || form.submit()"
    )


def lose_the_cookies(page: Page) -> None:
    page.context.clear_cookies()
    log_in_with_a_wrong_password(page)


@dataclass(frozen=True, slots=True)
class Shot:
    """One page. status: the answer's, of the address itself or of what `act` sent."""

    name: str
    path: str
    act: Callable[[Page], None] | None = None
    who: str = OWNER
    status: int = 200


SHOTS: Final = (
    Shot("sessions", "/"),
    Shot("sessions-filtered", "/?sort=occupancy&has_failures=on"),
    Shot("sessions-none", "/?project=samples&has_batch=on&over=500"),
    Shot("sessions-new-project", "/?project={empty}"),
    Shot("search", "/?q=module"),
    Shot("search-chinese", "/?q=搜索"),
    Shot("search-none", "/?q=xylophone"),
    Shot("session", "/s/{short}/"),
    Shot("session-archived", "/s/{long}/?show=archived"),
    Shot("session-model", "/s/{long}/?show=model"),
    Shot("session-find", "/s/{short}/?find=csv"),
    Shot("session-playing", "/s/{played}/"),
    Shot("session-plain", "/s/{plain}/"),
    Shot("row", "/s/{short}/row/{row}/"),
    Shot("summary", "/s/{short}/summary/"),
    Shot("summary-version", "/s/{short}/summary/1/?as=plain"),
    Shot("summary-side-by-side", "/s/{long}/summary/?as=sides"),
    Shot("summary-none", "/s/{plain}/summary/"),
    Shot("passes", "/s/{short}/passes/"),
    Shot("passes-failed", "/s/{short}/passes/?outcome=failed"),
    Shot("passes-none", "/s/{plain}/passes/"),
    Shot("occupancy", "/s/{short}/occupancy/"),
    Shot("occupancy-none", "/s/{plain}/occupancy/"),
    Shot("chat", "/s/{short}/chat/"),
    Shot("chat-answered", "/s/{chat}/chat/"),
    Shot("chat-failed", "/s/{chat_failed}/chat/"),
    Shot("new-chat", "/s/new/?project=talks"),
    Shot("new-chat-without-model", "/s/new/", who=EDITOR),
    Shot("play", "/play/"),
    Shot("cache", "/s/{long}/cache/"),
    Shot("cache-requests", "/s/{imported}/cache/?view=requests"),
    Shot("cache-none", "/s/{plain}/cache/"),
    Shot("replay-zones", "/s/{short}/replay/1/1/"),
    Shot("replay-exchange", "/s/{short}/replay/1/2/"),
    Shot("replay-sent", "/s/{short}/replay/1/3/"),
    Shot("replay-reply", "/s/{short}/replay/1/4/"),
    Shot("replay-edit", "/s/{short}/replay/1/5/"),
    Shot("replay-database", "/s/{short}/replay/1/6/"),
    Shot("replay-telemetry", "/s/{short}/replay/1/7/"),
    Shot("replay-failed", "/s/{short}/replay/{failed}/4/"),
    Shot("next-pass", "/s/{short}/next/5/?kind=micro&with=extractive"),
    Shot("next-pass-without-reply", "/s/{short}/next/"),
    Shot("act", "/s/{short}/act/"),
    Shot("delete-session", "/s/{short}/delete/"),
    Shot("project-delete", "/p/samples/delete/"),
    Shot("delete-session-refused", "/s/{short}/delete/", act=type_another_id, status=422),
    Shot("export", "/s/{short}/export/"),
    Shot("session-settings", "/s/{short}/settings/"),
    Shot("session-settings-refused", "/s/{short}/settings/", act=ask_for_too_much, status=422),
    Shot("simulate", "/s/{short}/runs/"),
    Shot("run", "/s/{short}/runs/{run}/"),
    Shot("run-replay", "/s/{short}/runs/{run}/{decision}/5/"),
    Shot("import", "/import/"),
    Shot("import-refused", "/import/", act=send_it_empty, status=422),
    Shot("import-job", "/import/{job}/"),
    Shot("projects", "/p/"),
    Shot("new-project", "/p/new/"),
    Shot("new-project-refused", "/p/new/", act=send_it_empty, status=422),
    Shot("project", "/p/samples/"),
    Shot("project-empty", "/p/{empty}/"),
    Shot("settings", "/p/samples/settings/"),
    Shot("settings-empty", "/p/{empty}/settings/"),
    Shot("settings-refused", "/p/samples/settings/", act=ask_for_too_much, status=422),
    Shot("settings-merge", "/p/samples/settings/", act=save_on_an_old_base, status=409),
    Shot("settings-yaml", "/p/samples/settings/yaml/"),
    Shot("settings-yaml-checked", "/p/samples/settings/yaml/", act=check_the_text, status=422),
    Shot("settings-scopes", "/p/samples/settings/scopes/"),
    Shot("settings-revisions", "/p/samples/settings/revisions/"),
    Shot("settings-revision", "/p/samples/settings/revisions/1/"),
    Shot("settings-as-editor", "/p/samples/settings/", who=EDITOR),
    Shot("endpoints", "/p/samples/endpoints/"),
    Shot("endpoints-refused", "/p/{empty}/endpoints/", act=send_it_empty, status=422),
    Shot("endpoint-test", "/p/samples/endpoints/{test}/"),
    Shot("people", "/p/samples/people/"),
    Shot("invitation-made", "/p/samples/people/", act=ask_for_an_invitation),
    Shot("people-as-editor", "/p/samples/people/", who=EDITOR),
    Shot("tokens", "/p/samples/tokens/"),
    Shot("token-made", "/p/samples/tokens/", act=ask_for_a_token),
    Shot("tokens-refused", "/p/samples/tokens/", act=send_it_empty, status=422),
    Shot("tokens-none", "/p/{empty}/tokens/"),
    Shot("keys", "/p/samples/keys/"),
    Shot("keys-none", "/p/{empty}/keys/"),
    Shot("audit", "/p/samples/audit/"),
    Shot("audit-of-the-site", "/audit/"),
    Shot("account", "/account/"),
    Shot("account-of-an-editor", "/account/", who=EDITOR),
    Shot("health", "/health/"),
    Shot("help", "/", act=press_question_mark),
    Shot("api", "/api/v1/docs"),
    Shot("login", "/login/", who=STRANGER),
    Shot("login-refused", "/login/?next=/p/", act=log_in_with_a_wrong_password, who=STRANGER),
    Shot("login-link-spent", "/login/once/spent", who=STRANGER, status=410),
    Shot("invitation", "/invitation/{invitation}", who=STRANGER),
    Shot("invitation-as-editor", "/invitation/{invitation}", who=EDITOR),
    Shot("invitation-spent", "/invitation/spent", who=STRANGER, status=410),
    Shot("not-found", "/nothing/here/", status=404),
    Shot("not-allowed", "/p/samples/tokens/", who=EDITOR, status=403),
    Shot("form-out-of-date", "/login/", act=lose_the_cookies, who=STRANGER, status=403),
    Shot("request-refused", "/p/new/", act=send_too_many_fields, status=400),
    Shot("something-broke", BROKEN_PAGE, status=500),
)

ACTION = "changes something and leads to a page that is pictured"
PART = "a part of a page, loaded on demand"
FILE = "a file, not a page"
PROGRAM = "for programs"
LEADS_ON = "leads to a page that is pictured"

EXCEPTIONS: Final = {
    "project_deletion": "stands for seconds, and looks like the progress of an import",
    "project_deletion_again": ACTION,
    "health": PROGRAM,
    "logout": ACTION,
    "theme": ACTION,
    "language": ACTION,
    "import_cancel": ACTION,
    "settings_preview": PART,
    "settings_trial": PART,
    "settings_download": FILE,
    "setting_revert": ACTION,
    "endpoint_test_cancel": ACTION,
    "member_leave": ACTION,
    "member_role": ACTION,
    "member_remove": ACTION,
    "invitation_create": ACTION,
    "invitation_revoke": ACTION,
    "token_revoke": ACTION,
    "secret_remove": ACTION,
    "account_name": ACTION,
    "account_password": ACTION,
    "account_logins_end": ACTION,
    "chat_stream": PART,
    "play": PART,
    "session_updates": PART,
    "group_rows": PART,
    "row_raw": FILE,
    "row_picture": FILE,
    "occupancy_json": FILE,
    "occupancy_csv": FILE,
    "export_file": FILE,
    "cache_csv": FILE,
    "replay_start": LEADS_ON,
    "run_cancel": ACTION,
    "gateway_chat_completions": PROGRAM,
    "gateway_models": PROGRAM,
    "gateway_model": PROGRAM,
}

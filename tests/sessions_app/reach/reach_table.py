"""What each address answers, and to whom. A new address needs a line here; a short one.

Of pages: five signs for GET and five for POST, for nobody, a stranger, a viewer, an editor and an owner, in this order.

    L  sent to the login        o  let in: shown, done, sent on, or told what is wrong with the form
    4  404, as if it did not exist      3  403, told that the right is missing      M  405, no such method here
    K  401, a token is asked for, whoever is logged in

Of the API: an operation reads or writes; its body is one that a token with the right may send.
"""

from typing import Any, NamedTuple


class Page(NamedTuple):
    get: str
    post: str


class Operation(NamedTuple):
    writes: bool
    body: dict[str, Any] | None = None


# Of a session or project: its members read, nobody else knows that it exists.
READ = Page("L4ooo", "LMMMM")
WRITERS_FORM = Page("L4ooo", "L43oo")
WRITERS_DEED = Page("LMMMM", "L43oo")
OWNERS_FORM = Page("L433o", "L433o")
OWNERS_PAGE = Page("L433o", "LMMMM")
OWNERS_DEED = Page("LMMMM", "L433o")
READ_BUT_OWNERS_FORM = Page("L4ooo", "L433o")
MEMBERS_DEED = Page("LMMMM", "L4ooo")
# Of oneself: everybody who is logged in.
OWN = Page("Loooo", "LMMMM")
OWN_FORM = Page("Loooo", "Loooo")
OWN_DEED = Page("LMMMM", "Loooo")
# Open to all.
OPEN = Page("ooooo", "MMMMM")
OPEN_FORM = Page("ooooo", "ooooo")
OPEN_DEED = Page("MMMMM", "ooooo")

PAGES = {
    "login/": OPEN_FORM,
    "login/once/<str:token>": OPEN,
    "invitation/<str:token>": OPEN_FORM,
    "logout/": OWN_DEED,
    "healthz": Page("ooooo", "ooooo"),
    "theme/": OPEN_DEED,
    "language/": OPEN_DEED,
    "": OWN,
    "health/": OWN,
    "account/": OWN,
    "account/name/": OWN_DEED,
    "account/password/": OWN_DEED,
    "account/logins/end/": OWN_DEED,
    # For administrators of the site, who need not be in any project.
    "audit/": Page("L4444", "LMMMM"),
    "import/": OWN_FORM,
    "import/<int:job_id>/": READ,
    "import/<int:job_id>/cancel/": WRITERS_DEED,
    "play/": OWN_FORM,
    "p/": OWN,
    "p/new/": OWN_FORM,
    "p/<slug:slug>/": READ,
    "p/<slug:slug>/delete/": READ_BUT_OWNERS_FORM,
    # A deletion is followed by whoever asked for it; here it is the owner.
    "deletions/<int:deletion_id>/": Page("L444o", "LMMMM"),
    "deletions/<int:deletion_id>/again/": Page("LMMMM", "L444o"),
    "p/<slug:slug>/endpoints/": WRITERS_FORM,
    "p/<slug:slug>/endpoints/<int:test_id>/": READ,
    "p/<slug:slug>/endpoints/<int:test_id>/cancel/": WRITERS_DEED,
    "p/<slug:slug>/people/": READ,
    "p/<slug:slug>/people/leave/": MEMBERS_DEED,
    "p/<slug:slug>/people/<int:member_id>/role/": OWNERS_DEED,
    "p/<slug:slug>/people/<int:member_id>/remove/": OWNERS_DEED,
    "p/<slug:slug>/people/invitations/": OWNERS_DEED,
    "p/<slug:slug>/people/invitations/<int:invitation_id>/revoke/": OWNERS_DEED,
    "p/<slug:slug>/tokens/": OWNERS_FORM,
    "p/<slug:slug>/tokens/<int:token_id>/revoke/": OWNERS_DEED,
    "p/<slug:slug>/keys/": OWNERS_FORM,
    "p/<slug:slug>/keys/<int:secret_id>/remove/": OWNERS_DEED,
    "p/<slug:slug>/audit/": OWNERS_PAGE,
    "p/<slug:slug>/settings/": READ_BUT_OWNERS_FORM,
    "p/<slug:slug>/settings/preview/": OWNERS_DEED,
    # A trial is its maker's own; here it is the owner's.
    "p/<slug:slug>/settings/trials/<int:number>/": Page("L444o", "LMMMM"),
    "p/<slug:slug>/settings/yaml/": READ_BUT_OWNERS_FORM,
    "p/<slug:slug>/settings/scopes/": READ,
    "p/<slug:slug>/settings/revisions/": READ,
    "p/<slug:slug>/settings/revisions/<int:number>/": READ,
    "p/<slug:slug>/settings/revisions/<int:number>/revert/": OWNERS_DEED,
    "p/<slug:slug>/settings.yaml": READ,
    "s/new/": OWN_FORM,
    "s/<str:public_id>/": READ,
    # As with plays: there is no action in the request.
    "s/<str:public_id>/chat/": Page("L4ooo", "L4344"),
    "s/<str:public_id>/chat/answer/<int:answer_id>/": READ,
    # Without an action there is nothing to do, which only those are told who may do it.
    "s/<str:public_id>/play/": Page("L4ooo", "L4344"),
    "s/<str:public_id>/events/": READ,
    "s/<str:public_id>/rows/": READ,
    "s/<str:public_id>/row/<int:row_id>/": READ,
    "s/<str:public_id>/row/<int:row_id>/raw/": READ,
    "s/<str:public_id>/row/<int:row_id>/picture/<int:part_number>/": READ,
    "s/<str:public_id>/act/": WRITERS_FORM,
    "s/<str:public_id>/settings/": WRITERS_FORM,
    "s/<str:public_id>/delete/": READ_BUT_OWNERS_FORM,
    "s/<str:public_id>/summary/": READ,
    "s/<str:public_id>/summary/<int:number>/": READ,
    "s/<str:public_id>/passes/": READ,
    "s/<str:public_id>/occupancy/": READ,
    "s/<str:public_id>/occupancy.json": READ,
    "s/<str:public_id>/occupancy.csv": READ,
    "s/<str:public_id>/cache/": READ,
    "s/<str:public_id>/cache.csv": READ,
    "s/<str:public_id>/export/": READ,
    "s/<str:public_id>/export/session.<str:ending>": READ,
    "s/<str:public_id>/next/": READ,
    "s/<str:public_id>/next/<int:step>/": READ,
    "s/<str:public_id>/replay/<int:number>/": READ,
    "s/<str:public_id>/replay/<int:number>/<int:step>/": READ,
    "s/<str:public_id>/runs/": WRITERS_FORM,
    "s/<str:public_id>/runs/<int:run_id>/": READ,
    "s/<str:public_id>/runs/<int:run_id>/cancel/": WRITERS_DEED,
    "s/<str:public_id>/runs/<int:run_id>/<int:number>/<int:step>/": READ,
    # The description of the API is open, whatever the method; its page is a page. The rest is told in the API's shape.
    "api/v1/": Page("44444", "44444"),
    "^api/v1(?:/|$)": Page("44444", "44444"),
    "api/v1/openapi.json": OPEN_FORM,
    "api/v1/docs": OWN_FORM,
    # The gateway knows tokens alone.
    "v1/chat/completions": Page("MMMMM", "KKKKK"),
    "v1/models": Page("KKKKK", "MMMMM"),
    "v1/models/<path:name>": Page("KKKKK", "MMMMM"),
    "^v1(?:/|$)": Page("KKKKK", "KKKKK"),
}
# What the address alone does not say: a query without which there is nothing to show.
QUERIES = {"s/<str:public_id>/rows/": "?after=0-0&before=99-0"}
# Where a place in an address means something else than usual: the name of the value that stands there.
PLACES = {"p/<slug:slug>/settings/trials/<int:number>/": {"number": "trial_id"}}

READS, WRITES = Operation(False), Operation(True)
OPERATIONS = {
    "list_projects": READS,
    "get_project": READS,
    "get_settings": READS,
    "save_settings": Operation(True, {"compression": {}, "auxiliary": {}}),
    "list_sessions": READS,
    "create_session": Operation(True, {"title": "a new one"}),
    "get_session": READS,
    "get_session_settings": READS,
    "save_session_settings": Operation(True, {"compression": {}, "auxiliary": {}}),
    "delete_session": WRITES,
    "undo_pass": Operation(True, {}),
    "reset_session": Operation(True, {}),
    "branch_session": Operation(True, {"seq": 1}),
    "end_session": Operation(True, {}),
    "list_rows": READS,
    "append_rows": Operation(True, {"rows": [{"message": {"role": "user", "content": "hello"}}]}),
    "get_row": READS,
    "finish_turn": Operation(True, {}),
    "get_context": READS,
    "list_passes": READS,
    "get_pass": READS,
    "list_summaries": READS,
    "get_summary": READS,
    "list_prompts": READS,
    "list_calls": READS,
    "list_events": READS,
    "get_occupancy": READS,
    "list_runs": READS,
    "start_run": Operation(True, {"policy": "none"}),
    "get_run": READS,
    "cancel_run": WRITES,
    "list_steps": READS,
    "export_session": READS,
}

SOCKETS = {"ws/s/<str:public_id>/"}

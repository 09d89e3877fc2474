"""Every operation, done and refused, by everybody who may knock."""

import pytest

from sessions_app.api.site import api

pytestmark = pytest.mark.django_db

# operation id, method, address, body
OPERATIONS = [
    ("list_projects", "GET", "/projects", None),
    ("get_project", "GET", "/projects/review", None),
    ("get_settings", "GET", "/projects/review/settings", None),
    ("save_settings", "PUT", "/projects/review/settings", {"compression": {"threshold": 0.6}}),
    ("list_sessions", "GET", "/projects/review/sessions", None),
    ("create_session", "POST", "/projects/review/sessions", {"title": "new"}),
    ("get_session", "GET", "/sessions/{id}", None),
    ("get_session_settings", "GET", "/sessions/{id}/settings", None),
    ("save_session_settings", "PUT", "/sessions/{id}/settings", {"compression": {"threshold": 0.6}}),
    ("delete_session", "DELETE", "/sessions/{id}", None),
    ("end_session", "POST", "/sessions/{id}/end", {"reason": "done"}),
    ("list_rows", "GET", "/sessions/{id}/rows", None),
    ("get_row", "GET", "/sessions/{id}/rows/{row}", None),
    ("append_rows", "POST", "/sessions/{id}/rows", {"rows": [{"message": {"role": "user", "content": "hi"}}]}),
    ("finish_turn", "POST", "/sessions/{id}/turns/finish", {}),
    ("get_context", "GET", "/sessions/{id}/context", None),
    ("list_passes", "GET", "/sessions/{id}/passes", None),
    ("get_pass", "GET", "/sessions/{id}/passes/1", None),
    ("list_summaries", "GET", "/sessions/{id}/summaries", None),
    ("get_summary", "GET", "/sessions/{id}/summaries/1", None),
    ("list_calls", "GET", "/sessions/{id}/calls", None),
    ("list_prompts", "GET", "/sessions/{id}/prompts", None),
    ("list_events", "GET", "/sessions/{id}/events", None),
    ("get_occupancy", "GET", "/sessions/{id}/occupancy", None),
    ("list_runs", "GET", "/sessions/{id}/runs", None),
    ("start_run", "POST", "/sessions/{id}/runs", {"policy": "micro"}),
    ("get_run", "GET", "/sessions/{id}/runs/{run}", None),
    ("cancel_run", "POST", "/sessions/{id}/runs/{run}/cancel", {}),
    ("list_steps", "GET", "/sessions/{id}/runs/{run}/steps", None),
    ("undo_pass", "POST", "/sessions/{id}/undo", {}),
    ("reset_session", "POST", "/sessions/{id}/reset", {}),
    ("branch_session", "POST", "/sessions/{id}/branch", {"seq": 1}),
    ("export_session", "GET", "/sessions/{id}/export", None),
]
SUCCESS = {"create_session": 201, "branch_session": 201, "start_run": 202}


@pytest.fixture
def address(session, past, run):
    first_row = past.live()[0].pk
    return lambda template: template.format(id=session.public_id, row=first_row, run=run.pk)


def described_operations():
    return {
        operation["operationId"]: (method.upper(), path)
        for path, methods in api.get_openapi_schema()["paths"].items()
        for method, operation in methods.items()
    }


def require_problem(response, status, error):
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json; charset=utf-8"
    body = response.json()
    assert set(body) == {"error", "detail", "fields"}
    assert body["error"] == error
    assert body["detail"]
    return body


def test_the_table_below_has_every_operation_there_is():
    assert {name: method for name, method, *_ in OPERATIONS} == {
        name: method for name, (method, _) in described_operations().items()
    }


@pytest.mark.parametrize(("name", "method", "path", "body"), OPERATIONS, ids=[one[0] for one in OPERATIONS])
def test_everybody_gets_what_their_token_is_worth(
    name, method, path, body, address, reader, writer, foreigner, revoked, anonymous
):
    target = address(path)
    for stranger in (anonymous, revoked):
        response = stranger.ask(method, target, body)
        require_problem(response, 401, "unauthorized")
        assert response["WWW-Authenticate"] == "Bearer"
    if name == "list_projects":
        assert [one["slug"] for one in foreigner.ask(method, target).json()["projects"]] == ["other"]
    else:
        require_problem(foreigner.ask(method, target, body), 404, "not_found")
    if method == "GET":
        assert reader.ask(method, target).status_code == 200
    else:
        require_problem(reader.ask(method, target, body), 403, "forbidden")
    done = writer.ask(method, target, body)
    assert done.status_code == SUCCESS.get(name, 200), done.content if not done.streaming else done
    assert done["Cache-Control"] == "no-store"


@pytest.mark.parametrize(("name", "method", "path", "body"), OPERATIONS, ids=[one[0] for one in OPERATIONS])
def test_a_parameter_that_does_not_exist_is_refused_and_named(name, method, path, body, address, writer):
    response = writer.ask(method, address(path) + "?include_compacted=maybe", body)
    problem = require_problem(response, 400, "bad_request")
    assert problem["fields"] == [{"path": "include_compacted", "message": "there is no such parameter"}]


BODIES = [one for one in OPERATIONS if one[3] is not None and one[0] != "cancel_run"]


@pytest.mark.parametrize(("name", "method", "path", "body"), BODIES, ids=[one[0] for one in BODIES])
@pytest.mark.parametrize(
    ("text", "status", "error"),
    [
        ("", 422, "invalid"),
        ("{", 400, "not_json"),
        ('{"x": NaN}', 400, "not_json"),
        (b"\xff\xfe{}", 400, "not_json"),
        ("[]", 422, "invalid"),
        ('{"no_such_key": 1}', 422, "invalid"),
        ('{"x": ' + "[" * 3_000 + "]" * 3_000 + "}", 422, "invalid"),
        ('{"x": ' + "[" * 200_000 + "]" * 200_000 + "}", 422, "invalid"),
        ('{"x": ' + "9" * 5_000 + "}", 400, "not_json"),
    ],
    ids=["nothing", "half", "nan", "not_utf8", "a_list", "unknown_key", "3000_deep", "200000_deep", "5000_digits"],
)
def test_a_body_that_cannot_be_used_is_refused_with_a_reason(
    name, method, path, body, text, status, error, address, writer
):
    require_problem(writer.ask(method, address(path), text), status, error)


@pytest.mark.parametrize(
    "path", ["", "/", "/nothing", "/sessions", "/sessions/x/rows/", "/sessions/%00", "/projects/a b"]
)
def test_an_address_that_is_none_is_told_in_the_shape_of_all_errors(path, reader):
    require_problem(reader.get(path), 404, "not_found")


@pytest.mark.parametrize("part", ["-1", "x", str(2**63), "1e3", "99999999"])
@pytest.mark.parametrize("list_name", ["rows", "passes", "summaries", "runs"])
def test_a_number_that_names_nothing_is_not_found(list_name, part, url, past, reader):
    require_problem(reader.get(f"{url}/{list_name}/{part}"), 404, "not_found")


def test_a_fault_of_ours_is_loud_in_the_log_and_tells_the_other_side_nothing_of_it(reader, monkeypatch, caplog):
    def fail(project):
        raise RuntimeError("the secret details")

    monkeypatch.setattr("sessions_app.api.projects.shape_project", fail)
    response = reader.get("/projects/review")
    require_problem(response, 500, "internal")
    assert b"secret" not in response.content
    assert "the secret details" in caplog.text


def test_a_method_that_an_address_lacks_is_refused_with_those_it_has(reader, url):
    response = reader.send(f"{url}/events", {}, "DELETE")
    require_problem(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET"


def test_the_login_of_the_pages_is_no_way_into_the_api(client, project, url):
    from django.contrib.auth.models import User

    from sessions_app import services
    from sessions_app.models import MemberRole

    owner = User.objects.create_user("olga")
    services.add_member(project, owner, MemberRole.OWNER)
    client.force_login(owner)
    assert client.get(f"/s/{url.rpartition('/')[2]}/").status_code == 200
    require_problem(client.get(f"/api/v1{url}"), 401, "unauthorized")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer wrong", "Bearer \ud800", "token"])
def test_a_token_that_is_none_is_refused(header, project, client):
    headers = {"Authorization": header.encode("utf-8", "surrogatepass").decode("latin-1")}
    require_problem(client.get("/api/v1/projects", headers=headers), 401, "unauthorized")

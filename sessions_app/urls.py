"""Addresses of the pages and of the API."""

from django.urls import URLPattern, URLResolver, path, re_path

from sessions_app.api.addresses import api_addresses
from sessions_app.views import gateway
from sessions_app.views.account import account, account_logins_end, account_name, account_password
from sessions_app.views.actions import actions
from sessions_app.views.audit import project_audit, site_audit
from sessions_app.views.cache import cache, cache_csv
from sessions_app.views.chat import chat, chat_stream, new_chat
from sessions_app.views.deletion import deletion
from sessions_app.views.endpoint_tests import endpoint_test, endpoint_test_cancel, endpoint_tests
from sessions_app.views.exports import export_file, exports
from sessions_app.views.health import health_page
from sessions_app.views.imports import import_cancel, import_files, import_job
from sessions_app.views.language import language
from sessions_app.views.occupancy import occupancy, occupancy_csv, occupancy_json
from sessions_app.views.passes import passes
from sessions_app.views.people import (
    invitation_create,
    invitation_revoke,
    member_leave,
    member_remove,
    member_role,
    people,
)
from sessions_app.views.plays import play, plays
from sessions_app.views.project_deletion import project_delete, project_deletion, project_deletion_again
from sessions_app.views.projects import project, project_list, project_new
from sessions_app.views.replay import next_pass, replay, replay_start, run_replay
from sessions_app.views.rows import group_rows, row_picture, row_raw, row_text
from sessions_app.views.runs import run, run_cancel, runs
from sessions_app.views.secrets import secret_remove, secrets
from sessions_app.views.session import session
from sessions_app.views.session_list import session_list
from sessions_app.views.session_settings import session_settings
from sessions_app.views.setting_files import settings_download, settings_yaml
from sessions_app.views.setting_revisions import setting_revert, setting_revision, setting_revisions, setting_scopes
from sessions_app.views.settings import settings, settings_preview, settings_trial
from sessions_app.views.summaries import summaries
from sessions_app.views.theme import theme
from sessions_app.views.tokens import token_revoke, tokens
from sessions_app.views.updates import session_updates

urlpatterns: list[URLPattern | URLResolver] = [
    path("", session_list, name="session_list"),
    path("theme/", theme, name="theme"),
    path("language/", language, name="language"),
    path("health/", health_page, name="health_page"),
    path("import/", import_files, name="import"),
    path("import/<int:job_id>/", import_job, name="import_job"),
    path("import/<int:job_id>/cancel/", import_cancel, name="import_cancel"),
    path("p/", project_list, name="project_list"),
    path("p/new/", project_new, name="project_new"),
    path("p/<slug:slug>/", project, name="project"),
    path("p/<slug:slug>/delete/", project_delete, name="project_delete"),
    path("deletions/<int:deletion_id>/", project_deletion, name="project_deletion"),
    path("deletions/<int:deletion_id>/again/", project_deletion_again, name="project_deletion_again"),
    path("p/<slug:slug>/settings/", settings, name="settings"),
    path("p/<slug:slug>/settings/preview/", settings_preview, name="settings_preview"),
    path("p/<slug:slug>/settings/trials/<int:number>/", settings_trial, name="settings_trial"),
    path("p/<slug:slug>/settings/yaml/", settings_yaml, name="settings_yaml"),
    path("p/<slug:slug>/settings/scopes/", setting_scopes, name="setting_scopes"),
    path("p/<slug:slug>/settings/revisions/", setting_revisions, name="setting_revisions"),
    path("p/<slug:slug>/settings/revisions/<int:number>/", setting_revision, name="setting_revision"),
    path("p/<slug:slug>/settings/revisions/<int:number>/revert/", setting_revert, name="setting_revert"),
    path("p/<slug:slug>/settings.yaml", settings_download, name="settings_download"),
    path("p/<slug:slug>/endpoints/", endpoint_tests, name="endpoint_tests"),
    path("p/<slug:slug>/endpoints/<int:test_id>/", endpoint_test, name="endpoint_test"),
    path("p/<slug:slug>/endpoints/<int:test_id>/cancel/", endpoint_test_cancel, name="endpoint_test_cancel"),
    path("play/", plays, name="plays"),
    path("p/<slug:slug>/people/", people, name="people"),
    path("p/<slug:slug>/people/leave/", member_leave, name="member_leave"),
    path("p/<slug:slug>/people/<int:member_id>/role/", member_role, name="member_role"),
    path("p/<slug:slug>/people/<int:member_id>/remove/", member_remove, name="member_remove"),
    path("p/<slug:slug>/people/invitations/", invitation_create, name="invitation_create"),
    path("p/<slug:slug>/people/invitations/<int:invitation_id>/revoke/", invitation_revoke, name="invitation_revoke"),
    path("p/<slug:slug>/tokens/", tokens, name="tokens"),
    path("p/<slug:slug>/tokens/<int:token_id>/revoke/", token_revoke, name="token_revoke"),
    path("p/<slug:slug>/keys/", secrets, name="secrets"),
    path("p/<slug:slug>/keys/<int:secret_id>/remove/", secret_remove, name="secret_remove"),
    path("p/<slug:slug>/audit/", project_audit, name="project_audit"),
    path("audit/", site_audit, name="site_audit"),
    path("account/", account, name="account"),
    path("account/name/", account_name, name="account_name"),
    path("account/password/", account_password, name="account_password"),
    path("account/logins/end/", account_logins_end, name="account_logins_end"),
    path("s/new/", new_chat, name="new_chat"),
    path("s/<str:public_id>/", session, name="session"),
    path("s/<str:public_id>/chat/", chat, name="chat"),
    path("s/<str:public_id>/chat/answer/<int:answer_id>/", chat_stream, name="chat_stream"),
    path("s/<str:public_id>/play/", play, name="play"),
    path("s/<str:public_id>/events/", session_updates, name="session_updates"),
    path("s/<str:public_id>/rows/", group_rows, name="group_rows"),
    path("s/<str:public_id>/row/<int:row_id>/", row_text, name="row_text"),
    path("s/<str:public_id>/row/<int:row_id>/raw/", row_raw, name="row_raw"),
    path("s/<str:public_id>/row/<int:row_id>/picture/<int:part_number>/", row_picture, name="row_picture"),
    path("s/<str:public_id>/act/", actions, name="actions"),
    path("s/<str:public_id>/delete/", deletion, name="delete_session"),
    path("s/<str:public_id>/summary/", summaries, name="summaries"),
    path("s/<str:public_id>/summary/<int:number>/", summaries, name="summary"),
    path("s/<str:public_id>/passes/", passes, name="passes"),
    path("s/<str:public_id>/occupancy/", occupancy, name="occupancy"),
    path("s/<str:public_id>/occupancy.json", occupancy_json, name="occupancy_json"),
    path("s/<str:public_id>/occupancy.csv", occupancy_csv, name="occupancy_csv"),
    path("s/<str:public_id>/export/", exports, name="exports"),
    path("s/<str:public_id>/export/session.<str:ending>", export_file, name="export_file"),
    path("s/<str:public_id>/cache/", cache, name="cache"),
    path("s/<str:public_id>/cache.csv", cache_csv, name="cache_csv"),
    path("s/<str:public_id>/next/", next_pass, name="next_pass_start"),
    path("s/<str:public_id>/next/<int:step>/", next_pass, name="next_pass"),
    path("s/<str:public_id>/replay/<int:number>/", replay_start, name="replay_start"),
    path("s/<str:public_id>/replay/<int:number>/<int:step>/", replay, name="replay"),
    path("s/<str:public_id>/settings/", session_settings, name="session_settings"),
    path("s/<str:public_id>/runs/", runs, name="runs"),
    path("s/<str:public_id>/runs/<int:run_id>/", run, name="run"),
    path("s/<str:public_id>/runs/<int:run_id>/cancel/", run_cancel, name="run_cancel"),
    path("s/<str:public_id>/runs/<int:run_id>/<int:number>/<int:step>/", run_replay, name="run_replay"),
    *api_addresses(),
    path("v1/chat/completions", gateway.chat_completions, name="gateway_chat_completions"),
    path("v1/models", gateway.model_list, name="gateway_models"),
    path("v1/models/<path:name>", gateway.model, name="gateway_model"),
    re_path(r"^v1(?:/|$)", gateway.nothing_here),
]

"""What is set for one session alone, on top of its project: every setting in its scopes, the last one to be changed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from sessions_app.access import get_session, may_write, require_writer
from sessions_app.models import Session
from sessions_app.origins import page_origin
from sessions_app.pages.session_head import read_head
from sessions_app.pages.session_settings import read_session_settings
from sessions_app.pages.settings_merge import read_merge
from sessions_app.session_policy import newest_own_revision
from sessions_app.setting_paths import SESSION_SETTINGS
from sessions_app.settings_form import SettingsForm, chosen_values, filled_form, read_form, unchosen_paths
from sessions_app.settings_saving import Conflict, Refused, Saved, Wish, save_own_settings
from sessions_app.views.page_request import PageRequest
from sessions_app.views.setting_revisions import revision_number


@require_http_methods(["GET", "HEAD", "POST"])
def session_settings(request: PageRequest, public_id: str) -> HttpResponse:
    """The table with its form. A mistake comes back with 422 at its field."""
    found = get_session(request.user, public_id)
    if request.method == "POST":
        require_writer(request.user, found.project)
        return _posted(request, found)
    newest = newest_own_revision(found)
    return _page(request, found, filled_form(found.policy_settings, 0 if newest is None else newest.number))


def _posted(request: PageRequest, session: Session) -> HttpResponse:
    form = read_form(chosen_values(request.POST), session.policy_settings, SESSION_SETTINGS)
    origin = page_origin(request)
    wish = Wish(form.blocks, form.base, request.user, form.note, form.accept_nearest, origin=origin)
    ending = save_own_settings(session, wish)
    if isinstance(ending, Conflict):
        page = read_merge(ending, form.note, SESSION_SETTINGS)
        context = {"section": "sessions", "page": page, "unchosen": unchosen_paths(request.POST)}
        context |= {"project": session.project, "session": session}
        context["save_url"] = context["drop_url"] = reverse("session_settings", args=[session.public_id])
        return render(request, "settings/merge.html", context, status=409)
    if isinstance(ending, Refused):
        return _page(request, session, form, 422)
    if isinstance(ending, Saved):
        messages.success(request, _("Saved. The next pass of this session runs under it."))
    else:
        messages.info(request, _("Nothing was changed: these settings are in force already."))
    return redirect("session_settings", public_id=session.public_id)


def _page(request: PageRequest, session: Session, form: SettingsForm, status: int = 200) -> HttpResponse:
    context = {"section": "sessions", "tab": "settings", "session": session, "head": read_head(session)}
    before = revision_number(request.GET.get("before", ""))
    context |= {"page": read_session_settings(session, form, before), "is_first": before is None}
    context |= {"may_change": may_write(request.user, session.project)}
    return render(request, "session/settings.html", context | {"is_refused": status == 422}, status=status)

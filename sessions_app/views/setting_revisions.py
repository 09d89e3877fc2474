"""Revisions of a project's settings: the list, one with its diff, and going back to it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from compaction.main_model import MODEL
from compaction.wording import worded
from sessions_app.access import get_project, may_manage, require_owner
from sessions_app.models import PolicyRevision, Project
from sessions_app.origins import page_origin
from sessions_app.pages.revisions import read_revision, read_revisions
from sessions_app.pages.scopes import read_scopes, scope_titles
from sessions_app.session_policy import newest_revision
from sessions_app.settings_saving import Refused, Saved, Wish, save_settings
from sessions_app.views.page_request import PageRequest


@require_safe
def setting_revisions(request: PageRequest, slug: str) -> HttpResponse:
    """All revisions, a page at a time."""
    project = get_project(request.user, slug)
    number = revision_number(request.GET.get("before", ""))
    context = {"section": "projects", "project": project, "page": read_revisions(project, number)}
    context |= {"is_first": number is None, "may_change": may_manage(request.user, project)}
    return render(request, "settings/revisions.html", context)


def revision_number(text: str) -> int | None:
    """The number that an address gives; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


@require_safe
def setting_revision(request: PageRequest, slug: str, number: int) -> HttpResponse:
    """One revision."""
    project = get_project(request.user, slug)
    return _page(request, project, _revision(project, number))


def _revision(project: Project, number: int) -> PolicyRevision:
    return get_object_or_404(project.policy_revisions.select_related("author"), number=min(number, 2**31 - 1))


def _page(
    request: PageRequest, project: Project, revision: PolicyRevision, refused: Refused | None = None
) -> HttpResponse:
    context = {"section": "projects", "project": project, "revision": revision, "refused": refused}
    context |= {"page": read_revision(project, revision), "may_change": may_manage(request.user, project)}
    return render(request, "settings/revision.html", context, status=422 if refused else 200)


@require_POST
def setting_revert(request: PageRequest, slug: str, number: int) -> HttpResponse:
    """Save what an older revision holds as a new one."""
    project = get_project(request.user, slug)
    require_owner(request.user, project)
    revision, newest = _revision(project, number), newest_revision(project)
    wish = Wish(
        # A revision without a main model is one of a time when none was set.
        {MODEL: {}, **revision.settings},
        revision_number(request.POST.get("base", "")) or 0,
        request.user,
        request.POST.get("note", "").strip()[:1_000] or worded("Back to revision {}", number),
        accept_nearest=True,
        source_text=revision.source_text,
        origin=page_origin(request),
    )
    ending = save_settings(project, wish)
    if isinstance(ending, Refused):
        return _page(request, project, revision, ending)
    if isinstance(ending, Saved):
        text = _("Saved as revision {new}: the settings of revision {old} are in force again.")
        messages.success(request, text.format(new=ending.revision.number, old=number))
        return redirect("settings", slug=slug)
    messages.info(request, _why_unchanged(revision, newest))
    return redirect("setting_revision", slug=slug, number=number)


def _why_unchanged(revision: PolicyRevision, newest: PolicyRevision | None) -> str:
    if newest is not None and newest.settings == revision.settings:
        return _("Nothing was changed: these settings are in force already.")
    return _("Nothing was changed: somebody saved meanwhile. Look at what is in force now and decide again.")


@require_safe
def setting_scopes(request: PageRequest, slug: str) -> HttpResponse:
    """Every setting in all its scopes."""
    project = get_project(request.user, slug)
    context = {"section": "projects", "project": project, "groups": read_scopes(project)}
    return render(request, "settings/scopes.html", context | {"titles": scope_titles(project)})

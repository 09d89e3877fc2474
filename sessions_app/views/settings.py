"""A project's settings: the form with its preview, saving it, and meeting what somebody else saved meanwhile."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.access import get_project, may_manage, require_owner
from sessions_app.models import PolicyRevision, PolicyTrial, Project
from sessions_app.origins import page_origin
from sessions_app.pages.policy_trials import read_trial
from sessions_app.pages.settings import newest_trial, read_settings_page
from sessions_app.pages.settings_merge import read_merge
from sessions_app.policy_checking import judge
from sessions_app.policy_trials import trial_fingerprint
from sessions_app.queries.project_figures import read_figures
from sessions_app.services.trials import cancel_trial, request_trial
from sessions_app.session_policy import blocks_of_project, newest_revision
from sessions_app.setting_presets import PRESETS, preset_named
from sessions_app.settings_form import SettingsForm, chosen_values, filled_form, read_form, unchosen_paths
from sessions_app.settings_saving import Conflict, Refused, Saved, Wish, save_settings
from sessions_app.views.page_request import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: PageRequest, slug: str) -> HttpResponse:
    """The form. A mistake comes back with 422 at its field, and nothing that was typed is lost."""
    project = get_project(request.user, slug)
    revision = newest_revision(project)
    if request.method == "POST":
        require_owner(request.user, project)
        return _posted(request, project, revision)
    preset, blocks = preset_named(request.GET.get("preset", "")), blocks_of_project(project)
    form = filled_form(blocks if preset is None else preset.on_top_of(blocks), _number(revision))
    return _page(request, project, form, revision)


def _number(revision: PolicyRevision | None) -> int:
    return 0 if revision is None else revision.number


def _posted(request: PageRequest, project: Project, revision: PolicyRevision | None) -> HttpResponse:
    """Save, unless the button that was pressed only wanted to see what the form would do."""
    form = read_form(chosen_values(request.POST), blocks_of_project(project))
    action = request.POST.get("action", "save")
    if action != "save":
        _act_on_trial(request, project, form, action)
        return _page(request, project, form, revision)
    wish = Wish(form.blocks, form.base, request.user, form.note, form.accept_nearest, origin=page_origin(request))
    ending = save_settings(project, wish)
    if isinstance(ending, Conflict):
        return _merge_page(request, project, ending, form)
    if isinstance(ending, Refused):
        return _page(request, project, form, revision, status=422)
    if isinstance(ending, Saved):
        messages.success(request, _("Saved as revision {number}.").format(number=ending.revision.number))
    else:
        messages.info(request, _("Nothing was changed: these settings are in force already."))
    return redirect("settings", slug=project.slug)


def _merge_page(request: PageRequest, project: Project, conflict: Conflict, form: SettingsForm) -> HttpResponse:
    page = read_merge(conflict, form.note)
    context = {"section": "projects", "project": project, "page": page, "unchosen": unchosen_paths(request.POST)}
    context["save_url"] = context["drop_url"] = reverse("settings", args=[project.slug])
    return render(request, "settings/merge.html", context, status=409)


def _page(
    request: PageRequest, project: Project, form: SettingsForm, revision: PolicyRevision | None, status: int = 200
) -> HttpResponse:
    page = read_settings_page(project, form, revision, newest_trial(project, request.user.pk))
    context = {"section": "projects", "project": project, "page": page, "presets": PRESETS, "is_refused": status == 422}
    context |= {"may_change": may_manage(request.user, project), "preset": request.GET.get("preset", "")}
    return render(request, "settings/settings.html", context, status=status)


@require_POST
def settings_preview(request: PageRequest, slug: str) -> HttpResponse:
    """What the form would do as it stands, for the page that is being typed into: the preview, and what changes beside
    the fields. Settings that could be saved are tried on the newest sessions; what was tried before is superseded."""
    project = get_project(request.user, slug)
    require_owner(request.user, project)
    form = read_form(request.POST, blocks_of_project(project))
    _act_on_trial(request, project, form, request.POST.get("action", "try"))
    page = read_settings_page(project, form, newest_revision(project), newest_trial(project, request.user.pk))
    context = {"project": project, "page": page, "may_change": True, "is_swap": True}
    return render(request, "settings/_preview_swap.html", context)


def _act_on_trial(request: PageRequest, project: Project, form: SettingsForm, action: str) -> None:
    if action == "cancel":
        trial = newest_trial(project, request.user.pk)
        if trial is not None:
            cancel_trial(trial.pk)
    elif action == "try" and not judge(project, form.blocks).refusals:
        request_trial(project, form.blocks, trial_fingerprint(project, form.blocks), request.user)


@require_GET
def settings_trial(request: PageRequest, slug: str, number: int) -> HttpResponse:
    """A trial of the reader's own as far as it has got, for the page that waits for it."""
    project = get_project(request.user, slug)
    trial = get_object_or_404(PolicyTrial, project=project, pk=number, created_by_id=request.user.pk)
    if not request.htmx:
        return redirect("settings", slug=slug)
    context = {"project": project, "trial": read_trial(trial, read_figures(project)), "may_change": True}
    return render(request, "settings/_trial.html", context)

"""Settings as files: download, upload or paste, and putting a project's settings into somebody's own file."""

from __future__ import annotations

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from compaction.config_yaml import write_policy_yaml
from compaction.errors import InvalidPolicy
from compaction.wording import worded
from sessions_app.access import get_project, may_manage, require_owner
from sessions_app.models import Project
from sessions_app.origins import page_origin
from sessions_app.pages.settings_merge import read_merge
from sessions_app.pages.yaml_import import YamlPage, broken_page, fresh_page, read_page
from sessions_app.session_policy import newest_revision, policy_of
from sessions_app.settings_saving import Conflict, Saved, Wish, save_settings
from sessions_app.settings_yaml import MOST_BYTES, heading, into_file, project_yaml, read_yaml, refusals_of
from sessions_app.views.page_request import PageRequest

_YAML = "application/yaml; charset=utf-8"


@require_safe
def settings_download(request: PageRequest, slug: str) -> HttpResponse:
    """The settings as they are written or, with `all`, every setting with the value in force."""
    project = get_project(request.user, slug)
    revision = newest_revision(project)
    text = write_policy_yaml(policy_of(project)) if "all" in request.GET else project_yaml(project, revision)
    return _file(f"{project.slug}-settings.yaml", heading(project, revision) + text)


def _file(name: str, text: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=_YAML, headers=headers)


@require_http_methods(["GET", "HEAD", "POST"])
def settings_yaml(request: PageRequest, slug: str) -> HttpResponse:
    """A file or a pasted text: first checked and shown, then saved. What can't be used comes back with its lines."""
    project = get_project(request.user, slug)
    if request.method != "POST":
        return _page(request, project, fresh_page(project))
    require_owner(request.user, project)
    action = request.POST.get("action", "check")
    try:
        text = _text(request)
        if action == "into":
            return _file("config.yaml", into_file(project, text))
        reading = read_yaml(project, text, accept_nearest=request.POST.get("accept") == "nearest")
    except InvalidPolicy as error:
        return _page(request, project, broken_page(project, request.POST.get("text", ""), error.said), 422)
    page = read_page(project, reading, text, request.POST.get("base", ""), request.POST.get("note", ""))
    if refusals_of(reading):
        return _page(request, project, page, 422)
    return _save(request, project, page) if action == "save" else _page(request, project, page)


def _text(request: PageRequest) -> str:
    """The file that was sent, else the text that was pasted. Raises InvalidPolicy for what is no text."""
    upload = request.FILES.get("file")
    if not isinstance(upload, UploadedFile):
        text = request.POST.get("text", "")
        if not text.strip():
            raise InvalidPolicy(worded("choose a file or paste a text"))
        return text.replace("\r\n", "\n")
    if upload.size is None or upload.size > MOST_BYTES:
        raise InvalidPolicy(worded("the file is larger than {:,} bytes", MOST_BYTES))
    try:
        content: bytes = upload.read()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidPolicy(worded("byte {} is not UTF-8 text", error.start)) from error


def _save(request: PageRequest, project: Project, page: YamlPage) -> HttpResponse:
    assert page.reading is not None
    reading = page.reading
    note = page.note or worded("From a YAML file")
    wish = Wish(
        reading.blocks,
        page.base,
        request.user,
        note,
        accept_nearest=True,
        source_text=reading.source_text,
        origin=page_origin(request),
    )
    ending = save_settings(project, wish)
    if isinstance(ending, Conflict):
        context = {"section": "projects", "project": project, "page": read_merge(ending, page.note)}
        context["save_url"] = context["drop_url"] = reverse("settings", args=[project.slug])
        return render(request, "settings/merge.html", context, status=409)
    if isinstance(ending, Saved):
        messages.success(request, _("Saved as revision {number}.").format(number=ending.revision.number))
    else:
        messages.info(request, _("Nothing was changed: these settings are in force already."))
    return redirect("settings", slug=project.slug)


def _page(request: PageRequest, project: Project, page: YamlPage, status: int = 200) -> HttpResponse:
    context = {"section": "projects", "project": project, "page": page}
    context |= {"may_change": may_manage(request.user, project)}
    return render(request, "settings/yaml.html", context, status=status)

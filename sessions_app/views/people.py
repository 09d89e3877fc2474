"""The people of a project: who is in it with which role, and the invitations by which others come."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.access import get_invitation, get_managed_project, get_member, get_project, may_manage
from sessions_app.models import MemberRole, Project, ProjectMember
from sessions_app.origins import page_origin
from sessions_app.pages.people import read_invitations, read_members
from sessions_app.people_forms import BeforeForm, InvitationForm, RoleForm
from sessions_app.services import ProjectShut
from sessions_app.services.invitations import create_invitation, revoke_invitation
from sessions_app.services.people import LastOwner, change_role, remove_member
from sessions_app.views.page_request import PageRequest

MOST_NAME_CHARS = 150


@never_cache
@require_safe
def people(request: PageRequest, slug: str) -> HttpResponse:
    """Members, for all of them; invitations, for owners."""
    return show_people(request, get_project(request.user, slug), InvitationForm())


def show_people(request: PageRequest, project: Project, form: InvitationForm, **more: Any) -> HttpResponse:
    """The page, with a form that may have mistakes in it."""
    is_owner = may_manage(request.user, project)
    context = {"section": "projects", "tab": "people", "project": project, "is_owner": is_owner, "form": form}
    context |= {"page": read_members(project, request.GET.get("after", "").replace("\0", "")[:MOST_NAME_CHARS])}
    context["roles"] = MemberRole.choices
    if is_owner:
        context["invitations"], context["invitation_page"] = read_invitations(project, BeforeForm(request.GET).key())
    return render(request, "people/people.html", context | more, status=422 if form.errors else 200)


@require_POST
def member_role(request: PageRequest, slug: str, member_id: int) -> HttpResponse:
    """Give a member another role."""
    project = get_managed_project(request.user, slug)
    member = get_member(project, member_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("There is no such role."))
        return redirect("people", slug=slug)
    try:
        change_role(page_origin(request), project, member.pk, form.new_role())
    except LastOwner:
        messages.error(request, last_owner_words(member))
    except ProjectMember.DoesNotExist:
        messages.error(request, gettext("This member was removed meanwhile."))
    return redirect("people", slug=slug)


@require_POST
def member_remove(request: PageRequest, slug: str, member_id: int) -> HttpResponse:
    """Take a member out of the project."""
    project = get_managed_project(request.user, slug)
    member = get_member(project, member_id)
    return take_out(request, project, member)


@require_POST
def member_leave(request: PageRequest, slug: str) -> HttpResponse:
    """Leave a project oneself."""
    project = get_project(request.user, slug)
    return take_out(
        request, project, ProjectMember.objects.select_related("user").get(project=project, user=request.user)
    )


def take_out(request: PageRequest, project: Project, member: ProjectMember) -> HttpResponse:
    """Remove a member and go to where the reader may still be."""
    try:
        remove_member(page_origin(request), project, member.pk)
    except LastOwner:
        messages.error(request, last_owner_words(member))
    except ProjectMember.DoesNotExist:
        pass
    else:
        if member.user_id == request.user.pk:
            return redirect("project_list")
    return redirect("people", slug=project.slug)


def last_owner_words(member: ProjectMember) -> str:
    """Why the last owner stays one."""
    words = gettext("%(name)s is the only owner. Make somebody else an owner first: a project needs one.")
    return words % {"name": member.user.get_username()}


@never_cache
@require_http_methods(["POST"])
def invitation_create(request: PageRequest, slug: str) -> HttpResponse:
    """Make an invitation and show its link this once."""
    project = get_managed_project(request.user, slug)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return show_people(request, project, form)
    asked = form.cleaned_data
    role, origin = MemberRole(asked["role"]), page_origin(request)
    lifetime, most_uses = form.lifetime(), asked["uses"]
    try:
        issued = create_invitation(origin, project, role, lifetime=lifetime, most_uses=most_uses, note=asked["note"])
    except ProjectShut:
        raise Http404("no such project") from None
    link = request.build_absolute_uri(reverse("invitation", args=[issued.secret]))
    return show_people(request, project, InvitationForm(), link=link, issued=issued.invitation)


@require_POST
def invitation_revoke(request: PageRequest, slug: str, invitation_id: int) -> HttpResponse:
    """End an invitation."""
    project = get_managed_project(request.user, slug)
    revoke_invitation(page_origin(request), get_invitation(project, invitation_id))
    return redirect("people", slug=slug)

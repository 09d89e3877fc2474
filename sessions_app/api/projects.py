"""Projects: a token has one."""

from __future__ import annotations

from datetime import datetime

from ninja import Router, Schema

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import Slug
from sessions_app.api.reach import get_project
from sessions_app.models import Project, Session

router = Router(tags=["projects"])


class ProjectShape(Schema):
    """A project. Unknown figures are null."""

    slug: str
    name: str
    created_at: datetime
    main_model: str | None
    window_tokens: int | None
    fixed_overhead_tokens: int | None
    sessions: int


class ProjectList(Schema):
    """The projects a token may see."""

    projects: list[ProjectShape]


def shape_project(project: Project) -> ProjectShape:
    """A project as the API tells it, with the number of its sessions."""
    return ProjectShape(
        slug=project.slug,
        name=project.name,
        created_at=project.created_at,
        main_model=project.main_model,
        window_tokens=project.window_tokens,
        fixed_overhead_tokens=project.fixed_overhead_tokens,
        sessions=Session.objects.filter(project_id=project.pk).count(),
    )


@router.get("/projects", response=reads(ProjectList), operation_id="list_projects")
def list_projects(request: ApiRequest) -> ProjectList:
    """The projects your token may see: its own."""
    return ProjectList(projects=[shape_project(request.auth.project)])


@router.get("/projects/{slug}", response=reads(ProjectShape), operation_id="get_project")
def read_project(request: ApiRequest, slug: Slug) -> ProjectShape:
    """One project."""
    return shape_project(get_project(request.auth, slug))

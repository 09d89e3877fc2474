"""What the project pages show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum

from compaction.policy import COMPRESSION_SETTINGS, CompactionPolicy
from compaction.settings import SettingProblem
from sessions_app.models import PolicyRevision, Project, ProjectMember, Session
from sessions_app.pages.session_list import SessionFilters, SessionLine, read_session_list
from sessions_app.pages.setting_options import words_of

NEWEST_SESSIONS = 10
# The page of people has all of them.
MOST_MEMBERS = 20


@dataclass(frozen=True, slots=True)
class ProjectLine:
    """One project in the list; role is the reader's own."""

    project: Project
    role: str
    sessions: int
    live: int
    live_tokens: int
    last_activity_at: datetime | None


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting: its value in force, its default, and where the value comes from."""

    name: str
    title: str
    meaning: str
    value: str
    default: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """One project."""

    settings: tuple[SettingLine, ...]
    problems: tuple[SettingProblem, ...]
    revision: PolicyRevision | None
    members: tuple[ProjectMember, ...]
    sessions: tuple[SessionLine, ...]
    sessions_total: int


def read_projects(visible: QuerySet[Project], user: User) -> tuple[ProjectLine, ...]:
    """All projects of the reader, by name."""
    role = ProjectMember.objects.filter(project_id=OuterRef("pk"), user_id=user.pk).values("role")[:1]
    found = visible.annotate(
        role=Subquery(role),
        total=Count("sessions"),
        live=Count("sessions", filter=Q(sessions__status="live")),
        tokens=Sum("sessions__live_tokens", default=0),
        last_at=Max("sessions__last_activity_at"),
    ).order_by("name", "slug")
    return tuple(ProjectLine(one, one.role, one.total, one.live, one.tokens, one.last_at) for one in found)


def read_project_page(project: Project) -> ProjectPage:
    """One project with its newest sessions."""
    sessions = Session.objects.filter(project_id=project.pk)
    reading = CompactionPolicy.from_mapping(project.policy_settings)
    return ProjectPage(
        settings=setting_lines(reading.policy),
        problems=reading.problems,
        revision=PolicyRevision.objects.filter(project_id=project.pk)
        .select_related("author")
        .order_by("-number")
        .first(),
        members=tuple(
            ProjectMember.objects.filter(project_id=project.pk)
            .select_related("user")
            .order_by("user__username")[:MOST_MEMBERS]
        ),
        sessions=read_session_list(sessions, SessionFilters()).lines[:NEWEST_SESSIONS],
        sessions_total=sessions.count(),
    )


def setting_lines(policy: CompactionPolicy) -> tuple[SettingLine, ...]:
    """Every setting of the compression block in its order, with the value in force."""
    return tuple(
        SettingLine(
            name=setting.key,
            title=setting.label,
            meaning=setting.meaning,
            value=words_of(getattr(policy, name)),
            default=words_of(setting.default),
            is_default=getattr(policy, name) == setting.default,
        )
        for name, setting in COMPRESSION_SETTINGS
    )

"""What the site stores, one noun per file.

Must not decide anything: these classes hold columns, constraints and indexes. Writes belong to `services` and
`importing`, reads to `queries`. The one idea: a message row is written once; compaction only stamps when it left the
live context (`rows`), so every view of a session is a query and nothing is copied.
"""

from sessions_app.models.audit import AuditAction, AuditEntry, AuditSource
from sessions_app.models.cache_accounts import CacheAccount, CacheChunk, CachePassFigures
from sessions_app.models.calls import CallPurpose, ModelCall
from sessions_app.models.chat import AnswerStatus, ChatAnswer
from sessions_app.models.deletions import ProjectDeletion
from sessions_app.models.endpoint_tests import EndpointTest
from sessions_app.models.events import EventKind, SessionEvent
from sessions_app.models.imports import ImportJob, JobStatus
from sessions_app.models.invitations import Invitation
from sessions_app.models.logins import Login, LoginLink, LoginThrottle
from sessions_app.models.passes import CompactionPass, PassFacts, PassKind, PassOrigin
from sessions_app.models.plays import Play, PlayStatus
from sessions_app.models.policies import PolicyRevision, SessionPolicyRevision
from sessions_app.models.projects import MemberRole, Project, ProjectMember
from sessions_app.models.replays import ReplayRun, ReplayStep, RunStatus
from sessions_app.models.rows import MessageRow, RowLifetime
from sessions_app.models.secrets import ProjectSecret
from sessions_app.models.sessions import Session, SessionStatus
from sessions_app.models.summaries import SummaryKind, SummaryRevision
from sessions_app.models.tokens import ApiToken, TokenScope
from sessions_app.models.told import SessionPrompt, ToldMessage
from sessions_app.models.trials import PolicyTrial
from sessions_app.models.turns import Turn, TurnStep
from sessions_app.models.words import RowWords

__all__ = [
    "AnswerStatus",
    "ApiToken",
    "AuditAction",
    "AuditEntry",
    "AuditSource",
    "CacheAccount",
    "CacheChunk",
    "CachePassFigures",
    "CallPurpose",
    "ChatAnswer",
    "CompactionPass",
    "EndpointTest",
    "EventKind",
    "ImportJob",
    "Invitation",
    "JobStatus",
    "Login",
    "LoginLink",
    "LoginThrottle",
    "MemberRole",
    "MessageRow",
    "ModelCall",
    "PassFacts",
    "PassKind",
    "PassOrigin",
    "Play",
    "PlayStatus",
    "PolicyRevision",
    "PolicyTrial",
    "Project",
    "ProjectDeletion",
    "ProjectMember",
    "ProjectSecret",
    "ReplayRun",
    "ReplayStep",
    "RowLifetime",
    "RowWords",
    "RunStatus",
    "Session",
    "SessionEvent",
    "SessionPolicyRevision",
    "SessionPrompt",
    "SessionStatus",
    "SummaryKind",
    "SummaryRevision",
    "TokenScope",
    "ToldMessage",
    "Turn",
    "TurnStep",
]

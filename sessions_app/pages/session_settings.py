"""The settings of one session: all scopes side by side, and the fields in which its own can be changed."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import Session
from sessions_app.pages.revisions import RevisionPage, read_own_revisions
from sessions_app.pages.scopes import ScopeGroup, read_scopes, scope_titles
from sessions_app.pages.setting_options import notes_by_path
from sessions_app.pages.settings import Mistake, labelled, message_of
from sessions_app.policy_checking import Verdict, judge
from sessions_app.setting_paths import SESSION_SETTINGS, named_setting
from sessions_app.settings_form import SettingsForm


@dataclass(frozen=True, slots=True)
class SessionSettingsPage:
    """Everything the page shows. titles: heads of the weaker scopes' columns."""

    form: SettingsForm
    verdict: Verdict
    groups: tuple[ScopeGroup, ...]
    titles: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    revisions: RevisionPage


def read_session_settings(session: Session, form: SettingsForm, before: int | None = None) -> SessionSettingsPage:
    """The page for what stands in `form`, with the revisions before a number."""
    verdict = judge(session, form.blocks, accept_nearest=form.accept_nearest)
    notes = {path: tuple(found) for path, found in notes_by_path(verdict.refusals, verdict.remarks).items()}
    groups = read_scopes(session, form.blocks, form.texts, notes, SESSION_SETTINGS)
    mistakes = []
    for problem in verdict.refusals:
        named = named_setting(problem.key)
        is_here = named in SESSION_SETTINGS
        anchor = named.anchor if named is not None and is_here else ""
        mistakes.append(Mistake(anchor, labelled(problem.key, message_of(problem))))
    titles = scope_titles(session)[:-1]
    revisions = read_own_revisions(session, before)
    return SessionSettingsPage(form, verdict, groups, titles, tuple(mistakes), revisions)

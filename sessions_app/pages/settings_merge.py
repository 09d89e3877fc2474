"""Two people's settings side by side: what each changed since the revision both began with, to be chosen from.

The page is the settings form again: a choice posts the value that was chosen, everything else travels along unseen, and
what is saved in the end is checked like any other form.
"""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import PolicyRevision, SessionPolicyRevision
from sessions_app.pages.revisions import key_of, value_text
from sessions_app.pages.setting_options import setting_label
from sessions_app.policy_changes import ABSENT, Meeting, flat
from sessions_app.setting_paths import EVERY_SETTING, SETTING_BY_PATH, NamedSetting, typed
from sessions_app.settings_saving import Conflict


@dataclass(frozen=True, slots=True)
class MergeRow:
    """One key. *_text: as a settings file spells it, None where it is not written; *_value: as the form posts it.

    takes: "yours" or "theirs" where only one side changed it, empty where a person has to choose. can_choose: whether
    it is a setting that the form can post.
    """

    path: str
    key: str
    label: str
    base_text: str | None
    theirs_text: str | None
    yours_text: str | None
    theirs_value: str
    yours_value: str
    takes: str
    is_conflict: bool
    can_choose: bool


@dataclass(frozen=True, slots=True)
class MergePage:
    """Everything the page shows. hidden: fields of the form that nobody changed."""

    base: int | None
    newest: PolicyRevision | SessionPolicyRevision | None
    rows: tuple[MergeRow, ...]
    hidden: tuple[tuple[str, str], ...]
    note: str

    @property
    def conflicts(self) -> int:
        return sum(row.is_conflict for row in self.rows)

    @property
    def newest_number(self) -> int:
        return 0 if self.newest is None else self.newest.number


def read_merge(conflict: Conflict, note: str, settings: tuple[NamedSetting, ...] = EVERY_SETTING) -> MergePage:
    """The page for a conflict. settings: those that the form has."""
    rows = tuple(merge_row(one) for one in conflict.meetings)
    shown = {row.path for row in rows}
    values = flat(conflict.theirs)
    hidden = tuple((one.path, typed(values.get(one.path, ABSENT))) for one in settings if one.path not in shown)
    return MergePage(conflict.base, conflict.newest, rows, hidden, note)


def merge_row(met: Meeting) -> MergeRow:
    one_sided = "theirs" if met.is_theirs_only or met.is_agreed else "yours"
    return MergeRow(
        path=met.path,
        key=key_of(met.path),
        label=setting_label(met.path),
        base_text=value_text(met.base),
        theirs_text=value_text(met.theirs),
        yours_text=value_text(met.yours),
        theirs_value=typed(met.theirs),
        yours_value=typed(met.yours),
        takes="" if met.is_conflict else one_sided,
        is_conflict=met.is_conflict,
        can_choose=met.path in SETTING_BY_PATH,
    )

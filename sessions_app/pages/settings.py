"""The settings page of a project: the form with all its options, what it would do, what to know, and the revisions."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from compaction.budgets import TailBudget
from compaction.policy_reading import read_layers
from compaction.settings import SettingProblem
from compaction.threshold import Threshold
from sessions_app.models import PolicyRevision, PolicyTrial, Project, RunStatus
from sessions_app.pages.policy_trials import TrialPage, read_trial
from sessions_app.pages.revisions import NEWEST, RevisionLine, read_revisions, value_text
from sessions_app.pages.setting_advice import SLOW_MS, Caution, batch_share_words, read_warnings
from sessions_app.pages.setting_options import (
    OptionFacts,
    OptionGroup,
    changed_paths,
    kept_remarks,
    read_groups,
    sentence,
    setting_label,
)
from sessions_app.pages.setting_preview import Preview, read_preview
from sessions_app.policy_checking import Verdict, judge
from sessions_app.policy_trials import trial_fingerprint
from sessions_app.queries.project_figures import ProjectFigures, read_figures
from sessions_app.session_policy import Scope, blocks_of_project, layers_of
from sessions_app.settings_form import SettingsForm, kept_keys
from sessions_app.translated import translated


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key that is none of this engine's: kept, and what is to be said about it."""

    path: str
    value: str
    message: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """One value that stands in the way of saving; anchor: the field it is in."""

    anchor: str
    message: str


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """Everything the page shows. verdict: of what stands in the form. next_number: of the revision a save would make.
    is_without_error: the preview is of the form as it stands, not of what could be used of it."""

    form: SettingsForm
    verdict: Verdict
    groups: tuple[OptionGroup, ...]
    mistakes: tuple[Mistake, ...]
    kept: tuple[KeptKey, ...]
    preview: Preview
    cautions: tuple[Caution, ...]
    figures: ProjectFigures
    stalls: SafeString | None
    is_slow: bool
    trial: TrialPage | None
    trial_is_stale: bool
    revisions: tuple[RevisionLine, ...]
    revision: PolicyRevision | None
    changes: int

    @property
    def next_number(self) -> int:
        return 1 if self.revision is None else self.revision.number + 1

    @property
    def is_without_error(self) -> bool:
        return not self.mistakes


def read_settings_page(
    project: Project, form: SettingsForm, revision: PolicyRevision | None, trial: PolicyTrial | None = None
) -> SettingsPage:
    """The page for what stands in `form`. trial: the reader's newest; None when there is none."""
    verdict = judge(project, form.blocks, accept_nearest=form.accept_nearest)
    figures = read_figures(project)
    place = verdict.place if isinstance(verdict.place, Project) else project
    preview = read_preview(place, verdict.reading.policy, figures)
    main = preview.main
    groups = read_groups(option_facts(project, form, revision, verdict, (main.threshold, main.tail, main.head_tokens)))
    return SettingsPage(
        form=form,
        verdict=verdict,
        groups=groups,
        mistakes=mistakes_of(groups, verdict),
        kept=kept_of(form, verdict),
        preview=preview,
        cautions=read_warnings(project, verdict.reading.policy, preview, figures),
        figures=figures,
        stalls=batch_share_words(figures),
        is_slow=any((one.mean_ms or 0) >= SLOW_MS for one in figures.slow),
        trial=None if trial is None else read_trial(trial, figures),
        trial_is_stale=trial is not None and is_stale(project, trial, form),
        revisions=read_revisions(project, limit=NEWEST).lines,
        revision=revision,
        changes=len(changed_paths(blocks_of_project(project), form.blocks)),
    )


def is_stale(project: Project, trial: PolicyTrial, form: SettingsForm) -> bool:
    """Whether a trial is about other settings, or other sessions, than it would be now."""
    return trial.fingerprint != trial_fingerprint(project, form.blocks)


def option_facts(
    project: Project,
    form: SettingsForm,
    revision: PolicyRevision | None,
    verdict: Verdict,
    sizes: tuple[Threshold, TailBudget, int],
) -> OptionFacts:
    threshold, tail, head_tokens = sizes
    return OptionFacts(
        form=form,
        reading=verdict.reading,
        main=verdict.main,
        inherited=read_layers(layers_of(project)[:-1]),
        saved=blocks_of_project(project),
        revision=None if revision is None else revision.number,
        scope=Scope.PROJECT,
        threshold=threshold,
        tail=tail,
        head_tokens=head_tokens,
        refusals=verdict.refusals,
        remarks=verdict.remarks,
    )


def mistakes_of(groups: tuple[OptionGroup, ...], verdict: Verdict) -> tuple[Mistake, ...]:
    """What stands in the way, each with the field to go to; what belongs to no field first."""
    placed = [
        Mistake(option.named.anchor, labelled(option.named.path, note.message))
        for group in groups
        for option in group.options
        for note in option.notes
        if note.is_error
    ]
    known = {note.message for group in groups for option in group.options for note in option.notes}
    others = [Mistake("", message_of(one)) for one in verdict.refusals if message_of(one) not in known]
    return (*others, *placed)


def labelled(path: str, message: str) -> str:
    """What is wrong, with the name of the field for those who don't see it."""
    return _("{setting}: {message}").format(setting=setting_label(path), message=message)


def message_of(problem: SettingProblem) -> str:
    return sentence(translated(problem.cause or problem.message))


def kept_of(form: SettingsForm, verdict: Verdict) -> tuple[KeptKey, ...]:
    """Keys of other programs in these settings, with what the engine says of them."""
    said = {one.key: sentence(translated(one.message)) for one in kept_remarks(verdict.remarks)}
    return tuple(KeptKey(path, value_text(value) or "", said.get(path, "")) for path, value in kept_keys(form.blocks))


def newest_trial(project: Project, user_id: int | None) -> PolicyTrial | None:
    """The newest trial that the reader asked for and nobody superseded."""
    own = PolicyTrial.objects.filter(project=project, created_by_id=user_id).exclude(status=RunStatus.CANCELLED)
    return own.order_by("-pk").first()

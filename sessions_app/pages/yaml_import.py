"""The page on which YAML comes in: the text, what is wrong or odd in it with its lines, and what it would change."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compaction.settings import SettingProblem
from sessions_app.models import Project
from sessions_app.pages.revisions import ChangeLine, change_lines
from sessions_app.pages.setting_options import sentence
from sessions_app.policy_changes import changes
from sessions_app.session_policy import blocks_of_project, newest_revision
from sessions_app.settings_yaml import YamlReading, project_yaml, refusals_of
from sessions_app.translated import translated


@dataclass(frozen=True, slots=True)
class YamlLine:
    """One thing to say about the text. line: from 1, None where it belongs to no line."""

    line: int | None
    key: str
    message: str


@dataclass(frozen=True, slots=True)
class YamlPage:
    """broken: why the text could not be read at all. is_only_out_of_range: the nearest values would do."""

    text: str
    base: int
    note: str = ""
    broken: str = ""
    reading: YamlReading | None = None
    refusals: tuple[YamlLine, ...] = ()
    remarks: tuple[YamlLine, ...] = ()
    changes: tuple[ChangeLine, ...] = ()
    is_only_out_of_range: bool = False

    @property
    def can_save(self) -> bool:
        return self.reading is not None and not self.refusals and bool(self.changes)


def fresh_page(project: Project) -> YamlPage:
    """The page before anything was sent: the settings in force."""
    revision = newest_revision(project)
    return YamlPage(project_yaml(project, revision), 0 if revision is None else revision.number)


def broken_page(project: Project, text: str, why: str) -> YamlPage:
    """The page for a text that can't be read."""
    return replace(fresh_page(project), text=text, broken=sentence(translated(why)))


def read_page(project: Project, reading: YamlReading, text: str, base: str, note: str) -> YamlPage:
    """The page for a text that was read."""
    refused = refusals_of(reading)
    return YamlPage(
        text=text,
        base=int(base) if base.isdecimal() and len(base) < 10 else 0,
        note=note.strip()[:1_000],
        reading=reading,
        refusals=tuple(yaml_line(one, one.cause or one.message) for one in refused),
        remarks=tuple(yaml_line(one, one.message) for one in reading.problems if one not in refused),
        changes=change_lines(changes(blocks_of_project(project), reading.blocks)),
        is_only_out_of_range=reading.verdict.is_only_out_of_range and len(refused) == len(reading.verdict.refusals),
    )


def yaml_line(problem: SettingProblem, words: str) -> YamlLine:
    return YamlLine(problem.line, problem.key, sentence(translated(words)))

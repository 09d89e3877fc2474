"""Settings as YAML, in and out, in the shape of a Hermes config.yaml.

What comes in is read with its lines and judged by the same rules as the form. Of a file only the blocks that settings
consist of are kept, with the comments in them and without secrets; nothing else of it is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from compaction.config_yaml import read_config_yaml, read_policy_yaml
from compaction.config_yaml_editing import cut_blocks, outer_keys, put_blocks
from compaction.main_model import MODEL, canonical_block
from compaction.policy_reading import AUXILIARY, COMPRESSION, without_secrets
from compaction.settings import SettingProblem, Severity
from sessions_app.models import PolicyRevision, Project
from sessions_app.policy_checking import Verdict, judge
from sessions_app.session_policy import blocks_of_project

MOST_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class YamlReading:
    """Settings as a text gives them. blocks: to save; source_text: the text of these blocks with its comments.
    problems: everything to be said, each with its line. left_out: other blocks of the file, which are not kept."""

    blocks: dict[str, Any]
    source_text: str
    verdict: Verdict
    problems: tuple[SettingProblem, ...]
    left_out: tuple[str, ...]


def read_yaml(project: Project, text: str, *, accept_nearest: bool = False) -> YamlReading:
    """Read and judge a text. Raises InvalidPolicy, with the line, for what is no YAML that can be read."""
    config = read_config_yaml(text)
    blocks: dict[str, Any] = {key: without_secrets(config[key]) for key in (COMPRESSION, AUXILIARY) if key in config}
    if MODEL in config:
        blocks[MODEL] = without_secrets(canonical_block(config[MODEL]))
    else:
        # A file that does not speak of the main model leaves it alone.
        held = blocks_of_project(project).get(MODEL)
        blocks |= {} if held is None else {MODEL: held}
    verdict = judge(project, blocks, accept_nearest=accept_nearest)
    problems = _with_lines(text, verdict)
    return YamlReading(blocks, cut_blocks(text), verdict, problems, other_blocks(text))


def _with_lines(text: str, verdict: Verdict) -> tuple[SettingProblem, ...]:
    """The verdict's problems with the lines they come from, and what is odd about the text itself."""
    read = read_policy_yaml(text).problems
    lines = {one.key: one.line for one in read}
    judged = tuple(replace(one, line=lines.get(one.key)) for one in (*verdict.refusals, *verdict.remarks))
    said = {one.key for one in judged}
    return (*judged, *(one for one in read if one.key not in said))


def refusals_of(reading: YamlReading) -> tuple[SettingProblem, ...]:
    """What stands in the way: the verdict's refusals, and faults of the text such as a key that is written twice."""
    judged = {one.key for one in reading.verdict.refusals}
    return tuple(one for one in reading.problems if one.key in judged or one.severity is Severity.ERROR)


def other_blocks(text: str) -> tuple[str, ...]:
    """Names of the file's blocks that settings don't consist of."""
    return tuple(name for name in outer_keys(text) if name not in (COMPRESSION, AUXILIARY, MODEL))


def project_yaml(project: Project, revision: PolicyRevision | None) -> str:
    """The settings in force as they are written, with the comments of the file they came from."""
    source = "" if revision is None or revision.source_text is None else revision.source_text
    return put_blocks(source, blocks_of_project(project))


def into_file(project: Project, text: str) -> str:
    """Somebody's whole file with the project's settings in its blocks; all the rest as it is. Nothing is stored."""
    return put_blocks(text, blocks_of_project(project))


def heading(project: Project, revision: PolicyRevision | None) -> str:
    """The first lines of a file that is handed out."""
    number = "" if revision is None else f", revision {revision.number}"
    return f"# Compression settings of {project.slug}{number}. What is not written here has its default.\n"

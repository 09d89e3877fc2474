"""The form of a play: what is played, into which project, and how fast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.models import Play, PlayStatus, Project, Session
from sessions_app.plays import MOST_ROWS
from sessions_app.sample_project import PLAYED_WINDOWS_TOKENS, SETTINGS, SLUG
from sessions_app.samples.catalogue import NAMES, story_named
from sessions_app.services.plays import PlaySource
from sessions_app.session_policy import model_of, overhead_of, window_of

MOST_SESSIONS: Final = 50
# Each running play keeps the worker busy for a moment every second or so.
MOST_RUNNING: Final = 5
SAMPLE_PREFIX: Final = "sample:"
# A window that makes the passes of a short sample visible.
USUAL_WINDOW_TOKENS: Final = 60_000
RATES: Final = (
    ("1", gettext_lazy("as recorded, pauses of at most 30 s")),
    ("5", gettext_lazy("5 times faster, pauses of at most 6 s")),
    ("20", gettext_lazy("20 times faster, pauses of at most 1.5 s")),
    ("100", gettext_lazy("100 times faster, hardly any pauses")),
)
USUAL_RATE: Final = "20"
Choice = tuple[str, str]


class PlayForm(forms.Form):
    """A play. Only what the reader may read can be played, and only into what they may write."""

    source = forms.ChoiceField(
        label=gettext_lazy("Play"),
        error_messages={
            "required": gettext_lazy("Choose what to play."),
            "invalid_choice": gettext_lazy("This can't be played: it is gone, or not yours to read."),
        },
    )
    project = forms.ModelChoiceField(
        label=gettext_lazy("Into project"),
        queryset=Project.objects.none(),
        to_field_name="slug",
        empty_label=None,
        error_messages={"invalid_choice": gettext_lazy("You can't add sessions to this project.")},
    )
    rate = forms.ChoiceField(label=gettext_lazy("Speed"), choices=RATES, initial=USUAL_RATE)

    def __init__(
        self, data: Any, *, sessions: QuerySet[Session], projects: QuerySet[Project], asked: str = "", into: str = ""
    ) -> None:
        super().__init__(data, initial={"source": asked, "project": into})
        self._sessions = sessions
        self.samples = tuple((f"{SAMPLE_PREFIX}{name}", story_named(name).title) for name in NAMES)
        self.recorded = tuple(session_choices(sessions, asked))
        self.fields["source"].choices = [*self.samples, *self.recorded]  # type: ignore[attr-defined]
        self.fields["project"].queryset = projects.order_by("name")  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Refuse what would be too much at once."""
        given = super().clean() or {}
        project = given.get("project")
        if project is not None and running_plays(project) >= MOST_RUNNING:
            message = _("%(most)d plays run in this project already: pause or stop one first.")
            self.add_error(None, message % {"most": MOST_RUNNING})
        return given

    def play_source(self) -> PlaySource:
        """What a valid form asks for."""
        chosen: str = self.cleaned_data["source"]
        if chosen.startswith(SAMPLE_PREFIX):
            return sample_source(chosen.removeprefix(SAMPLE_PREFIX))
        session = self._sessions.select_related("project").get(public_id=chosen)
        return PlaySource(
            title=session.title or session.public_id,
            recorded=session,
            model=model_of(session),
            window_tokens=window_of(session).context_tokens,
            fixed_overhead_tokens=overhead_of(session),
        )

    def rate_chosen(self) -> float:
        """How many times faster than recorded."""
        return float(self.cleaned_data["rate"])


def session_choices(sessions: QuerySet[Session], asked: str) -> Iterable[Choice]:
    """The newest sessions that can be played, and the one that was asked for."""
    playable = sessions.filter(turns_total__gte=1, next_position__lte=MOST_ROWS).only("public_id", "title")
    newest = list(playable.exclude(project__slug=SLUG, play__isnull=True).order_by("-listed_at", "-id")[:MOST_SESSIONS])
    if asked and all(one.public_id != asked for one in newest):
        newest[:0] = playable.filter(public_id=asked)
    return ((one.public_id, one.title or one.public_id) for one in newest)


def running_plays(project: Project) -> int:
    """How many plays go on in a project."""
    return Play.objects.filter(session__project_id=project.pk, status=PlayStatus.RUNNING).count()


def sample_source(name: str) -> PlaySource:
    """A sample with its model and a window in which something happens."""
    story = story_named(name)
    window = PLAYED_WINDOWS_TOKENS.get(name, USUAL_WINDOW_TOKENS)
    return PlaySource(title=story.title, sample=name, model=story.model, window_tokens=window)


def original_of_sample(name: str) -> Session:
    """The sample as it is loaded, for its figures; not to be saved."""
    project = Project(policy_settings=SETTINGS)
    return Session(project=project, model=story_named(name).model, window_tokens=PLAYED_WINDOWS_TOKENS.get(name))

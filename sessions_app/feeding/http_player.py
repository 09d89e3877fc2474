"""Playing recordings over the API, many at once: the agent's side of a session.

A play that was broken off, by whatever means, goes on when the same feed is started again: the session is found by its
id, rows that the site has change nothing, and only the newest turn can still be finished. How far a play has come is
kept by the site alone.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

from sessions_app.feeding.bodies import as_json, portions, session_json
from sessions_app.feeding.figures import Figures
from sessions_app.feeding.http_client import FeedClient, FeedFailed, FeedStopped, Target
from sessions_app.feeding.pace import Pace
from sessions_app.feeding.recording import Recording
from sessions_app.feeding.steps import AppendRows, FinishTurn, Step, steps_of
from sessions_app.services import NewMessage

LONGEST_ID: Final = 200


@dataclass(frozen=True, slots=True)
class FeedPlan:
    """What is fed. sessions: how many; recordings are played again in turn when they are fewer. at_once: how many of
    them run at a time. run: tells plays of the same recording apart; with the same one a play goes on."""

    recordings: tuple[Recording, ...]
    sessions: int = 1
    at_once: int = 20
    pace: Pace = Pace()
    run: str = ""


@dataclass(frozen=True, slots=True)
class Play:
    """One session to be played."""

    recording: Recording
    client_id: str
    title: str


async def feed(plan: FeedPlan, target: Target, figures: Figures, stop: asyncio.Event) -> None:
    """Play everything. What fails ends its own session and is noted in `figures`; `stop` ends all, at a step's edge."""
    plays = plays_of(plan)
    figures.sessions = len(plays)
    client = FeedClient(target, figures, stop, plan.at_once)
    places = asyncio.Semaphore(plan.at_once)
    try:
        project = (await client.get("/projects")).value["projects"][0]["slug"]
        player = Player(client, project, figures, plan.pace)
        async with asyncio.TaskGroup() as group:
            for play in plays:
                group.create_task(in_turn(player, play, places))
    except FeedFailed as error:
        figures.failed.append(str(error))
    except FeedStopped:
        figures.was_stopped = True
    finally:
        await client.close()


async def in_turn(player: Player, play: Play, places: asyncio.Semaphore) -> None:
    """Play one session when there is a place for it."""
    async with places:
        try:
            await player.play(play)
        except FeedStopped:
            player.figures.was_stopped = True
        except FeedFailed as error:
            player.figures.failed.append(f"{play.title}: {error}")
        else:
            player.figures.sessions_done += 1


class Player:
    """Plays sessions into one project."""

    def __init__(self, client: FeedClient, project: str, figures: Figures, pace: Pace) -> None:
        self.figures = figures
        self._client = client
        self._project = project
        self._pace = pace

    async def play(self, play: Play) -> None:
        """Play one session from where it stands to its end. Raises FeedFailed, FeedStopped."""
        body = session_json(play.recording, play.title, play.client_id)
        made = (await self._client.post(f"/projects/{self._project}/sessions", body)).value
        path, turns_there = f"/sessions/{made['id']}", int(made["turns"])
        steps = tuple(steps_of(play.recording))
        await self._append(path, rows_of(step for step in steps if step.turn < turns_there))
        for step in steps:
            if step.turn >= turns_there:
                await self._take(path, step)

    async def _take(self, path: str, step: Step) -> None:
        if isinstance(step, AppendRows):
            await self._client.pause(self._pace.wait_seconds(step.pause_seconds))
            await self._append(path, step.rows)
        else:
            await self._finish(path, step)

    async def _append(self, path: str, rows: Iterable[NewMessage]) -> None:
        for body in portions(rows):
            answered = await self._client.post(f"{path}/rows", body)
            self.figures.appended(answered.value["added"], answered.value["already_present"], answered.seconds)

    async def _finish(self, path: str, step: FinishTurn) -> None:
        answered = await self._client.post(f"{path}/turns/finish", as_json({"interrupted": step.interrupted}))
        self.figures.turns += answered.value["turn"] is not None


def rows_of(steps: Iterable[Step]) -> Iterator[NewMessage]:
    """All rows of the steps."""
    for step in steps:
        if isinstance(step, AppendRows):
            yield from step.rows


def plays_of(plan: FeedPlan) -> Sequence[Play]:
    """The sessions that a plan asks for, with ids that are the same whenever it is carried out."""
    return [
        Play(recording, client_id_of(plan.run, number, recording.key), title_of(recording, number, plan.sessions))
        for number, recording in enumerate(islice(cycle(plan.recordings), plan.sessions), 1)
    ]


def client_id_of(run: str, number: int, key: str) -> str:
    """The id of one session of a feed; a long one is cut in a way that keeps it one of a kind."""
    told = f"feed/{run}/{number}/{key}"
    digest = hashlib.sha256(told.encode()).hexdigest()[:32]
    return told if len(told) <= LONGEST_ID else f"{told[: LONGEST_ID - len(digest) - 1]}/{digest}"


def title_of(recording: Recording, number: int, sessions: int) -> str:
    title = recording.title or "Played session"
    return title if sessions == 1 else f"{title} ({number})"

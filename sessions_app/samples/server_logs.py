"""Made-up logs of a running site: web, worker, database, compaction telemetry. Lines only, endless, in order of time.

Each generator takes a scene and the words of its story line; the first word is the time of day to begin at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Final

from sessions_app.samples.scene import Scene, pick_weighted

PAGES: Final = (
    (9, "GET /s/{session}/ 200 {ms}ms rows=120"),
    (14, "GET /s/{session}/events?after={seq} 200 {quick}ms"),
    (6, "GET /s/{session}/rows?before={seq}&limit=60 200 {ms}ms"),
    (3, "GET /s/{session}/summary/ 200 {ms}ms"),
    (3, "GET /s/{session}/passes/?outcome=summarize_failed 200 {ms}ms"),
    (2, "GET /s/{session}/replay/{small}/3 200 {ms}ms"),
    (4, "GET / 200 {ms}ms sessions=50"),
    (2, "GET /?q=retry&project=desk 200 {ms}ms hits={small}"),
    (5, "POST /api/sessions/{session}/rows 201 {quick}ms appended={few}"),
    (3, "POST /api/sessions/{session}/turns/finish 202 {quick}ms"),
    (1, "POST /import/ 200 {slow}ms files=1 rows={seq}"),
    (2, "GET /static/css/site.css 304 {quick}ms"),
    (1, "GET /s/{session}/occupancy.csv 200 {ms}ms"),
    (1, "GET /favicon.ico 404 {quick}ms"),
    (1, "GET /p/desk/settings/ 200 {ms}ms"),
)
SOCKETS: Final = (
    (4, "live: session {session} subscriber joined, {few} in the group"),
    (3, "live: session {session} subscriber left after {seq} s"),
    (1, "live: heartbeat newest_seq={seq} groups={small}"),
    (1, "live: LISTEN connection idle {small} s, ping answered in {quick} ms"),
)
STATEMENTS: Final = (
    (
        6,
        "SELECT id, position, kind, role, tokens FROM message_row WHERE session_id = $1 AND died_seq IS NULL "
        "ORDER BY position DESC, id DESC LIMIT 120",
    ),
    (4, "UPDATE session SET next_seq = next_seq + $1 WHERE id = $2 RETURNING next_seq"),
    (3, "INSERT INTO session_event (session_id, seq, kind, payload) VALUES ($1, $2, $3, $4)"),
    (2, "SELECT count(*) FROM message_row WHERE session_id = $1 AND born_seq <= $2"),
    (2, "COPY message_row (session_id, position, born_seq, kind, role, content, tokens) FROM STDIN (FORMAT BINARY)"),
)


def fill(random: Random, template: str) -> str:
    """The template with figures in the places that ask for one."""
    return template.format(
        session=random.choice((12, 31, 31, 31, 44, 58, 58, 73)),
        seq=random.randrange(180, 2_400),
        ms=random.randrange(9, 95),
        quick=random.randrange(1, 8),
        slow=random.randrange(600, 5_200),
        small=random.randrange(4, 40),
        few=random.randrange(1, 6),
    )


def moments(scene: Scene, words: str, mean_seconds: float) -> Iterator[str]:
    """Times of day from the one in `words` on, in log form, `mean_seconds` apart on average."""
    hours, minutes = (int(part) for part in (words.split() or ["09:00"])[0].split(":"))
    at = hours * 3_600 + minutes * 60 + scene.random.random() * 8
    while True:
        at += scene.random.expovariate(1 / mean_seconds)
        clock = f"{int(at // 3_600) % 24:02}:{int(at // 60) % 60:02}:{int(at) % 60:02},{int(at * 1_000) % 1_000:03}"
        yield f"{scene.day} {clock}"


def web_lines(scene: Scene, words: str) -> Iterator[str]:
    """The web process: requests, and now and then a websocket."""
    for moment in moments(scene, words, 1.4):
        if scene.random.random() < 0.15:
            yield f"{moment} INFO sessions_app.live {fill(scene.random, pick_weighted(scene.random, SOCKETS))}"
        else:
            yield f"{moment} INFO sessions_app.requests {fill(scene.random, pick_weighted(scene.random, PAGES))}"


def worker_lines(scene: Scene, words: str) -> Iterator[str]:
    """The worker: a job starts, says something, ends."""
    job = scene.random.randrange(4_000, 9_000)
    times = moments(scene, words, 2.2)
    while True:
        job += 1
        session = fill(scene.random, "{session}")
        call = f"finalize_turn[{job}](session={session})"
        yield f"{next(times)} INFO procrastinate.worker Starting job {call}"
        yield f"{next(times)} INFO sessions_app.jobs session {session}: {worker_outcome(scene.random)}"
        lasted = scene.random.uniform(0.4, 3.8)
        yield f"{next(times)} INFO procrastinate.worker Job {call} ended with status: Success, lasted {lasted:.3f} s"


def worker_outcome(random: Random) -> str:
    exchange = random.randrange(300, 2_900)
    before = random.randrange(58_000, 71_000)
    return pick_weighted(
        random,
        (
            (6, f"micro pass absorbed {exchange} tokens, {before} -> {before - exchange + random.randrange(90)}"),
            (2, "nothing to absorb: the middle is empty"),
            (1, f"defrag: rolling summary {random.randrange(2_000, 2_300)} -> {random.randrange(900, 1_400)} tokens"),
            (1, "cadence: next pass after 2 more turns"),
        ),
    )


def postgres_lines(scene: Scene, words: str) -> Iterator[str]:
    """The database: statements slower than the limit, and a checkpoint now and then."""
    for moment in moments(scene, words, 5.0):
        stamp = f"{moment.replace(',', '.')} UTC [{scene.random.randrange(2_100, 2_140)}] LOG: "
        if scene.random.random() < 0.12:
            buffers = scene.random.randrange(40, 900)
            yield f"{stamp} checkpoint complete: wrote {buffers} buffers ({buffers / 163.84:.1f}%); 0 WAL file(s) added"
        else:
            statement = pick_weighted(scene.random, STATEMENTS)
            yield f"{stamp} duration: {scene.random.uniform(52, 420):.3f} ms  execute <unnamed>: {statement}"


def telemetry_lines(scene: Scene, words: str) -> Iterator[str]:
    """Lines as the engine's logger writes them for micro passes of one session."""
    live_tokens, rows, cursor, saved = 66_200, 212, 14, 0
    for passes, moment in enumerate(moments(scene, words, 190.0), 1):
        exchange = scene.random.randrange(420, 2_600)
        delta = scene.random.randrange(30, 120) - exchange
        saved -= delta
        cursor += scene.random.randrange(1, 3)
        facts = {
            "event": "micro_compaction", "session_id": "31", "outcome": "absorbed", "tokens_before": live_tokens,
            "tokens_after": live_tokens + delta, "tokens_delta": delta, "exchange_tokens": exchange,
            "occupancy_pct": round((live_tokens + delta) / 3_200, 1), "cursor": cursor, "messages_before": rows,
            "messages_after": rows - 3, "passes_total": passes, "tokens_saved_total": saved,
            "duration_ms": scene.random.randrange(1_400, 4_900),
        }  # fmt: skip
        yield f"{moment} INFO hermes.compaction micro compaction telemetry: {json.dumps(facts, separators=(',', ':'))}"
        live_tokens += delta + exchange + scene.random.randrange(-200, 260)
        rows += scene.random.randrange(-2, 4)

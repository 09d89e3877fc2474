id: 5d0c7f1e-93a4-4b6e-8a57-2f6d1b0c9e34
title: Embedded database refuses to start after kill -9
model: claude-sonnet-4-5
start: 2026-11-20T12:40:05Z
cwd: /home/teo/hermes-sessions
system:
| You are Claude Code, working in the user's terminal.
== before tokens=38000 hours=2.4
>> 1
After a kill -9 of the whole process group the site sometimes doesn't come up again: "the database server did not answer within 10 s". A second start then works. Find out why.

Please don't delete var/ to get around it, that folder is the evidence. And never `pkill postgres` on this machine, there are other servers running on it that aren't ours.
--
? I need the launcher code, the log of the server and the state of the data folder. Don't kill anything.
I'll look at the launcher and at what the failed start left behind, without touching anything.
! grep in=hermes_site postmaster|pg_ctl|initdb
! sh ls -la var/ && tail -n 20 var/database/server.log
| drwx------ 19 teo teo 4096 Nov 20 12:31 database
| -rw------- 1 teo teo   50 Nov 18 09:02 secret_key
| 2026-11-20 12:31:44.120 UTC [40122] LOG:  starting PostgreSQL 17.6 on x86_64-pc-linux-gnu
| 2026-11-20 12:31:44.124 UTC [40122] FATAL:  lock file "postmaster.pid" already exists
| 2026-11-20 12:31:44.124 UTC [40122] HINT:  Is another postmaster (PID 39877) running in data directory?
! sh cat var/database/postmaster.pid; ps -o pid,ppid,stat,etime,cmd -p 39877
| 39877
| /home/teo/hermes-sessions/var/database
| 1763641811
|     PID    PPID STAT     ELAPSED CMD
|   39877   39871 Z          01:12 [postgres] <defunct>
--
The lock file names process 39877, and that process exists, but only as a zombie: state `Z`, its parent 39871 hasn't collected it. PostgreSQL's own check for a stale lock asks whether a process with that number exists. A zombie does, so the new server believes the old one is still running and refuses.

On the second start the zombie is gone, because its parent has died meanwhile. That's why it works then.
>> 1
Who is 39871 and why doesn't it reap?
--
! sh ps -o pid,ppid,stat,etime,cmd -p 39871; cat /proc/39871/status | grep -E 'State|PPid|SigCgt'
|     PID    PPID STAT     ELAPSED CMD
|   39871       1 S          01:14 sh -c make run
| State:  S (sleeping)
| PPid:   1
| SigCgt: 0000000000010002
! grep in=. Popen|subprocess|os\.fork|setsid
! read hermes_site/postgres/server.py
--
39871 is the shell that `make run` started. It became the zombie's parent because the process between them, our site, was killed. A shell reaps children it knows about; this one was adopted as a result of how the session was set up and isn't waiting for it. It will only go away when the terminal closes.

So we can't rely on anybody reaping. The launcher has to recognise a dead postmaster itself.
>> 0.9
How does it decide today whether a server is running?
--
! read hermes_site/postgres/server.py
! grep in=hermes_site postmaster\.pid|os\.kill|psutil
--
It reads the number out of `postmaster.pid` and checks that such a process exists. A zombie passes that check. So do two other cases that I'd like to rule out at the same time: a number that was reused by a completely different program after a reboot, and a postmaster of *another* data folder.

`psutil` is a dependency already and knows the status, the name, and the working directory of a process; a postmaster's working directory is its data folder.
>> 1.1
Then write down, as a table, all the states postmaster.pid can be in and what we should do in each. Before code.
--
Checking the format of the file first, so that the table covers damaged ones too.
! read hermes_site/postgres/postmaster.py
! sh od -c var/database/postmaster.pid | head
| 0000000   3   9   8   7   7  \n   /   h   o   m   e   /   t   e   o   /
| 0000020   h   e   r   m   e   s   -   s   e   s   s   i   o   n   s   /
! grep in=tests postmaster
--
| postmaster.pid | process | meaning | what we do |
|---|---|---|---|
| absent | - | not running | start |
| empty or not a number | - | torn write | remove the file, start |
| number | none | crashed | start (PostgreSQL removes the file itself) |
| number | zombie | crashed, not reaped | remove the file, start |
| number | other program | number reused | remove the file, start |
| number | postmaster of this folder | running | use it |
| number | postmaster of another folder | number reused | remove the file, start |
| number | postmaster, may not look | someone else's | refuse, with a clear sentence |

Removing the file is only safe where we're sure; the last line is the case where we aren't.
>> 0.8
Good table. Last line: what would the sentence be?
--
! grep in=hermes_site ImproperlyConfigured\(|raise
! read hermes_site/postgres/errors.py
! read hermes_site/env.py
--
> The data folder /home/teo/hermes-sessions/var/database is in use by process 39877, which belongs to another user. Stop it, or give this checkout another folder with HERMES_SITE_VAR_DIR.

It says what is wrong, whose process it is, and two ways out, in the style of the other start-up errors.
>> 1
Write it. A small pure function that takes facts and returns a verdict, so that the table is testable without processes.
--
! write hermes_site/postgres/lock_file.py
| """What the lock file of a data folder means. Facts in, verdict out: nothing here looks at processes."""
|
| from dataclasses import dataclass
| from enum import StrEnum
|
|
| class Verdict(StrEnum):
|     START = "start"
|     REMOVE_AND_START = "remove_and_start"
|     USE = "use"
|     REFUSE = "refuse"
|
|
| @dataclass(frozen=True, slots=True)
| class Holder:
|     """The process a lock file names. folder: its working directory, None when we may not look."""
|
|     is_zombie: bool
|     is_postgres: bool
|     folder: str | None
|
|
| def judge(pid_text: str | None, holder: Holder | None, folder: str) -> Verdict:
|     """What to do about a lock file with `pid_text` in its first line (None: no file) in the data folder `folder`."""
|     if pid_text is None:
|         return Verdict.START
|     if not pid_text.strip().isdigit():
|         return Verdict.REMOVE_AND_START
|     if holder is None:
|         return Verdict.START
|     if holder.is_zombie or not holder.is_postgres:
|         return Verdict.REMOVE_AND_START
|     if holder.folder is None:
|         return Verdict.REFUSE
|     return Verdict.USE if holder.folder == folder else Verdict.REMOVE_AND_START
! write tests/site/test_lock_file.py
| """The table of what a lock file means, line by line."""
|
| import pytest
|
| from hermes_site.postgres.lock_file import Holder, Verdict, judge
|
| HERE = "/srv/site/var/database"
| OURS, OTHER = Holder(False, True, HERE), Holder(False, True, "/srv/other")
| ZOMBIE, EDITOR, HIDDEN = Holder(True, True, None), Holder(False, False, "/home"), Holder(False, True, None)
|
|
| @pytest.mark.parametrize(
|     ("pid_text", "holder", "verdict"),
|     [
|         (None, None, Verdict.START),
|         ("", None, Verdict.REMOVE_AND_START),
|         ("12\x00", None, Verdict.REMOVE_AND_START),
|         ("39877", None, Verdict.START),
|         ("39877", ZOMBIE, Verdict.REMOVE_AND_START),
|         ("39877", EDITOR, Verdict.REMOVE_AND_START),
|         ("39877", OURS, Verdict.USE),
|         ("39877", OTHER, Verdict.REMOVE_AND_START),
|         ("39877", HIDDEN, Verdict.REFUSE),
|     ],
| )
| def test_a_lock_file_means_what_the_table_says(pid_text, holder, verdict):
|     assert judge(pid_text, holder, HERE) is verdict
! test tests/site/test_lock_file.py
! sh ls tests/site && wc -l hermes_site/postgres/*.py
~ count hermes_site
--
The table is code now, and every line of it is a case in one test. Next is the part that looks at real processes.
>> 1
Do that part with psutil. Mind containers: psutil may raise AccessDenied for cwd.
--
! grep in=. import psutil|psutil\.
! read hermes_site/postgres/embedded.py
! patch hermes_site/postgres/lock_file.py
+
+
+ def holder_of(pid: int) -> Holder | None:
+     """The process with that number, as far as we may look at it."""
+     try:
+         process = psutil.Process(pid)
+         is_zombie = process.status() == psutil.STATUS_ZOMBIE
+         return Holder(is_zombie, process.name().startswith("postgres"), folder_of(process))
+     except psutil.NoSuchProcess:
+         return None
+
+
+ def folder_of(process: psutil.Process) -> str | None:
+     try:
+         return process.cwd()
+     except (psutil.AccessDenied, psutil.ZombieProcess):
+         return None
! test tests/site/test_lock_file.py
--
`AccessDenied` for the folder leads to "may not look", which the table refuses, unless it isn't a postgres at all or a zombie. The name stays readable in containers, so the common cases don't depend on the folder.
>> 1.2
Now reproduce the original failure with real processes. Kill, leave a zombie, start again. Only processes the test started itself.
--
The test needs a parent that doesn't reap: a small Python process that starts the server and then just sleeps.
! write tests/site/test_start_after_kill.py
| """The site comes up although the last server is dead and nobody has collected it."""
|
| import os
| import signal
|
| from tests.site.servers import fresh_folder, start_server, unreaping_parent
|
|
| def test_a_dead_server_that_nobody_collected_does_not_block_the_next_start(tmp_path):
|     folder = fresh_folder(tmp_path)
|     with unreaping_parent(folder) as postmaster:
|         os.kill(postmaster.pid, signal.SIGKILL)
|         postmaster.wait_until_zombie()
|         with start_server(folder) as server:
|             assert server.answers("select 1")
! test exit=1 tests/site/test_start_after_kill.py
| E       hermes_site.postgres.errors.DatabaseDidNotStart: the database server did not answer within 10 s; its log ends with:
| E         FATAL:  lock file "postmaster.pid" already exists
| FAILED tests/site/test_start_after_kill.py::test_a_dead_server_that_nobody_collected_does_not_block_the_next_start
--
That's the failure from this morning, reproduced with processes of the test's own. The launcher doesn't ask the new function yet.
! grep in=hermes_site def start|is_running
! sh tail -n 60 var/test/server.log
~ postgres 13:31
! patch hermes_site/postgres/server.py
+     verdict = judge(first_line(lock), holder_of_lock(lock), str(folder))
+     if verdict is Verdict.REMOVE_AND_START:
+         lock.unlink(missing_ok=True)
! test tests/site/test_start_after_kill.py
--
It passes: the zombie is recognised, its lock file removed, the new server answers.
>> 0.9
Is there shared memory left over from the killed one? I remember "pre-existing shared memory block is still in use".
--
! sh ipcs -m | head; grep -n 'shared memory' var/database/server.log | tail -n 5
| ------ Shared Memory Segments --------
| key        shmid      owner      perms      bytes      nattch     status
| 0x0052e2c1 163842     teo        600        56         0
| 0x0052e2d7 163845     teo        600        56         6
! read hermes_site/postgres/server.py
! sh tail -n 80 var/logs/postgres.log
~ postgres 13:50
--
There is a small segment of 56 bytes per server; its `nattch` tells how many processes are attached. 163842 belongs to the killed one, with nothing attached, so PostgreSQL reuses it silently. "Still in use" comes up when *backends* of the killed server survive it for a moment: they notice the death of the postmaster within about a second and exit.

So a start that comes within that second can still fail. That's a second, rarer cause of the same symptom.
>> 1
Then handle it: wait for them, bounded. No blind sleep.
--
! grep in=hermes_site wait|poll|monotonic
! sh tail -n 80 var/database/server.log
~ postgres 13:55
! patch hermes_site/postgres/server.py
+ def wait_for_orphans(folder: str, until: float) -> None:
+     """Backends outlive a killed postmaster by about a second; a start before that fails on their shared memory."""
+     orphans = [process for process in psutil.process_iter(["name"]) if is_backend_of(process, folder)]
+     psutil.wait_procs(orphans, timeout=max(0.0, until - monotonic()))
+
+
! test tests/site/test_start_after_kill.py
--
`wait_procs` returns as soon as the last orphan is gone, so there is no sleep in it, and it's bounded by the start's own deadline. Only processes that work in *this* data folder count; the other servers on this machine aren't looked at beyond their name and folder, and nothing is ever signalled.
>> 0.8
Loop it fifty times on this machine. I want to see zero failures, with the times.
--
! sh took=31.8 python scripts/kill_and_start.py --rounds 50
| 50 rounds: 50 started, 0 failed
| start after kill: median 0.21 s  p95 1.18 s  max 1.24 s
| with surviving backends: 9 of 50, waited 0.93 s on average
! sh tail -n 80 var/logs/postgres.log
~ postgres 14:02
! sh ps -eo pid,ppid,stat,cmd | grep '[p]ostgres -D' | wc -l
| 3
--
Fifty starts, no failure. In nine rounds backends had survived and the launcher waited about a second for them. The three other servers on this machine are still running, untouched.
>> 1
How does it look as root, where the server runs as another user?
--
! read hermes_site/postgres/account.py
! read hermes_site/postgres/place.py
! grep in=hermes_site setuid|setgid|getpwnam|geteuid
! sh sudo -n true && sudo make test-root ONLY=lock_file
| tests/site/test_lock_file.py .........    [100%]
| tests/site/test_start_after_kill.py .     [100%]
| 10 passed in 4.91s
--
As root the site may look at everything, so the "may not look" case can't come up, and the lock file belongs to the unprivileged user; root may remove it. Both test files pass as root as well.
>> 0.7
And the other way round: started once as root, then as me?
--
! sh ls -ld var/database; id -un; python manage.py serve --check
| drwx------ 19 nobody nogroup 4096 Nov 20 14:20 var/database
| teo
| The data folder /home/teo/hermes-sessions/var/database belongs to nobody. Start as root again, or give this checkout another folder with HERMES_SITE_VAR_DIR.
! grep in=. belongs to
! read hermes_site/postgres/place.py
--
That gives a clear sentence and stops, which is all it can do: a normal user can't read that folder. I wouldn't try to repair ownership; it would need root and could take data away from a server that's running.
>> 0.9
Leave it like that. Changelog and a short note in docs/decisions on "why we remove a lock file ourselves", because someone will be frightened by it.
--
! read CHANGELOG.md
! write docs/decisions/lock-files-of-dead-servers.md
| # The lock file of a dead server is removed
|
| **Decided:** before a start the launcher judges `postmaster.pid`. Where the process it names is a zombie, another
| program, or the server of another folder, the file is removed. Where we may not look, the start is refused.
|
| **Why:** PostgreSQL only asks whether a process with that number exists. After kill -9 of the process group the
| server may stay a zombie for as long as an unrelated shell lives, and every start would fail until then.
|
| **What could go wrong:** removing the file of a server that runs. That needs a postmaster whose working directory
| is not its data folder, which PostgreSQL never does.
! sh git diff --stat
~ changes .
! test tests/site/test_lock_file.py tests/site/test_start_after_kill.py
! sh tail -n 60 var/test/server.log
~ postgres 14:45
--
Both written. The decision names the one case in which removing would be wrong, and why it can't occur.
== after tokens=10500 hours=1.3
>> 1
continue with Windows paths? no, forget that, we don't support it. Instead: port or socket taken. What happens if a socket file is left over?
--
! grep in=hermes_site socket|\.s\.PGSQL
! sh ls -la /tmp/hs-*/ 2>/dev/null
| srwx------ 1 teo teo  0 Nov 20 14:31 .s.PGSQL.5432
| -rw------- 1 teo teo 61 Nov 20 14:31 .s.PGSQL.5432.lock
! read hermes_site/postgres/server.py
--
A leftover socket has its own lock file beside it, with the same weakness: it names a process number. PostgreSQL removes both if the number doesn't exist; with a zombie it refuses with "lock file already exists" again, only for the socket this time. The same table applies, so the same function can judge it.
>> 0.9
Right, reuse it. Test with a zombie and the socket lock only.
--
! patch hermes_site/postgres/server.py
+     for lock in (folder / "postmaster.pid", socket_folder / ".s.PGSQL.5432.lock"):
+         if judge(first_line(lock), holder_of_lock(lock), str(folder)) is Verdict.REMOVE_AND_START:
+             lock.unlink(missing_ok=True)
! patch tests/site/test_start_after_kill.py
+
+
+ def test_a_socket_lock_of_a_dead_server_does_not_block_the_next_start(tmp_path):
+     folder = fresh_folder(tmp_path)
+     with unreaping_parent(folder) as postmaster:
+         os.kill(postmaster.pid, signal.SIGKILL)
+         postmaster.wait_until_zombie()
+         (folder / "postmaster.pid").unlink()
+         with start_server(folder) as server:
+             assert server.answers("select 1")
! test tests/site/test_start_after_kill.py
! sh tail -n 60 var/test/server.log
~ postgres 15:04
--
Both locks go through the same judgement. The new test removes the data folder's lock by hand so that only the socket's is left, and it passes.
>> 1
Two checkouts at once must still work, each with its own server. Prove it.
--
! sh python scripts/two_checkouts.py
| checkout A: /tmp/a/hermes-sessions  server 51210  socket /tmp/hs-4f1c09
| checkout B: /tmp/b b/hermes-sessions  server 51233  socket /tmp/hs-9be2d7
| A killed with -9, B answers: yes
| A started again in 0.24 s, B answers: yes
! sh tail -n 80 var/logs/postgres.log
~ postgres 15:10
! grep in=hermes_site sha256|blake2|socket_folder
--
Two checkouts, one of them in a path with a space: each has its own server and its own socket folder, whose name comes from a hash of the data folder's path. Killing and restarting A never touched B.
>> 0.8
Any chance that two starts of the *same* checkout race each other into removing each other's lock?
--
? Start 1: judge -> remove stale; start postgres (writes pid). Start 2: read stale text earlier, then unlinks the new one. A race! Need flock.
! grep in=hermes_site flock|fcntl|lockf
! read hermes_site/postgres/server.py
--
Yes, there is. Start 2 reads the stale file, start 1 removes it and launches a server that writes a new one, then start 2 removes *that*. The window is small, but a supervisor that restarts twice can hit it.

Remedy: hold an exclusive `flock` on a file of ours beside the data folder from before the judgement until the server answers. The second start waits for it, then finds a running server and uses it.
>> 1
Do it, and test with two processes that start at the same moment, twenty rounds.
--
! patch hermes_site/postgres/server.py
+ @contextmanager
+ def one_start_at_a_time(folder: Path) -> Iterator[None]:
+     """Two starts of one checkout would judge, and remove, each other's lock files."""
+     with open(folder.with_name(f"{folder.name}.starting"), "w") as file:
+         fcntl.flock(file, fcntl.LOCK_EX)
+         yield
+
+
! test tests/site/test_start_after_kill.py
! sh took=9.4 python scripts/start_twice.py --rounds 20
| 20 rounds: 20 times one server and two users of it, 0 failures
! sh tail -n 80 var/logs/web.log
~ web 15:31
--
Twenty rounds of two simultaneous starts: each time one of them started the server and the other one used it.
>> 0.8
flock on NFS? Some people have their home there.
--
! sh stat -f -c '%T' ~ /tmp
| ext2/ext3
| tmpfs
! grep in=. NFS|network
! read README.md
! sh sed -n '1,60p' var/database/server.log
~ postgres 15:36
--
Linux has emulated `flock` on NFS by byte-range locks since 2.6.12, so it works between processes of one machine and, with a lock daemon, between machines. Where the daemon is missing the call fails with ENOLCK; then the start should go on without the lock and say so, rather than refuse. A data folder on NFS is a bad idea for other reasons, and the README could say that in half a sentence.
>> 0.7
Half a sentence it is. Then commit, three commits: judgement, waiting, one start at a time.
--
! patch README.md
+ Keep `var/` on a local disk: a database on a network file system is slow and may lose its locks.
! sh git log --oneline -3
| 8a4f6c0 Let one start of a checkout judge the lock files at a time
| 3d17b95 Wait for the backends of a killed server before the next start
| f60e2a1 Recognise a dead server that nobody has collected
! sh git diff --stat HEAD~3
~ changes .
! test tests/site/test_lock_file.py tests/site/test_start_after_kill.py
! sh tail -n 40 var/logs/web.log
~ web 15:52
--
Three commits, each with its test. `var/` was never deleted, nothing was killed that the tests hadn't started, and the three other servers on this machine are still running.

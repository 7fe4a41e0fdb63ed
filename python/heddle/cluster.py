# SPDX-License-Identifier: Apache-2.0
"""The points of a sweep as tasks of Dask. A task runs `heddle sweep --only` on its worker; the folder of the
sweep, which client and workers share, is the only state, as on any cluster (docs/clusters.md)."""

import contextlib
import os
import socket
import tempfile
import time
import uuid
from pathlib import Path

from . import program, results, running
from .errors import Failed, Stopped

_MOST_TASKS = 2000  # A scheduler handles some hundred tasks a second; more points share a task.


def sweep(client, path, words, out, flags, document, shown):
    """Runs the points that have no results; returns the messages of the program on all workers."""
    from distributed import Event, as_completed

    _plan(path, words, out, document)
    # The document with all changes, as text: it may change in the folder while tasks wait.
    text = (out / "sweep.yaml").read_text(encoding="utf-8")
    plugins = [word for flag, value in zip(words, words[1:]) if flag == "--plugin" for word in (flag, value)]
    to_do = _to_do(out, "--force" in flags)
    size = -(-len(to_do) // _MOST_TASKS) or 1
    parts = [to_do[i:i + size] for i in range(0, len(to_do), size)]
    stop = f"heddle-stop-{uuid.uuid4().hex}"
    futures = [client.submit(run_points, text, part, str(out.resolve()), [*plugins, *flags], program.version(), stop,
                             pure=False, key=f"heddle-{part[0]}-{uuid.uuid4().hex}") for part in parts]
    said = []
    try:
        for done, future in enumerate(as_completed(futures), 1):
            said.append(future.result())
            if shown is not None:
                shown(f"{done} of {len(futures)} tasks done, {100 * done // len(futures)} % of the work")
    except BaseException:
        with contextlib.suppress(Exception):  # The scheduler may be what has failed.
            Event(stop, client=client).set()
            _wait_for_end(futures)
            client.cancel(futures)
        raise
    return "\n".join(said)


def _plan(path, words, out, document):
    """Writes plan.csv and sweep.yaml, and runs nothing: as when tasks of Slurm are prepared, for which
    the program also writes a copy of the sweep."""
    before = set(out.glob("slurm/*"))
    running.raise_for(program.call(["sweep", path, *words, "--slurm"]), document)
    for copy in set(out.glob("slurm/*")) - before:
        copy.unlink()
    with contextlib.suppress(OSError):  # It is not there, or has copies for tasks of Slurm.
        (out / "slurm").rmdir()


def _to_do(out, all_of_them):
    return [point.number for point in results.Sweep(out).planned()
            if all_of_them or point.state not in ("done", "incomplete")]


def _wait_for_end(futures):
    """Until tasks under way have stopped their programs, and others have seen that they must not begin."""
    until = time.monotonic() + program.SECONDS_TO_STOP
    while any(future.status == "pending" for future in futures) and time.monotonic() < until:
        time.sleep(0.1)


def run_points(text, numbers, out, flags, version, stop):
    """The task: runs the points with these numbers; returns the messages of the program."""
    _refuse_other_worker(out, version)
    asked = _asks(stop)
    if asked():
        return ""
    with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
        path = Path(folder) / "sweep.yaml"
        path.write_text(text, encoding="utf-8")
        only = ",".join(map(str, numbers))
        ended = program.call(["sweep", path, "--out", out, "--jobs", "1", "--only", only, *flags], stop=asked)
    if ended.code == program.FAILED:
        return ended.err  # The folder says which points have failed, or are missing.
    if asked():
        return ""
    try:
        running.raise_for(ended)
    except Stopped as error:
        raise Stopped(f"{socket.gethostname()}: {error}") from error
    return ended.err


def _refuse_other_worker(out, version):
    here = socket.gethostname()
    if program.version() != version:
        raise Failed(f"the worker on {here} has {program.version()}; the client has {version}")
    if not os.path.exists(os.path.join(out, "plan.csv")):
        raise Failed(f"the worker on {here} does not see the client's folder {out}; name one in `out` that all share")


def _asks(stop):
    """A function that says whether the task is to stop: because the client asks for it, or because the
    scheduler does not answer."""
    from distributed import Event, get_client

    event = Event(stop, client=get_client())
    last, answer = -1.0, False

    def asked():
        nonlocal last, answer
        if not answer and time.monotonic() - last >= 1:
            last = time.monotonic()
            try:
                answer = event.is_set()
            except Exception:  # pylint: disable=broad-except
                answer = True
        return answer
    return asked

# SPDX-License-Identifier: Apache-2.0
"""Running experiments and sweeps. An experiment is a sweep of one point: its results have a folder
that is named by all that determines them, so nothing is run twice."""

import warnings
from pathlib import Path

from . import experiment as experiments
from . import program, progress
from .errors import BadInput, BrokenInvariant, Error, Failed, RunWarning, Stopped, bad_input
from .results import STATE, Sweep


def check(experiment, *, settings=None, seed=None, scale=None, plugins=()):
    """What `heddle check` says of an experiment; raises BadInput if it has mistakes."""
    words = experiments.options(settings, seed, scale, plugins)
    with experiments.as_file(experiment) as (path, is_made):
        ended = program.call(["check", path, *words])
        raise_for(ended, path if is_made else None)
    return ended.out


def run(experiment, out=None, *, settings=None, seed=None, scale=None, plugins=(), threads=None, force=False,
        check=True, progress=None):
    """Runs an experiment without a sweep; returns a Run. docs/python.md has the arguments."""
    common = experiments.options(settings, seed, scale, plugins)
    _refuse_sweep(experiment, common)
    # A run that failed, or is of another version, is simply run again.
    found = _sweep(experiment, out, common, settings, threads, None, ["--retry-failed", "--replace-stale"], force,
                   check, progress, None)
    runs = list(found)
    if not runs:
        raise Failed(f"{found.folder}: the run has no results: {found.problems()}")
    return runs[0]


def sweep(experiment, out=None, *, settings=None, seed=None, scale=None, plugins=(), threads=None, jobs=None,
          retry_failed=False, replace_stale=False, force=False, check=True, progress=None, client=None):
    """Runs all points of a sweep that have no results yet; returns a Sweep. docs/python.md has the
    arguments."""
    flags = ["--retry-failed"] * bool(retry_failed) + ["--replace-stale"] * bool(replace_stale)
    return _sweep(experiment, out, experiments.options(settings, seed, scale, plugins), settings, threads, jobs,
                  flags, force, check, progress, client)


def _refuse_sweep(experiment, options):
    with experiments.as_file(experiment) as (path, is_made):
        ended = program.call(["sweep", path, *options, "--dry-run"])
        raise_for(ended, path if is_made else None)
    points = len(STATE.findall(ended.out))
    if points > 1:
        raise BadInput(f"the experiment is a sweep of {points} points; heddle.sweep() runs it")


def _sweep(experiment, out, common, settings, threads, jobs, flags, force, check, wanted_progress, client):
    out = Path(out) if out is not None else Path("results") / experiments.name_of(experiment, settings)
    words = ["--out", str(out), *common]
    flags = [*flags, *["--force"] * bool(force)]
    for_each = ["--threads", str(threads)] if threads is not None else []
    with experiments.as_file(experiment) as (path, is_made), progress.listener(wanted_progress) as shown:
        document = path if is_made else None
        if client is not None:
            from . import cluster
            said = cluster.sweep(client, path, words, out, [*for_each, *flags], document, shown)
        else:
            many = ["--jobs", str(jobs)] if jobs is not None else []
            ended = program.call(["sweep", path, *words, *for_each, *many, *flags], shown)
            if ended.code != program.FAILED or not _is_planned(path, words, out):
                raise_for(ended, document)
            said = ended.err
    pass_on_warnings(said)
    found = Sweep(out)
    if client is None and ended.code == program.FAILED and not found.problems():
        raise Failed(said.removeprefix("heddle: "), found)
    if any(point.state == "missing" for point in found.planned()):  # Something stopped the sweep: a full disk.
        raise Failed(said.removeprefix("heddle: ") or found.problems(), found)
    if check and found.problems():
        raise Failed(found.problems(), found)
    return found


def _is_planned(path, words, out):
    """Whether the folder has the plan of this sweep. If not, the program failed before it ran any point."""
    if not (out / "plan.csv").exists():
        return False
    wanted = program.call(["sweep", path, *words, "--dry-run"])
    return {id for id, _ in STATE.findall(wanted.out)} == {point.id for point in Sweep(out).planned()}


def pass_on_warnings(text):
    for line in dict.fromkeys(text.splitlines()):
        label, found, warning = line.partition(": warning: ")
        if found:
            warnings.warn(f"{label}: {warning}", RunWarning, stacklevel=4)


def raise_for(ended, document=None):
    """Raises the exception for the program's exit code."""
    if ended.code == program.DONE:
        return
    if ended.code == program.BAD_INPUT:
        raise bad_input(ended.err, document)
    text = ended.err.removeprefix("heddle: ") or f"exit code {ended.code}, without a message"
    if ended.code == program.FAILED:
        raise Failed(text)
    if ended.code == program.BROKEN_INVARIANT:
        raise BrokenInvariant(text)
    if ended.code > 128:
        raise Stopped(text)
    raise Error(text)

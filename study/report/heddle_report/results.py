# SPDX-License-Identifier: Apache-2.0
"""Reads the folder of a sweep or of a run; docs/metrics.md describes the files.

Everything is read line by line. What is kept grows with the number of combinations of the sweep's
axes, never with that of flows, links or measurements over time.
"""

import csv
import hashlib
import io
import json
import math
import re
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from . import manifest

# Of a class of flow sizes; each has a 95 % interval in means.csv.
METRICS = (
    "n", "unfinished", "avg_fct_us", "p50_fct_us", "p99_fct_us", "avg_slowdown", "p50_slowdown",
    "p99_slowdown", "reordered_ratio", "late_p99_ns", "run_data_packets_sent",
    "run_retransmissions_spurious", "run_retransmissions_loss", "run_timeouts", "run_ecn_marked",
    "run_dropped", "run_pause_frames", "run_paused_ps", "run_carried_host")
# These metrics describe the first measured job, the same in each class. Without jobs they are no numbers.
JOB_METRICS = ("run_mean_iter_us", "run_p99_iter_us", "run_busbw_gbs", "run_neighbour_cost")
_ALL_METRICS = METRICS + JOB_METRICS
_COLUMN = {metric: i for i, metric in enumerate(_ALL_METRICS)}
NAN = math.nan


class BadInput(Exception):
    """A folder that is no results, or not such as Heddle writes."""


class Damaged(BadInput):
    """Results of which a file is missing, or is not what was written."""


class Values:
    """The metrics of a class: means over seeds and the half widths of their 95 % intervals."""

    __slots__ = ("_means", "_widths")

    def __init__(self, means, widths):
        self._means = array("d", means)
        self._widths = array("d", widths)

    def mean(self, metric):
        return self._means[_COLUMN[metric]]

    def width(self, metric):
        return self._widths[_COLUMN[metric]]


@dataclass
class Combination:
    """A value for each axis; its points differ in their seed alone."""

    choices: tuple
    seeds: int = 0
    classes: dict = field(default_factory=dict)  # (class set, class): Values


@dataclass(frozen=True)
class Point:
    id: str
    label: str
    seed: str
    choices: tuple
    folder: Path


@dataclass(frozen=True)
class Absent:
    """A point without results, or with incomplete ones."""

    label: str
    state: str
    message: str


@dataclass
class Results:
    name: str
    digest: str  # Of all points' experiments.
    axes: list
    combinations: list
    points: list  # With results, in the order of the sweep.
    absent: list
    planned: int
    document: str  # sweep.yaml; empty for a run.
    labels: dict = field(default_factory=dict)  # By axis, by value: the sweep's `labels`.

    def label(self, axis, value):
        """The label that the sweep gives to a value; None if it gives none."""
        return self.labels.get(axis, {}).get(value)

    def shown(self, axis, value):
        return self.label(axis, value) or value

    def classes(self):
        """`all`, and the classes of the last set, which is also that of flows.csv."""
        keys = list(dict.fromkeys(key for c in self.combinations for key in c.classes))
        last = keys[-1][0]
        whole = [key for key in keys if key[0] == "all"]
        return whole + [key for key in keys if key[0] == last and last != "all"]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return NAN


def rows_of(path):
    """The rows of a CSV file as lists, its header first."""
    try:
        with (manifest.open_checked(Path(path)) as raw,
              io.TextIOWrapper(raw, newline="", encoding="utf-8", errors="replace") as file):
            yield from csv.reader(file)
    except manifest.Damage as error:
        raise Damaged(str(error)) from error
    except OSError as error:
        raise Damaged(f"{path}: {error.strerror}") from error


def columns_of(path, *names):
    """Tuples of the named columns, row by row."""
    rows = rows_of(path)
    header = next(rows, [])
    for name in names:
        if name not in header:
            raise Damaged(f"{path}:1: has no column {name}; was it written by this Heddle?")
    at = [header.index(name) for name in names]
    for line, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise Damaged(f"{path}:{line}: {len(row)} cells; expected {len(header)}")
        yield tuple(row[i] for i in at)


def read_text(path):
    try:
        with manifest.open_checked(Path(path)) as file:
            return file.read().decode("utf-8", errors="replace")
    except manifest.Damage as error:
        raise Damaged(str(error)) from error
    except OSError as error:
        raise Damaged(f"{path}: {error.strerror}") from error


def read_json(path):
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise Damaged(f"{path}: {error}") from error


def read_yaml(path):
    return parse_yaml(read_text(path), path)


def parse_yaml(text, path):
    """All scalars stay the text they are: YAML 1.1 would take `off` for false."""
    try:
        return yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise Damaged(f"{path}: {error}") from error


def read(folder, tables=None):
    """`tables` is where points.csv and means.csv are, if they are not there too."""
    folder = Path(folder)
    if (folder / "plan.csv").exists():
        return _read_sweep(folder, Path(tables or folder))
    if (folder / "run.yaml").exists() or (folder / manifest.FILE).exists():
        return _read_run(folder)
    raise BadInput(f"{folder}: has neither the plan.csv of a sweep nor the run.yaml of a run")


def _read_sweep(folder, tables):
    axes, plan = _read_plan(folder)
    completeness = dict(columns_of(tables / "points.csv", "point", "complete"))
    points = [point for point in plan if point.id in completeness]
    if not points:
        raise BadInput(f"{folder}: no point has results yet")
    absent = [_why_absent(folder, point) for point in plan if point.id not in completeness]
    absent += [Absent(p.label, "incomplete", "measured flows are unfinished")
               for p in points if completeness[p.id] != "1"]
    document = read_text(folder / "sweep.yaml")
    return Results(
        name=str(read_json(points[0].folder / "summary.json").get("name", folder.name)),
        digest=hashlib.sha256("\n".join(p.id for p in plan).encode()).hexdigest()[:12],
        axes=axes, combinations=_read_means(tables / "means.csv", axes), points=points,
        absent=absent, planned=len(plan), document=document, labels=labels_of(document))


@dataclass(frozen=True)
class Warned:
    text: str  # As the first point has it.
    first: str
    points: int


def read_warnings(points):
    """The warnings in the summaries of `points`; those that differ in numbers alone are one."""
    kinds = {}
    for point in points:
        summary = point.folder / "summary.json"
        for text in read_json(summary).get("warnings", []) if summary.exists() else ():
            kind = kinds.setdefault(re.sub(r"\d[A-Za-z0-9.]*", "#", text), (text, point.label, []))
            kind[2].append(point)
    return [Warned(text, first, len(having)) for text, first, having in kinds.values()]


def sweep_of(document):
    """The section `sweep` of sweep.yaml; empty for a run, and if the file has no such section."""
    read = parse_yaml(document, "sweep.yaml") if document else {}
    sweep = read.get("sweep") if isinstance(read, dict) else None
    return sweep if isinstance(sweep, dict) else {}


def labels_of(document):
    """In sweep.yaml, Heddle names each value in full."""
    labels = sweep_of(document).get("labels")
    return {axis: of_axis for axis, of_axis in labels.items()
            if isinstance(of_axis, dict)} if isinstance(labels, dict) else {}


def _read_plan(folder):
    rows = rows_of(folder / "plan.csv")
    axes = next(rows)[6:]
    return axes, [Point(row[1], row[2], row[3], tuple(row[6:]), folder / "points" / row[1])
                  for row in rows]


def _why_absent(folder, point):
    failure = folder / "points" / f"{point.id}.failed"
    if failure.exists():
        said = read_json(failure)
        return Absent(point.label, "failed", f"{said.get('status', '')}: {said.get('message', '')}")
    if point.folder.exists():
        return Absent(point.label, "left out", "damaged, or the result of another version of Heddle")
    return Absent(point.label, "missing", "has not been run, or is running")


def _read_means(path, axes):
    rows = rows_of(path)
    header = next(rows)
    first = len(axes)  # Then class_set, class, seeds.
    means = _positions(header, _ALL_METRICS)
    widths = _positions(header, [metric + "_ci95" for metric in _ALL_METRICS])
    combinations = {}
    for row in rows:
        choices = tuple(row[:first])
        combination = combinations.setdefault(choices, Combination(choices))
        combination.seeds = int(row[first + 2])
        combination.classes[row[first], row[first + 1]] = Values(
            (number(row[i]) if i is not None else NAN for i in means),
            (number(row[i]) if i is not None else NAN for i in widths))
    return list(combinations.values())


def _positions(header, names):
    """Where columns are; None for those of jobs in tables that older versions have made."""
    job_columns = {name for metric in JOB_METRICS for name in (metric, metric + "_ci95")}
    return [None if name in job_columns and name not in header else header.index(name) for name in names]


def _read_run(folder):
    """One point, in the shape of a sweep without axes."""
    summary = read_json(folder / "summary.json")
    whole = _counts_of_run(summary)
    reordering = {(scope, name): {"reordered_ratio": number(ratio), "late_p99_ns": number(late)}
                  for scope, name, ratio, late in columns_of(
                      folder / "reorder.csv", "scope", "class", "ratio", "late_p99_ns")}
    of_class = METRICS[:METRICS.index("reordered_ratio")]
    combination = Combination((), 1)
    for row in columns_of(folder / "summary.csv", "class_set", "class", *of_class):
        key = row[:2]
        known = {**dict(zip(of_class, map(number, row[2:]))), **reordering.get(key, {}), **whole}
        combination.classes[key] = Values((known.get(m, NAN) for m in _ALL_METRICS), [NAN] * len(_ALL_METRICS))
    if not combination.classes:
        raise Damaged(f"{folder / 'summary.csv'}: has no classes")
    label = str(summary.get("label") or summary.get("name", folder.name))
    point = Point(folder.name, label, str(summary.get("seed", "")), (), folder)
    complete = summary.get("complete", True)
    absent = [] if complete else [Absent(label, "incomplete", "measured flows are unfinished")]
    return Results(name=str(summary.get("name", folder.name)),
                   digest=str(summary.get("experiment_hash", "")), axes=[],
                   combinations=[combination], points=[point], absent=absent, planned=1,
                   document="")


def _counts_of_run(summary):
    """What points.csv calls run_..., as far as it is shown."""
    counts = summary.get("counts", {})
    measured = summary.get("counts_of_measured_flows", {})
    known = {
        "run_dropped": sum(n for name, n in counts.items() if name.startswith("dropped_")),
        "run_carried_host": summary.get("load", {}).get("carried_host", NAN),
    }
    for name in ("ecn_marked", "pause_frames", "paused_ps"):
        known["run_" + name] = counts.get(name, NAN)
    for name in ("data_packets_sent", "retransmissions_spurious", "retransmissions_loss",
                 "timeouts"):
        known["run_" + name] = measured.get(name, NAN)
    for job in summary.get("jobs", [])[:1]:
        known.update((f"run_{name}", value) for name, value in job.items()
                     if f"run_{name}" in JOB_METRICS and isinstance(value, (int, float)))
    return known


class FlowSample:
    """Flows of one class, thinned evenly to a bounded number: every second is dropped whenever
    there are too many. Which remain depends on the file alone."""

    LIMIT = 1 << 18

    def __init__(self):
        self.seen = 0
        self.unfinished = 0
        self._stride = 1
        self._values = array("d")  # FCT in us and slowdown, by turns.

    def add(self, fct_us, slowdown):
        if self.seen % self._stride == 0:
            self._values.extend((fct_us, slowdown))
        self.seen += 1
        if len(self._values) >= 2 * self.LIMIT:
            kept = array("d")
            for i in range(0, len(self._values), 4):
                kept.extend(self._values[i:i + 2])
            self._values = kept
            self._stride *= 2

    def sorted(self, metric):
        return sorted(self._values[("fct_us", "slowdown").index(metric)::2])

    @property
    def thinned(self):
        return self._stride > 1


def read_flows(folder):
    """Samples of the measured flows, of all and by class; unfinished ones count as infinite."""
    samples = {"all": FlowSample()}
    columns = ("class", "fct_rx_ns", "slowdown", "measured", "finished")
    for name, fct, slowdown, measured, finished in columns_of(Path(folder) / "flows.csv", *columns):
        if measured != "1":
            continue
        sample = samples.setdefault(name, FlowSample())
        for one in (samples["all"], sample) if name != "all" else (sample,):
            if fct:
                one.add(float(fct) / 1e3, number(slowdown))
            else:
                one.add(math.inf, math.inf)
            one.unfinished += finished != "1"
    return samples


@dataclass(frozen=True)
class Link:
    node: str
    port: str
    peer: str
    tier: str
    rate_bps: float
    util: float


def read_links(folder):
    names = ("node", "port", "peer", "tier", "rate_bps", "util")
    return [Link(node, port, peer, tier, number(rate), number(util))
            for node, port, peer, tier, rate, util in columns_of(Path(folder) / "links.csv", *names)]


class TimeBins:
    """A measurement over time by what it is of, in a bounded number of equal intervals. Times are
    the ends of theirs, and rows of nothing but zeros are left out of the files."""

    MOST_KEYS = 20_000

    def __init__(self, end_ns, step_ns, without=0.0, count=240):
        """`without` stands where nothing was added."""
        samples = max(1, math.ceil(end_ns / step_ns))
        self._per_bin = max(1, math.ceil(samples / count))
        self._step_ns = step_ns
        self.count = math.ceil(samples / self._per_bin)
        self._without = array("d", [without])
        self.bins = {}
        self.left_out = 0  # Rows of keys beyond the bound.

    def add(self, key, time_ns, value, how):
        values = self.bins.get(key)
        if values is None:
            if len(self.bins) >= self.MOST_KEYS:
                self.left_out += 1
                return
            values = self.bins[key] = self._without * self.count
        sample = max(0, math.ceil(time_ns / self._step_ns) - 1)
        at = min(self.count - 1, sample // self._per_bin)
        if how != "max":
            values[at] += value
        elif not values[at] >= value:  # Also if there is none yet.
            values[at] = value

    def means(self):
        """Of what was added, by key; bins whose samples were left out hold zeros."""
        return {key: [v / self._per_bin for v in values] for key, values in self.bins.items()}

    def times_us(self):
        width = self._per_bin * self._step_ns / 1e3
        return [(i + 1) * width for i in range(self.count)]

# SPDX-License-Identifier: Apache-2.0
"""Results: the folder of a run, or that of a sweep, as pandas frames."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas

from . import program, report, tables, units
from .errors import BadInput, Damaged, Failed, bad_input

_WITH_RESULTS = ("done", "incomplete")  # Those that `heddle collect` takes, too.

# A point in a list of `heddle sweep status` or `--dry-run`: its name and its state.
STATE = re.compile(r"^ *\d+  ([0-9a-f]{16})  (\w+)", re.MULTILINE)


def load(folder):
    """The results in a folder of `heddle run` or `heddle sweep`."""
    folder = Path(folder)
    if (folder / "plan.csv").exists():
        return Sweep(folder)
    if (folder / "run.yaml").exists() or (folder / report.manifest.FILE).exists():
        return Run(folder)
    raise BadInput(f"{folder}: has neither the plan.csv of a sweep nor the run.yaml of a run")


class _Results:
    """The base of Run and Sweep. A table of a sweep is the tables of its runs, one below the other."""

    folder: Path

    def _runs(self):
        """Pairs of a run's folder and a dict of the columns that come before its own."""
        raise NotImplementedError

    def tables(self):
        """Names of the tables that any of the runs has."""
        return sorted({path.stem for folder, _ in self._runs() for path in folder.glob("*.csv")
                       if path.name != report.manifest.FILE})

    def table(self, name, columns=None):
        """The rows of the file NAME.csv of all runs."""
        frames = list(self.frames(name, columns))
        filled = [frame for frame in frames if len(frame)] or frames[:1]
        whole = pandas.concat(filled, ignore_index=True) if len(filled) > 1 else filled[0]
        return tables.with_units(whole, self._units(whole))

    def frames(self, name, columns=None):
        """The rows of the file NAME.csv, as a frame for each run."""
        found = [(folder, before) for folder, before in self._runs() if (folder / f"{name}.csv").exists()]
        if not found:
            raise BadInput(f"{self.folder}: no run has {name}.csv; there are: {', '.join(self.tables()) or 'none'}")
        for folder, before in found:
            frame = tables.read_csv(folder / f"{name}.csv", columns)
            frame = frame.rename(columns={c: f"{name}.{c}" for c in before if c in frame.columns})
            for at, (axis, value) in enumerate(before.items()):
                frame.insert(at, axis, value)
            yield tables.with_units(frame, self._units(frame))

    def _units(self, frame):
        return tables.units_of(frame)

    def flows(self, columns=None):
        return self.table("flows", columns)

    def summary(self, columns=None):
        return self.table("summary", columns)

    def reorder(self, columns=None):
        return self.table("reorder", columns)

    def links(self, columns=None):
        return self.table("links", columns)

    def series(self, name, columns=None):
        """A measurement over time, such as queue."""
        known = self.tables()
        return self.table(f"series_{name}" if f"series_{name}" in known or name not in known else name, columns)

    def to_parquet(self, out=None, names=None):
        """Writes tables, or those that are named, to files of Parquet; returns their paths."""
        from . import parquet
        return parquet.write(self, Path(out or self.folder / "parquet"), names)

    def report(self, out=None):
        """Writes the page of `heddle report`; returns its path."""
        page = Path(out or self.folder / "report.html")
        words = ["report", str(self.folder), "--quiet", "--out", str(page)]
        environment = {"HEDDLE_REPORT": str(report.FOLDER), "HEDDLE_PYTHON": sys.executable, **os.environ}
        ended = subprocess.run([program.find(), *words], env=environment, capture_output=True, text=True, check=False)
        if not page.exists() or ended.returncode not in (program.DONE, program.FAILED):
            raise Failed(ended.stderr.strip().removeprefix("heddle: "))
        return page


class Run(_Results):
    """The results of one run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.totals = _read_json(self.folder / "summary.json")
        self.warnings = self.totals.get("warnings", [])

    def _runs(self):
        return [(self.folder, {})]

    @property
    def experiment(self):
        """run.yaml, with every default. Numbers and quantities are texts, as they are written."""
        return _guarded(report.results.read_yaml, self.folder / "run.yaml")

    @property
    def is_complete(self):
        return bool(self.totals.get("complete", True))

    def for_report(self):
        """The results as heddle_report reads them."""
        return _guarded(report.results.read, self.folder)

    def __repr__(self):
        state = "" if self.is_complete else ", incomplete"
        return f"<heddle.Run {self.folder}: {self.totals.get('name', '')}, seed {self.totals.get('seed', '')}{state}>"


@dataclass(frozen=True)
class Point:
    """A point of a sweep, from plan.csv, and its present state."""

    number: int
    id: str
    label: str
    seed: int
    choices: tuple  # A text for each axis.
    state: str      # As `heddle sweep status` says.
    message: str    # Why it failed.


class Sweep(_Results):
    """The results of a sweep, as they are when it is loaded."""

    def __init__(self, folder):
        self.folder = Path(folder)
        header, *rows = _guarded(lambda path: list(report.results.rows_of(path)), self.folder / "plan.csv")
        self.axes = header[6:]
        document = _guarded(report.results.read_text, self.folder / "sweep.yaml")
        self._labels = _guarded(report.results.labels_of, document)  # By axis, by value.
        self._status = program.call(["sweep", "status", self.folder])
        if self._status.code != program.DONE:
            raise bad_input(self._status.err)
        states = dict(STATE.findall(self._status.out))
        self._all = [self._point(row, states) for row in rows]
        self._chosen = self._all
        self._values = {axis: units.numbers({row[6 + i] for row in rows}) for i, axis in enumerate(self.axes)}

    def _point(self, row, states):
        state = states.get(row[1], "missing")
        return Point(int(row[0]), row[1], row[2], int(row[3]), tuple(row[6:]), state,
                     self._why(row[1]) if state == "failed" else "")

    def _why(self, point):
        said = _read_json(self.folder / "points" / f"{point}.failed")
        return ": ".join(filter(None, (str(said.get("status", "")), str(said.get("message", "")).strip())))

    def _runs(self):
        return [(self.folder / "points" / p.id, self._before(p)) for p in self._chosen if p.state in _WITH_RESULTS]

    def _before(self, point):
        return {**self._choices(point), "seed": point.seed, "point": point.id}

    def _choices(self, point):
        return {axis: self._value(axis, text) for axis, text in zip(self.axes, point.choices)}

    def _value(self, axis, text):
        numbers = self._values[axis]
        return numbers[0][text] if numbers else text

    def _units(self, frame):
        of_axes = {axis: numbers[1] for axis, numbers in self._values.items() if numbers}
        return {**tables.units_of(frame), **of_axes}

    def __iter__(self):
        return (Run(folder) for folder, _ in self._runs())

    def __len__(self):
        return len(self._chosen)

    def _size(self):
        return "1 point" if len(self) == 1 else f"{len(self)} points"

    def __repr__(self):
        done = sum(p.state == "done" for p in self._chosen)
        return f"<heddle.Sweep {self.folder}: {done} of {self._size()}, over {', '.join(self.axes) or 'nothing'}>"

    def planned(self):
        """Each Point, whether it has results or not."""
        return list(self._chosen)

    def problems(self):
        """A text about the points that are not done; empty if all are done."""
        if all(p.state == "done" for p in self._chosen):
            return ""
        counts = {}
        for point in self._chosen:
            counts[point.state] = counts.get(point.state, 0) + 1
        said = f"{self._size()}: {', '.join(f'{n} {state}' for state, n in counts.items())}"
        return "\n".join(filter(None, (said, self._status.err)))

    def select(self, where=None, **more):
        """The part of the sweep in which axes have these values, or values with these labels: for each
        axis one, or a list."""
        wanted = {**(where or {}), **more}
        for axis in wanted:
            if axis not in [*self.axes, "seed"]:
                raise BadInput(f"{self.folder}: no axis is called {axis!r}; there are: {', '.join(self.axes)}, seed")
        part = Sweep.__new__(Sweep)
        part.__dict__.update(self.__dict__)
        part._chosen = [p for p in self._chosen if all(self._fits(p, axis, v) for axis, v in wanted.items())]
        if not part._chosen:
            raise BadInput(f"{self.folder}: no point has {', '.join(f'{axis}={v!r}' for axis, v in wanted.items())}")
        return part

    def _fits(self, point, axis, wanted):
        if axis == "seed":
            known = (point.seed, str(point.seed))
        else:
            text = point.choices[self.axes.index(axis)]
            known = (text, self._value(axis, text), self._labels.get(axis, {}).get(text, text))
        is_many = not isinstance(wanted, (str, Mapping)) and hasattr(wanted, "__iter__")
        return any(one in known for one in (wanted if is_many else [wanted]))

    def points(self):
        """A row for each point: its state, and the metrics of the whole run."""
        frame = pandas.DataFrame([{"number": p.number, **self._before(p), "state": p.state, "message": p.message}
                                  for p in self._chosen])
        if any(p.state in _WITH_RESULTS for p in self._chosen):
            whole = self._collected("points.csv").drop_duplicates("point")
            metrics = [column for column in whole.columns if column.startswith("run_")]
            frame = frame.merge(whole[["point", *metrics]], on="point", how="left")
        return tables.with_units(frame, self._units(frame))

    def means(self):
        """A row for each metric of each class of each combination of the axes: its mean over the
        seeds, and its confidence interval."""
        wide = self._collected("means.csv")
        wide = wide[self._is_chosen(wide)].reset_index(drop=True)
        metrics = [c for c in wide.columns if f"{c}_ci95" in wide.columns and f"{c}_n" in wide.columns]
        before = [*self.axes, "class_set", "class"]
        parts = []
        for metric in metrics:
            part = wide[before].copy()
            part["metric"], part["unit"] = metric, units.of_column(metric)
            part["mean"], part["ci95"] = wide[metric].astype(float), wide[f"{metric}_ci95"].astype(float)
            part["n"] = wide[f"{metric}_n"]
            parts.append(part)
        long = pandas.concat(parts)
        long = long.sort_index(kind="stable").reset_index(drop=True)  # All metrics of a row of means.csv together.
        for axis in self.axes:
            long[axis] = [self._value(axis, text) for text in long[axis]]
        of_columns = {"mean": "the column unit", "ci95": "the column unit", "n": "1"}
        return tables.with_units(long, {**self._units(long[self.axes]), **of_columns})

    def _is_chosen(self, wide):
        chosen = {p.choices for p in self._chosen}
        return [tuple(row) in chosen for row in wide[self.axes].itertuples(index=False)] if self.axes else slice(None)

    def _collected(self, file):
        """A file that `heddle collect` writes; cells of axes stay texts."""
        path = self.folder / file
        if len(self._chosen) < len(self._all) and file == "means.csv":
            self.refuse_part_of_seeds()
        if not self._has_whole_tables():
            self.collect()
        return tables.read_csv(path, texts=[*self.axes, "point"])

    def _has_whole_tables(self):
        """Whether there are tables of just the points that have results. Points that ended after tables were made,
        in a sweep that still ran, are missing from them; points that were damaged since then must not be in them."""
        if not all((self.folder / file).exists() for file in ("points.csv", "means.csv")):
            return False
        collected = tables.read_csv(self.folder / "points.csv", columns=["point"], texts=["point"])
        return {p.id for p in self._all if p.state in _WITH_RESULTS} == set(collected.point)

    def refuse_part_of_seeds(self):
        """Means are over all seeds of a combination."""
        chosen = {p.choices for p in self._chosen}
        if sum(p.choices in chosen for p in self._all) != len(self._chosen):
            raise BadInput("means are over all seeds; this part of the sweep has only some of them")

    def collect(self):
        """Writes points.csv and means.csv, as `heddle collect` does."""
        ended = program.call(["collect", self.folder, "--quiet"])
        if not (self.folder / "means.csv").exists():
            raise Failed(ended.err.removeprefix("heddle: "))

    def for_report(self):
        """The results as heddle_report reads them, without points and combinations that are not selected."""
        if not self._has_whole_tables():
            self.collect()
        whole = _guarded(report.results.read, self.folder)
        ids, choices = {p.id for p in self._chosen}, {p.choices for p in self._chosen}
        return replace(whole, points=[p for p in whole.points if p.id in ids],
                       combinations=[c for c in whole.combinations if c.choices in choices])


def _read_json(path):
    read = _guarded(report.results.read_json, path)
    return read if isinstance(read, dict) else {}


def _guarded(function, *arguments):
    """Calls a function of heddle_report; turns its exceptions into those of this package."""
    try:
        return function(*arguments)
    except report.results.Damaged as error:
        raise Damaged(str(error)) from error
    except report.results.BadInput as error:
        raise BadInput(str(error)) from error
    except json.JSONDecodeError as error:
        raise Damaged(str(error)) from error

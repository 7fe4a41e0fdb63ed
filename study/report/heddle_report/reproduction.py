# SPDX-License-Identifier: Apache-2.0
"""Reads papers.json, which `heddle papers claims` writes, and turns its figures into charts."""

import json
import math
import re
import textwrap
import typing
from dataclasses import dataclass, fields, is_dataclass

from . import charts, results, style
from .axes import quantity

FILE = "papers.json"

# The roles of claims, each with the name of its row in the summary; docs/papers.md defines twins.
ROLES = {"claim": "all", "twin": "twins", "ours": "claims of ours"}

# From the best to the worst, each with its meaning; the last has no rank.
VERDICTS = {
    "reproduced": "every comparison agrees: significantly, or with the paper's number",
    "same direction": "some agree significantly, or by less than the paper says; none is against it",
    "tie": "no significant difference, or one of less than 1 %",
    "mixed": "at least half agree, and at least one is significantly the other way",
    "contradicted": "at least one is significantly the other way, and less than half agree",
    "can't be judged": "for the reason given",
}


@dataclass
class Cell:
    """A comparison that a claim is judged by."""

    where: str
    outcome: str
    mean: float
    ci95: float      # Half width.
    relative: float  # The mean by what it is relative to; NaN if there is no such.
    seeds: int


@dataclass
class Part:
    verdict: str
    expected: str
    measured: str
    reason: str
    cells: list[Cell]


@dataclass
class Claim:
    id: str
    counts_as: str   # "claim", "twin" or "ours", see docs/papers.md.
    says: str
    verdict: str
    agreeing: int
    of: int
    expected: str
    measured: str
    range: str       # The same in short, without where.
    reason: str
    depends_on: str
    parts: list[Part]


@dataclass
class Line:
    name: str
    metric: str
    x: list[float]
    x_text: list[str]  # As the axis has it; empty for times.
    mean: list[float]
    ci95: list[float]  # Half widths.
    n: list[int]       # Seeds.


@dataclass
class Figure:
    id: str
    kind: str
    title: str
    label: str
    unit: str
    x: str
    x_label: str
    x_is_number: bool  # Else ranks.
    normalised_to: str  # Whose values are 1; empty if nothing is normalised.
    lines: list[Line]


@dataclass
class Experiment:
    id: str
    about: str
    choices: dict[str, str]
    points: int
    results: int
    stale: int  # Points with a result of another version of Heddle.
    figures: list[Figure]
    claims: list[Claim]


@dataclass
class Paper:
    id: str
    name: str
    title: str
    experiments: list[Experiment]

    def claims(self):
        return [claim for experiment in self.experiments for claim in experiment.claims]

    def claims_of(self, role):
        return [claim for claim in self.claims() if claim.counts_as == role]


@dataclass
class Reproduction:
    version: str
    commit: str
    scale: str
    set: list[str]
    papers: list[Paper]

    def made(self):
        commit = f" ({self.commit})" if self.commit else ""
        return f"Heddle {self.version}{commit}, {', '.join([f'scale {self.scale}', *self.set])}"

    def claims(self):
        return [claim for paper in self.papers for claim in paper.claims()]


def read(folder):
    path = folder / FILE
    try:
        found = _of(Reproduction, json.loads(results.read_text(path)), str(path))
    except json.JSONDecodeError as error:
        raise results.BadInput(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    for claim in found.claims():
        if claim.counts_as not in ROLES:
            raise results.BadInput(f'{path}: {claim.id}: "{claim.counts_as}" is no role of a claim; '
                                   f"expected one of {', '.join(ROLES)}")
        if claim.verdict not in VERDICTS:
            raise results.BadInput(f'{path}: {claim.id}: "{claim.verdict}" is no verdict; expected '
                                   f"one of {', '.join(VERDICTS)}")
    return found


def _of(kind, value, where):
    """`value`, found at `where` in the JSON, as an object of the type `kind` above."""
    if kind is float:
        return results.NAN if value is None else _of((int, float), value, where)
    inner = typing.get_args(kind)
    outer = dict if is_dataclass(kind) else typing.get_origin(kind) or kind
    if not isinstance(value, outer):
        raise results.BadInput(f"{where}: {json.dumps(value)[:40]} has an unexpected type; was it "
                               "written by this Heddle?")
    if is_dataclass(kind):
        return kind(**{field.name: _member(field, value, where) for field in fields(kind)})
    if outer is list:
        return [_of(inner[0], v, f"{where}[{i}]") for i, v in enumerate(value)]
    if outer is dict:
        return {key: _of(inner[1], v, f"{where}.{key}") for key, v in value.items()}
    return value


def _member(field, value, where):
    if field.name not in value:
        raise results.BadInput(f"{where}: has no {field.name}; was it written by this Heddle?")
    return _of(field.type, value[field.name], f"{where}: {field.name}")


# ---- Figures

class Styles:
    """The same name looks the same in all figures of a paper, as long as the lines of each figure
    differ in colour."""

    def __init__(self):
        self._of = {}

    def of(self, names):
        chosen = []
        for name in names:
            number = self._of.setdefault(name, len(self._of))
            while number in chosen or self._shares_colour(number, chosen):
                number += 1
            chosen.append(number)
        return chosen

    @staticmethod
    def _shares_colour(number, chosen):
        colours = len(style.LIGHT)
        return len(chosen) < colours and number % colours in [c % colours for c in chosen]


def figures(found):
    """For each paper and each of its experiments, the charts of figures that have any values."""
    for paper in found.papers:
        styles = Styles()
        for experiment in paper.experiments:
            yield paper, experiment, [
                chart(paper, experiment, figure, styles)
                for figure in experiment.figures if has_values(figure)]


def has_values(figure):
    return any(not math.isnan(y) for line in figure.lines for y in line.mean)


def chart(paper, experiment, figure, styles):
    kind = _kind(figure)
    id_ = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{paper.id}-{experiment.id}-{figure.id}")
    drawn = charts.Chart(
        id=id_, title=title_of(experiment, figure), caption=_caption(figure), kind=kind, columns=1,
        panels=[charts.Panel("", _y_title(figure))],
        x_title=figure.x_label or ("time" if kind == "curves" else ""))
    names = {} if kind == "curves" else _x_names(figure)
    drawn.x_names = list(names.values())
    unit = 1
    if kind == "lines" and figure.x_is_number:
        unit = _unit_of(names)
        drawn.x = [x / unit for x in names]
        drawn.x_log = charts.is_wide(drawn.x)
    is_aligned = kind != "curves" and not drawn.x
    numbers = styles.of([line.name for line in figure.lines])
    drawn.panels[0].lines = [_line(line, number, list(names) if is_aligned else line.x, unit)
                             for line, number in zip(figure.lines, numbers)]
    return drawn


def title_of(experiment, figure):
    """Such as "Figure 7a", "Figure 8, pauses", "Table 1". A figure without a number of its own has
    that of its experiment."""
    number, rest = re.match(r"([0-9]*)(.*)", figure.id).groups()
    number = number or re.search(r"[0-9]*$", experiment.id)[0]
    what = "Table" if experiment.id.startswith("tab") else "Figure"
    name = f"{what} {number}{', ' if number and len(rest) > 1 else ''}{rest}"
    return f"{name}: {figure.title}" if figure.title else name


def _kind(figure):
    if figure.kind == "time":
        return "curves"
    # One point is no line, and has no band.
    is_point = len({x for line in figure.lines for x in line.x}) < 2
    return "bars" if figure.kind == "bars" or is_point else "lines"


def unit_name(unit):
    return "µs" if unit == "us" else unit


def _y_title(figure):
    unit = unit_name(figure.unit)
    if len({line.metric for line in figure.lines}) > 1:
        return unit  # The names of the lines say which metric it is.
    named = f"{figure.label} ({unit})" if unit else figure.label
    over = f", relative to {figure.normalised_to}" if figure.normalised_to else ""
    return "\n".join(textwrap.wrap(named + over, 36))


def _subject(figure):
    """The metric and the x-axis, such as "Link utilisation by congested paths."."""
    others = len({line.metric for line in figure.lines}) - 1
    drawn = f"{figure.label} and {others} more" if others > 0 else figure.label
    over = f" by {figure.x_label}" if figure.x and figure.x_label else ""
    return f"{drawn[:1].upper()}{drawn[1:]}{over}."


def _caption(figure):
    seeds = sorted({n for line in figure.lines for n in line.n if n})
    told = f"{_subject(figure)} "
    if seeds[-1] == 1:
        told += "One seed, so no confidence intervals."
    else:
        mark = "Whiskers" if _kind(figure) == "bars" else "Bands"
        many = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else seeds[0]
        told += f"Means over {many} seeds. {mark}: 95 % confidence intervals (Student's t)."
    if figure.normalised_to:
        told += f" Each run's value is divided by that of {figure.normalised_to} with the same seed."
    return told


def _x_names(figure):
    """The values of the x-axis, ascending, and their names."""
    known = sorted({x: text for line in figure.lines
                    for x, text in zip(line.x, line.x_text)}.items())
    if not figure.x_is_number:
        return {x: text or "none" for x, text in known}
    return {x: number_name(x, text) if figure.x else "" for x, text in known}


def number_name(x, text):
    """The setting as it was written, such as "62.5us", if it equals the drawn number `x`; else the
    number, which the paper may give in place of the setting. Times are in ps."""
    written = text.rpartition("=")[2]
    known = quantity(written)
    if known is not None and any(math.isclose(x, known * factor) for factor in (1, 1e12)):
        return written
    return f"{x:.6g}"


def _unit_of(names):
    """The divisor by which the last number becomes the one in its name: that of "100us" becomes
    100."""
    x, name = list(names.items())[-1]
    written = re.fullmatch(r"([-+]?[.0-9]+(?:e[-+]?[0-9]+)?)[A-Za-z]*", name)
    return x / float(written[1]) if x and written else 1


def _line(line, number, xs, unit):
    at = {x: i for i, x in enumerate(line.x)}
    y, ci = ([values[at[x]] if x in at else results.NAN for x in xs]
             for values in (line.mean, line.ci95))
    return charts.Line(line.name, number, y, [] if all(map(math.isnan, ci)) else ci,
                       [x / unit for x in xs])

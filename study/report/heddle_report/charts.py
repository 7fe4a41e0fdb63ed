# SPDX-License-Identifier: Apache-2.0
"""The content of each figure. page.js draws it with Plotly, paper.py with matplotlib."""

import math
import re
from dataclasses import dataclass, field

from . import axes, results, shown

STATISTICS = (("avg", "mean"), ("p50", "median"), ("p99", "p99"))

# Lines have markers, curves and steps have none; dots are in groups as bars are. Lanes show what each
# row does over time. A note has a caption and no panels.
KINDS = ("lines", "bars", "dots", "curves", "steps", "heat", "lanes", "note")

# By load_ref: the links of which a load is a share, as short as fits below a narrow panel.
LOAD_OF = {"host": "host links", "fabric": "fabric links"}

# docs/metrics.md has all sets of classes.
_SIZES = {
    ("smlxl", "S"): "up to 10 KB", ("smlxl", "M"): "up to 100 KB", ("smlxl", "L"): "up to 1 MB",
    ("smlxl", "XL"): "above 1 MB",
    ("sml", "S"): "up to 100 KB", ("sml", "M"): "up to 1 MB", ("sml", "L"): "above 1 MB",
}


@dataclass
class Line:
    name: str
    style: int  # See style.of().
    y: list
    ci: list = field(default_factory=list)  # Half widths; empty if there are none.
    x: list = field(default_factory=list)   # Empty: the chart's.


@dataclass
class Panel:
    title: str
    y_title: str
    lines: list = field(default_factory=list)
    heat: list = field(default_factory=list)  # Rows of shares, for kind "heat".
    rows: list = field(default_factory=list)  # Their names.
    x: list = field(default_factory=list)     # Ends of their intervals; empty: the chart's names.
    lanes: list = field(default_factory=list)  # Rows of (state, start, end), for kind "lanes".


@dataclass
class Chart:
    id: str
    title: str
    caption: str
    kind: str  # One of KINDS.
    panels: list
    columns: int
    x_title: str = ""
    x: list = field(default_factory=list)
    x_names: list = field(default_factory=list)  # Names of the values of x, or of positions on the x-axis without x.
    x_log: bool = False
    y_log: bool = False
    can_log: bool = False  # The page has a button that changes the scale of the y-axis.
    z_title: str = ""  # What the colours of a heat map stand for.
    choice: str = ""  # The values of the other axes that it is for.
    states: list = field(default_factory=list)  # Names of the states of lanes.

    def shares_x(self):
        """Charts over time have the same x-axis in all panels."""
        return self.kind in ("curves", "lanes") or (self.kind == "heat" and any(panel.x for panel in self.panels))

    def shares_y(self):
        return self.kind == "curves"

    def set_log(self, is_log):
        """Chooses the scale of the y-axis. Bars need a zero, which a logarithmic axis lacks."""
        self.y_log = is_log
        if self.kind in ("bars", "dots"):
            self.kind = "dots" if is_log else "bars"


def is_wide(x):
    """True for a tenfold range or more, which gets a logarithmic axis."""
    return x[0] > 0 and x[-1] / x[0] >= 10


def is_flattened(panel):
    """True if the highest drawn value is ten times the lowest mean or more: one bad scheme, or its
    interval, would press the other lines onto the x-axis."""
    means = [y for line in panel.lines for y in line.y if math.isfinite(y)]
    tops = [y + ci for line in panel.lines for y, ci in zip(line.y, line.ci) if math.isfinite(y + ci)]
    return bool(means) and is_wide(sorted([min(means), max(means + tops)]))


def class_name(key):
    if key[0] == "all":
        return "all flows"
    return f"{key[1]}, {_SIZES[key]}" if key in _SIZES else key[1]


def _any_flows(read, key):
    return any(c.classes[key].mean("n") > 0 for c in read.combinations if key in c.classes)


class Sweep:
    """The results, laid out for drawing."""

    def __init__(self, read):
        self.results = read
        self.all_flows = read.classes()[0]
        self.classes = [key for key in read.classes() if _any_flows(read, key)]
        self.layout = axes.choose(read.axes, read.combinations, self._has_any("run_busbw_gbs"))
        self.names = axes.names(read.axes)
        self.series = list(dict.fromkeys(map(self.series_of, read.combinations)))
        self.labels = self._labels()  # For legends, in the order of the series.
        self.choices = list(dict.fromkeys(map(self.choice_of, read.combinations)))
        seeds = sorted({c.seeds for c in read.combinations})
        self.seeds_text = (f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else
                           f"{seeds[0]} seeds" if seeds[0] > 1 else "one seed")
        self.has_intervals = seeds[-1] > 1

    def _has_any(self, metric):
        """Whether any combination has a number for a metric of the whole run."""
        return any(math.isfinite(values.mean(metric))
                   for c in self.results.combinations for values in c.classes.values())

    def _labels(self):
        """The labels of the sweep; for values without one, a short form."""
        if self.layout.series is None:
            return axes.short_values(self.series)
        axis = self.results.axes[self.layout.series]
        labels = [self.results.label(axis, value) for value in self.series]
        without = [value for value, label in zip(self.series, labels) if not label]
        short = [name if name not in labels else value
                 for name, value in zip(axes.short_values(without), without)]
        return [label or short[without.index(value)] for value, label in zip(self.series, labels)]

    def shown(self, at, i):
        """The value of axis `i` as people read it."""
        return self.results.shown(self.results.axes[i], at.choices[i])

    def series_of(self, at):
        """Of a combination or a point."""
        if self.layout.series is not None:
            return at.choices[self.layout.series]
        return shown.balancer_of(self.results.points[0].folder)

    def choice_of(self, at):
        """The values of the other axes, and of axes that change with them."""
        shown_axes = [i for pair in zip(self.layout.slices, self.layout.followers)
                      for i in (pair[0], *pair[1])]
        return ", ".join(f"{self.names[i]}={self.shown(at, i)}" for i in shown_axes)

    def x_of(self, at):
        return None if self.layout.main is None else at.choices[self.layout.main]

    def mean_text(self):
        if not self.has_intervals:
            return "One seed, so no confidence intervals."
        mark = "Bands" if self.layout.main is not None else "Whiskers"
        return (f"Means over {self.seeds_text}; percentiles are means of the runs' percentiles. "
                f"{mark}: 95 % confidence intervals (Student's t), cut off at 0.")

    def charts(self):
        """Lists of charts, one for each choice of the other axes, alike but for their numbers."""
        of_choice = {choice: [] for choice in self.choices}
        for combination in self.results.combinations:
            of_choice[self.choice_of(combination)].append(combination)
        made = [self._charts_of(choice, of_choice[choice]) for choice in self.choices]
        for alike in zip(*made):
            if any(chart.can_log and any(map(is_flattened, chart.panels)) for chart in alike):
                for chart in alike:
                    chart.set_log(True)
        return made

    def _charts_of(self, choice, combinations):
        charts = [self._by_class(choice, combinations, *what) for what in (
            ("slowdown", "Slowdown", "slowdown", "slowdown",
             "Mean, median and 99th percentile of the slowdown, a number without a unit: FCT divided by the "
             "ideal FCT, that of the flow alone on the idle network."),
            ("fct", "Flow completion time", "fct_us", "FCT (µs)",
             "Mean, median and 99th percentile of the flow completion time (FCT) in µs, from a flow's start until its "
             "receiver has all bytes."))]
        return self._jobs(choice, combinations) + charts + [self._costs(choice, combinations)]

    def _over(self, combinations, panels, **rest):
        """Lines over the main axis."""
        names = self._main_values(combinations)
        x = [axes.quantity(name) for name in names]
        axis = self.results.axes[self.layout.main]
        return Chart(kind="lines", panels=panels, x=x, x_log=is_wide(x),
                     x_names=[self.results.shown(axis, name) for name in names],
                     x_title=self._x_title(), **rest)

    def _x_title(self):
        """The name of the main axis; for a load, also what it is a share of. Other values have their
        units."""
        name = self.names[self.layout.main]
        key = self.results.axes[self.layout.main]
        found = re.fullmatch(r"workload\[(\d+)\]\.load", key)
        if not found:
            return name
        workload = results.read_yaml(self.results.points[0].folder / "run.yaml").get("workload") or []
        entry = workload[int(found[1])] if int(found[1]) < len(workload) else {}
        links = LOAD_OF.get(entry.get("load_ref") if isinstance(entry, dict) else None)
        return f"{name} (of {links})" if links else name

    def _main_values(self, combinations):
        return sorted({self.x_of(c) for c in combinations}, key=axes.quantity)

    def _lines(self, combinations, cells):
        """A line for each series that has any value. `cells` are its points: pairs of a
        value of the main axis and a function from a combination to mean and half width."""
        at = {(self.series_of(c), self.x_of(c)): c for c in combinations}
        lines = []
        for style, series in enumerate(self.series):
            pairs = [value(at[series, x]) if (series, x) in at else (results.NAN, results.NAN)
                     for x, value in cells]
            if any(not math.isnan(y) for y, _ in pairs):
                lines.append(Line(self.labels[style], style, [y for y, _ in pairs],
                                  [ci for _, ci in pairs] if self.has_intervals else []))
        return lines

    def _by_class(self, choice, combinations, id_, title, metric, axis, about):
        made = self._grid if self.layout.main is not None else self._groups
        chart = made(combinations, metric, axis, id=id_, title=f"{title} by size of flow",
                     caption=f"{about} {self.mean_text()}", choice=choice, y_log=metric == "fct_us",
                     can_log=True)
        if any(math.isinf(y) for panel in chart.panels for line in panel.lines for y in line.y):
            chart.caption += " Gaps: unfinished flows make the value infinite."
        return chart

    def _grid(self, combinations, metric, axis, **rest):
        """A row for each statistic, a column for each class."""
        panels = []
        for prefix, name in STATISTICS:
            for key in self.classes:
                value = of_metric(f"{prefix}_{metric}", key)
                cells = [(x, value) for x in self._main_values(combinations)]
                panels.append(Panel(class_name(key) if not panels or prefix == "avg" else "",
                                    f"{name} {axis}", self._lines(combinations, cells)))
        return self._over(combinations, panels, columns=len(self.classes), **rest)

    def _groups(self, combinations, metric, axis, **rest):
        """A panel for each statistic, in it a group of bars for each class."""
        panels = [Panel("", f"{name} {axis}", self._lines(combinations, [
            (None, of_metric(f"{prefix}_{metric}", key)) for key in self.classes]))
            for prefix, name in STATISTICS]
        sizes = [class_name(key) for key in self.classes if key in _SIZES]
        rest["caption"] += f" Classes of flow sizes: {'; '.join(sizes)}." if sizes else ""
        return Chart(kind="dots" if rest["y_log"] else "bars", panels=panels, columns=3,
                     x_title="class of flow sizes", x_names=[class_name(key).split(",")[0] for key in self.classes], **rest)

    def _jobs(self, choice, combinations):
        """How long the first measured job takes, and its bus bandwidth; nothing without jobs."""
        wanted = [
            ("mean time of an iteration (µs)", "run_mean_iter_us", 1),
            ("p99 time of an iteration (µs)", "run_p99_iter_us", 1),
            ("bus bandwidth (GB/s)", "run_busbw_gbs", 1),
            ("cost of neighbours (%)", "run_neighbour_cost", 100),
        ]
        key = self.all_flows  # Metrics of the run; no flow need have crossed the network.
        there = [(name, of_metric(metric, key, scale)) for name, metric, scale in wanted if self._has_any(metric)]
        if not there:
            return []
        bars = self.layout.main is None
        at = [None] if bars else self._main_values(combinations)
        panels = [Panel("", name, self._lines(combinations, [(x, value) for x in at])) for name, value in there]
        caption = ("Mean and 99th percentile of the time that an iteration of the first measured job takes, in µs, from "
                   "the begin of its first rank to the end of its last.")
        if self._has_any("run_busbw_gbs"):
            caption += (" Bus bandwidth in 10^9 bytes per second: the bytes of the collective over that time, times the "
                        "operation's factor, as in nccl-tests.")
        if self._has_any("run_neighbour_cost"):
            caption += " Cost of neighbours in percent: how much longer an iteration takes than without other traffic."
        rest = {"id": "jobs", "can_log": True, "columns": min(3, len(panels)), "choice": choice,
                "title": "Completion times of jobs" + (" and bus bandwidth" if self._has_any("run_busbw_gbs") else ""),
                "caption": f"{caption} {self.mean_text()}"}
        if bars:
            return [Chart(kind="bars", panels=panels, x_names=[""], x_title=self.series_title(), **rest)]
        return [self._over(combinations, panels, **rest)]

    def _costs(self, choice, combinations):
        """Counts of the whole run, which are the same in each class."""
        key = self.classes[0]
        wanted = [
            ("reordered packets (%)", of_metric("reordered_ratio", key, 100)),
            ("spurious retransmissions (%)", per_sent("run_retransmissions_spurious", key)),
            ("retransmissions after loss (%)", per_sent("run_retransmissions_loss", key)),
            ("timeouts (count)", of_metric("run_timeouts", key)),
            ("dropped packets (count)", of_metric("run_dropped", key)),
            ("ECN marks (count)", of_metric("run_ecn_marked", key)),
            ("pause frames (count)", of_metric("run_pause_frames", key)),
        ]
        happened = [(name, value) for name, value in wanted
                    if any(value(c)[0] > 0 for c in self.results.combinations)]
        pauses = (" Pause frames count all flows, but only in the time that links.csv covers: from the warm-up to the end of "
                  "arrivals, if the workload has a load.") if wanted[-1] in happened else ""
        bars = self.layout.main is None
        at = [None] if bars else self._main_values(combinations)
        panels = [Panel("", name, self._lines(combinations, [(x, value) for x in at]))
                  for name, value in happened or wanted[:1]]
        rest = {
            "id": "costs", "columns": min(3, len(panels)), "choice": choice,
            "title": "Reordering, retransmissions, losses and marks",
            "caption": "Percentages and timeouts count measured flows: percent of data packets "
                       "received or sent; their intervals are those of the number of events alone. Drops and ECN marks "
                       f"count all flows.{pauses} Events that never happened are left out. {self.mean_text()}"}
        if bars:
            return Chart(kind="bars", panels=panels, x_names=[""], x_title=self.series_title(), **rest)
        return self._over(combinations, panels, **rest)

    def series_title(self):
        """What the lines are."""
        if self.layout.series is None or self.results.axes[self.layout.series] == "lb":
            return "load balancer"
        return self.names[self.layout.series]


NOTHING = (results.NAN, results.NAN)


def of_metric(metric, key, scale=1):
    """From a combination to the mean and half width of a metric of the class `key`."""
    def value(combination):
        values = combination.classes.get(key)
        return (scale * values.mean(metric), scale * values.width(metric)) if values else NOTHING
    return value


def per_sent(metric, key):
    """In percent of data packets sent; the interval is that of the numerator."""
    def share(combination):
        values = combination.classes.get(key)
        sent = values.mean("run_data_packets_sent") if values else 0
        if not sent > 0:
            return NOTHING
        return 100 * values.mean(metric) / sent, 100 * values.width(metric) / sent
    return share

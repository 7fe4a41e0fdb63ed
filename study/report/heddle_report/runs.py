# SPDX-License-Identifier: Apache-2.0
"""Charts of single runs: distributions, links, and what was recorded over time."""

import re
from dataclasses import dataclass

from . import lanes, results, shown
from .charts import Chart, Line, Panel, class_name


BUSY = "time busy (%)"  # Beside the colours.


def charts(sweep):
    """Of the runs that shown.points() chooses."""
    chosen = shown.points(sweep)
    where = where_of(sweep, chosen)
    made = lanes.charts(chosen, where)
    made += _distributions(sweep, chosen, where)
    made += _links(chosen, where, sweep.series_title())
    names = _names_of_ports(chosen)
    made += [chart for of in OVER_TIME if (chart := _over_time(of, chosen, where, names))]
    heat = _links_over_time(chosen, where, names)
    return made + ([heat] if heat else [])


def where_of(sweep, chosen):
    points = [point for _, _, point in chosen]
    seeds = _any_of(point.seed for point in points)
    if not sweep.results.axes:
        return f"Run with seed {seeds}."
    said = [f"seed {seeds}"]
    if sweep.layout.main is not None:
        # Not the same if points are missing.
        ends = _any_of(sweep.shown(point, sweep.layout.main) for point in points)
        said.insert(0, f"{sweep.names[sweep.layout.main]}={ends}")
    if sweep.choices[0]:
        said.insert(0, sweep.choices[0])
    text = f"Single runs with {', '.join(said)}."
    if len(sweep.series) > len(chosen):
        text += f" The first {len(chosen)} of {len(sweep.series)} are shown."
    return text


def _any_of(values):
    return " or ".join(dict.fromkeys(values))


_DISTRIBUTED = {"slowdown": "slowdown (FCT divided by the ideal FCT)",
                "fct_us": "flow completion time (FCT) in µs"}


def _distributions(sweep, chosen, where):
    flows = [(style, name, results.read_flows(point.folder)) for style, name, point in chosen]
    thinned = any(s.thinned for _, _, samples in flows for s in samples.values())
    unfinished = sum(samples["all"].unfinished for _, _, samples in flows)
    notes = where
    if thinned:
        notes += f" At most {results.FlowSample.LIMIT} flows of each class and run are used, evenly chosen."
    if unfinished:
        notes += " Curves that end below 1 have unfinished flows."
    made = []
    for id_, title, metric, x_title in (
            ("cdf-slowdown", "Distribution of slowdown", "slowdown", "slowdown"),
            ("cdf-fct", "Distribution of flow completion times", "fct_us", "FCT (µs)")):
        panels = []
        for key in sweep.classes:
            panel = Panel(class_name(key), "share of flows")
            for style, name, samples in flows:
                if key[1] in samples:
                    xs, shares = shown.distribution(samples[key[1]].sorted(metric))
                    panel.lines.append(Line(name, style, shares, x=xs))
            panels.append(panel)
        about = f"The share of flows whose {_DISTRIBUTED[metric]} is at most the value on the x-axis."
        made.append(Chart(id_, title, f"{about} {notes}", "steps", panels, columns=len(panels) if len(panels) < 6 else 3,
                          x_title=x_title, x_log=True))
    return made


def _links(chosen, where, x_title):
    """The links between switches, one column for each run."""
    of_runs = [shown.fabric_links(point.folder) for _, _, point in chosen]
    links = [[names[link.node, link.port] for link in run]
             for run, names in ((run, shown.link_names(run)) for run in of_runs)]
    if not links[0] or any(names != links[0] for names in links):
        return []  # Another fabric for each: nothing to compare link by link.
    rows = shown.thinned(list(range(len(links[0]))), shown.MOST_LINKS)
    note = "" if len(rows) == len(links[0]) else (
        f" {len(rows)} of {len(links[0])} links are shown, evenly chosen; links.csv has all.")
    panels = []
    for tier in dict.fromkeys(link.tier for link in of_runs[0]):
        of_tier = [i for i in rows if of_runs[0][i].tier == tier]
        if of_tier:
            panels.append(Panel(tier.replace("_", " "), "", rows=[links[0][i] for i in of_tier],
                                heat=[[run[i].util for run in of_runs] for i in of_tier]))
    return [Chart("links", "Utilisation of links between switches",
                  f"Utilisation of each link: the percentage of the measured time in which it transmits. {where}{note}",
                  "heat", panels, columns=min(2, len(panels)), z_title=BUSY, x_title=x_title,
                  x_names=[name for _, name, _ in chosen])]


def _names_of_ports(chosen):
    """The links that ports send on, if they are the same in all runs."""
    names = [shown.link_names(results.read_links(point.folder)) for _, _, point in chosen]
    return names[0] if all(of_run == names[0] for of_run in names) else {}


@dataclass(frozen=True)
class Recorded:
    """A file over time and how it is shown."""

    id: str
    title: str
    file: str
    keys: tuple
    value: str
    setting: str  # Of measure.record: how often.
    how: str      # Within a bin: "max", "sum" or "mean".
    y_title: str
    scale: float
    name: str     # Of a line, from its keys.
    without: float = 0  # Where there are no rows.
    nothing: str = ""   # The caption if all values are zero.

    @property
    def what(self):
        """The metric and its unit for a caption, as in "queue length in KB"."""
        metric, unit = re.fullmatch(r"(.*) \((.*)\)", self.y_title).groups()
        return f"the {metric}" + ("" if unit == "count" else f" in {unit}")


OVER_TIME = (
    Recorded("queues", "Queues over time", "series_queue.csv", ("node", "port", "class"), "bytes",
             "queues", "max", "queue length (KB)", 1e-3, "{} port {}, class {}",
             nothing="All queues were empty at the recorded times."),
    Recorded("buffers", "Switch buffers over time", "series_buffer.csv", ("node",), "used_bytes",
             "buffers", "max", "buffer used (KB)", 1e-3, "{}"),
    Recorded("marks", "ECN marks over time", "series_marks.csv", ("node", "port"), "marked",
             "marks", "sum", "ECN marks (count)", 1, "{} port {}", nothing="No packet was marked."),
    Recorded("pauses", "Paused links over time", "pfc_rate.csv", ("layer",), "paused_links_timeavg",
             "pauses", "mean", "links paused (count)", 1, "{}", nothing="No link was paused."),
    Recorded("paused-paths", "Paused paths over time", "paused_paths.csv", (), "paused_paths",
             "pauses", "max", "paths paused (count)", 1, "paths"),
    Recorded("rates", "Sending rates over time", "series_flow.csv", ("flow_id",), "rate_bps",
             "flows", "max", "sending rate (Gbps)", 1e-9, "flow {}", results.NAN),
    Recorded("windows", "Congestion windows over time", "series_flow.csv", ("flow_id",),
             "cwnd_bytes", "flows", "max", "congestion window (KB)", 1e-3, "flow {}", results.NAN),
)


def _read(of, chosen):
    """The runs that recorded it: name, times in us, and values by key. Keys whose values are all zero may
    be missing."""
    runs = []
    for _, name, point in chosen:
        step = shown.recording_step_ns(point.folder, of.setting)
        bins = shown.bins_of(point.folder, of.file, of.keys, of.value, step, of.how,
                             of.without) if step else None
        if bins:
            runs.append((name, bins.times_us(), bins.means() if of.how == "mean" else bins.bins,
                         bins.left_out))
    return runs


def _is_at_port(of):
    return of.keys[:2] == ("node", "port")


def _line_name(of, key, keys, names):
    """The name that the heat map of links uses, with the class if there are several."""
    if not _is_at_port(of) or key[:2] not in names:
        return of.name.format(*key)
    classes = [f"class {name}" for name in key[2:]] if len({k[2:] for k in keys}) > 1 else []
    return ", ".join([names[key[:2]], *classes])


def _has_happened(runs):
    return any(v > 0 for _, _, values, _ in runs for of_key in values.values() for v in of_key)


def _over_time(of, chosen, where, names):
    runs = _read(of, chosen)
    if not _has_happened(runs):
        return Chart(of.id, of.title, f"{of.nothing} {where}", "note", [], 0) if runs and of.nothing else None
    keys = shown.largest([values for _, _, values, _ in runs])
    panels = []
    for name, times, values, _ in runs:
        panels.append(Panel(name if len(chosen) > 1 else "", of.y_title, [
            Line(_line_name(of, key, keys, names), style, [of.scale * v for v in values[key]], x=times)
            for style, key in enumerate(keys) if key in values]))
    in_bin = {"max": "The highest value of", "sum": "The sum of", "mean": "The mean of"}[of.how]
    of_all = max(len(values) for _, _, values, _ in runs)
    few = f", for the {len(keys)} lines with the highest peaks of {of_all}" if of_all > len(keys) else ""
    bounded = (f" Only the first {results.TimeBins.MOST_KEYS} in {of.file} were read."
               if any(left_out for *_, left_out in runs) else "")
    ports = " Ports are named by the link that they send on." if _is_at_port(of) and names else ""
    return Chart(of.id, of.title, f"{in_bin} {of.what} in {_each(runs)}{few}.{ports} {where}{bounded}", "curves",
                 panels, columns=min(2, len(panels)), x_title="time (µs)")


def _links_over_time(chosen, where, names):
    of = Recorded("links-over-time", "Utilisation of switches' ports over time", "series_link.csv",
                  ("node", "port"), "util", "links", "mean", "", 1, "{} port {}")
    # Hosts' ports would outnumber those between switches.
    runs = [(name, times, {key: v for key, v in values.items() if not key[0].startswith("host")})
            for name, times, values, _ in _read(of, chosen) if values]
    keys = shown.largest([values for _, _, values in runs], shown.MOST_LINKS)
    if not keys:
        return None
    keys.sort(key=lambda key: (key[0], int(key[1])))
    panels = []
    for name, times, values in runs:
        nothing = [0] * len(times)
        panels.append(Panel(name if len(chosen) > 1 else "", "", heat=[values.get(key, nothing) for key in keys],
                            x=times, rows=[_line_name(of, key, keys, names) for key in keys]))
    few = f" The {len(keys)} ports with the highest peaks are shown." if len(keys) == shown.MOST_LINKS else ""
    return Chart(of.id, of.title,
                 f"Utilisation of each port: the percentage of {_each(runs)} in which it transmits.{few} {where}", "heat", panels,
                 columns=min(2, len(panels)), x_title="time (µs)", z_title=BUSY)


def _each(runs):
    """The length of the intervals, each drawn as a point; longer runs have longer intervals."""
    lengths = sorted({f"{times[0]:g}" for _, times, *_ in runs}, key=float)
    return f"each {lengths[0]} µs" if len(lengths) == 1 else f"each {lengths[0]} to {lengths[-1]} µs"

# SPDX-License-Identifier: Apache-2.0
"""Details of single runs. A sweep may have thousands of runs, so the report shows one for each line
of the figures: the run at the end of the x-axis, with the first seed."""

import bisect
import math

from . import results
from .axes import quantity

MOST_SERIES = 12   # Lines of the figures of which a run is shown.
MOST_LINES = 8     # In a figure over time.
MOST_LINKS = 64    # Rows of a heat map.


def balancer_of(folder):
    run = results.read_yaml(folder / "run.yaml")
    lb = run.get("lb", "") if isinstance(run, dict) else ""
    return lb.get("kind", "") if isinstance(lb, dict) else str(lb)


def points(sweep):
    """A point for each series, with the first choice of the other axes."""
    chosen = {}
    for point in sweep.results.points:
        if sweep.choice_of(point) != sweep.choices[0]:
            continue
        series = sweep.series_of(point)
        best = chosen.get(series)
        if best is None or _x(sweep, point) > _x(sweep, best):
            chosen[series] = point
    known = [(style, sweep.labels[style], chosen[name]) for style, name in enumerate(sweep.series)
             if name in chosen]
    return known[:MOST_SERIES]


def _x(sweep, point):
    return 0 if sweep.layout.main is None else quantity(sweep.x_of(point))


def counters(chosen):
    """Counters of load balancers, summed over their nodes: names, and rows of values."""
    of_series = [(name, results.read_json(point.folder / "summary.json").get("load_balancer", {}))
                 for _, name, point in chosen]
    names = sorted({name for _, counts in of_series for name in counts})
    return names, [[name] + [counts.get(counter) for counter in names]
                   for name, counts in of_series]


# The shares at which a distribution is drawn: evenly, and ever finer towards the tail.
_SHARES = sorted({i / 100 for i in range(100)} |
                 {1 - 10 ** (-2 - i / 10) for i in range(21)} | {1.0})


def distribution(values):
    """Some of the sorted `values`, and for each the share of flows that are at most as large. Infinite
    values are left out, so the curve ends below 1."""
    shares, xs = [], []
    for share in _SHARES:
        at = min(len(values) - 1, int(share * len(values)))
        if at < 0 or math.isinf(values[at]) or (xs and xs[-1] == values[at]):
            continue
        xs.append(values[at])
        shares.append(bisect.bisect_right(values, values[at]) / len(values))
    return xs, shares


def fabric_links(folder):
    """Links between switches, one for each of several in parallel."""
    return [link for link in results.read_links(folder)
            if link.tier != "host_up" and not link.peer.startswith("host")]


def link_names(links):
    """By node and port, in the direction in which the port sends; links in parallel are numbered."""
    of_pair = {}
    for link in links:
        of_pair.setdefault((link.node, link.peer), []).append(link.port)
    return {(node, port): f"{node} → {peer}" + (f" #{i}" if len(ports) > 1 else "")
            for (node, peer), ports in of_pair.items() for i, port in enumerate(ports, 1)}


def thinned(rows, most):
    """At most so many of `rows`, evenly chosen."""
    if len(rows) <= most:
        return rows
    return [rows[i * len(rows) // most] for i in range(most)]


def bins_of(folder, name, keys, value, step, how, without):
    """A file of measurements over time as TimeBins, None if there is none."""
    path = folder / name
    if not path.exists():
        return None
    end_ns = results.read_json(folder / "summary.json")["end_ps"] / 1e3
    bins = results.TimeBins(end_ns, step, without)
    for time, cell, *key in results.columns_of(path, "time_ns", value, *keys):
        if cell:
            bins.add(tuple(key), float(time), float(cell), how)
    return bins


def recording_step_ns(folder, what):
    """What measure.record says, such as "10us"; None if it is not recorded."""
    run = results.read_yaml(folder / "run.yaml")
    record = run.get("measure", {}).get("record", {})
    text = record.get("flows", {}).get("every", "") if what == "flows" else record.get(what, "")
    seconds = quantity(text) if isinstance(text, str) else None
    return round(seconds * 1e12) / 1e3 if seconds else None


def largest(of_series, most=MOST_LINES):
    """The keys with the highest peaks in any of the runs, the highest first."""
    peaks = {}
    for bins in of_series:
        for key, values in bins.items():
            peaks[key] = max(peaks.get(key, 0), *(v for v in values if not math.isnan(v)))
    return sorted(peaks, key=lambda key: (-peaks[key], key))[:most]

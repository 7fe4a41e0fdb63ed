# SPDX-License-Identifier: Apache-2.0
"""The experiment in words, from the run.yaml of its first point and the axes of the sweep."""

import re

from . import results

_NOTHING = ([], {}, "", "none", "auto", "off", "false", "0", "unset", "unchanged", "both")

# What is said of each part, in this order, as far as it is there.
_PARTS = {
    "transport": ("kind", "recovery", "cc", "min_rto", "mtu"),
    "measure": ("warm_up", "unfinished", "percentiles"),
}


def experiment(sweep):
    """Pairs of a heading and a text, neither of them escaped."""
    run = results.read_yaml(sweep.results.points[0].folder / "run.yaml")
    if not isinstance(run, dict):
        raise results.BadInput(f"{sweep.results.points[0].folder}/run.yaml: is no experiment")
    swept = _swept(sweep)
    for key, values in swept.items():
        _put(run, key, "swept" if len(values) > 1 else values[0])
    said = [("Fabric", _fabric(run)), ("Transport", _settings(run, "transport")),
            ("Load balancers", ", ".join(sweep.series) if "lb" in swept else _plain(run.get("lb"))),
            ("Workload", "; ".join(map(_workload, run.get("workload", []))))]
    if run.get("background"):
        said.append(("Background", "; ".join(map(_plain, run["background"]))))
    if run.get("schedule"):
        said.append(("Changes", "; ".join(map(_change, run["schedule"]))))
    said += [("Swept", f"{key}: {', '.join(values)}") for key, values in swept.items()]
    said.append(("Seeds", _seeds(sweep)))
    said.append(("Measured", _settings(run, "measure")))
    said.append(("Points", _points(sweep.results)))
    said.append(("Made by", provenance(sweep.results)))
    return [(heading, text) for heading, text in said if text]


def provenance(read):
    summary = results.read_json(read.points[0].folder / "summary.json")
    commit = f" ({summary['commit']})" if summary.get("commit") else ""
    return f"Heddle {summary.get('version', '')}{commit}, experiment {read.digest}"


def changed(run):
    """Links and switches that the schedule names."""
    named = set()
    for entry in run.get("schedule") or []:
        for key in ("links", "switches"):
            named.update(_list(entry.get(key)))
    return named


def asymmetric(run):
    """Spines, cores and links to which the topology gives another delay, by their names; rates are
    in links.csv."""
    named = set()
    for entry in run.get("topology", {}).get("asymmetry") or []:
        if entry.get("delay", "unchanged") == "unchanged":
            continue
        named.update(_list(entry.get("links")))
        named.update(f"spine{i}" for i in _list(entry.get("spines")))
        named.update(f"core{i}" for i in _list(entry.get("cores")))
    return named


def _put(run, key, text):
    """Sets what a key such as workload[0].load names, if it is there."""
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", key)]
    for step in steps[:-1]:
        try:
            run = run[step]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(run, dict) or (isinstance(run, list) and steps[-1] in range(len(run))):
        run[steps[-1]] = text


def _list(value):
    return [value] if isinstance(value, str) else list(value or [])


def _swept(sweep):
    columns = zip(*(c.choices for c in sweep.results.combinations))
    return {axis: list(dict.fromkeys(values)) for axis, values in zip(sweep.results.axes, columns)}


def _seeds(sweep):
    seeds = list(dict.fromkeys(point.seed for point in sweep.results.points))
    return ", ".join(seeds[:10]) + (f" and {len(seeds) - 10} more" if len(seeds) > 10 else "")


def _points(read):
    if not read.absent:
        return f"{read.planned}, all complete" if read.planned > 1 else "1, complete"
    return f"{read.planned}, of which {len(read.absent)} are not complete: listed below"


def _plain(value):
    """A setting on one line, without what is left at nothing."""
    if isinstance(value, dict):
        told = [f"{key.replace('_', ' ')} {_inner(v)}" for key, v in value.items()
                if key != "kind" and v not in _NOTHING]
        kind = [value["kind"]] if "kind" in value else []
        return ", ".join(kind + told)
    if isinstance(value, list):
        return ", ".join(map(_inner, value))
    return "" if value is None else str(value)


def _inner(value):
    return f"({_plain(value)})" if isinstance(value, (dict, list)) and len(value) > 1 else _plain(value)


# What run.yaml says of entries that have none.
_NO_BLACKHOLE = {"from": [], "to": [], "share_of_pairs": "1", "hash_from": "0", "hash_to": "1",
                 "links": [], "until": "forever"}


def _change(entry):
    return _plain({key: value for key, value in entry.items() if value != _NO_BLACKHOLE})


def _settings(run, part):
    settings = run.get(part, {})
    if not isinstance(settings, dict):
        return _plain(settings)
    return _plain({key: settings[key] for key in _PARTS[part] if key in settings})


def _fabric(run):
    topology = run.get("topology", {})
    text = _SHAPES.get(topology.get("kind"), _other_shape)(topology)
    if topology.get("asymmetry"):
        text += "; except " + "; ".join(map(_plain, topology["asymmetry"]))
    return text


def _leaf_spine(topology):
    leaves, spines, each = (topology.get(k, "?") for k in ("leaves", "spines", "hosts_per_leaf"))
    parallel = topology.get("links_per_pair", "1")
    twice = f", {parallel} links between each two" if parallel != "1" else ""
    return (f"leaf-spine of {leaves} leaves with {each} hosts each and {spines} spines{twice}; "
            + _links(topology))


def _fat_tree(topology):
    return f"fat-tree, k = {topology.get('k', '?')}; " + _links(topology)


def _other_shape(topology):
    return f"{topology.get('kind', '')} topology"


_SHAPES = {"leaf_spine": _leaf_spine, "fat_tree": _fat_tree}


def _links(topology):
    return "; ".join(f"{key.replace('_', ' ')}s of {link.get('rate')}, {link.get('delay')}"
                     for key, link in topology.items()
                     if key.endswith("_link") and isinstance(link, dict))


def _workload(entry):
    if entry.get("kind") == "poisson":
        return _poisson(entry)
    return _plain({key: value for key, value in entry.items() if key not in _MINOR})


_MINOR = ("interpolation", "measured", "load_headers", "overload", "start", "jitter")


def _poisson(entry):
    of = {"host": "the hosts' links", "fabric": "the links between switches"}.get(
        entry.get("load_ref"), "")
    load = "a swept load" if entry.get("load") == "swept" else f"load {entry.get('load')}"
    length = "".join(f", {entry[key]}{unit}" for key, unit in (("flows", " flows"), ("duration", ""))
                     if entry.get(key) not in (None, "none"))
    sizes = entry.get("sizes")
    return (f"Poisson arrivals at {load} of {of}{length}, sizes "
            f"{'as listed in run.yaml' if isinstance(sizes, (dict, list)) else sizes}, "
            f"pairs {_plain(entry.get('pairs'))}")

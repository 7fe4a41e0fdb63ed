# SPDX-License-Identifier: Apache-2.0
"""The experiment in words, from the run.yaml of its first point and the axes of the sweep."""

import re

from . import axes, ports, results

_NOTHING = ([], {}, "", "none", "auto", "off", "false", "0", "unset", "unchanged", "both")

# Units of time and their picoseconds, the greatest first.
_UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}

# Settings of the transport that are shown, in this order, if run.yaml has them.
_TRANSPORT = ("kind", "recovery", "cc", "min_rto", "mtu")


def count(number, noun):
    """Such as "1 point" or "2 points"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def experiment(sweep):
    """Pairs of a heading and a text, neither of them escaped."""
    run = results.read_yaml(sweep.results.points[0].folder / "run.yaml")
    if not isinstance(run, dict):
        raise results.BadInput(f"{sweep.results.points[0].folder}/run.yaml: is no experiment")
    swept = _swept(sweep)
    for key, values in swept.items():
        _put(run, key, "swept" if len(values) > 1 else values[0])
    # Values that the settings come to are those of the first point; others may differ there.
    may_differ = any(axis.split(".")[0] in ("topology", "transport", "background", "schedule") for axis in swept)
    where = " (in the first point)" if may_differ and ports.resolved(run) else ""
    told = ports.said(run)
    defaults = _defaults(run)
    said = [("Fabric", _fabric(run)), ("Ports", told + where if told else ""), ("Transport", _transport(run)),
            ("By default", defaults + where if defaults else ""),
            ("Load balancers", ", ".join(_named(sweep.results, "lb", swept["lb"]))
             if "lb" in swept else _plain(run.get("lb"))),
            ("Workload", "; ".join(map(_workload, _list(run.get("workload", [])))))]
    if run.get("background"):
        said.append(("Background", "; ".join(map(_plain, _list(run["background"])))))
    if run.get("schedule"):
        said.append(("Changes", "; ".join(map(_change, _list(run["schedule"])))))
    said += [("Swept", text) for text in _axes(sweep, swept)]
    said += [("Left out", text) for text in _exclusions(sweep.results)]
    said.append(("Seeds", _seeds(sweep)))
    said.append(("Measured", _measured(run)))
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
            named.update(ports.as_list(entry.get(key)))
    return named


def asymmetric(run):
    """Spines, cores and links to which the topology gives another delay, by their names; rates are
    in links.csv."""
    named = set()
    for entry in run.get("topology", {}).get("asymmetry") or []:
        if entry.get("delay", "unchanged") == "unchanged":
            continue
        named.update(ports.as_list(entry.get("links")))
        named.update(f"spine{i}" for i in ports.as_list(entry.get("spines")))
        named.update(f"core{i}" for i in ports.as_list(entry.get("cores")))
    return named


def _put(run, key, text):
    """Sets the value at a key such as workload[0].load, if `run` has the key."""
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", key)]
    for step in steps[:-1]:
        try:
            run = run[step]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(run, dict) or (isinstance(run, list) and steps[-1] in range(len(run))):
        run[steps[-1]] = text


def _swept(sweep):
    columns = zip(*(c.choices for c in sweep.results.combinations))
    return {axis: list(dict.fromkeys(values)) for axis, values in zip(sweep.results.axes, columns)}


def _axes(sweep, swept):
    """Texts about the axes; axes that change together share one."""
    told = []
    for keys in _together(sweep.results):
        told += keys
        at = [sweep.results.axes.index(key) for key in keys]
        steps = dict.fromkeys(tuple(c.choices[i] for i in at) for c in sweep.results.combinations)
        yield (f"{' and '.join(keys)} together: "
               + ", ".join(" with ".join(step) for step in steps))
    for key, values in swept.items():
        if key not in told:
            yield f"{key}: {', '.join(_named(sweep.results, key, values))}"


def _named(read, axis, values):
    """Values with their labels, as in "LetFlow (letflow.gap=100us)"."""
    labels = [read.label(axis, value) for value in values]
    return [f"{label} ({value})" if label else value for label, value in zip(labels, values)]


def _together(read):
    """Lists of keys, without those that were fixed."""
    groups = [[key for key in group if key in read.axes] for group in results.sweep_of(read.document).get("together") or []]
    return [group for group in groups if len(group) > 1]


def _exclusions(read):
    for rule in results.sweep_of(read.document).get("exclude") or []:
        if isinstance(rule, dict) and rule:
            first, *rest = (f"{key} {_any_of(value)}" for key, value in rule.items())
            yield first + (f" with {' and '.join(rest)}" if rest else "")


def _any_of(value):
    return " or ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)


def _seeds(sweep):
    seeds = list(dict.fromkeys(point.seed for point in sweep.results.points))
    return ", ".join(seeds[:10]) + (f" and {len(seeds) - 10} more" if len(seeds) > 10 else "")


def _points(read):
    if not read.absent:
        return f"{read.planned}, all complete" if read.planned > 1 else "1, complete"
    return f"{read.planned}, of which {len(read.absent)} are not complete: listed below"


def _plain(value):
    """A setting on one line, without entries such as none, auto or 0."""
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


# The sections that run.yaml shows for entries that do not set them.
_NO_BLACKHOLE = {"from": [], "to": [], "share_of_pairs": "1", "hash_from": "0", "hash_to": "1",
                 "links": [], "until": "forever"}
_NO_FLAP = {"down": "0ps", "up": "0ps", "jitter": "0", "until": "0ps"}
_NO_BURSTS = {"to_bad": "unchanged", "to_good": "1", "bad": "1"}

# The settings of an entry that _change() has words of its own for.
_SAID = ("at", "links", "switches", "random_links", "random_switches", "share_of_links", "keep_connected", "state", "silent")


def _change(entry):
    """What an entry of the schedule sets, such as "at 2ms: leaf0-spine1 down"."""
    if not isinstance(entry, dict):
        return _plain(entry)
    state = entry.get("state", "unchanged")
    what = [_where_changed(entry) + (f" {state}" if state != "unchanged" else "")]
    what += ["nobody notices"] if entry.get("silent") == "true" else []
    # A loss of 0 ends an earlier one.
    what += [f"{key.replace('_', ' ')} {_inner(value)}" for key, value in entry.items()
             if key not in _SAID and value not in ("unchanged", "both", _NO_BLACKHOLE, _NO_FLAP, _NO_BURSTS)]
    return f"at {entry.get('at', '?')}: {', '.join(what)}"


def _where_changed(entry):
    """The links and switches of an entry of the schedule."""
    named = [*ports.as_list(entry.get("links")), *ports.as_list(entry.get("switches"))]
    for key, noun in (("random_links", "random link"), ("random_switches", "random switch")):
        drawn = entry.get(key, "0")
        if drawn != "0":
            named.append(f"{_number(drawn)} {_plural(noun, drawn)}")
    share = entry.get("share_of_links", "none")
    if share != "none":
        named.append(f"{_share(share)} of the links between switches"
                     + (" even if leaves are cut off" if entry.get("keep_connected") == "false" else ""))
    return " and ".join(named)


def _plural(noun, number):
    return noun if number == "1" else noun + ("es" if noun.endswith("ch") else "s")


def _share(text):
    """A share such as 0.1 in percent."""
    value = axes.quantity(text)
    return "a swept share" if text == "swept" else text if value is None else f"{100 * value:g} %"


def _list(value):
    """The entries of a list; one entry if the whole list is swept."""
    return value if isinstance(value, list) else [value]


def _transport(run):
    settings = run.get("transport", {})
    if not isinstance(settings, dict):
        return _plain(settings)
    return _plain({key: settings[key] for key in _TRANSPORT if key in settings})


def _defaults(run):
    """What the settings of the transport that are auto come to."""
    values = dict(ports.resolved(run).get("transport") or {})
    control = values.pop("cc", {})
    values.update((key, value) for key, value in control.items() if key != "kind")
    told = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in values.items())
    return f"congestion control {control.get('kind', '')}: {told}" if told else ""


_UNFINISHED = {"error": "unfinished ones count as infinitely slow, and are an error",
               "inf": "unfinished ones count as infinitely slow", "drop": "unfinished ones don't count"}
_PERCENTILES = {"linear": "percentiles are interpolated", "nearest": "percentiles are samples, ranks rounded up",
                "hpcc": "percentiles are samples, ranks rounded down"}


def _rounded(time):
    """A time such as 142604166ps with four digits, as 142.6us."""
    match = re.fullmatch(r"([\d.]+)([mun]?s|ps)", time)
    if not match:
        return time
    ps = float(match[1]) * _UNITS[match[2]]
    unit = next((unit for unit, least in _UNITS.items() if ps >= least), "ps")
    return f"{ps / _UNITS[unit]:.4g}{unit}"


def _measured(run):
    measure = run.get("measure", {})
    if not isinstance(measure, dict):
        return ""
    warm_up = measure.get("warm_up", "auto")
    if warm_up == "auto":
        resolved = ports.resolved(run).get("warm_up")
        said = [f"flows that start after {_rounded(resolved)}" if resolved
                else "flows after a warm-up that follows from the workload"]
    else:
        said = ["all flows" if _is_zero(warm_up) else f"flows that start after {warm_up}"]
    said += [words[measure[key]] for key, words in (("unfinished", _UNFINISHED), ("percentiles", _PERCENTILES))
             if measure.get(key) in words]
    return "; ".join(said)


def _is_zero(text):
    return axes.quantity(text) == 0


def _fabric(run):
    topology = run.get("topology", {})
    if not isinstance(topology, dict):
        return _plain(topology)
    text = _SHAPES.get(topology.get("kind"), _other_shape)(topology)
    if topology.get("asymmetry"):
        text += "; except " + "; ".join(map(_exception, topology["asymmetry"]))
    return text


def _exception(entry):
    """Such as "the links of spine3: rate 40Gbps"."""
    spines = " and ".join(f"spine{number}" for number in entry.get("spines") or [])
    links = ([f"the links of {spines}"] if spines else []) + list(entry.get("links") or [])
    rest = {key: value for key, value in entry.items() if key not in ("spines", "links")}
    return f"{', '.join(links)}: {_plain(rest)}" if links else _plain(entry)


def _leaf_spine(topology):
    leaves, spines, each, parallel = (
        _number(topology.get(key, "?")) for key in ("leaves", "spines", "hosts_per_leaf", "links_per_pair"))
    twice = f", {parallel} links between each leaf and spine" if parallel not in ("1", "?") else ""
    return (f"leaf-spine of {leaves} leaves with {each} hosts each and {spines} spines{twice}; "
            + _links(topology))


def _number(text):
    return "a swept number of" if text == "swept" else text


def _fat_tree(topology):
    return f"fat-tree, k = {topology.get('k', '?')}; " + _links(topology)


def _rail(topology):
    pods, servers, rails, spines = (
        _number(topology.get(key, "?")) for key in ("pods", "servers", "rails", "spines"))
    return (f"rails: {pods} pods of {servers} servers with {rails} hosts each, and {spines} spines; "
            + _links(topology))


def _planes(topology):
    planes = _number(topology.get("planes", "?"))
    return f"{planes} planes, each a " + _leaf_spine(topology)


def _other_shape(topology):
    return f"{topology.get('kind', '')} topology"


_SHAPES = {"leaf_spine": _leaf_spine, "fat_tree": _fat_tree, "rail": _rail, "planes": _planes}


def _links(topology):
    return "; ".join(f"{key.replace('_', ' ')}s of {link.get('rate')}, {link.get('delay')}"
                     for key, link in topology.items()
                     if key.endswith("_link") and isinstance(link, dict))


def _workload(entry):
    if not isinstance(entry, dict):
        return _plain(entry)
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

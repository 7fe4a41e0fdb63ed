# SPDX-License-Identifier: Apache-2.0
"""The switch ports of an experiment in words: buffers, ECN marks and PFC. Where a setting is auto,
the section `resolved` of run.yaml has its value for each kind of port."""


def resolved(run):
    """What the settings come to; empty for results of an early Heddle."""
    section = run.get("resolved")
    return section if isinstance(section, dict) else {}


def as_list(value):
    """A setting that is a list, of which one element may stand alone."""
    return [value] if isinstance(value, str) else list(value or [])


def said(run):
    topology = run.get("topology", {})
    port = topology.get("port") if isinstance(topology, dict) else None
    if not isinstance(port, dict):
        return ""
    return "; ".join((_buffer(port, run), _marking(port, run), _pfc(port.get("pfc"), run)))


_MEMORY = {"dt": "each queue may hold a multiple of the free buffer",
           "hpcc_mmu": "each input may hold a multiple of the free buffer",
           "broadcom_mmu": "inputs and lossy queues may hold multiples of the free buffer"}


def _by_rate(run, key):
    """The values of all kinds of ports, such as 97.5KB (10Gbps) or 120KB (40Gbps); empty if they
    are not known."""
    rates = {}
    for kind in resolved(run).get("ports") or []:
        if key in kind:
            rates.setdefault(kind[key], {})[kind.get("rate", "?")] = None
    if len(rates) < 2:
        return "".join(rates)
    return " or ".join(f"{value} ({', '.join(at)})" for value, at in rates.items())


def _of_size(text, by_default):
    if text == "auto" and by_default:
        return f"of {by_default}"
    return {"auto": "of the default size", "swept": "of a swept size"}.get(text, f"of {text}")


def _buffer(port, run):
    memory = port.get("memory") or {}
    model = memory.get("model", "static") if isinstance(memory, dict) else memory
    if model != "static":
        size = memory.get("size", "auto") if isinstance(memory, dict) else "auto"
        by_default = (resolved(run).get("memory") or {}).get("size", "")
        rule = f": {_MEMORY[model]}" if model in _MEMORY else ""
        return f"a buffer {_of_size(size, by_default)} that a switch's ports share ({model}{rule})"
    buffer = port.get("buffer", "auto")
    if buffer == "unlimited":
        return "unlimited buffers"
    return f"a buffer {_of_size(buffer, _by_rate(run, 'buffer'))} for each port"


def _marking(port, run):
    if port.get("marking", "auto") == "swept":
        return "ECN marking as swept"
    if _is_red(port, run.get("transport")):
        red = port.get("red") if isinstance(port.get("red"), dict) else {}
        ends = [_by_rate(run, f"red_{end}") or "auto" if text == "auto" else text
                for end in ("min", "max") for text in (red.get(end, "auto"),)]
        return ("ECN marks with RED, "
                + ("between the default thresholds" if "auto" in ends else f"from {ends[0]} to {ends[1]}"))
    above = port.get("ecn_above", "auto")
    if above == "auto":
        by_default = _by_rate(run, "ecn_above")
        return f"ECN marks above {by_default or 'the default threshold'}"
    return {"unlimited": "no ECN marks",
            "swept": "ECN marks above a swept threshold"}.get(above, f"ECN marks above {above}")


def _is_red(port, transport):
    """True for marking: red; by default DCQCN uses RED too."""
    if port.get("marking", "auto") != "auto" or not isinstance(transport, dict):
        return port.get("marking") == "red"
    control = transport.get("cc")
    return transport.get("kind") == "rocev2" and (
        control.get("kind") if isinstance(control, dict) else control) == "dcqcn"


def _pfc(pfc, run):
    if not isinstance(pfc, dict):
        return f"PFC as {pfc}" if pfc else "no PFC"
    classes = as_list(pfc.get("classes"))
    if not classes:
        return "no PFC"
    which = "class" if len(classes) == 1 else "classes"
    return f"PFC for {which} {', '.join(classes)}{_pause_threshold(pfc.get('xoff', 'auto'), run)}{_headroom(pfc, run)}"


def _pause_threshold(xoff, run):
    if xoff == "swept":
        return " with a swept pause threshold"
    if xoff != "auto":
        return f" with a pause threshold of {xoff}"
    share = _by_rate(run, "xoff_share")
    if share:
        return f" with a pause threshold of {share} times the free buffer"
    size = _by_rate(run, "xoff")
    return f" with a pause threshold of {size}" if size else ""


def _headroom(pfc, run):
    if pfc.get("headroom", "auto") != "auto":
        return ""
    size = _by_rate(run, "headroom")
    return f" and a headroom of {size}" if size else ""

# SPDX-License-Identifier: Apache-2.0
"""Folders of results for tests, as heddle writes them (docs/metrics.md), with numbers that are easy
to follow: those of a point are its number times what is given."""

import csv
import json
import zlib
from pathlib import Path

CLASSES = (("all", "all"), ("smlxl", "S"), ("smlxl", "M"))
METRICS = (
    "n", "unfinished", "avg_fct_us", "p50_fct_us", "p99_fct_us", "avg_slowdown", "p50_slowdown",
    "p99_slowdown", "reordered_ratio", "late_p99_ns", "run_data_packets_sent",
    "run_retransmissions_spurious", "run_retransmissions_loss", "run_timeouts", "run_ecn_marked",
    "run_dropped", "run_pause_frames", "run_paused_ps", "run_carried_host")

RUN_YAML = """\
name: small
seed: 1
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 1, asymmetry: []}
transport: {kind: dctcp}
lb: {kind: ecmp}
workload: [{kind: poisson, sizes: small, load: 0.5, load_ref: host, pairs: any, flows: 3}]
measure: {unfinished: inf, record: {queues: 10us, links: off, flows: {every: 20us}}}
schedule: []
"""

LINKS = [("host0", 0, "leaf0", "host_up", 10e9), ("host1", 0, "leaf1", "host_up", 10e9)] + [
    (f"leaf{leaf}", 1 + spine, f"spine{spine}", "leaf_up", (40e9, 10e9)[spine])
    for leaf in (0, 1) for spine in (0, 1)] + [
    (f"spine{spine}", leaf, f"leaf{leaf}", "spine_down", (40e9, 10e9)[spine])
    for leaf in (0, 1) for spine in (0, 1)] + [
    ("leaf0", 0, "host0", "leaf_down", 10e9), ("leaf1", 0, "host1", "leaf_down", 10e9)]


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_run(folder, run_yaml=RUN_YAML, complete=True, **summary):
    folder = Path(folder)
    folder.mkdir(parents=True)
    (folder / "run.yaml").write_text(run_yaml, encoding="utf-8")
    counts = {"dropped_TAIL": 2, "dropped_LINKDOWN": 3, "ecn_marked": 7, "pause_frames": 0,
              "paused_ps": 0}
    measured = {"data_packets_sent": 200, "retransmissions_spurious": 4, "retransmissions_loss": 1,
                "timeouts": 0}
    text = {"name": "small", "label": "small", "experiment_hash": "0123456789abcdef", "seed": 1,
            "version": "0.1.0", "commit": "abc", "end_ps": 100_000_000, "complete": complete,
            "counts": counts, "counts_of_measured_flows": measured, "load": {"carried_host": 0.4},
            "load_balancer": {"state_bytes": 64, "decisions": 10}, **summary}
    (folder / "summary.json").write_text(json.dumps(text), encoding="utf-8")
    write_csv(folder / "summary.csv", ("class_set", "class") + METRICS[:8],
              [key + (3, 0, 10, 9, 20, 2, 1.5, 4) for key in CLASSES[:2]])
    write_csv(folder / "reorder.csv", ("scope", "class", "ratio", "late_p99_ns"),
              [key + (0.25, 100) for key in CLASSES[:2]])
    write_csv(folder / "links.csv", ("node", "port", "peer", "tier", "rate_bps", "util"),
              [link + (0.5,) for link in LINKS])
    write_csv(folder / "flows.csv", ("class", "fct_rx_ns", "slowdown", "measured", "finished"),
              [("S", 1000, 1, 1, 1), ("S", 3000, 3, 1, 1), ("S", "", "", 1, 0), ("S", 9, 9, 0, 1)])


def write_manifest(folder):
    rows = [(path.name, path.stat().st_size, f"{zlib.crc32(path.read_bytes()):08x}")
            for path in sorted(Path(folder).iterdir())]
    write_csv(Path(folder) / "manifest.csv", ("file", "bytes", "crc32"), rows)


def write_sweep(folder, axes, combinations, seeds=2, value=lambda i, metric: i + 1, width=0.5,
                without=(), names=None):
    """Points of all `combinations`, which are tuples of values of the axes; those numbered in
    `without` have no results. `value` gives a metric of a combination by its number."""
    folder = Path(folder)
    (folder / "points").mkdir(parents=True)
    (folder / "sweep.yaml").write_text("sweep: {}\n", encoding="utf-8")
    plan = [(f"p{i}_{seed}", i, seed, choices) for i, choices in enumerate(combinations)
            for seed in range(1, seeds + 1)]
    write_csv(folder / "plan.csv", ["point", "id", "label", "seed", "packet_hops", "memory_bytes"]
              + list(axes), [[n + 1, id_, ",".join(choices) + f",seed={seed}", seed, 1, 1, *choices]
                             for n, (id_, _, seed, choices) in enumerate(plan)])
    there = [point for n, point in enumerate(plan) if n not in without]
    write_csv(folder / "points.csv", list(axes) + ["seed", "point", "complete"],
              [[*choices, seed, id_, 1] for id_, _, seed, choices in there])
    numbered = [name for metric in METRICS for name in (metric, metric + "_ci95", metric + "_n")]
    rows = [[*choices, *key, seeds] + [cell for metric in METRICS
                                       for cell in (value(i, metric), width, seeds)]
            for i, choices in enumerate(combinations) for key in CLASSES]
    write_csv(folder / "means.csv", list(axes) + ["class_set", "class", "seeds"] + numbered, rows)
    for id_, i, _, choices in there:
        if i in (names if names is not None else range(len(combinations))):
            write_run(folder / "points" / id_)
    return folder


# ---- papers.json, as heddle papers claims writes it

def claim(id_, verdict="reproduced", says="it is faster", **more):
    cells = [{"where": "load=0.5: pdlb, ecmp", "outcome": "for", "mean": -2.0, "ci95": 0.5,
              "relative": -0.25, "seeds": 3}]
    part = {"verdict": verdict, "expected": "afct: pdlb < ecmp", "measured": "-25 % +- 6.2 %",
            "reason": "", "cells": cells}
    return {"id": id_, "counts_as": "claim", "says": says, "verdict": verdict, "agreeing": 1, "of": 1,
            "expected": part["expected"], "measured": part["measured"], "range": "-25 %", "reason": "",
            "depends_on": "", "parts": [part], **more}


def line(name, mean, x=(1, 2), x_text=("1", "2"), ci95=None, n=3, metric="afct"):
    return {"name": name, "metric": metric, "x": list(x), "x_text": list(x_text), "mean": list(mean),
            "ci95": list(ci95 or [0.5] * len(mean)), "n": [n] * len(mean)}


def figure(id_="7a", lines=(), **more):
    return {"id": id_, "kind": "lines", "title": "", "label": "AFCT", "unit": "us", "x": "k",
            "x_label": "slow paths", "x_is_number": True, "normalised_to": "",
            "lines": list(lines or [line("ecmp", (4, 8)), line("pdlb", (3, 5))]), **more}


def experiment(id_="fig7", claims=(), figures=None, **more):
    return {"id": id_, "about": "schemes by slow paths", "choices": {"load": "0.5; none is given"},
            "points": 12, "results": 12, "stale": 0, "figures": [figure()] if figures is None else figures,
            "claims": list(claims), **more}


def paper(id_="pdlb", experiments=(), name="PDLB"):
    return {"id": id_, "name": name, "title": f"Somebody et al., {name}, 2023",
            "experiments": list(experiments)}


def write_papers(folder, papers):
    folder = Path(folder)
    folder.mkdir(parents=True)
    (folder / "papers.json").write_text(json.dumps(
        {"version": "0.1.0", "commit": "abc", "scale": "ci", "set": [], "papers": papers}), encoding="utf-8")
    return folder

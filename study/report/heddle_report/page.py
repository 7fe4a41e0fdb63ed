# SPDX-License-Identifier: Apache-2.0
"""The results as one HTML page, which needs nothing but itself."""

import dataclasses
import json
import math
import sys
from html import escape
from itertools import starmap
from pathlib import Path
from string import Template

from . import charts, fabric, lanes, results, runs, shown, stragglers, style, words

HERE = Path(__file__).parent
# Limits that a browser still handles with ease.
MOST_CHOICES = 200
MOST_ROWS = 50_000
MOST_ABSENT = 1_000


def html(sweep):
    """The page of a sweep or a run."""
    read = sweep.results
    warnings = results.read_warnings(read.points)
    of_runs = runs.charts(sweep)
    pictures = {chart.id: lanes.svg(chart) for chart in of_runs if chart.kind == "lanes"}
    data, notes = _data(sweep, of_runs, warnings)
    first = read.points[0].folder
    sections = [_fabric(first), *_chart_sections(data, pictures, notes), *map(table, data["tables"])]
    return fill(
        title=read.name, made=words.provenance(read), data=data, warning=_absence(read) + _runs_warn(warnings),
        intro=_experiment(sweep, first), nav=[(id_, title) for id_, title, _ in sections],
        body="\n".join(starmap(section, sections)))


def fill(title, made, data, nav, intro, body, warning="", assets=()):
    """The page around `intro` and `body`, with more `assets` than every page has."""
    page = Template((HERE / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=escape(title), made=escape(made), css=_assets("css", assets), js=_assets("js", assets),
        plotly=_script(plotly()), data=_json(short(data)), warning=warning, intro=intro,
        nav=" ".join(f'<a href="#{escape(id_)}">{escape(text)}</a>' for id_, text in nav), body=body)


def plotly():
    """Returns Plotly's JavaScript. The Python package plotly imports IPython if it is installed, which takes a
    second. Only notebooks need that, and have imported it before; elsewhere it is hidden from plotly."""
    without_ipython = sys.modules.setdefault("IPython", None) is None
    try:
        from plotly.offline import get_plotlyjs
    finally:
        if without_ipython:
            del sys.modules["IPython"]
    return get_plotlyjs()


def _assets(kind, more):
    return "".join((HERE / f"{name}.{kind}").read_text(encoding="utf-8")
                   for name in ("page", *more))


def _experiment(sweep, first):
    told = "".join(f"<dt>{escape(h)}</dt><dd>{escape(t)}</dd>" for h, t in words.experiment(sweep))
    run = escape(results.read_text(first / "run.yaml"))
    return section("experiment", "The experiment",
                   f"<dl>{told}</dl><details><summary>All settings of the first point "
                   f"(run.yaml)</summary><pre>{run}</pre></details>{_document(sweep.results)}")


def _script(text):
    """Nothing within a script may look like its end."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _json(value):
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
            .replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def short(value):
    """`value` with six digits for each number; None for infinity and NaN, which JSON lacks."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: short(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [short(v) for v in value]
    return value


def _data(sweep, of_runs, warnings):
    """The data that page.js draws, and a note about charts that it leaves out."""
    notes = ""
    made = sweep.charts()
    if len(made) > MOST_CHOICES:
        notes = (f"Charts for the first {MOST_CHOICES} of {len(made)} combinations of the other "
                 "axes; means.csv has all.")
    return {
        "made": words.provenance(sweep.results),
        "styles": styles(),
        "heat": [[i / (len(style.HEAT) - 1), colour] for i, colour in enumerate(style.HEAT)],
        "choices": [{"name": of_choice[0].choice, "charts": list(map(as_data, of_choice))}
                    for of_choice in made[:MOST_CHOICES]],
        "runs": list(map(as_data, of_runs)),
        "tables": _tables(sweep, warnings),
    }, notes


def as_data(chart):
    if chart.kind == "lanes":  # Drawn already.
        chart = dataclasses.replace(chart, panels=[])
    return {**dataclasses.asdict(chart), "shares_x": chart.shares_x(), "shares_y": chart.shares_y()}


def styles():
    """Those of style.of(), as Plotly calls them."""
    return [{**s, "marker": s["marker"][0], "dash": s["dash"][0], "hatch": s["hatch"][0]}
            for s in (style.of(i) for i in range(len(style.MARKERS) * len(style.LIGHT)))]


def _tables(sweep, warnings):
    tables = [_results_table(sweep)]
    chosen = shown.points(sweep)
    where = runs.where_of(sweep, chosen)
    of = sweep.series_title()
    tables += filter(None, (stragglers.jobs_table(chosen, of, where), stragglers.table(chosen, of, where)))
    names, rows = shown.counters(chosen)
    if names:
        tables.append({"id": "counters", "title": "Counters of load balancers",
                       "caption": "Counts of the whole run, summed over switches and hosts. " + where, "columns": ["load balancer"] + names,
                       "rows": rows})
    if warnings:
        tables.append({"id": "warnings", "title": "Warnings of runs",
                       "caption": "Read these before you trust the results. Warnings that differ in numbers alone "
                                  "are counted together; the numbers are those of the first point.",
                       "columns": ["warning", "points", "first point"],
                       "rows": [[w.text, w.points, w.first] for w in warnings]})
    absent = sweep.results.absent
    if absent:
        more = f" The first {MOST_ABSENT} of {len(absent)}." if len(absent) > MOST_ABSENT else ""
        tables.append({"id": "absent", "title": "Points without complete results",
                       "caption": "The charts include incomplete points and leave out the others." + more,
                       "columns": ["point", "state", "why"],
                       "rows": [[a.label, a.state, a.message] for a in absent[:MOST_ABSENT]]})
    return tables


_SHOWN = (("n", "flows"), ("unfinished", "unfinished"), ("avg_slowdown", "mean slowdown"),
          ("p99_slowdown", "p99 slowdown"), ("avg_fct_us", "mean FCT (µs)"),
          ("p99_fct_us", "p99 FCT (µs)"), ("run_carried_host", "carried load"))


def _results_table(sweep):
    read = sweep.results
    columns = list(read.axes) or ["load balancer"]
    columns += ["class", "seeds"]
    for metric, title in _SHOWN:
        columns.append(title)
        if _has_width(sweep, metric):
            columns.append(f"± {title}")
    columns.append("reordered (%)")
    rows = []
    for combination in read.combinations:
        start = list(map(read.shown, read.axes, combination.choices)) if read.axes else sweep.series
        for key in sweep.classes:
            values = combination.classes.get(key)
            if values:
                rows.append(start + [charts.class_name(key), combination.seeds]
                            + _cells(sweep, values))
    more = (f" The first {MOST_ROWS} of {len(rows)} rows; means.csv has all."
            if len(rows) > MOST_ROWS else "")
    return {"id": "results", "title": "Results", "columns": columns, "rows": rows[:MOST_ROWS],
            "caption": sweep.mean_text().split(" Bands")[0].split(" Whiskers")[0]
                       + (" ±: 95 % confidence interval." if sweep.has_intervals else "") + more}


def _has_width(sweep, metric):
    return sweep.has_intervals and metric.split("_")[0] in ("avg", "p99")


def _cells(sweep, values):
    cells = []
    for metric, _ in _SHOWN:
        mean = values.mean(metric)
        cells.append("inf" if math.isinf(mean) else mean)
        if _has_width(sweep, metric):
            cells.append(values.width(metric))
    return cells + [100 * values.mean("reordered_ratio")]


def _runs_warn(warnings):
    if not warnings:
        return ""
    said = "a warning" if len(warnings) == 1 else f"{len(warnings)} different warnings"
    return (f'<p class="warning">Read <a href="#warnings">{said} of the runs</a> before you trust the '
            'results.</p>')


def _absence(read):
    if not read.absent:
        return ""
    states = {}
    for absent in read.absent:
        states[absent.state] = states.get(absent.state, 0) + 1
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    return (f'<p class="warning">Of {read.planned} points, {escape(counts)}: '
            '<a href="#absent">which, and why</a>.</p>')


def _document(read):
    if not read.document:
        return ""
    return ("<details><summary>The sweep (sweep.yaml)</summary>"
            f"<pre>{escape(read.document)}</pre></details>")


def _fabric(folder):
    run = results.read_yaml(folder / "run.yaml")
    drawn = fabric.Fabric(results.read_links(folder), words.changed(run), words.asymmetric(run))
    slow, changed = drawn.marks()
    key = '<span class="key"></span> slower or longer than others of its kind. ' if slow else ""
    key += '<span class="key changed"></span> changes during the run. ' if changed else ""
    return ("fabric", "The fabric", f'{drawn.svg()}<p class="caption">{key}'
            f"{escape(drawn.notes())} This is the fabric of the first point; point at a node or a link for its "
            "name.</p>")


def _chart_sections(data, pictures, notes):
    """`pictures` are charts that are drawn already, by id."""
    sections = []
    chooser = ""
    if len(data["choices"]) > 1:
        options = "".join(f"<option>{escape(c['name'])}</option>" for c in data["choices"])
        chooser = (f'<p class="choice"><label>Charts for <select id="choice">{options}</select>'
                   f"</label> {escape(notes)}</p>")
    for chart in data["choices"][0]["charts"] + data["runs"]:
        drawn = f'<div class="chart" id="chart-{chart["id"]}"></div>' if chart["panels"] else pictures.get(chart["id"], "")
        scale = (f'<button class="scale" id="scale-{chart["id"]}" type="button"></button>'
                 if drawn and chart["can_log"] else "")
        sections.append((chart["id"], chart["title"],
                         f'{chooser}{scale}{drawn}<p class="caption" id="caption-{chart["id"]}"></p>'))
        chooser = ""
    return sections


def table(of):
    id_ = of["id"]
    return (id_, of["title"],
            f'<p class="caption">{escape(of["caption"])}</p><div id="table-{id_}">'
            '<div class="tools"><input class="filter" placeholder="Filter" aria-label="Filter">'
            '<button class="save" type="button">Save as CSV</button>'
            '<span class="count note"></span></div><div class="scroll"><table><thead><tr></tr>'
            '</thead><tbody></tbody></table></div>'
            '<button class="more" type="button" hidden></button></div>')


def section(id_, title, body):
    return f'<section id="{escape(id_)}"><h2>{escape(title)}</h2>{body}</section>'

# SPDX-License-Identifier: Apache-2.0
"""The charts as figures for a paper: as wide as a page, legible in grey, the same bytes each time."""

import io
import itertools
import math
import re

import matplotlib
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from . import reproduction, results, runs, style, words
from .files import write_whole

FORMATS = ("pdf", "svg", "png")
MOST_CHOICES = 12  # Drawn; each takes seconds.
WIDTH = 7.0        # Inches: two columns of most proceedings.

STYLE = {
    "font.family": "sans-serif", "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 8, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.5,
    "axes.axisbelow": True, "hatch.linewidth": 0.5, "pdf.fonttype": 42,  # Type 3 is refused by some.
    "svg.hashsalt": "heddle", "svg.fonttype": "path",
}


def of_sweep(sweep):
    """The arguments of write(): charts with their names and descriptions, the version that made them,
    and a note about charts that are left out."""
    choices = sweep.charts()
    drawn = [(_name(chart), f"For {chart.choice}." if chart.choice else "", chart)
             for chart in [c for of in choices[:MOST_CHOICES] for c in of] + runs.charts(sweep)
             if chart.panels]
    note = (f"The first {MOST_CHOICES} of {len(choices)} combinations of the other axes are drawn.\n"
            if len(choices) > MOST_CHOICES else "")
    return drawn, words.provenance(sweep.results), note


def of_papers(found):
    drawn = [(chart.id, f"{paper.name}, {experiment.about.rstrip('.')}.", chart)
             for paper, experiment, of in reproduction.figures(found) for chart in of]
    return drawn, found.made(), ""


def _name(chart):
    return f"{chart.id}-{chart.choice}" if chart.choice else chart.id


def _file_names(names):
    """File names that every tool accepts, LaTeX too: in LaTeX, a dot begins the extension."""
    taken = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")
        numbered = (f"{plain}-{i}" if i > 1 else plain for i in itertools.count(1))
        yield next(n for n in numbered if n not in taken and not taken.add(n))


def write(drawn, made, note, folder, formats):
    """Writes all figures; yields the name of each file. The last has captions, and the note."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise results.BadInput(f"--format: {unknown[0]}; expected some of {', '.join(FORMATS)}")
    folder.mkdir(parents=True, exist_ok=True)
    captions = []
    names = _file_names(name for name, _, _ in drawn)
    for name, (_, where, chart) in zip(names, drawn):
        with matplotlib.rc_context(STYLE):
            figure = draw(chart)
            for kind in formats:
                write_whole(folder / f"{name}.{kind}", _bytes_of(figure, kind, made))
                yield f"{folder / name}.{kind}"
        told = " ".join(filter(None, (f"{chart.title.rstrip('.')}.", chart.caption, where, f"{made}.")))
        captions.append(f"{name}\n  {told}\n")
    write_whole(folder / "captions.txt", "\n".join(captions + [note] * bool(note)).encode())
    yield str(folder / "captions.txt")


def _bytes_of(figure, kind, made):
    # Without dates, so that the same results give the same bytes.
    metadata = {"pdf": {"CreationDate": None, "Creator": made}, "svg": {"Date": None, "Creator": made},
                "png": {"Software": made}}[kind]
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind, metadata=metadata, dpi=300, bbox_inches="tight", pad_inches=0.03)
    return drawn.getvalue()


def literal(text):
    """Names come from experiments; a dollar would begin a formula."""
    return str(text).replace("$", r"\$")


def draw(chart, make=Figure):
    """A figure that `make` makes; none of pyplot's, so that nobody needs a display, and nobody closes it."""
    rows = math.ceil(len(chart.panels) / chart.columns)
    figure = make(layout="constrained", figsize=(WIDTH, _height(chart, rows)))
    grid = figure.subplots(rows, chart.columns, squeeze=False, sharex=chart.shares_x(), sharey=chart.shares_y())
    for i, axes in enumerate(grid.flat):
        if i >= len(chart.panels):
            axes.set_axis_off()
            continue
        panel = chart.panels[i]
        _DRAW[chart.kind](axes, chart, panel)
        if chart.kind not in ("heat", "lanes") and not any(math.isfinite(v) for line in panel.lines for v in line.y):
            axes.text(0.5, 0.5, "no finite values", transform=axes.transAxes, ha="center", color="gray")
            axes.tick_params(axis="y", which="both", left=False, labelleft=False)
            axes.grid(False)
        if panel.title:
            axes.set_title(literal(panel.title))
        if i % chart.columns == 0 or chart.panels[i - 1].y_title != panel.y_title:
            axes.set_ylabel(literal(panel.y_title))
        if i + chart.columns >= len(chart.panels):
            axes.set_xlabel(literal(chart.x_title))
            axes.tick_params(axis="x", labelbottom=True)  # Also above a panel that is missing.
    if chart.kind == "curves":
        _begin_at_zero(chart, grid)
    if chart.kind == "heat":
        _colour_bar(figure, grid, chart.z_title)
    else:
        _legend(figure, grid)
    return figure


def _begin_at_zero(chart, grid):
    """Once all is drawn: panels that share an axis would keep the range of the first."""
    if all(v >= 0 for panel in chart.panels for line in panel.lines for v in _finite(line) if not math.isnan(v)):
        for axes in grid.flat:
            axes.set_ylim(bottom=0)


def _height(chart, rows):
    if chart.kind == "lanes":
        return sum(0.7 + min(2.4, 0.12 * len(panel.lanes)) for panel in chart.panels)
    if chart.kind == "heat":
        return rows * max(1.4, 0.11 * max(len(panel.rows) for panel in chart.panels) + 0.5)
    each = {1: 2.4, 2: 2.0, 3: 1.8}.get(chart.columns, 1.5)
    return rows * each + 0.4


def _legend(figure, grid):
    lines = {}
    for axes in grid.flat:
        for handle, name in zip(*axes.get_legend_handles_labels()):
            lines.setdefault(name, handle)
    if lines:
        figure.legend(lines.values(), lines.keys(), loc="outside upper left" if _has_outside() else
                      "lower left", bbox_to_anchor=None if _has_outside() else (0, 1),
                      ncols=_legend_columns(lines), frameon=False)


def _legend_columns(names):
    """As many as are no wider than the figure: some 110 letters, of which a line's sample takes 8."""
    return max(1, min(len(names), 5, 110 // (max(map(len, names)) + 8)))


def _has_outside():
    """From matplotlib 3.7 on, legends can be given room of their own."""
    return tuple(map(int, matplotlib.__version__.split(".")[:2])) >= (3, 7)


def _look(line):
    s = style.of(line.style)
    return {"color": s["light"], "linestyle": s["dash"][1], "label": literal(line.name)}


def _lines(axes, chart, panel):
    positions = chart.x or range(len(chart.x_names))
    for line in panel.lines:
        xs = line.x if line.x and chart.x else positions
        axes.plot(xs, _finite(line), marker=style.of(line.style)["marker"][1], markersize=4,
                  linewidth=1.2, **_look(line))
        _band(axes, xs, line)
    _log_scales(axes, chart)
    every = math.ceil(len(positions) / (4 if chart.columns > 3 else 8))
    axes.set_xticks(positions[::every], list(map(literal, chart.x_names[::every])))
    axes.xaxis.set_minor_locator(NullLocator())
    if chart.y_log:
        lowest = [v for line in panel.lines for v in line.y if math.isfinite(v) and v > 0]
        axes.set_ylim(bottom=max(axes.get_ylim()[0], min(lowest, default=1) / 2))
        _log_ticks(axes.yaxis, _ROOM)  # For what remains of the axis.


def _finite(line):
    return [v if math.isfinite(v) else math.nan for v in line.y]


def _whiskers(line):
    """Down and up. Of what is never negative they are cut off at 0."""
    if not line.ci:
        return None
    floor = -math.inf if any(v < 0 for v in line.y) else 0
    return [[min(ci, y - floor) for y, ci in zip(line.y, line.ci)], line.ci]


def _band(axes, xs, line):
    if not line.ci:
        return
    down, up = _whiskers(line)
    y = _finite(line)
    axes.fill_between(xs, [a - b for a, b in zip(y, down)], [a + b for a, b in zip(y, up)],
                      color=_look(line)["color"], alpha=0.15, linewidth=0)


def _curves(axes, chart, panel):
    for line in panel.lines:
        axes.plot(line.x, line.y, linewidth=1, **_look(line),
                  drawstyle="steps-post" if chart.kind == "steps" else "default")
        _band(axes, line.x, line)
    _log_scales(axes, chart)
    if chart.kind == "steps":
        axes.set_ylim(0, 1.03)  # Shares of all flows.
    axes.margins(x=0.01)


def _bars(axes, chart, panel):
    count = max(1, len(panel.lines))
    for i, line in enumerate(panel.lines):
        s = style.of(line.style)
        at = [x + 0.8 * ((i + 0.5) / count - 0.5) for x in range(len(line.y))]
        axes.bar(at, line.y, width=0.8 / count, color=s["light"], edgecolor="white", linewidth=0.3,
                 hatch=s["hatch"][1], label=literal(line.name), yerr=_whiskers(line),
                 error_kw={"elinewidth": 0.7, "capsize": 1.5})
    _name_groups(axes, chart)


def _dots(axes, chart, panel):
    count = max(1, len(panel.lines))
    for i, line in enumerate(panel.lines):
        s = style.of(line.style)
        at = [x + 0.7 * ((i + 0.5) / count - 0.5) for x in range(len(line.y))]
        axes.errorbar(at, line.y, yerr=_whiskers(line), linestyle="none", color=s["light"],
                      marker=s["marker"][1], markersize=4, capsize=1.5, label=literal(line.name))
    _log_scales(axes, chart)
    _name_groups(axes, chart)


def _name_groups(axes, chart):
    axes.set_xticks(range(len(chart.x_names)), list(map(literal, chart.x_names)))
    axes.set_xlim(-0.6, len(chart.x_names) - 0.4)
    axes.grid(False, axis="x")


def _log_scales(axes, chart):
    for log, set_scale, axis in ((chart.x_log, axes.set_xscale, axes.xaxis),
                                 (chart.y_log, axes.set_yscale, axes.yaxis)):
        if not log:
            continue
        set_scale("log")
        _log_ticks(axis, room=1 if axis is axes.xaxis and chart.columns > 3 else _ROOM)


_ROOM = 2.5  # Decades in which ticks at 2 and 5 have room.


def _log_ticks(axis, room):
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if _decades(axis) < room else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _decades(axis):
    low, high = axis.get_view_interval()
    return math.log10(high / low) if low > 0 else math.inf


_MAP = LinearSegmentedColormap.from_list("heddle", style.HEAT)


def _heat(axes, chart, panel):
    extent = None
    if panel.x:  # The first interval begins at 0.
        extent = (0, panel.x[-1], len(panel.rows) - 0.5, -0.5)
    axes.imshow(panel.heat, cmap=_MAP, vmin=0, vmax=1, aspect="auto", interpolation="none",
                extent=extent)
    if panel.x:  # Of all panels: an image narrows what it shares to its own.
        axes.set_xlim(0, max(of.x[-1] for of in chart.panels))
    axes.grid(False)
    size = 5 if len(panel.rows) > 24 else 6
    axes.set_yticks(range(len(panel.rows)), list(map(literal, panel.rows)), fontsize=size)
    if chart.x_names:
        _name_columns(axes, chart)


def _name_columns(axes, chart):
    """Aslant where names would run into each other."""
    axes.set_xticks(range(len(chart.x_names)), list(map(literal, chart.x_names)))
    room = 60 / chart.columns / len(chart.x_names)  # In letters.
    if max(map(len, chart.x_names)) > room:
        axes.tick_params(axis="x", rotation=25)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _colour_bar(figure, grid, title):
    drawn = [axes.images[0] for axes in grid.flat if axes.images]
    figure.colorbar(drawn[0], ax=grid, format=lambda share, _: f"{100 * share:g} %", shrink=0.9,
                    pad=0.01, label=literal(title))


# The colours of a lane's states, as on the page: computation, communication, waiting, another
# iteration. Lanes of iterations begin with the second one.
_LANES = (style.LIGHT[0], style.LIGHT[1], "#d5dae1", style.LIGHT[3])


def _lanes(axes, chart, panel):
    colours = _LANES[1:] if len(chart.states) == 2 else _LANES
    for state, name in enumerate(chart.states):
        for i, lane in enumerate(panel.lanes):
            spans = [(start, end - start) for its, start, end in lane if its == state]
            axes.broken_barh(spans, (i - 0.45, 0.9), facecolor=colours[state], linewidth=0)
        axes.plot([], [], color=colours[state], linewidth=5, label=literal(name))
    axes.set_ylim(len(panel.lanes) - 0.5, -0.5)
    axes.set_xlim(0, max(end for of in chart.panels for lane in of.lanes for *_, end in lane))
    axes.grid(False)
    every = math.ceil(len(panel.rows) / 24)
    named = [i for i, name in enumerate(panel.rows) if i % every == 0 or name.startswith("→")]
    axes.set_yticks(named, [literal(panel.rows[i]) for i in named], fontsize=5)


_DRAW = {"lanes": _lanes, "lines": _lines, "curves": _curves, "steps": _curves, "bars": _bars, "dots": _dots, "heat": _heat}

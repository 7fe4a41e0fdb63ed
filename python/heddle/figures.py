# SPDX-License-Identifier: Apache-2.0
"""The figures of `heddle report --figures`, as functions of results. The package heddle_report chooses
what they show, and draws them."""

import io

import matplotlib
from heddle_report import charts, paper, results, runs, words
from matplotlib import figure as figures

from .errors import BadInput, Damaged
from .results import Sweep


class Figure(figures.Figure):
    """A figure of matplotlib's with its caption. A notebook shows it, whether pyplot is used or not."""

    caption = ""

    def savefig(self, fname, **options):
        with matplotlib.rc_context(paper.STYLE):  # It also says which fonts are embedded.
            super().savefig(fname, **{"dpi": 300, "bbox_inches": "tight", "pad_inches": 0.03, **options})

    def _repr_png_(self):
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=110)
        return drawn.getvalue()


def slowdown(of, classes=None, log=None):
    """Mean, median and p99 of slowdown, by class of flow sizes."""
    return _figure(of, "slowdown", classes, log)


def fct(of, classes=None, log=None):
    """Mean, median and p99 of flow completion times, by class of flow sizes."""
    return _figure(of, "fct", classes, log)


def costs(of):
    """Reordering, retransmissions, drops, ECN marks and pause frames."""
    return _figure(of, "costs")


def distribution(results, of="slowdown", classes=None):
    """The distribution over flows of the runs at the end of the x-axis; `of` is slowdown or fct."""
    return _figure(results, f"cdf-{of}", classes)


def jobs(of, log=None):
    """Completion times of the first measured job, and its bus bandwidth."""
    return _figure(of, "jobs", log=log)


def time_line(of, job=1):
    """What each rank of a job does in its slowest iteration."""
    return _figure(of, f"timeline-{job}")


def links(of):
    """The utilisation of the links between switches."""
    return _figure(of, "links")


def over_time(of, what, log=None):
    """A measurement over time, such as queues."""
    return _figure(of, what, log=log)


_OF_MEANS = ("slowdown", "fct", "costs", "jobs")  # All other figures are of single runs.


def _figure(of, id_, classes=None, log=None):
    try:
        if id_ in _OF_MEANS and isinstance(of, Sweep):
            of.refuse_part_of_seeds()
        laid_out = charts.Sweep(of.for_report())
        if classes is not None:
            laid_out.classes = _classes(laid_out, classes)
        chart = _chart(of, laid_out, id_)
    except results.Damaged as error:
        raise Damaged(str(error)) from error
    except results.BadInput as error:
        raise BadInput(str(error)) from error
    if not chart.panels:
        raise BadInput(f"{of.folder}: {chart.caption}")
    if log is not None:
        chart.set_log(log)
    with matplotlib.rc_context(paper.STYLE):
        drawn = paper.draw(chart, Figure)
    where = f"For {chart.choice}." if chart.choice else ""
    made = words.provenance(laid_out.results)
    drawn.caption = " ".join(filter(None, (f"{chart.title}.", chart.caption, where, f"{made}.")))
    return drawn


def _classes(laid_out, wanted):
    wanted = [wanted] if isinstance(wanted, str) else wanted
    known = {key[1]: key for key in laid_out.classes}
    for name in wanted:
        if name not in known:
            raise BadInput(f"no class of flow sizes is called {name!r}; there are: {', '.join(known)}")
    return [known[name] for name in wanted]


def _chart(of, laid_out, id_):
    if len(laid_out.choices) > 1:
        raise BadInput(f"{of.folder}: other axes have several values; select() one of: "
                       + "; ".join(laid_out.choices))
    known = laid_out.charts()[0] + runs.charts(laid_out)
    for chart in known:
        if chart.id == id_:
            return chart
    if id_ in (of_time.id for of_time in runs.OVER_TIME):
        raise BadInput(f"{of.folder}: the runs have no recording of {id_}; set measure.record, as in "
                       "record: {queues: 10us}")
    raise BadInput(f"{of.folder}: no figure is called {id_!r}; there are: {', '.join(c.id for c in known)}")

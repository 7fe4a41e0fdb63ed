# SPDX-License-Identifier: Apache-2.0
"""Time lines of jobs: a lane for each rank, with its computation, its exposed communication, its work
for iterations before and after, and the time in which it does nothing of these."""

import itertools
import math
from html import escape

from . import jobs, results, shown
from .charts import Chart, Panel

COMPUTING, COMMUNICATING, IDLE, OTHER_ITERATION = range(4)
STATES = ["computation", "exposed communication", "idle", "another iteration"]
ALL_WORK, SOME_WAIT = range(2)
STATES_OF_ITERATIONS = ["all ranks are at work", "some ranks have finished"]

MOST_LANES = 64       # Of a job, if one run is shown.
MOST_LANES_EACH = 16  # If several are.
MOST_ITERATIONS = 32
STEPS = 480           # Of time, over a chart.


def charts(chosen, where):
    """A chart for each job, with a panel for each run that has it; `chosen` are those of
    shown.points()."""
    runs = [(name, point.folder, run) for _, name, point in chosen
            if jobs.has_jobs(run := jobs.settings(point.folder))]
    if not runs:
        return []
    lists = [(name, folder, run, jobs.read_jobs(folder), jobs.read_iterations(folder)) for name, folder, run in runs]
    numbers = list(dict.fromkeys(job.number for *_, of, _ in lists for job in of))
    more = f" The first {jobs.MOST_JOBS} of {len(numbers)} jobs are shown." if len(numbers) > jobs.MOST_JOBS else ""
    made = []
    for number in numbers[:jobs.MOST_JOBS]:
        of_job = [(name, folder, jobs.records(run, "operations"), its, iterations[number])
                  for name, folder, run, known, iterations in lists
                  for its in known if its.number == number and number in iterations]
        if of_job:
            made.append(_chart(number, of_job, where + more))
    return made


def _chart(number, of_job, where):
    """Rank by rank where operations have been recorded, else by iteration."""
    recorded = [(name, folder, job, its) for name, folder, has, job, its in of_job if has]
    title = f"Time line of {of_job[0][3].name}"
    id_ = f"timeline-{number}"
    if not recorded:
        panels = [_by_iteration(name if len(of_job) > 1 else "", its) for name, _, _, _, its in of_job]
        few = _some(max(len(its) for *_, its in of_job), MOST_ITERATIONS, "iterations")
        return Chart(id_, title,
                     "Each lane is an iteration, from the begin of its first rank to the end of its last; its second part "
                     "begins when the first rank has finished, and lasts until the slowest one has. "
                     f"{jobs.OPERATIONS} records what each rank does, and shows it rank by rank.{few} {where}",
                     "lanes", panels, 1, x_title="time (µs)", states=STATES_OF_ITERATIONS)
    most = MOST_LANES if len(recorded) == 1 else MOST_LANES_EACH
    panels, ranks = [], 0
    for name, folder, _, iterations in recorded:
        panel, count = _by_rank(name if len(recorded) > 1 else "", folder, iterations, most)
        panels.append(panel)
        ranks = max(ranks, count)
    few = _some(ranks, most, "ranks")
    return Chart(id_, title,
                 "What each rank does in the slowest measured iteration, from its begin: computation; exposed communication, "
                 "in which the rank does not compute and a message to it or from it is under way; or neither, as it waits for "
                 f"others or has finished.{_others(panels)} Above are the shares of these on average over all ranks. The "
                 "slowest rank of the iteration is marked with an arrow."
                 f"{few} {where}", "lanes", panels, 1, x_title="time (µs)", states=_states(panels))


def _states(panels):
    """All states, without that of other iterations if no lane has it."""
    has_others = any(state == OTHER_ITERATION for panel in panels for lane in panel.lanes for state, *_ in lane)
    return STATES if has_others else STATES[:OTHER_ITERATION]


def _others(panels):
    """What the caption says of the state of other iterations, if a lane has it."""
    if len(_states(panels)) < len(STATES):
        return ""
    return (" Ranks do not begin and end an iteration together: \"another iteration\" is the time in which a rank computes or "
            "communicates for an iteration before or after this one.")


def _some(count, most, what):
    return f" {most} of {count} {what} are shown, evenly chosen." if count > most else ""


def _by_iteration(title, iterations):
    rows = shown.thinned(iterations, MOST_ITERATIONS)
    begin = min(its.start_ps for its in rows)
    panel = Panel(title, "iteration")
    for its in rows:
        start, end = (its.start_ps - begin) / 1e6, (its.end_ps - begin) / 1e6
        first_end = max(start, end - its.straggler_us)
        panel.rows.append(str(its.number))
        panel.lanes.append([lane for lane in ((ALL_WORK, start, first_end), (SOME_WAIT, first_end, end))
                            if lane[2] > lane[1]])
    return panel


def _by_rank(title, folder, iterations, most):
    """The panel of the slowest iteration, and how many ranks the job has."""
    its = jobs.slowest(iterations)[0]
    others = [other for other in iterations
              if other is not its and other.start_ps < its.end_ps and its.start_ps < other.end_ps]
    ranks = jobs.read_operations(folder, [its, *others])
    if not ranks[its.key].host:
        raise results.Damaged(f"{folder / 'operations.csv'}: has no operations of iteration {its.number} of job {its.job}")
    under_way = _under_way(ranks, jobs.messages_of(folder, [its, *others]))
    busy = _busy_with([(other, ranks[other.key], under_way[other.key]) for other in others])
    lanes = _lanes(its, ranks[its.key], under_way[its.key], busy)
    panel = Panel(f"{title}: {_shares(lanes.values(), its)}" if title else _shares(lanes.values(), its), "rank")
    for rank in _chosen(sorted(lanes), its.slowest_rank, most):
        panel.rows.append(f"→ {rank}" if rank == its.slowest_rank else str(rank))
        panel.lanes.append(_in_us(_coarse(lanes[rank], its), its))
    return panel, len(lanes)


def _shares(lanes, its):
    """How much of the iteration its ranks spend in each state, on average."""
    taken = [0] * len(STATES)
    for lane in lanes:
        for state, start, end in lane:
            taken[state] += end - start
    whole = len(lanes) * (its.end_ps - its.start_ps)
    told = ", ".join(f"{100 * time / whole:.0f} % {name}" for state, (name, time) in enumerate(zip(STATES, taken))
                     if state != OTHER_ITERATION or 200 * time >= whole)  # Half a percent.
    return f"iteration {its.number}, {told}"


def _chosen(ranks, slowest, most):
    """At most so many, evenly chosen, the slowest among them."""
    some = shown.thinned(ranks, most)
    if slowest in ranks and slowest not in some:
        nearest = min(range(len(some)), key=lambda i: abs(some[i] - slowest))
        some = sorted({*some[:nearest], slowest, *some[nearest + 1:]})
    return some


def lanes_of(its, ranks, messages):
    """By rank, what it does in an iteration: (state, start, end) in ps, without gaps."""
    under_way = _under_way({its.key: ranks}, ((its.key, message) for message in messages))
    return _lanes(its, ranks, under_way[its.key], {})


def _lanes(its, ranks, under_way, busy):
    """The same; `busy` has the spans in which ranks work for other iterations."""
    return {rank: _lane(its, {**_at_work(its, ranks, rank, under_way[rank]),
                              OTHER_ITERATION: _union(busy.get(rank, ()), its.start_ps, its.end_ps)})
            for rank in ranks.host}


def _busy_with(iterations):
    """By rank, the spans in which it works for these iterations, each with its Ranks and what is under way."""
    busy = {}
    for its, ranks, under_way in iterations:
        for rank in ranks.host:
            for spans in _at_work(its, ranks, rank, under_way[rank]).values():
                busy.setdefault(rank, []).extend(spans)
    return busy


def _under_way(ranks_of, messages):
    """By key of an iteration and by rank, the spans in which messages to the rank or from it are under way. `messages`
    are pairs of a key and a message, of which only the spans are kept: large runs have millions."""
    under_way = {key: {rank: [] for rank in ranks.host} for key, ranks in ranks_of.items()}
    on_host = {key: _ranks_on_hosts(ranks) for key, ranks in ranks_of.items()}
    for key, message in messages:
        # A message of a collective within a graph is that of all ranks on its hosts.
        ends = ranks_of[key].ends_of_flow.get(message.flow) or (
            *on_host[key].get(message.src, ()), *on_host[key].get(message.dst, ()))
        for rank in ends:
            if rank in under_way[key]:
                under_way[key][rank].append((message.start_ps, message.end_ps))
    for key, ranks in ranks_of.items():
        for src, dst, start, end in ranks.local:
            for rank in {src, dst} & under_way[key].keys():
                under_way[key][rank].append((start, end))
    return under_way


def _ranks_on_hosts(ranks):
    on_host = {}
    for rank, host in ranks.host.items():
        on_host.setdefault(host, []).append(rank)
    return on_host


def _at_work(its, ranks, rank, under_way):
    """The spans in which a rank computes, and in which it communicates, from its own begin to its own end."""
    begin = max(its.start_ps, ranks.begin.get(rank, its.start_ps))
    end = min(its.end_ps, ranks.end.get(rank, its.end_ps))
    return {COMPUTING: _union(ranks.computed.get(rank, ()), begin, end), COMMUNICATING: _union(under_way, begin, end)}


def _lane(its, at_work):
    """The states in the order of time; a rank that does several things at once is in the first of them."""
    instants = sorted({its.start_ps, its.end_ps, *(t for spans in at_work.values() for span in spans for t in span)})
    lane = []
    position = dict.fromkeys(at_work, 0)
    for start, stop in itertools.pairwise(instants):
        state = next((state for state in position if _covers(at_work[state], position, state, start)), IDLE)
        if lane and lane[-1][0] == state:
            lane[-1] = (state, lane[-1][1], stop)
        else:
            lane.append((state, start, stop))
    return lane


def _covers(spans, position, state, instant):
    """Whether a span of the state holds from `instant` on; instants ascend from call to call."""
    while position[state] < len(spans) and spans[position[state]][1] <= instant:
        position[state] += 1
    return position[state] < len(spans) and spans[position[state]][0] <= instant


def _union(spans, begin, end):
    """Spans that do not touch each other, ascending, within [begin, end]."""
    joined = []
    for start, stop in sorted((max(start, begin), min(stop, end)) for start, stop in spans):
        if stop <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def _coarse(lane, its):
    """The lane in STEPS equal steps, each in the state that takes most of it, equal neighbours as one."""
    if len(lane) <= STEPS / 4:
        return lane
    merged = []
    for taken, start, end in _steps(lane, its):
        best = max(range(len(STATES)), key=lambda state: (taken[state], -state))
        if merged and merged[-1][0] == best:
            merged[-1] = best, merged[-1][1], end
        else:
            merged.append((best, start, end))
    return merged


def _steps(lane, its):
    """For each step, how long the lane is in each state, and the step's start and end."""
    width = (its.end_ps - its.start_ps) / STEPS
    taken = [[0.0] * len(STATES) for _ in range(STEPS)]
    for state, start, end in lane:
        for step in range(int((start - its.start_ps) / width), STEPS):
            left = its.start_ps + step * width
            if left >= end:
                break
            taken[step][state] += max(0, min(end, left + width) - max(start, left))
    return [(of, its.start_ps + i * width, its.start_ps + (i + 1) * width) for i, of in enumerate(taken)]


def _in_us(lane, its):
    return [(state, (start - its.start_ps) / 1e6, (end - its.start_ps) / 1e6) for state, start, end in lane]


# ---- As SVG

WIDTH = 960
LEFT, RIGHT = 64, 8
HEIGHT = 420  # Of the lanes of a panel, if there are many.
LINE = 20     # Of text.


def svg(chart):
    """The chart as a picture. A state is one path in each panel, so that the page stays small."""
    last = max(end for panel in chart.panels for lane in panel.lanes for *_, end in lane)
    scale = (WIDTH - LEFT - RIGHT) / last
    parts, y = [_legend(chart)], 2 * LINE
    for panel in chart.panels:
        if panel.title:
            parts.append(f'<text class="title" x="{LEFT}" y="{y + 13}">{escape(panel.title)}</text>')
            y += LINE
        row = min(16.0, HEIGHT / len(panel.lanes))
        parts += _panel(panel, y, row, scale, chart.states)
        y += row * len(panel.lanes) + LINE / 2
    parts.append(_axis(chart, last, scale, y))
    return (f'<svg class="lanes" viewBox="0 0 {WIDTH} {y + 2 * LINE + 6:.0f}" role="img" '
            f'aria-label="{escape(chart.title)}">{"".join(parts)}</svg>')


def _legend(chart):
    parts, x = [], LEFT
    for i, name in enumerate(chart.states):
        parts.append(f'<path class="s{_look(chart.states, i)}" stroke-width="10" d="M{x} 12h18"/>'
                     f'<text x="{x + 24}" y="16">{escape(name)}</text>')
        x += 60 + 7 * len(name)
    return "".join(parts)


def _look(states, i):
    """Iterations look like communication and waiting."""
    return i + 1 if states == STATES_OF_ITERATIONS else i


def _panel(panel, y, row, scale, states):
    paths = [[] for _ in states]
    for i, lane in enumerate(panel.lanes):
        middle = y + (i + 0.5) * row
        for state, start, end in lane:
            paths[state].append(f"M{LEFT + scale * start:.1f} {middle:.1f}h{scale * (end - start):.1f}")
    thick = f"{max(row - 1.5, 0.8 * row):.1f}"
    parts = [f'<path class="s{_look(states, i)}" stroke-width="{thick}" d="{"".join(path)}"/>'
             for i, path in enumerate(paths) if path]
    every = max(1, -(-11 // int(max(row, 1))))  # Names are 11 high.
    marked = [i for i, name in enumerate(panel.rows) if name.startswith("→")]
    for i, name in enumerate(panel.rows):
        if i in marked or (i % every == 0 and all(abs(i - other) >= every for other in marked)):
            parts.append(f'<text class="row" x="{LEFT - 6}" y="{y + (i + 0.5) * row + 4:.1f}">{escape(name)}</text>')
    parts.append(f'<text class="row" x="{LEFT - 34}" y="{y + row * len(panel.lanes) / 2:.1f}" '
                 f'transform="rotate(-90 {LEFT - 50} {y + row * len(panel.lanes) / 2:.1f})">{escape(panel.y_title)}</text>'
                 if row * len(panel.lanes) > 80 else "")
    return parts


def _axis(chart, last, scale, y):
    parts = []
    step = _round_step(last / 8)
    for i in range(int(last / step) + 1):
        x = LEFT + scale * i * step
        parts.append(f'<path class="tick" d="M{x:.1f} {y:.1f}v4"/><text class="tick" x="{x:.1f}" y="{y + 17:.1f}">'
                     f"{i * step:g}</text>")
    return (f'<path class="tick" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>{"".join(parts)}'
            f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{y + 35:.1f}">{escape(chart.x_title)}</text>')


def _round_step(least):
    """The smallest of 1, 2, 5, 10 and so on that is no smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))

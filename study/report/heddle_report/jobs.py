# SPDX-License-Identifier: Apache-2.0
"""Reads what a run says of its jobs: iterations, operations, and the messages that ranks waited for.

Files are read row by row; what is kept are the rows of the iterations that are shown."""

from dataclasses import dataclass, field

from . import results

# Workloads whose ranks answer each other.
KINDS = ("collective", "training", "trace")

MOST_JOBS = 4        # Of a run that are shown.
MOST_ITERATIONS = 8  # Of a job whose stragglers are listed: the slowest.

# A sentence about missing records names one of these settings.
OPERATIONS = "measure: {operations: true}"
FLOW_LINKS = "measure: {flow_links: true}"


@dataclass(frozen=True)
class Job:
    number: int
    label: str
    cells: dict  # The rest of its row in jobs.csv, as texts.

    @property
    def name(self):
        return f"job {self.number}" + (f" ({self.label})" if self.label else "")


@dataclass(frozen=True)
class Iteration:
    job: int
    number: int
    measured: bool
    start_ps: int
    end_ps: int
    exposed_us: float
    straggler_us: float
    slowest_rank: int

    @property
    def time_us(self):
        return (self.end_ps - self.start_ps) / 1e6

    @property
    def key(self):
        return self.job, self.number


@dataclass(frozen=True, slots=True)
class Message:
    """A row of flows.csv."""

    flow: int
    src: int
    dst: int
    step: int
    bytes: int
    start_ps: int
    end_ps: int
    slowdown: float
    retransmissions: int
    timeouts: int


@dataclass
class Ranks:
    """What operations.csv says of the ranks in one iteration."""

    host: dict = field(default_factory=dict)       # By rank.
    begin: dict = field(default_factory=dict)      # By rank: when its first operation is ready.
    end: dict = field(default_factory=dict)        # By rank: when it has received and computed all.
    computed: dict = field(default_factory=dict)   # By rank: pairs of start and end.
    ends_of_flow: dict = field(default_factory=dict)  # By flow: the ranks that send and receive it.
    local: list = field(default_factory=list)      # Messages within a host: ranks, start, end.


def settings(folder):
    """run.yaml of a run."""
    run = results.read_yaml(folder / "run.yaml")
    return run if isinstance(run, dict) else {}


def has_jobs(run):
    entries = run.get("workload") or []
    return any(isinstance(entry, dict) and entry.get("kind") in KINDS for entry in entries)


def records(run, what):
    """Whether `measure` has the setting `what`, such as operations."""
    measure = run.get("measure")
    return isinstance(measure, dict) and measure.get(what) == "true"


def read_jobs(folder):
    path = folder / "jobs.csv"
    rows = results.rows_of(path)
    header = next(rows, [])
    for name in ("job", "label"):
        if name not in header:
            raise results.Damaged(f"{path}:1: has no column {name}; was it written by this Heddle?")
    jobs = []
    for line, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise results.Damaged(f"{path}:{line}: {len(row)} cells; expected {len(header)}")
        cells = dict(zip(header, row))
        jobs.append(Job(_whole(path, line, "job", cells.pop("job")), cells.pop("label"), cells))
    return jobs


def read_iterations(folder):
    """By job, in their order."""
    path = folder / "iterations.csv"
    columns = ("job", "iter", "measured", "start_ps", "end_ps", "exposed_comm_us", "straggler_us", "slowest_rank")
    of_job = {}
    for line, row in enumerate(results.columns_of(path, *columns), 2):
        whole = [_whole(path, line, name, cell) if name[-3:] != "_us" else results.number(cell)
                 for name, cell in zip(columns, row)]
        its = Iteration(whole[0], whole[1], whole[2] == 1, *whole[3:])
        of_job.setdefault(its.job, []).append(its)
    return of_job


def slowest(iterations, most=1):
    """The slowest measured iterations, the slowest first; of those that are not if none is measured."""
    chosen = [its for its in iterations if its.measured] or iterations
    return sorted(chosen, key=lambda its: (its.start_ps - its.end_ps, its.number))[:most]


def messages_of(folder, iterations):
    """The messages that have arrived over the network in these iterations, one by one: pairs of an iteration's key and a
    message. Large runs have millions."""
    path = folder / "flows.csv"
    columns = ("flow_id", "src", "dst", "step", "size_bytes", "start_ps", "rx_done_ps")
    keys = {(str(its.job), str(its.number)): its.key for its in iterations}
    wanted = results.columns_of(path, "job", "iter", "dport", "slowdown", "retx", "rto", *columns)
    for line, (job, number, dport, slowdown, retx, rto, *row) in enumerate(wanted, 2):
        # Queries of incast have numbers of jobs, too.
        if (job, number) not in keys or dport != "300" or row[-1] == "":
            continue
        whole = [_whole(path, line, name, cell) for name, cell in zip(columns, row)]
        yield keys[job, number], Message(*whole, results.number(slowdown), _whole(path, line, "retx", retx),
                                         _whole(path, line, "rto", rto))


def read_hosts(folder):
    """By job, the host of each rank that has done anything."""
    path = folder / "operations.csv"
    columns = ("job", "rank", "host")
    hosts, seen = {}, set()
    for line, row in enumerate(results.columns_of(path, *columns), 2):
        if row in seen:
            continue
        seen.add(row)
        job, rank, host = (_whole(path, line, name, cell) for name, cell in zip(columns, row))
        hosts.setdefault(job, {})[rank] = host
    return hosts


def read_receivers(folder, ranks_of):
    """By key of an iteration, the receiving ranks of the flows that sends begin, by flow: of those to the ranks that
    `ranks_of` has for the iteration."""
    path = folder / "operations.csv"
    keys = {(str(job), str(number)): (job, number) for job, number in ranks_of}
    wanted = {text: set(map(str, ranks_of[key])) for text, key in keys.items()}
    found = {key: {} for key in ranks_of}
    for line, (job, number, peer, flow) in enumerate(results.columns_of(path, "job", "iter", "peer", "flow_id"), 2):
        if flow and peer in wanted.get((job, number), ()):
            found[keys[job, number]][_whole(path, line, "flow_id", flow)] = int(peer)
    return found


def read_operations(folder, iterations):
    """Ranks by job and iteration, of those wanted."""
    path = folder / "operations.csv"
    columns = ("job", "iter", "rank", "host", "kind", "peer", "ready_ps", "start_ps", "end_ps", "flow_id")
    found = {(str(its.job), str(its.number)): Ranks() for its in iterations}
    keys = {(str(its.job), str(its.number)): its.key for its in iterations}
    for line, row in enumerate(results.columns_of(path, *columns), 2):
        ranks = found.get(row[:2])
        if ranks is not None:
            _note(ranks, row[4], *(_whole(path, line, name, cell) if cell else None
                                   for name, cell in zip(columns[2:], row[2:]) if name != "kind"))
    return {keys[key]: ranks for key, ranks in found.items()}


def _note(ranks, kind, rank, host, peer, ready, start, end, flow):
    ranks.host[rank] = host
    if ready is not None:
        ranks.begin[rank] = min(ready, ranks.begin.get(rank, ready))
    if kind == "send":
        if flow is not None:
            ranks.ends_of_flow[flow] = rank, peer
        elif start is not None and end is not None:
            ranks.local.append((rank, peer, start, end))
        return
    if end is None:
        return
    ranks.end[rank] = max(end, ranks.end.get(rank, end))
    if kind == "compute" and end > start:
        ranks.computed.setdefault(rank, []).append((start, end))


@dataclass
class Passage:
    """A flow's data packets on a link."""

    node: str
    port: str
    peer: str
    packets: int
    dropped: int
    queue_max: int


def read_passages(folder, flows):
    """By flow, of those wanted, the links behind switches that its data packets took."""
    path = folder / "flow_links.csv"
    columns = ("flow_id", "node", "port", "peer", "pkts", "dropped", "queue_max_bytes")
    wanted = {str(flow): flow for flow in flows}
    found = {flow: [] for flow in flows}
    for line, (flow, node, port, peer, *counts) in enumerate(results.columns_of(path, *columns), 2):
        if flow in wanted:
            found[wanted[flow]].append(Passage(node, port, peer, *(
                _whole(path, line, name, cell) for name, cell in zip(columns[4:], counts))))
    return found


def _whole(path, line, column, cell):
    try:
        return int(cell)
    except ValueError as error:
        raise results.Damaged(f"{path}:{line}: {column} is {cell!r}; expected a whole number") from error

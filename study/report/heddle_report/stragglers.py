# SPDX-License-Identifier: Apache-2.0
"""What the slowest rank of an iteration waited for: the last message that it received, the links that
the message took, and the one that held it up most."""

from dataclasses import dataclass

from . import jobs, results

COLUMNS = ["job", "iteration", "time (µs)", "behind the first rank (µs)", "slowest rank", "host", "last message (flow_id)",
           "from", "step", "bytes", "FCT (µs)", "slowdown", "retransmissions", "timeouts", "before the end (µs)", "path",
           "worst link", "drops there", "highest queue there (KB)", "its utilisation (%)"]


def table(chosen, of, where):
    """The table for the page; None if the runs have no jobs. `chosen` are those of shown.points(), and `of` is what they
    differ in."""
    rows, missing = [], set()
    for _, name, point in chosen:
        run = jobs.settings(point.folder)
        if not jobs.has_jobs(run):
            continue
        found = _Run(point.folder, run)
        rows += [[name, *cells] for cells in found.rows()]
        missing |= found.missing
    if not rows:
        return None
    return {"id": "stragglers", "title": "What the slowest ranks waited for", "caption": _caption(missing, where),
            "columns": [of, *COLUMNS], "rows": rows}


def _caption(missing, where):
    text = (f"The {jobs.MOST_ITERATIONS} slowest measured iterations of each job: the rank that finished last, the last "
            "message that it received before, and how long before the end of the iteration this message arrived. What comes "
            "after it is computation or a message within the host. FCT, slowdown, retransmissions and timeouts are those of "
            "the message. ")
    if "flow_links" not in missing:
        text += ("The worst link is the one behind a switch on which most of the message's packets were dropped, or else met the "
                 "longest queue; the utilisation is the link's in the measured time. ")
    if "operations" in missing:
        text += (f"{jobs.OPERATIONS} records on which host a rank is; without it, the last message of the iteration is shown. ")
    if "flow_links" in missing:
        text += (f"{jobs.FLOW_LINKS} records the links that messages take, their queues and drops; without it, the worst link is "
                 "the busier one of the two between switch and host that the message must take, if these are known. ")
    return text + where


@dataclass(frozen=True)
class Waited:
    """What an iteration's slowest rank waited for."""

    its: jobs.Iteration
    host: int | None      # Of the slowest rank, if it is known.
    message: jobs.Message | None


class _Run:
    def __init__(self, folder, run):
        self._folder = folder
        self._operations = jobs.records(run, "operations")
        self._flow_links = jobs.records(run, "flow_links")
        self.missing = {name for name, has in (("operations", self._operations), ("flow_links", self._flow_links)) if not has}

    def rows(self):
        known = jobs.read_jobs(self._folder)[:jobs.MOST_JOBS]
        of_job = jobs.read_iterations(self._folder)
        wanted = [its for job in known for its in jobs.slowest(of_job.get(job.number, []), jobs.MOST_ITERATIONS)]
        waited = self._waited(wanted)
        flows = [of.message.flow for of in waited if of.message]
        passages = jobs.read_passages(self._folder, flows) if self._flow_links else {}
        links = results.read_links(self._folder)
        names = {job.number: job.name for job in known}
        return [_cells(names[of.its.job], of, passages, links) for of in waited]

    def _waited(self, wanted):
        """What the slowest rank of each iteration waited for; where it is not known on which host that rank is, the last
        message of the whole iteration."""
        hosts = jobs.read_hosts(self._folder) if self._operations else {}
        host_of = {its.key: hosts.get(its.job, {}).get(its.slowest_rank) for its in wanted}
        beside = {key: [rank for rank, host in hosts[key[0]].items() if host == its_host]
                  for key, its_host in host_of.items() if its_host is not None}
        receivers = jobs.read_receivers(self._folder, beside) if beside else {}
        iterations = {its.key: its for its in wanted}
        last = {}
        for key, message in jobs.messages_of(self._folder, wanted):
            if (_takes(iterations[key], message, host_of[key], receivers.get(key, {}))
                    and _is_later(message, last.get(key))):
                last[key] = message
        return [Waited(its, _host(its, host_of[its.key], last.get(its.key)), last.get(its.key)) for its in wanted]


def _host(its, known, message):
    """If an iteration ends with a message, the receiver is the slowest rank's host."""
    if known is None and message and message.end_ps == its.end_ps:
        return message.dst
    return known


def _takes(its, message, host, receivers):
    """Whether the slowest rank may have received the message before its end. `receivers` are the ranks to which sends
    went; messages of no send are those of collectives within a graph."""
    return (message.end_ps <= its.end_ps and host in (None, message.dst)
            and receivers.get(message.flow, its.slowest_rank) == its.slowest_rank)


def _is_later(message, than):
    return than is None or (message.end_ps, -message.flow) > (than.end_ps, -than.flow)


def _cells(job, of, passages, links):
    its, message = of.its, of.message
    start = [job, its.number, its.time_us, its.straggler_us, its.slowest_rank, None if of.host is None else f"host{of.host}"]
    if message is None:
        return start + [None] * (len(COLUMNS) - len(start))
    return start + [
        message.flow, f"host{message.src}", message.step, message.bytes, (message.end_ps - message.start_ps) / 1e6,
        message.slowdown, message.retransmissions, message.timeouts, (its.end_ps - message.end_ps) / 1e6,
        *_where(message, passages.get(message.flow), links)]


def _where(message, passages, links):
    """The message's path, and the worst link: its name, drops, highest queue and utilisation."""
    src, dst = f"host{message.src}", f"host{message.dst}"
    if passages:
        worst = max(passages, key=lambda passage: (passage.dropped, passage.queue_max, passage.packets))
        busy = next((link.util for link in links if (link.node, link.port) == (worst.node, worst.port)), results.NAN)
        return [path_of(src, dst, passages), f"{worst.node} → {worst.peer}", worst.dropped, worst.queue_max / 1e3, 100 * busy]
    ends = [link for link in links if link.node == src or link.peer == dst]
    if len(ends) != 2:  # A host with several links.
        return [None] * 5
    worst = max(ends, key=lambda link: link.util)
    return [None, f"{worst.node} → {worst.peer}", None, None, 100 * worst.util]


def path_of(src, dst, passages):
    """The nodes of the path; for a message over several paths, how many links lead where paths part."""
    hops = {}
    for passage in passages:
        if passage.packets:
            hops.setdefault(passage.node, []).append(passage.peer)
    first = {node for node in hops if not any(node in peers for peers in hops.values())}
    if all(len(set(peers)) == 1 for peers in hops.values()) and len(first) == 1:
        path, node = [src], first.pop()
        while node in hops and node not in path:
            path.append(node)
            node = hops[node][0]
        return " → ".join([*path, dst])
    links = sum(len(peers) for peers in hops.values())
    widest = max(hops.values(), key=len, default=[])
    return f"{src} → {dst} over {links} links, up to {len(widest)} from one switch"


def jobs_table(chosen, of, where):
    """jobs.csv of the runs; None if they have no jobs."""
    rows = []
    for _, name, point in chosen:
        if jobs.has_jobs(jobs.settings(point.folder)):
            rows += [[name, job.name, *(_cell(job.cells.get(column, "")) for column, _ in _OF_JOBS)]
                     for job in jobs.read_jobs(point.folder)]
    if not rows:
        return None
    return {"id": "jobs-table", "title": "Jobs",
            "caption": "Measured iterations of each job. The ideal time is a lower bound; the slowdown is the mean time divided "
                       "by it. Exposed communication is a rank's time in an iteration in which it does not compute. " + where,
            "columns": [of, "job", *(title for _, title in _OF_JOBS)], "rows": rows}


_OF_JOBS = (("kind", "kind"), ("ranks", "ranks"), ("measured", "iterations"), ("mean_iter_us", "mean time (µs)"),
            ("p99_iter_us", "p99 time (µs)"), ("ideal_iter_us", "ideal time (µs)"), ("slowdown", "slowdown"),
            ("compute_us", "computation (µs)"), ("exposed_comm_us", "exposed communication (µs)"),
            ("max_exposed_comm_us", "its maximum (µs)"), ("algbw_gbs", "algorithm bandwidth (GB/s)"),
            ("busbw_gbs", "bus bandwidth (GB/s)"), ("neighbour_cost", "cost of neighbours"))


def _cell(text):
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text or None

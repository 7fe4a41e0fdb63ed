# SPDX-License-Identifier: Apache-2.0
"""The fabric as SVG: tiers from hosts at the bottom to cores at the top, as links.csv tells them."""

import re
from html import escape

from .shown import thinned

WIDTH = 960
TIER_HEIGHT = 110
MARGIN = 44         # Left of the switches: the names of tiers whose switches show numbers.
MOST_SWITCHES = 32  # Of a tier that are drawn: those of a fat-tree with k = 8.
MOST_HOSTS = 8      # Of a leaf that are drawn one by one.
MOST_NUMBERS = 32   # Beside lines.


def _natural(name):
    """host2 before host10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


class Fabric:
    def __init__(self, links, changed=(), slowed=()):
        """`changed` are names of links or switches that the schedule touches; `slowed` those that
        the topology makes worse in a way that links.csv does not tell."""
        self.tier = _tiers(links)
        self.changed = set(changed)
        self.slowed = set(slowed)
        self.rates = {}   # By the two ends, sorted: the lowest rate of parallel links both ways.
        self.number = {}  # Of parallel links.
        for link in links:
            ends = tuple(sorted((link.node, link.peer)))
            self.rates[ends] = min(self.rates.get(ends, link.rate_bps), link.rate_bps)
            self.number[ends] = self.number.get(ends, 0) + (link.node == ends[0])
        self._best = {}
        for (a, b), rate in self.rates.items():
            between = self._between(a, b)
            self._best[between] = max(self._best.get(between, 0), rate)

    def _between(self, a, b):
        return tuple(sorted((self.tier[a], self.tier[b])))

    def is_slow(self, a, b):
        ends = tuple(sorted((a, b)))
        return (self.rates[ends] < self._best[self._between(a, b)] or bool(
            self.slowed & {a, b, f"{a}-{b}", f"{b}-{a}"}))

    def changes(self, a, b):
        return bool(self.changed & {a, b, f"{a}-{b}", f"{b}-{a}"})

    def of_tier(self, tier):
        return sorted((n for n, t in self.tier.items() if t == tier), key=_natural)

    def _drawn(self):
        """The switches that are drawn, by tier. Of a large fabric whole pods are, so that their links
        are seen; pods with marked links come first."""
        top = max(self.tier.values())
        pods = self._pods(top)
        most = max((sum(self.tier[name] == tier for name in pod) for pod in pods for tier in range(1, top)), default=1)
        wanted = max(1, MOST_SWITCHES // most)
        chosen = {name for pod in self._some(pods, wanted) for name in pod}
        chosen.update(name for single in self._some([[name] for name in self.of_tier(top)], MOST_SWITCHES)
                      for name in single)
        return {tier: thinned([name for name in self.of_tier(tier) if name in chosen], MOST_SWITCHES)
                for tier in range(1, top + 1)}

    def _pods(self, top):
        """The parts into which the switches below the highest tier fall: a pod of a fat-tree, a leaf of a
        leaf-spine."""
        pod_of = {name: [name] for tier in range(1, top) for name in self.of_tier(tier)}
        for a, b in self.rates:
            if a in pod_of and b in pod_of and pod_of[a] is not pod_of[b]:
                pod_of[a].extend(pod_of[b])
                pod_of.update((name, pod_of[a]) for name in pod_of[b])
        return list({id(pod): pod for pod in pod_of.values()}.values())

    def _some(self, groups, most):
        """At most so many of `groups`, evenly chosen, those with marked links first."""
        marked = {end for ends in self.rates if self.is_slow(*ends) or self.changes(*ends) for end in ends}
        first = [group for group in groups if marked.intersection(group)]
        if len(first) >= most or not first:
            return thinned(first or groups, most)
        return first + thinned([group for group in groups if group not in first], most - len(first))

    def svg(self):
        top = max(self.tier.values())
        drawn = self._drawn()
        at = {}
        for tier, names in drawn.items():
            y = 40 + (top - tier) * TIER_HEIGHT
            for i, name in enumerate(names):
                at[name] = (WIDTH * (i + 0.5) / len(names), y)
        parts = self._lines(at) + self._hosts(at, drawn.get(1, []), 40 + (top - 1) * TIER_HEIGHT)
        for tier, names in drawn.items():
            width = min(84, WIDTH / len(names) - 6)
            parts += [self._switch(name, *at[name], width) for name in names]
            if any(_fits(name, width) != name for name in names):
                kind = re.sub(r"\d.*", "", names[0])
                parts.append(f'<text x="{-MARGIN / 2:.0f}" y="{at[names[0]][1] + 4}">{escape(kind)}</text>')
        height = 40 + top * TIER_HEIGHT
        return (f'<svg class="fabric" viewBox="{-MARGIN} 0 {WIDTH + MARGIN} {height}" role="img" '
                f'aria-label="The fabric">{"".join(parts)}</svg>')

    def notes(self):
        """Sentences about the switches and links that the picture leaves out."""
        said = []
        for tier in range(1, max(self.tier.values()) + 1):
            count = len(self.of_tier(tier))
            if count > MOST_SWITCHES:
                said.append(f"{MOST_SWITCHES} of {count} switches of tier {tier} are drawn.")
        between = [ends for ends in self.rates if all(self.tier[end] > 0 for end in ends)]
        drawn = {name for names in self._drawn().values() for name in names}
        shown = [ends for ends in between if drawn.issuperset(ends)]
        if len(shown) < len(between):
            said.append(f"{len(shown)} of {len(between)} pairs of linked switches are drawn with their lines.")
        hidden = sum(self.is_slow(*ends) or self.changes(*ends) for ends in set(between) - set(shown))
        if hidden:
            said.append(f"{hidden} of the missing lines would be marked.")
        if not self._is_numbered():
            most = max(self.number.values())
            said.append(f"Lines stand for up to {most} links in parallel.")
        return " ".join(said)

    def marks(self):
        """Which kinds of links the picture marks."""
        ends = [pair for pair in self.rates]
        return (any(self.is_slow(*pair) for pair in ends), any(self.changes(*pair) for pair in ends))

    def _is_numbered(self):
        """Whether each line that stands for several links can say so."""
        return sum(count > 1 for count in self.number.values()) <= MOST_NUMBERS

    def _number(self, ends, lower, upper):
        """How many links a line stands for, near its lower end, where lines lie apart."""
        if self.number[ends] < 2 or not self._is_numbered():
            return ""
        (x1, y1), (x2, y2) = lower, upper
        return (f'<text class="number" x="{x1 + 0.22 * (x2 - x1):.1f}" y="{y1 + 0.22 * (y2 - y1) + 4:.1f}">'
                f"{self.number[ends]} ×</text>")

    def _lines(self, at):
        lines, numbers = [], []
        for (a, b), rate in sorted(self.rates.items(), key=lambda item: list(map(_natural, item[0]))):
            if a not in at or b not in at:
                continue
            kind = "changed" if self.changes(a, b) else "slow" if self.is_slow(a, b) else "link"
            (x1, y1), (x2, y2) = at[a], at[b]
            many = f"{self.number[a, b]} × " if self.number[a, b] > 1 else ""
            title = f"<title>{escape(a)} – {escape(b)}: {many}{rate / 1e9:g} Gbps</title>"
            if y1 == y2:  # Of one tier: an arc below it.
                lines.append(f'<path class="{kind}" fill="none" d="M{x1:.1f} {y1} Q{(x1 + x2) / 2:.1f}'
                             f' {y1 + 60} {x2:.1f} {y2}">{title}</path>')
                continue
            lines.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}">'
                         f"{title}</line>")
            lower, upper = sorted((at[a], at[b]), key=lambda end: -end[1])
            numbers.append(self._number((a, b), lower, upper))
        return lines + numbers  # On top of the lines.

    def _switch(self, name, x, y, width):
        shown = _fits(name, width)
        return (f'<g><title>{escape(name)}</title><rect class="switch" x="{x - width / 2:.1f}" '
                f'y="{y - 14}" width="{width:.1f}" height="28" rx="5"/>'
                f'<text x="{x:.1f}" y="{y + 4}">{escape(shown)}</text></g>')

    def _hosts(self, at, leaves, y):
        """Below each switch those of its hosts that have it as their first."""
        of_leaf = self._hosts_by_leaf()
        is_narrow = len(leaves) > WIDTH / 40  # The word would run into its neighbours.
        parts = []
        for leaf in leaves:
            hosts = of_leaf.get(leaf, [])
            x = at[leaf][0]
            if hosts and len(hosts) <= MOST_HOSTS:
                parts += self._each_host(hosts, leaf, x, y, WIDTH / len(leaves) - 8)
            elif hosts:
                words = "" if is_narrow else f'<text x="{x:.1f}" y="{y + 91}">hosts</text>'
                parts.append(f'<line class="link" x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 60}"/>'
                             f'<text x="{x:.1f}" y="{y + 76}">{len(hosts)}</text>{words}')
        if is_narrow and any(len(hosts) > MOST_HOSTS for hosts in of_leaf.values()):
            parts.append(f'<text x="{-MARGIN / 2:.0f}" y="{y + 76}">hosts</text>')
        return parts

    def _hosts_by_leaf(self):
        peers = {}
        for a, b in self.rates:
            for host, peer in ((a, b), (b, a)):
                if self.tier[host] == 0:
                    peers.setdefault(host, []).append(peer)
        of_leaf = {}
        for host in sorted(peers, key=_natural):
            of_leaf.setdefault(min(peers[host], key=_natural), []).append(host)
        return of_leaf

    def _each_host(self, hosts, leaf, x, y, width):
        parts = []
        for i, host in enumerate(hosts):
            at = x + min(width, 26 * len(hosts)) * ((i + 0.5) / len(hosts) - 0.5)
            kind = "changed" if self.changes(host, leaf) else (
                "slow" if self.is_slow(host, leaf) else "link")
            size = max(3, min(9, width / len(hosts) / 2))
            parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="{y}" x2="{at:.1f}" y2="{y + 64}"/>'
                         f'<g><title>{escape(host)}</title><circle class="host" cx="{at:.1f}" '
                         f'cy="{y + 66}" r="{size / 1.4:.1f}"/></g>')
        return parts


def _fits(name, width):
    """The name, or its number where the name is too wide."""
    return name if len(name) * 7 <= width else re.sub(r"^\D*(?=\d)", "", name)[:max(2, int(width / 7))]


_HEIGHTS = {"host": 0, "leaf": 1, "spine": 2, "core": 3}


def _tiers(links):
    """The tier of each node, which `tier` names at its sending end: leaf_up, tier3_down."""
    tiers = {}
    for link in links:
        name = link.tier.rsplit("_", 1)[0]
        tiers[link.node] = _HEIGHTS[name] if name in _HEIGHTS else 1 + int(name.removeprefix("tier"))
    return tiers

# SPDX-License-Identifier: Apache-2.0
"""Claims of papers beside the measured results, as one HTML page."""

import math
from html import escape

from . import page, reproduction
from .reproduction import VERDICTS

_COLUMNS = {"id": "claim", "verdict": "verdict", "agreeing": "agreeing", "of": "of",
            "says": "the paper says", "expected": "judged by", "measured": "measured",
            "reason": "because", "depends_on": "depends on"}


def html(found):
    drawn = list(reproduction.figures(found))
    charts = {f"{paper.id}-{experiment.id}": of for paper, experiment, of in drawn}
    claims = _claims_table(found)
    data = {"made": "", "styles": page.styles(), "heat": [], "runs": [], "tables": [claims],
            "as_seen": True,
            "choices": [{"charts": [page.as_data(chart) for _, _, of in drawn for chart in of]}]}
    return page.fill(
        title=_title(found), made=found.made(), data=data, assets=("papers",),
        nav=[(paper.id, paper.name) for paper in found.papers] + [("claims", "All claims")],
        intro=_summary(found) + _filters(),
        body="".join(_paper(paper, charts) for paper in found.papers)
             + page.section(*page.table(claims)))


def _title(found):
    named = found.papers[0].name if len(found.papers) == 1 else f"{len(found.papers)} papers"
    return f"Claims of {named}, and measured results"


def _claims_table(found):
    return {"id": "claims", "title": "All claims", "columns": list(_COLUMNS.values()),
            "caption": "agreeing: comparisons that agree with the paper; of: all comparisons.",
            "links": 0, "badges": 1,
            "rows": [[getattr(claim, name) for name in _COLUMNS] for claim in found.claims()]}


def badge(verdict):
    return f'<span class="badge" data-verdict="{escape(verdict)}">{escape(verdict)}</span>'


def _note(text):
    return f'<p class="note">{text}</p>'


def _lines(text):
    """As text, with plus-minus as one sign."""
    return escape(text.replace("+-", "±"))


def _terms(pairs, kind):
    """Pairs of HTML as a list of terms and their descriptions."""
    return (f'<dl class="{kind}">' + "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in pairs)
            + "</dl>")


# ---- Summary

def _summary(found):
    heads = "".join(f'<th scope="col">{badge(verdict)}</th>' for verdict in VERDICTS)
    rows = [_summary_row(f'<a href="#{escape(paper.id)}">{escape(paper.name)}</a>', paper.claims_of("claim"),
                         paper.experiments, paper.id) for paper in found.papers]
    everything = [e for paper in found.papers for e in paper.experiments]
    for role, name in reproduction.ROLES.items():
        claims = [claim for paper in found.papers for claim in paper.claims_of(role)]
        if len(found.papers) > 1 if role == "claim" else claims:
            rows.append(_summary_row(name, claims, everything, "claims"))
    legend = _terms(((badge(verdict), escape(text)) for verdict, text in VERDICTS.items()), "legend")
    return page.section("summary", "Verdicts", (
        f'<div class="scroll"><table class="summary"><thead><tr><th scope="col">paper</th>{heads}'
        '<th scope="col">claims</th><th scope="col">experiments</th><th scope="col">points with '
        f'results</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>{legend}'))


def _summary_row(name, claims, experiments, target):
    counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}
    cells = "".join(_count(count, verdict, target) for verdict, count in counts.items())
    done, planned = (sum(getattr(e, of) for e in experiments) for of in ("results", "points"))
    return (f'<tr><th scope="row">{name}</th>{cells}<td class="number">{len(claims)}</td>'
            f'<td class="number">{len(experiments)}</td><td class="number">{done} of {planned}</td></tr>')


def _count(count, verdict, target):
    link = (f'<a href="#{escape(target)}" data-only="{escape(verdict)}" title="Show these only">'
            f"{count}</a>")
    return f'<td class="number">{link if count else "–"}</td>'


def _filters():
    toggles = "".join(
        f'<button type="button" class="badge" data-verdict="{escape(verdict)}" aria-pressed="false">'
        f"{escape(verdict)}</button>" for verdict in VERDICTS)
    return ('<div id="filters"><span>Only</span>' + toggles +
            '<input type="search" placeholder="with the words" aria-label="Filter claims by words">'
            '<button type="button" class="reset">All</button><span class="count note" role="status">'
            "</span></div>")


# ---- Papers

def _paper(paper, charts):
    contents = " ".join(f'<a href="#{escape(f"{paper.id}-{e.id}")}">{escape(e.id)}</a>'
                        for e in paper.experiments)
    return (f'<section class="paper" id="{escape(paper.id)}"><h2>{escape(paper.name)}</h2>'
            f'<p class="caption">{escape(paper.title)}</p><nav>{contents}</nav>'
            + "".join(_experiment(f"{paper.id}-{e.id}", e, charts) for e in paper.experiments)
            + "</section>")


def _experiment(id_, experiment, charts):
    missing = experiment.results < experiment.points
    noun = "point has" if experiment.points == 1 else "points have"
    points = f"{experiment.results} of {experiment.points} {noun} results."
    if experiment.stale:
        points += f" {experiment.stale} are of another version of Heddle."
    choices = _terms(((escape(name), escape(text)) for name, text in experiment.choices.items()),
                     "choices")
    return (f'<article id="{escape(id_)}"><h3>{escape(id_)}: {escape(experiment.about)}</h3>'
            + (f'<p class="warning">{points}</p>' if missing else _note(points))
            + (f"<h4>Choices made here where the paper leaves them open</h4>{choices}"
               if experiment.choices else "")
            + _beside(_figures(experiment, charts[id_]), _claims(experiment)) + "</article>")


def _beside(figures, claims):
    return f'<div class="beside"><div>{figures}</div>{claims}</div>' if figures else claims


def _figures(experiment, charts):
    drawn = "".join(
        f'<figure><figcaption>{escape(chart.title)}</figcaption><div class="chart" '
        f'id="chart-{chart.id}"></div><p class="caption" id="caption-{chart.id}"></p></figure>'
        for chart in charts)
    empty = ", ".join(reproduction.title_of(experiment, figure) for figure in experiment.figures
                      if not reproduction.has_values(figure))
    return drawn + (_note(f"No results for: {escape(empty)}.") if empty else "")


def _claims(experiment):
    if not experiment.claims:
        return _note("The paper makes no claim about this experiment that could be judged.")
    return ('<div class="scroll"><table class="claims"><thead><tr><th scope="col">claim</th>'
            '<th scope="col">the paper says</th><th scope="col">measured</th></tr></thead><tbody>'
            + "".join(map(_claim, experiment.claims)) + "</tbody></table></div>")


def _claim(claim):
    number = claim.id.rpartition(".")[2]
    depends = _note(f"Depends on: {_lines(claim.depends_on)}") if claim.depends_on else ""
    return (f'<tr id="{escape(claim.id)}"><th scope="row">{escape(number)}<br>{badge(claim.verdict)}</th>'
            f"<td>{_lines(claim.says)}{depends}</td>"
            f'<td>{"".join(_part(part, len(claim.parts) > 1) for part in claim.parts)}</td></tr>')


def _part(part, is_one_of_several):
    return (f'<div class="part">{badge(part.verdict) if is_one_of_several else ""}'
            + (f"<p>{_lines(part.measured)}</p>" if part.measured else "")
            + (f"<p>{_lines(part.reason)}</p>" if part.reason else "")
            + (_note(f"Judged by: {_lines(part.expected)}") if part.expected else "")
            + (_cells(part) if part.cells else "") + "</div>")


def _cells(part):
    agreeing = sum(cell.outcome == "for" for cell in part.cells)
    rows = "".join(f"<tr><td>{_lines(cell.where) or 'all'}</td><td class=\"number\">{_measured(cell)}"
                   f'</td><td class="number">{cell.seeds or ""}</td><td>{escape(cell.outcome)}</td></tr>'
                   for cell in part.cells)
    return (f"<details><summary>{agreeing} of {len(part.cells)} agree</summary><table><thead><tr>"
            '<th scope="col">where</th><th scope="col">mean, 95 %</th><th scope="col">seeds</th>'
            f'<th scope="col">says</th></tr></thead><tbody>{rows}</tbody></table></details>')


def _measured(cell):
    text = "" if math.isnan(cell.mean) else f"{cell.mean:.4g}"
    text += "" if math.isnan(cell.ci95) else f" ± {cell.ci95:.2g}"
    return text + ("" if math.isnan(cell.relative) else f" ({cell.relative:+.1%})")

"""Which sites should a library keep? The experiment of Section 4.3 of the paper, with anybody's marks.

Judges have marked some sites. `select_sites` reports how far they agree, how well importance and each other criterion
alone predict their reference, and what all criteria together predict (`analyse/judging/ordinal.py`), always for sites
whose marks the prediction has not seen. Then it proposes sites under a budget, each with reasons:

    a site that was marked     by its mean mark
    another one                by the mark that the model predicts, fitted to all marks

Only sites whose mark, rounded, is at least `keep` are proposed. Without marks, sites are proposed by the importance of
their pages alone, and the report says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from centime.analyse.judging.marks import BEST, WORST, Marks, Table, read_marks
from centime.analyse.judging.measures import auc, curve, cut_marks, folds_of, precision_at, tau_b
from centime.analyse.judging.ordinal import FOLDS, Ordinal, Prediction, cross_validated, fit_best
from centime.crawl.engine.state import CrawlState
from centime.crawl.report.graph import LinkedPages
from centime.crawl.sites.criteria import CRITERIA, Sites, site_criteria
from centime.crawl.sites.proposal import Budget, Proposal, propose
from centime.crawl.sites.ranked import check_by, site_names
from centime.model.errors import BadInput, BadSetting
from centime.rank.scores import Vector

FEWEST_MARKED = 20  # sites, for a model
FEWEST_OTHERS = FOLDS  # sites with another mark than the most common one
RECALLS = tuple(step / 10 for step in range(1, 11))
MOST_DISAGREEMENTS = 10
REASONS = 3
NO_BOUND = Budget()

Facts = dict[str, Any]
Rows = list[Facts]
Step = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The report of a selection, and the proposed sites for an export."""

    facts: Facts  # with the tables
    sites: Sites
    proposal: Proposal
    reasons: tuple[str, ...]  # of the proposed sites


@dataclass(frozen=True, slots=True, eq=False)
class _Valued:
    """The value of each site, its source, and which sites are good enough."""

    value: Vector
    source: Sequence[str]
    worthy: Sequence[int]
    why: Callable[[int], str]


def select_sites(
    states: Sequence[CrawlState],
    linked: LinkedPages,
    marks: Path | None,
    *,
    now: float,
    by: str = "site",
    keep: int = 3,
    language: str = "",
    budget: Budget = NO_BOUND,
    step: Step = lambda done: None,
) -> Selection:
    """The sites of a crawl, or of all its partitions, that are proposed, and how well marks are predicted."""
    check_by(by)
    if not WORST < keep <= BEST:
        raise BadSetting(f"the least mark of a site to keep is {WORST + 1} to {BEST}, not {keep}")
    judged = None if marks is None else read_marks(marks, lambda names: site_names(names, by))
    sites = site_criteria(states, linked, by=by, now=now, language=language.lower(), step=lambda done: step(0.6 * done))
    facts: Facts = {
        "sites": len(sites.names),
        "formed_by": by,
        "site_importance_error": sites.site_error,
        **({"language": sites.language} if sites.language else {}),
    }
    tables: Facts = {}
    if judged is None:
        facts["proposed_by"] = "importance alone, because there are no marks (--marks)"
        valued = _by_importance(sites)
    else:
        known, places, unknown = _known(judged, sites, marks)
        facts |= _agreement(known) | {"marked_sites_not_in_the_crawl": len(unknown), "not_in_the_crawl": unknown[:10]}
        more, tables, model = _judged(known, places, sites, keep, lambda: step(0.4 / (len(CRITERIA) * FOLDS)))
        facts |= more
        valued = _by_marks(sites, known, places, model, keep)
    proposal = propose(sites, valued.value, valued.worthy, budget)
    reasons = tuple(valued.why(site) for site in proposal.chosen)
    facts |= {
        "keep": None if judged is None else keep,
        "budget_pages": budget.pages,
        "budget_bytes": budget.bytes,
        "proposed": len(proposal.chosen),
        "passed_over_by_budget": len(proposal.passed_over),
        "pages_of_proposed": proposal.pages,
        "bytes_of_proposed": round(proposal.bytes),
    }
    facts = {name: value for name, value in facts.items() if value is not None and value != []}
    rows = _proposals(sites, proposal, valued, reasons)
    return Selection({**facts, **tables, "proposals": rows}, sites, proposal, reasons)


def _known(judged: Marks, sites: Sites, path: Path | None) -> tuple[Marks, list[int], list[str]]:
    """The marks of sites that the crawl knows, the places of these, and the names of the others."""
    place_of = {name: place for place, name in enumerate(sites.names)}
    here = [number for number, name in enumerate(judged.sites) if name in place_of]
    unknown = [name for name in judged.sites if name not in place_of]
    if not here:
        raise BadInput(f"{path}: the crawl knows none of the {len(judged.sites)} sites, such as {judged.sites[0]}")
    known = judged.of_sites(here)
    return known, [place_of[name] for name in known.sites], unknown


def _agreement(marks: Marks) -> Facts:
    spreads = marks.spreads()
    shared = np.count_nonzero(marks.table, axis=1) > 1
    return {
        "marked": len(marks.sites),
        "judges": len(marks.judges),
        "judged_twice": int(shared.sum()),
        "all_judges_agree_share": float((spreads[shared] == 0).mean()) if shared.any() else None,
        "agreement_alpha": marks.alpha(),
    }


def _judged(
    marks: Marks, places: list[int], sites: Sites, keep: int, step: Callable[[], None]
) -> tuple[Facts, Facts, Ordinal | None]:
    """Facts and tables about the marks and their predictors, and the model of all marks, None if there are too few."""
    reference, means = marks.reference(), marks.means()
    kept = reference >= keep
    folds = folds_of(marks.sites, reference, FOLDS)
    levels, counts = np.unique(reference, return_counts=True)
    names = [name for name in CRITERIA if name in sites.values]
    criteria = sites.matrix(names)[places]
    can_fit = len(places) >= FEWEST_MARKED and len(places) - counts.max() >= FEWEST_OTHERS
    rows: Rows = [
        {"prediction": f"always {levels[counts.argmax()]}", "score": float(counts.max() / len(places))}
        | {"tau_b": None, "auc": None}
    ]
    curves: dict[str, Any] = {"importance": curve(sites.values["importance"][places], kept)}
    if can_fit:
        for name in names:
            values = sites.values[name][places]
            rows.append(_measured(f"{name} alone", values, cut_marks(values, reference, folds), reference, means, kept))
    tables: Facts = {
        "judge_scores": [
            {"judge": one.judge, "marked": one.marked, "score": one.score, "score_of_others": one.others}
            for one in marks.scores()
        ]
    }
    if disagreements := _disagreements(marks):
        tables["disagreements"] = disagreements
    facts: Facts = {"to_keep_by_judges": int(kept.sum())}
    if not can_fit:
        facts["proposed_by"] = (
            f"marks alone: a model needs {FEWEST_MARKED} marked sites, {FEWEST_OTHERS} of them with another mark"
            f" than the most common one"
        )
        return facts, tables | {"predictions": rows}, None
    seen = cross_validated(criteria, reference, folds, step)
    model = fit_best(criteria, reference, folds, step)
    rows.append(_measured("all criteria together", seen.mean, seen.mark, reference, means, kept))
    curves["all_criteria"] = curve(seen.mean, kept)
    facts |= {
        "proposed_by": "marks, and for sites without marks a model of all criteria",
        "ridge": model.ridge,
        "folds": FOLDS,
        "thresholds": [round(float(one), 4) for one in model.thresholds],
    }
    tables |= {
        "predictions": rows,
        "coefficients": _coefficients(names, model),
        "precision_at_recall": [
            {"recall": recall, **{name: precision_at(points, recall) for name, points in curves.items()}}
            for recall in RECALLS
        ],
        "curves": {name: [point._asdict() for point in points] for name, points in curves.items()},
        "judged": _judged_rows(marks, reference, seen),
    }
    return facts, tables, model


def _measured(name: str, values: Vector, predicted: Table, reference: Table, means: Vector, kept: Any) -> Facts:
    return {
        "prediction": name,
        "score": float((predicted == reference).mean()),
        "tau_b": tau_b(values, means),
        "auc": auc(values, kept),
    }


def _disagreements(marks: Marks) -> Rows:
    """The sites about which judges disagree most, if they do by two marks or more."""
    spreads = marks.spreads()
    order = np.argsort(-spreads, kind="stable")[:MOST_DISAGREEMENTS].tolist()
    return [
        {"site": marks.sites[site], "spread": int(spreads[site]), "marks": _said(marks, site)}
        for site in order
        if spreads[site] > 1
    ]


def _said(marks: Marks, site: int) -> str:
    """The marks of a site with their judges."""
    given = zip(marks.judges, marks.table[site].tolist(), strict=True)
    return ", ".join(f"{judge} {mark}" for judge, mark in given if mark)


def _coefficients(names: Sequence[str], model: Ordinal) -> Rows:
    order = np.argsort(-np.abs(model.coefficients), kind="stable").tolist()
    return [
        {
            "criterion": names[place],
            "coefficient": float(model.coefficients[place]),
            "mean": float(model.centre[place]),
            "deviation": float(model.scale[place]),
            "counts": "as it is" if names[place].endswith("share") else "by its logarithm",
            "meaning": CRITERIA[names[place]],
        }
        for place in order
    ]


def _judged_rows(marks: Marks, reference: Table, seen: Prediction) -> Rows:
    return [
        {"site": site, "reference": int(mark), "predicted": int(said), "predicted_mean": round(float(mean), 3)}
        for site, mark, said, mean in zip(marks.sites, reference, seen.mark, seen.mean, strict=True)
    ]


def _by_importance(sites: Sites) -> _Valued:
    importance, linking = sites.values["importance"], sites.values["linking_sites"]
    total = importance.sum()

    def why(site: int) -> str:
        share = 100 * importance[site] / total if total else 0.0
        return f"{share:.3g} % of the importance of all pages; {int(linking[site])} other sites link to it"

    return _Valued(importance, ["importance"] * len(sites.names), range(len(sites.names)), why)


def _by_marks(sites: Sites, marks: Marks, places: list[int], model: Ordinal | None, keep: int) -> _Valued:
    value, source = np.zeros(len(sites.names)), ["none"] * len(sites.names)
    names = [name for name in CRITERIA if name in sites.values]
    parts = standard = np.zeros((len(sites.names), len(names)))
    if model is not None:
        criteria = sites.matrix(names)
        value, source = model.predict(criteria).mean, ["model"] * len(sites.names)
        parts, standard = model.contributions(criteria), model.standardised(criteria)
    value[places] = marks.means()
    number_of = {place: number for number, place in enumerate(places)}
    for place in places:
        source[place] = "judges"

    def why(site: int) -> str:
        if site in number_of:
            return f"marked: {_said(marks, number_of[site])}"
        largest = np.argsort(-np.abs(parts[site]), kind="stable")[:REASONS].tolist()
        return "; ".join(
            f"{names[one]} {standard[site, one]:+.1f} deviations, log-odds {parts[site, one]:+.2f}" for one in largest
        )

    return _Valued(value, source, np.flatnonzero(value >= keep - 0.5).tolist(), why)


def _proposals(sites: Sites, proposal: Proposal, valued: _Valued, reasons: Sequence[str]) -> Rows:
    values: Mapping[str, Vector] = sites.values
    return [
        {
            "rank": rank,
            "site": sites.names[site],
            "value": round(float(valued.value[site]), 4),
            "by": valued.source[site],
            "importance": float(values["importance"][site]),
            "site_importance": float(values["site_importance"][site]),
            "pages": int(values["pages"][site]),
            "found": int(sites.found[site]),
            "bytes_expected": round(float(sites.bytes_expected[site])),
            "why": why,
        }
        for rank, (site, why) in enumerate(zip(proposal.chosen, reasons, strict=True), 1)
    ]

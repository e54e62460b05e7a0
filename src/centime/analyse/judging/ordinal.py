"""A small model of marks: ordered logistic regression (proportional odds) with a ridge.

    P(mark of s <= k)  =  1 / (1 + exp(-(theta_k - eta_s)))          eta_s = sum over criteria c of beta_c z_sc

z are the criteria of a site, each with mean 0 and standard deviation 1 over the sites of the fit; beta_c says by how
much one standard deviation of criterion c moves the log-odds of a higher mark. The fit maximises

    log-likelihood  -  ridge / 2 * |beta|^2

which is concave, by Fisher scoring with halved steps, so it has one maximum and does not depend on a start or a seed. A
mark that no site of the fit has is never predicted. A criterion that is the same for all sites has the coefficient 0.

Honesty: `cross_validated` predicts each site from a model that has not seen its mark. The ridge is chosen among RIDGES
inside the other folds, by a further cross-validation, so that the choice is not seen either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from centime.analyse.judging.marks import Table
from centime.analyse.transition import Vector

RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FOLDS = 5
MOST_STEPS, MOST_HALVINGS = 100, 40
NEAR = 1e-8  # the largest gradient at which the fit ends
LEAST = 1e-300

Matrix = npt.NDArray[np.float64]


class Prediction(NamedTuple):
    """The prediction of a model for sites: the mean of the mark, and the most probable mark."""

    mean: Vector
    mark: Table


@dataclass(frozen=True, slots=True, eq=False)
class Ordinal:
    """A fitted model."""

    levels: Table  # the marks that occur
    thresholds: Vector
    coefficients: Vector
    ridge: float
    centre: Vector
    scale: Vector  # 1 for a criterion that is the same for all

    def standardised(self, criteria: Matrix) -> Matrix:
        """The criteria in standard deviations from the mean of the sites of the fit."""
        z: Matrix = (criteria - self.centre) / self.scale
        return z

    def contributions(self, criteria: Matrix) -> Matrix:
        """The contribution of each criterion to the log-odds of a higher mark of each site."""
        made: Matrix = self.standardised(criteria) * self.coefficients
        return made

    def probabilities(self, criteria: Matrix) -> Matrix:
        """The probability of each level, for each site."""
        return _probabilities(self.thresholds, self.standardised(criteria) @ self.coefficients)[0]

    def predict(self, criteria: Matrix) -> Prediction:
        """The predictions for sites."""
        p = self.probabilities(criteria)
        return Prediction(p @ self.levels, self.levels[p.argmax(axis=1)])

    def log_loss(self, criteria: Matrix, marks: Table) -> float:
        """The sum of -log of the probability of the right mark; of LEAST for a mark that the model does not know."""
        p = self.probabilities(criteria)
        places = np.searchsorted(self.levels, marks)
        places[places == len(self.levels)] = 0
        known = self.levels[places] == marks
        right = np.where(known, p[np.arange(len(marks)), places], LEAST)
        return float(-np.log(np.maximum(right, LEAST)).sum())


def fit(criteria: Matrix, marks: Table, ridge: float) -> Ordinal:
    """The model of some sites: a row of criteria and a mark for each."""
    centre, scale = criteria.mean(axis=0), criteria.std(axis=0)
    constant = scale <= 1e-12 * np.maximum(1.0, np.abs(centre))
    scale[constant] = 1.0
    z = np.where(constant, 0.0, (criteria - centre) / scale)
    levels, classes = np.unique(marks, return_inverse=True)
    below = np.cumsum(np.bincount(classes))[:-1] / len(classes)
    parameters = np.concatenate([np.log(below / (1 - below)), np.zeros(z.shape[1])])
    cuts = len(below)
    if cuts:
        parameters = _maximum(parameters, z, classes, cuts, ridge)
    return Ordinal(levels, parameters[:cuts], parameters[cuts:], ridge, centre, scale)


def fit_best(criteria: Matrix, marks: Table, folds: Table, step: Callable[[], None] = lambda: None) -> Ordinal:
    """The model with the ridge that predicts best over the folds."""
    return fit(criteria, marks, best_ridge(criteria, marks, folds, step))


def best_ridge(criteria: Matrix, marks: Table, folds: Table, step: Callable[[], None] = lambda: None) -> float:
    """The ridge with the smallest cross-validated log-loss; of equal ones the larger, which is the simpler model."""
    losses = []
    for ridge in reversed(RIDGES):
        step()
        loss = 0.0
        for fold in np.unique(folds).tolist():
            away = folds != fold
            loss += fit(criteria[away], marks[away], ridge).log_loss(criteria[~away], marks[~away])
        losses.append((loss, -ridge))
    return -min(losses)[1]


def cross_validated(
    criteria: Matrix, marks: Table, folds: Table, step: Callable[[], None] = lambda: None
) -> Prediction:
    """The prediction for each site by a model of the other folds, whose ridge was chosen inside them."""
    mean, mark = np.zeros(len(marks)), np.zeros(len(marks), dtype=np.int64)
    for fold in np.unique(folds).tolist():
        away, here = folds != fold, folds == fold
        made = fit_best(criteria[away], marks[away], folds[away], step).predict(criteria[here])
        mean[here], mark[here] = made.mean, made.mark
    return Prediction(mean, mark)


def _maximum(parameters: Vector, z: Matrix, classes: Table, cuts: int, ridge: float) -> Vector:
    value = _value(parameters, z, classes, cuts, ridge)
    for _ in range(MOST_STEPS):
        gradient, information = _slope(parameters, z, classes, cuts, ridge)
        if np.abs(gradient).max() < NEAR * len(classes):
            break
        direction = np.linalg.solve(information, gradient)
        for halving in range(MOST_HALVINGS):
            further = parameters + direction / 2**halving
            reached = _value(further, z, classes, cuts, ridge)
            if reached > value:
                break
        else:
            break  # only rounding is left
        parameters, value = further, reached
    return parameters


def _value(parameters: Vector, z: Matrix, classes: Table, cuts: int, ridge: float) -> float:
    thresholds, beta = parameters[:cuts], parameters[cuts:]
    if (np.diff(thresholds) <= 0).any():
        return -np.inf
    p, _ = _probabilities(thresholds, z @ beta)
    right = np.maximum(p[np.arange(len(classes)), classes], LEAST)
    return float(np.log(right).sum() - ridge / 2 * (beta @ beta))


def _slope(parameters: Vector, z: Matrix, classes: Table, cuts: int, ridge: float) -> tuple[Vector, Matrix]:
    """The gradient, and the expected information, of which the ridge is a part."""
    thresholds, beta = parameters[:cuts], parameters[cuts:]
    p, density = _probabilities(thresholds, z @ beta)
    count, levels = p.shape
    inverse = 1.0 / np.maximum(p, LEAST)
    # Row k of `scores`: the derivatives of log P(mark = level k) by the thresholds and, last, by eta.
    scores = np.zeros((count, levels, cuts + 1))
    for level in range(levels):
        if level < cuts:
            scores[:, level, level] = density[:, level] * inverse[:, level]
            scores[:, level, cuts] -= density[:, level] * inverse[:, level]
        if level > 0:
            scores[:, level, level - 1] = -density[:, level - 1] * inverse[:, level]
            scores[:, level, cuts] += density[:, level - 1] * inverse[:, level]
    mine = scores[np.arange(count), classes]
    gradient = np.concatenate([mine[:, :cuts].sum(axis=0), mine[:, cuts] @ z - ridge * beta])
    outer = np.einsum("nk,nka,nkb->nab", p, scores, scores)
    across = np.einsum("na,np->ap", outer[:, :cuts, cuts], z)
    own = (z * outer[:, cuts, cuts, None]).T @ z + ridge * np.eye(z.shape[1])
    return gradient, np.block([[outer[:, :cuts, :cuts].sum(axis=0), across], [across.T, own]])


def _probabilities(thresholds: Vector, eta: Vector) -> tuple[Matrix, Matrix]:
    """The probability of each level, and the density of the logistic distribution at each threshold."""
    below = 0.5 * (1.0 + np.tanh((thresholds - eta[:, None]) / 2))
    edges = np.concatenate([np.zeros((len(eta), 1)), below, np.ones((len(eta), 1))], axis=1)
    return np.diff(edges, axis=1), below * (1 - below)

"""What an administrator decides about refreshing: the rule, the budget, and how soon a page may be read again."""

import math
from dataclasses import dataclass
from typing import Literal

from centime.model.errors import BadSetting

Policy = Literal["optimal", "paper", "uniform"]
FIRST_RATE = 1.0 / (10 * 86400.0)
"""Before anything was seen: a change every ten days, give or take much."""
POLICIES: tuple[Policy, ...] = ("optimal", "paper", "uniform")


@dataclass(frozen=True, kw_only=True, slots=True)
class RefreshSettings:
    """How a budget is spent on reading again: `alpha` weighs the age of copies, `beta` their staleness.

    `budget` is pages, or bytes with `by_bytes`, per second; `least_interval` is in seconds; `first_rate`, changes per
    second, is what is believed of a page before anything was seen (read when the book begins). The paper's rule and the
    uniform one look at neither alpha nor beta.
    """

    policy: Policy = "optimal"
    alpha: float = 0.0
    beta: float = 1.0
    budget: float
    by_bytes: bool = False
    least_interval: float = 3600.0
    first_rate: float = FIRST_RATE

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise BadSetting(f"the policy is {self.policy!r}; it must be one of {', '.join(POLICIES)}")
        if not (0 <= self.alpha < math.inf and 0 <= self.beta < math.inf and self.alpha + self.beta > 0):
            raise BadSetting(
                f"alpha is {self.alpha} and beta {self.beta}; they must be 0 or more, and one of them above 0"
            )
        if not 0 <= self.budget < math.inf:
            raise BadSetting(f"the budget is {self.budget} a second; it must be 0 or more")
        if not 1e-12 <= self.first_rate <= 10.0:
            raise BadSetting(f"the first rate is {self.first_rate} changes a second; it must lie between 1e-12 and 10")
        if not 0.01 <= self.least_interval < math.inf:
            raise BadSetting(f"the least interval is {self.least_interval} seconds; it must be 0.01 or more")

    def same_rule(self, other: "RefreshSettings") -> bool:
        """Whether both ask for the same index, so that they differ in the budget at most."""
        return (self.policy, self.alpha, self.beta, self.by_bytes, self.least_interval) == (
            other.policy,
            other.alpha,
            other.beta,
            other.by_bytes,
            other.least_interval,
        )

"""The settings of refreshing: the rule, the budget, and the least interval between two reads of a page."""

import math
from dataclasses import dataclass
from typing import Literal, Self

from centime.model.errors import BadSetting

Policy = Literal["optimal", "paper", "uniform"]
FIRST_RATE = 1.0 / (10 * 86400.0)
"""The first estimate for every page, with a wide margin: a change every ten days."""
POLICIES: tuple[Policy, ...] = ("optimal", "paper", "uniform")


@dataclass(frozen=True, kw_only=True, slots=True)
class RefreshSettings:
    """How the budget is spent on refreshing: `alpha` is the weight of the age of copies, `beta` that of their
    staleness.

    `budget` is pages, or bytes with `by_bytes`, per second; `least_interval` is in seconds; `first_rate`, in changes
    per second, is the estimate for a page without evidence (it counts when the book begins). The paper's rule and the
    uniform rule ignore alpha and beta.
    """

    policy: Policy = "optimal"
    alpha: float = 0.0
    beta: float = 1.0
    budget: float
    by_bytes: bool = False
    least_interval: float = 3600.0
    first_rate: float = FIRST_RATE

    def check(self) -> Self:
        """These settings; BadSetting if they are new and invalid. Those of a journal are not checked again."""
        if self.policy not in POLICIES:
            raise BadSetting(f"the policy is {self.policy!r}; it must be one of {', '.join(POLICIES)}")
        if not (0 <= self.alpha < math.inf and 0 <= self.beta < math.inf and self.alpha + self.beta > 0):
            raise BadSetting(
                f"alpha is {self.alpha} and beta {self.beta}; they must be 0 or more, and one of them above 0"
            )
        if not 0 <= self.budget < math.inf:
            raise BadSetting(f"the budget is {self.budget} per second; it must be 0 or more")
        if not 1e-12 <= self.first_rate <= 10.0:
            raise BadSetting(f"the first rate is {self.first_rate} changes per second; it must be 1e-12 to 10")
        if not 0.01 <= self.least_interval < math.inf:
            raise BadSetting(f"the least interval is {self.least_interval} seconds; it must be 0.01 or more")
        return self

    def same_rule(self, other: "RefreshSettings") -> bool:
        """Whether both have the same index, so that they differ at most in the budget."""
        return (self.policy, self.alpha, self.beta, self.by_bytes, self.least_interval) == (
            other.policy,
            other.alpha,
            other.beta,
            other.by_bytes,
            other.least_interval,
        )

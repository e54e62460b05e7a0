"""The refresh policies by name."""

from collections.abc import Sequence

from centime.model.errors import BadSetting
from centime.refresh.settings import RefreshSettings
from centime.simulate.change_history import ChangeHistory
from centime.simulate.ours import Ours
from centime.simulate.scanning import Oracle, Paper, Uniform
from centime.simulate.simulation import Policy
from centime.simulate.stepping import NUTCH, STORM, Stepping

POLICIES = {
    "uniform": "round robin, the oldest copy first",
    "paper": "the paper's square root rule, rates from change observations",
    "nutch": "Nutch's adaptive schedule, steps of 20 %",
    "storm": "StormCrawler's adaptive scheduler, steps of 50 %",
    "optimal": "ours: the crawler's refresh book, the optimal threshold rule with estimated rates",
    "oracle": "the optimal rule with the true rates",
}


def policy_named(name: str, history: ChangeHistory, settings: RefreshSettings) -> Policy:
    """A new policy of that name for a history; `settings` apply to our own policy."""
    match name:
        case "uniform":
            return Uniform(history)
        case "paper":
            return Paper(history)
        case "nutch":
            return Stepping(history, NUTCH)
        case "storm":
            return Stepping(history, STORM)
        case "optimal":
            return Ours(history, settings)
        case "oracle":
            return Oracle(history)
        case _:
            raise BadSetting(f"unknown policy {name!r}; the policies are {', '.join(POLICIES)}")


def checked_names(names: Sequence[str]) -> list[str]:
    """The names, each once, in the order of POLICIES; all of them for `all`."""
    wanted = list(POLICIES) if "all" in names else list(names)
    for name in wanted:
        if name not in POLICIES:
            raise BadSetting(f"unknown policy {name!r}; the policies are {', '.join(POLICIES)}, or all")
    return [name for name in POLICIES if name in wanted]

"""The results of a repair: problems, restored and lost parts, in sentences and numbers."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Repaired:
    """The results of a repair, or with `--dry-run` of a rehearsal."""

    restored: list[str] = field(default_factory=list)  # parts that were restored exactly
    lost: list[str] = field(default_factory=list)  # parts that cannot be proven any more
    frames_lost: int = 0  # frames of the journal that cannot be read, or cannot be applied any more
    frames_unreadable: int = 0  # those of them that cannot be read: how many visits they had is not known
    visits_lost: int = 0  # visits in frames that can be read but not applied, and visits whose record is damaged
    visits_salvaged: int = 0  # visits behind a damaged frame that were applied
    pages_lost: int = 0  # pages whose URL is lost
    bytes_lost: int = 0  # of the journal and of state files

    @property
    def changed(self) -> bool:
        """Whether anything was wrong."""
        return bool(self.restored or self.lost)

"""The standing of a host, and how many leases hosts of each standing may have: slow hosts never stop the others.

    NEW          never answered, never failed
    ANSWERING    its last lease ended with an answer, in time
    FAILING      its last lease ended without an answer, or took too long

A fetcher loses a slot for as long as a host keeps it waiting. So each standing has slots of its own, which the others
cannot take: with S slots in all, NEW 3/8 S, ANSWERING 1/2 S, FAILING 1/8 S. Hence, whatever the other hosts do, a host
that answers waits for a slot only while S/2 hosts that answer too are being fetched from. One registered domain, and
one network address, has at most a part of them: NEW 1/16 S, ANSWERING 1/8 S, FAILING 1/64 S.

A host whose domain or address has its full part is delayed to the next whole second, or to a later one if a call delays
more than PUT_OFF_AT_ONCE: so hosts that are delayed again and again cost little. The domain of a host is one of DOMAINS
numbers, a hash of the name: two domains that share a number share their part.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

NEW: Final = 0
ANSWERING: Final = 1
FAILING: Final = 2
STANDINGS: Final = 3
UNCHANGED: Final = -1  # of a lease whose end says nothing about its host

DOMAINS: Final = 1 << 12
NO_DOMAIN: Final = -1
PUT_OFF_AT_ONCE: Final = 4096

# rows of bounds
IN_ALL: Final = 0
SHARED: Final = 1  # by the hosts of a domain, and by those of an address

_PARTS = ((3, 4, 1), (0.5, 1, 0.125))  # eighths of the slots, by standing
_LEAST = ((1, 1, 1), (4, 16, 2))  # so that a crawl with few slots is not too slow
_UNBOUNDED = np.full((2, STANDINGS), np.iinfo(np.int64).max, dtype=np.int64)


def bounds(slots: int) -> npt.NDArray[np.int64]:
    """The largest number of leases in flight, in all and of one domain or address, by standing; no bound for 0 slots.

    >>> bounds(512).tolist()
    [[192, 256, 64], [32, 64, 8]]
    """
    if slots <= 0:
        return _UNBOUNDED
    return np.array(
        [
            [max(least, int(slots * part / 8)) for part, least in zip(parts, row, strict=True)]
            for parts, row in zip(_PARTS, _LEAST, strict=True)
        ],
        dtype=np.int64,
    )

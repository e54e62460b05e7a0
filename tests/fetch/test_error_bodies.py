"""With `keep_errors`, redirects and errors have their bodies; whatever becomes of a body, the head decides."""

import gzip

import pytest

from centime.model.outcome import Outcome
from tests.fetch.hostile import Handler, answer, closing, endless, fetch, hanging

BODY = b"<p>nothing here"
GONE = "404 Not Found"


def error(route: bytes | Handler) -> tuple[Outcome, bytes, bool]:
    response = fetch({"/page": route}, keep_errors=True)
    return response.outcome, response.body, response.truncated


def test_bodies_of_errors_and_redirects_are_read_only_if_they_are_wanted() -> None:
    route = answer(BODY, GONE)
    assert error(route) == (Outcome.GONE, BODY, False)
    assert fetch({"/page": route}).body == b""
    assert error(answer(BODY, "302 Found", Location="/x")) == (Outcome.MOVED_TEMPORARILY, BODY, False)
    assert error(answer(BODY, "302 Found")) == (Outcome.BAD_RESPONSE, BODY, False)
    assert error(answer(gzip.compress(BODY), "500 Oops", Content_Encoding="gzip")) == (
        Outcome.SERVER_ERROR,
        BODY,
        False,
    )
    assert error(answer(status="503 Busy")) == (Outcome.BUSY, b"", False)


@pytest.mark.parametrize(
    "route",
    [
        closing(answer(b"short", GONE, Content_Length="100")),
        closing(answer(b"zz\r\n", GONE, Transfer_Encoding="chunked")),
        hanging(answer(b"slow", GONE, Content_Length="100")),
    ],
)
def test_a_body_that_is_broken_or_never_ends_leaves_the_outcome_as_it_is(
    route: bytes | Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("centime.fetch.exchange._ERROR_SECONDS", 0.2)
    assert error(route) == (Outcome.GONE, b"", False)


def test_a_long_body_is_cut() -> None:
    outcome, body, truncated = error(endless(answer(b"", GONE, Transfer_Encoding="x"), b"x" * 10_000))
    assert (outcome, truncated) == (Outcome.GONE, True)
    assert len(body) == 1 << 20

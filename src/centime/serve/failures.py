"""The answers to requests that fail.

The first answers of a kind may take long because kernels are compiled for them, once on each machine. A request that
times out meanwhile gets an answer that says this instead of "too much": the work continues, and its answer is
remembered.
"""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from centime.model.errors import CentimeError
from centime.model.kernel import activity
from centime.serve.answers import failed, status_of

COMPILES = 20.0  # seconds: a process that compiled this recently may have more to compile, or only begins to work
AGAIN = "10"  # seconds


async def _http(request: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, HTTPException)
    response = failed(request, trouble.status_code, str(trouble.detail))
    response.headers.update(trouble.headers or {})
    return response


async def _trouble(request: Request, trouble: Exception) -> Response:
    assert isinstance(trouble, CentimeError)
    status, hint = status_of(trouble)
    return failed(request, status, str(trouble), hint)


async def _late(request: Request, trouble: Exception) -> Response:
    if not activity.within(COMPILES):
        return failed(request, 503, "This takes too long here.", "Ask for less, or use the command line.")
    sentence = "This is computed for the first time on this machine; its code is being compiled, once."
    response = failed(request, 503, sentence, f"Ask again in {AGAIN} seconds.")
    response.headers["Retry-After"] = AGAIN
    return response


async def _gone(request: Request, trouble: Exception) -> Response:
    return Response(status_code=400)


async def _broken(request: Request, trouble: Exception) -> Response:
    return failed(request, 500, f"An internal error: {type(trouble).__name__}.", "See the log of the server.")


HANDLERS: dict[Any, Any] = {
    HTTPException: _http,
    CentimeError: _trouble,
    TimeoutError: _late,
    ClientDisconnect: _gone,
    500: _broken,
}

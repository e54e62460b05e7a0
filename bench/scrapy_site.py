"""A generated site on eight addresses of the loopback interface: 12 KB and some 20 links a page, some pages linked much
more than others. Prints its port.

    python -m bench.scrapy_site SEED PAGES
"""

import asyncio
import random
import sys

HOSTS = 8
LINKS = 20
FILLER = "<p>" + "Words of a page that says little. " * 300 + "</p>"


def page(seed: int, number: int, pages: int, port: int) -> bytes:
    """The page with a number: a pure function of its arguments."""
    chance = random.Random(f"{seed}:{number}")
    targets = {int(pages * chance.random() ** 3) for _ in range(LINKS)} | {2 * number + 1, 2 * number + 2}
    links = "".join(
        f'<li><a href="http://127.0.0.{1 + target % HOSTS}:{port}/{target}">{target}</a></li>'
        for target in sorted(targets)
        if target < pages
    )
    return f"<html><body><ul>{links}</ul>{FILLER}</body></html>".encode()


async def serve(seed: int, pages: int) -> None:
    """Answers until the process is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                number = int(head.split(b" ", 2)[1].strip(b"/") or b"0")
                body = page(seed, number, pages, port)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(body))
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    first = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = int(first.sockets[0].getsockname()[1])
    others = [await asyncio.start_server(answer, f"127.0.0.{1 + host}", port) for host in range(1, HOSTS)]
    print(port, flush=True)
    await asyncio.gather(*(server.serve_forever() for server in (first, *others)))


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))

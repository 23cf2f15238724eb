"""The web page of a running stream: read-only, served with Starlette and uvicorn from a thread."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from elsinore.errors import InputError, SetupError
from elsinore.monitor.address import Listening
from elsinore.monitor.monitor import StreamMonitor

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError as missing:
    raise SetupError(
        "The page needs the packages starlette and uvicorn. Install them with: "
        "pip install 'elsinore[monitor]'"
    ) from missing

ASSETS = Path(__file__).parent / "assets"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
# Only the page's own files may be loaded or run, and no other page may embed it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
POLL_SECONDS = 0.25  # between checks for changes
HEARTBEAT_SECONDS = 10.0  # after which a comment is sent to an idle connection
START_SECONDS = 10.0  # seconds for the server to start


@contextmanager
def serve_page(monitor: StreamMonitor, listening: Listening) -> Iterator[str]:
    """Serve the page of a stream while the block runs; yield the address.

    At a loopback address, only requests that name this machine are answered: a web site cannot
    read the page through a name of its own that points here. Raises InputError for an address that
    cannot be listened at.
    """
    bound = listening.bind()
    stopping = threading.Event()
    app = page_app(monitor, stopping.is_set, loopback=listening.is_loopback)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([bound],), name="elsinore page", daemon=True)
    thread.start()
    try:
        _wait_for(server, thread)
        yield f"http://{Listening(listening.host, bound.getsockname()[1])}/"
    finally:
        stopping.set()
        server.should_exit = True
        thread.join()
        bound.close()


def page_app(monitor: StreamMonitor, is_over: Callable[[], bool], *, loopback: bool) -> Starlette:
    """Return the application: the page, its files, and the events that keep it up to date."""

    async def events(request: Request) -> Response:
        return StreamingResponse(
            _updates(monitor, is_over, request), media_type="text/event-stream", headers=HEADERS
        )

    hosts = ["localhost", "127.0.0.1", "[::1]"] if loopback else ["*"]
    return Starlette(
        routes=[
            Route("/", _file("index.html")),
            *(
                Route(f"/{name}", _file(name))
                for name in ("page.js", "page.css", "uPlot.iife.min.js", "uPlot.min.css")
            ),
            Route("/events", events),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
    )


def _file(name: str) -> Callable[[Request], Response]:
    path = ASSETS / name

    def respond(_: Request) -> Response:
        return FileResponse(path, media_type=TYPES[path.suffix], headers=HEADERS)

    return respond


async def _updates(
    monitor: StreamMonitor, is_over: Callable[[], bool], request: Request
) -> AsyncIterator[str]:
    """Yield a snapshot at once and after each change, as server-sent events."""
    revision, batches = -1, 0
    last_write = time.monotonic()
    while not is_over() and not await request.is_disconnected():
        now = time.monotonic()
        if monitor.revision != revision:
            revision = monitor.revision
            snapshot = monitor.snapshot(batches)
            batches = snapshot["batches"]
            last_write = now
            yield f"data: {json.dumps(snapshot)}\n\n"
        elif now - last_write >= HEARTBEAT_SECONDS:
            last_write = now
            yield ": still here\n\n"
        await asyncio.sleep(POLL_SECONDS)


def _wait_for(server: uvicorn.Server, thread: threading.Thread) -> None:
    end = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise InputError("The server of the page did not start.")
        time.sleep(0.01)

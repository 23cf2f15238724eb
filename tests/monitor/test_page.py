"""The page of a running stream, in a real browser."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from elsinore import Workload
from elsinore.monitor import Listening, StreamMonitor, serve_page
from support.running import RunningStream, wait_for

playwright = pytest.importorskip("playwright.sync_api")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HERE = Listening("127.0.0.1", 0)
HOSTILE = "<img src=x onerror=window.broken=1><script>window.broken=1</script>"
WORKLOAD = Workload.parse(f"""
    QUERY few RETURN g, COUNT(*) AS trends PATTERN SEQ(A, B+) WHERE B.v < 3 AND A.g != '{HOSTILE}x'
      GROUP BY g WITHIN 10;
    QUERY many RETURN g, COUNT(*) AS trends PATTERN SEQ(A, B+) WHERE B.v < 9 GROUP BY g WITHIN 10;
""")


def events(first: int, last: int) -> pa.Table:
    """Return an A and a burst of B for each second; their group is markup."""
    times = [second for second in range(first, last) for _ in range(20)]
    return pa.table(
        {
            "time": times,
            "type": [("A" if n % 20 == 0 else "B") for n in range(len(times))],
            "g": [HOSTILE] * len(times),
            "v": [n % 10 for n in range(len(times))],
        }
    )


@pytest.fixture
def page() -> Iterator[Any]:
    """Open a page of a browser that reaches this machine alone."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed; make test installs one as root")
    arguments = [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=found, args=arguments)
        try:
            yield browser.new_page()
        finally:
            browser.close()


def test_the_page_follows_a_stream_and_shows_events_as_text(page: Any, tmp_path: Path) -> None:
    requests: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    stream = RunningStream(WORKLOAD, tmp_path)
    expect = playwright.expect
    with stream.running(events(0, 25)), serve_page(stream.monitor, HERE) as address:
        page.goto(address)
        expect(page.locator("#state")).to_have_text("live")
        expect(figure(page, "events")).to_have_text("500")
        expect(figure(page, "watermark")).to_have_text("24")
        expect(figure(page, "lag")).to_have_text("0")
        many = page.locator("[data-query=many]")
        expect(many.locator("pre")).to_contain_text("PATTERN  SEQ(A, B+)")
        first = WORKLOAD.run(events(0, 25), end="open")["many"].to_pylist()
        expect(many.locator("tr")).to_have_count(1 + len(first))
        expect(many.locator("td").first).to_have_text(HOSTILE)
        stream.add(events(25, 45))
        expect(figure(page, "events")).to_have_text("900")
        rows = WORKLOAD.run(events(0, 45), end="open")["many"].to_pylist()
        expect(many.locator("tr")).to_have_count(1 + len(rows))
        expect(many.locator("tr").nth(1).locator("td").nth(1)).to_have_text(
            str(rows[-1]["window_start"])
        )
        stream.add(events(3, 4))
        expect(figure(page, "late")).to_have_text("20")
        sharing = page.locator("#sharing")
        expect(sharing).to_contain_text("few, many")
        assert page.locator("#charts canvas").count() == 4
        drawn = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, 1).data.length"
        assert page.locator("#charts canvas").first.evaluate(drawn) > 0
        assert page.locator("img").count() == 0
        assert page.evaluate("window.broken") is None
    expect(page.locator("#state")).to_contain_text("not connected")
    assert all(url.startswith((address, "data:")) for url in requests), requests
    assert not [text for text in problems if "ERR_" not in text], problems


def figure(page: Any, name: str) -> Any:
    """Return the value of a figure."""
    return page.locator(f"[data-figure='{name}'] .value")


def test_the_page_only_answers_who_reads_from_this_machine() -> None:
    with serve_page(StreamMonitor({}, "nothing"), HERE) as address:
        assert status(address) == 200
        assert status(address + "events/../page.js") in {200, 404}
        assert status(address, headers={"Host": "localhost"}) == 200
        assert status(address, headers={"Host": "elsewhere.example"}) == 400
        assert status(address, method="POST", data=b"x") == 405
        assert status(address + "server.py") == 404
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def status(address: str, **request: Any) -> int:
    """Return the status that a request gets."""
    try:
        with urllib.request.urlopen(
            urllib.request.Request(address, **request), timeout=30
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)


def test_the_server_stops_while_a_page_is_connected() -> None:
    monitor = StreamMonitor({"q": "QUERY q"}, "nothing")
    with serve_page(monitor, HERE) as address:
        answer = urllib.request.urlopen(address + "events", timeout=30)
        first = answer.readline().decode()
        assert json.loads(first.removeprefix("data: "))["queries"][0]["name"] == "q"
    answer.read()
    answer.close()
    names = [thread.name for thread in threading.enumerate()]
    assert "elsinore page" not in names
    port = int(address.rstrip("/").rpartition(":")[2])
    wait_for(lambda: is_closed(port))


def is_closed(port: int) -> bool:
    """Return whether nobody listens at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return True
    return False

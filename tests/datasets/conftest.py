"""Fixtures for the tests of data sets: an empty cache, test entries in the catalog, a local web server.

course_lib is imported inside the fixtures: pytest loads this file before jaxtyping's import hook is in place.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, with COURSE_DATA unset."""
    monkeypatch.delenv("COURSE_DATA", raising=False)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that puts data sets into the catalog, each instead of the one with its name."""
    from course_lib.datasets import catalog

    def put_into_catalog(*entries) -> None:
        names = {entry.name for entry in entries}
        kept = (entry for entry in catalog._ENTRIES if entry.name not in names)
        monkeypatch.setattr(catalog, "_ENTRIES", (*entries, *kept))

    return put_into_catalog


class Handler(BaseHTTPRequestHandler):
    """Serves `server.files` and records the paths in `server.asked`; /broken-off… stops halfway."""

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        self.server.asked.append(self.path)
        if content is None:
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        sent = len(content) // 2 if self.path.startswith("/broken-off") else len(content)
        self.wfile.write(content[:sent])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A web server on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.asked = {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def small(offer, server) -> Callable[..., None]:
    """A function that gives a set of several files these small ones, which the server has."""
    from course_lib.datasets import find_set

    def put_into_catalog(name: str, files: dict[str, bytes]) -> None:
        entry, parts = find_set(name), []
        for part, (file, content) in zip(entry.parts, files.items(), strict=True):
            checked = "sha256" if part.sha256 else "text_sha256"
            digest = {checked: hashlib.sha256(content).hexdigest()}
            parts.append(replace(part, urls=(f"{server.url}/{file}",), **digest))
        offer(replace(entry, parts=tuple(parts)))
        server.files |= {f"/{file}": content for file, content in files.items()}

    return put_into_catalog

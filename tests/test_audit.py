"""The audit asks about every locked library, and fails where a flaw is known."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytestmark = pytest.mark.nightly  # the audit is asked once a week

ROOT = Path(__file__).parents[1]
LOCKED = re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)


class Advisories(ThreadingHTTPServer):
    """A service on this machine that knows of flaws; it speaks as https://api.osv.dev does."""

    def __init__(self) -> None:
        super().__init__(("localhost", 0), Answer)
        self.asked: list[tuple[str, str]] = []
        self.flawed: dict[str, str] = {}
        """The version in which a library is mended, by its name."""


class Answer(BaseHTTPRequestHandler):
    server: Advisories

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = query["package"]["name"]
        self.server.asked.append((name, query["version"]))
        known = {}
        if name in self.server.flawed:
            events = [{"introduced": "0"}, {"fixed": self.server.flawed[name]}]
            ranges = [{"type": "ECOSYSTEM", "events": events}]
            affected = [{"package": {"name": name, "ecosystem": "PyPI"}, "ranges": ranges}]
            known = {"vulns": [{"id": "PYSEC-1", "summary": "a flaw", "affected": affected}]}
        answer = json.dumps(known).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def advisories() -> Iterator[Advisories]:
    with Advisories() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def audit(advisories: Advisories) -> "subprocess.CompletedProcess[str]":
    """Run `make audit` with the libraries of this Python; only whom it asks is another."""
    return subprocess.run(
        ["make", "audit", "INSTALLED=", f"BIN={Path(sys.executable).parent}"],
        cwd=ROOT,
        env=os.environ
        | {
            "PIP_AUDIT_VULNERABILITY_SERVICE": "osv",
            "PIP_AUDIT_OSV_URL": f"http://localhost:{advisories.server_port}/v1/query",
            "PIP_AUDIT_PROGRESS_SPINNER": "off",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_audit_asks_about_every_locked_library_and_passes(advisories: Advisories) -> None:
    done = audit(advisories)
    assert done.returncode == 0, done.stderr
    assert "No known vulnerabilities found" in done.stderr
    assert sorted(advisories.asked) == sorted(LOCKED)
    assert len(LOCKED) > 100


def test_the_audit_fails_where_a_flaw_is_known(advisories: Advisories) -> None:
    advisories.flawed["safetensors"] = "999.0"
    done = audit(advisories)
    assert done.returncode != 0
    assert re.search(r"^safetensors +\S+ +PYSEC-1 +999\.0$", done.stdout, re.M)
    assert "Found 1 known vulnerability in 1 package" in done.stderr

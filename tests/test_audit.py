"""The audit asks about every locked library, and fails where a flaw is known."""

import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

pytestmark = pytest.mark.nightly  # the audit is asked once a week

ROOT = Path(__file__).parents[1]
LOCKED = re.findall(r"^(\S+)==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)


class Advisories(BaseHTTPRequestHandler):
    """A service on this machine that knows of one flaw; it speaks as https://api.osv.dev does."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = query["package"]["name"]
        self.asked.append((name, query["version"]))
        ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999.0"}]}]
        affected = [{"package": {"name": name, "ecosystem": "PyPI"}, "ranges": ranges}]
        flaw = {"id": "PYSEC-1", "summary": "a flaw", "affected": affected}
        answer = json.dumps({"vulns": [flaw]} if name == "safetensors" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def test_the_audit_asks_about_every_locked_library_and_fails_where_a_flaw_is_known() -> None:
    with ThreadingHTTPServer(("localhost", 0), Advisories) as server:
        Thread(target=server.serve_forever).start()
        done = subprocess.run(
            ["make", "audit", "INSTALLED=", f"BIN={Path(sys.executable).parent}"],
            cwd=ROOT,
            env=os.environ
            | {
                "PIP_AUDIT_VULNERABILITY_SERVICE": "osv",
                "PIP_AUDIT_OSV_URL": f"http://localhost:{server.server_port}/v1/query",
                "PIP_AUDIT_PROGRESS_SPINNER": "off",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        server.shutdown()
    assert sorted(Advisories.asked) == sorted(LOCKED)
    assert done.returncode != 0
    assert re.search(r"^safetensors +\S+ +PYSEC-1 +999\.0$", done.stdout, re.M)
    assert "Found 1 known vulnerability in 1 package" in done.stderr

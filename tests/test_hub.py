"""The hub: a model is downloaded once, at a fixed commit, and verified; from a local server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from annotated_transformer.exchange import MINILM, PublishedModel
from annotated_transformer.ground.errors import InputError

COMMIT = "0123456789" * 4
FILES = {"config.json": b'{"model_type": "bert"}', "model.safetensors": b"weights"}
CHECKSUMS = {name: sha256(content).hexdigest() for name, content in FILES.items()}
PROGRAM = f"""
import sys
from annotated_transformer.ground.errors import InputError
from annotated_transformer.exchange import PublishedModel
for name in sys.argv[1:]:
    try:
        folder = PublishedModel(name, {COMMIT!r}, {CHECKSUMS}).download()
        print(sorted((path.name, path.read_bytes()) for path in folder.iterdir()))
    except InputError as error:
        print(error)
"""
SMALL, OTHER, NONE = "someone/small", "someone/other", "someone/none"
MODELS = {SMALL: FILES, OTHER: FILES | {"model.safetensors": b"other weights"}, NONE: {}}
SERVED = {
    f"/{model}/resolve/{COMMIT}/{name}": content
    for model, files in MODELS.items()
    for name, content in files.items()
}


@contextmanager
def hub() -> Iterator[tuple[str, list[str]]]:
    """A server that has two models; its address, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            content = SERVED.get(self.path, b"")
            self.send_response(200 if content else 404)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{sha256(content).hexdigest()}"')
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_GET = do_HEAD

        def log_message(self, *_) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def download(endpoint, home, *models) -> list[str]:
    """What a program prints that downloads models: the hub reads its address when imported."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *models], capture_output=True, text=True, check=True,
        env=outside | {"HF_ENDPOINT": endpoint, "HF_HOME": str(home)},
    ).stdout.splitlines()  # fmt: skip


@pytest.mark.slow
def test_a_model_is_downloaded_once_and_verified_and_then_found_without_a_network(tmp_path):
    found = str(sorted(FILES.items()))
    with hub() as (endpoint, asked):
        good, damaged, missing = download(endpoint, tmp_path, *MODELS)
    assert good == found
    assert "model.safetensors is damaged (its SHA-256 is " in damaged
    assert damaged.endswith("): delete it and try again.")
    assert missing.startswith(f"{NONE} could not be downloaded from {endpoint} (")
    assert missing.endswith("): check the network and try again.")
    files = {path for path in asked if "resolve" in path}  # else it tells who asks
    assert {path for path in files if NONE not in path} == SERVED.keys()
    assert download(endpoint, tmp_path, SMALL) == [found]


@pytest.mark.verify  # the hub's library tries for half a minute
def test_a_server_out_of_reach_is_told_in_one_sentence(tmp_path):
    with hub() as (endpoint, _):
        pass
    [said] = download(endpoint, tmp_path, "someone/small")
    assert said.startswith(f"someone/small could not be downloaded from {endpoint} (")
    assert said.endswith("): check the network and try again.")


def test_a_revision_that_may_change_is_refused():
    with pytest.raises(InputError, match="revision is 'main', it must be a commit, 40 hexadecimal"):
        PublishedModel("someone/small", "main", CHECKSUMS)


def test_a_folder_from_elsewhere_is_verified(tmp_path):
    with pytest.raises(InputError, match=r"config\.json cannot be read \(.*No such file"):
        MINILM.verify(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"config\.json is damaged \(its SHA-256 is 44136fa3…, it"):
        MINILM.verify(tmp_path)

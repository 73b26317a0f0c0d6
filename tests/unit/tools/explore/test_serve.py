"""The playground's server: the page, and tries of edited kernels, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Generator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes.pipelines import OF_KERNELS, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.server.guard import TOKEN_HEADER
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.page_file import explorer_page
from stepwell.tools.explore.serve.edits import edit_of, edited, same_lines
from stepwell.tools.explore.serve.new_file import write_new_text
from stepwell.tools.explore.serve.playground import playground
from stepwell.tools.explore.serve.server import MAX_BODY_BYTES, Server
from tests.support.samples import whole

DIGITS = Path(__file__).resolve().parents[4] / "examples" / "digits.onnx"
SCHEDULE = "#sched.schedule<tile = [2, 6, 0, 1], parallel = [1, 0], vectorize = 2>"


class Reply(NamedTuple):
    """The answer of the server."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error."""
        assert self.status in (404, 422), self
        return self.json["error"]["code"]


class Client(NamedTuple):
    """A client that has the token."""

    server: Server

    def __call__(self, path: str, body: object = None, **headers: str) -> Reply:
        connection = HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        try:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            named = {TOKEN_HEADER: self.server.guard.token}
            named |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request("GET" if body is None else "POST", path, None if body is None else data, named)
            response = connection.getresponse()
            return Reply(response.status, response.read())
        finally:
            connection.close()

    def text(self, pass_name: str, kernel: str = "k0") -> str:
        """The text of a kernel after a pass."""
        steps = self(f"/api/kernel/{kernel}").json["steps"]
        return next(step["text"] for step in steps if step["pass"] == pass_name)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[Client]:
    """A client of the digits model's playground, which keeps files in a folder of its own."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("kept"))
    try:
        options = CompileOptions(profile=True)
        data = collect(DIGITS, options)
        server = playground(DIGITS, options, data, explorer_page(data, connects=True), {}, threads=1)
    finally:
        os.chdir(before)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Client(server)
    server.shutdown()
    server.server_close()
    server.site.tries.close()
    thread.join()


def test_the_page_may_call_its_server_and_nothing_else(client: Client):
    page = client("/", X_Stepwell_Token="")
    assert page.status == 200
    assert b"connect-src &#x27;self&#x27;" in page.body
    assert client.server.guard.token.encode() not in page.body


def test_requests_without_the_right_token_or_host_are_refused(client: Client):
    assert client("/api/kernels").status == 200
    assert client("/api/kernels", X_Stepwell_Token="").status == 403
    assert client("/api/kernels", X_Stepwell_Token=client.server.guard.token[:-1] + "g").status == 403
    assert client("/api/kernel/k0/try", {"schedule": SCHEDULE}, X_Stepwell_Token="é").status == 403
    port = client.server.server_port
    assert client("/api/kernels", Host=f"localhost:{port}", Origin=f"http://127.0.0.1:{port}").status == 200
    for wrong in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"):
        assert client("/api/kernels", Host=wrong).status == 421
        assert client("/", Host=wrong).status == 421
        assert client("/api/kernels", Origin=f"http://{wrong}").status == 421
    assert client("/api/kernels", Origin="null").status == 421


@pytest.mark.parametrize("path", ["/api", "/api/kernel", "/api/kernel/k0/x", "/x", "/../x", "/api/try/1/x"])
def test_other_addresses_do_not_exist(client: Client, path: str):
    assert client(path).status == 404
    assert client(path, {}).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_other_methods_do_not_exist(client: Client, method: str):
    for headers, status in (({TOKEN_HEADER: client.server.guard.token}, 404), ({}, 403)):
        connection = HTTPConnection("127.0.0.1", client.server.server_port, timeout=60)
        connection.request(method, "/api/kernels", None, headers)
        assert connection.getresponse().status == status
        connection.close()


def test_kernels_are_listed_with_their_nodes(client: Client):
    rows = client("/api/kernels").json
    assert [(row["id"], row["nodes"]) for row in rows] == [
        ("k0", ["layer0", "relu0"]),
        ("k1", ["layer1"]),
        ("k2", ["softmax"]),
    ]
    assert all(row["us"] > 0 for row in rows)
    assert client("/api/kernel/k1").json["symbol"] == rows[1]["symbol"]
    assert client("/api/kernel/k9").code == "no-value"


def test_bodies_are_bounded_and_are_json(client: Client):
    path = "/api/kernel/k0/try"
    assert client(path, b"x").status == 400
    assert client(path, b"[" * 100_000).status == 400
    with socket.create_connection(("127.0.0.1", client.server.server_port), timeout=60) as stream:
        head = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{client.server.server_port}"]
        head += [f"{TOKEN_HEADER}: {client.server.guard.token}", f"Content-Length: {MAX_BODY_BYTES + 1}"]
        stream.sendall("\r\n".join([*head, "", ""]).encode())
        assert b" 413 " in stream.recv(1000).partition(b"\r\n")[0]
    assert client(path, b"{}", Content_Length="-1").status == 411


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"schedule": ""},
        {"schedule": 1},
        {"schedule": SCHEDULE, "pipeline": "x"},
        {"schedule": SCHEDULE, "number": -1},
        {"schedule": SCHEDULE, "number": True},
        {"schedule": SCHEDULE, "runs": 0},
        {"schedule": SCHEDULE, "threads": 2},
        {"schedule": SCHEDULE, "threads": "1"},
        {"level": "asm", "text": "x"},
        {"level": "linalg"},
    ],
)
def test_requests_that_are_no_edit(client: Client, body: object):
    assert client("/api/kernel/k0/try", body).code == "bad-data"


def test_an_edited_schedule_gives_other_code_with_difference_and_times(client: Client):
    before = client("/api/kernel/k0").json
    found = client("/api/kernel/k0/try", {"schedule": SCHEDULE, "runs": 2})
    assert found.status == 200, found.body
    data = found.json
    assert data["difference"] <= data["allowed"]
    assert data["asm"]["text"] != before["asm"]["text"]
    low, median, high = data["us"]["ratio"]
    assert 0 < low <= median <= high and data["us"]["before"] > 0 and data["us"]["after"] > 0
    assert data["steps"][0]["pass"] == "your schedule" and SCHEDULE in data["steps"][0]["text"]
    assert data["steps"][-1]["level"] == "llvm"
    assert ["layer0"] in data["sets"]
    file = client(f"/api/try/{data['id']}/file").body.decode()
    assert re.match(r"// RUN: stepwell-opt %s -p 'tile-and-fuse,.*'\n", file) and SCHEDULE in file
    kept = client(f"/api/try/{data['id']}/keep", {"file": "kept.mlir"})
    assert kept.json["file"] == "kept.mlir"
    path = client.server.site.tries.folder / "kept.mlir"
    assert path.read_text() == file
    assert client(f"/api/try/{data['id']}/keep", {"file": "kept.mlir"}).code == "cannot-write"
    assert os.listdir(path.parent) == ["kept.mlir"]


@pytest.mark.parametrize(
    "name", ["../x.mlir", "/x.mlir", "x.py", ".mlir", ".x.mlir", "-x.mlir", "a\0.mlir", 1, None]
)
def test_files_have_plain_names(client: Client, name: object):
    client.server.site.tries._files[99] = "text"  # pyright: ignore[reportPrivateUsage]
    assert client("/api/try/99/keep", {"file": name}).code == "bad-data"
    assert client("/api/try/98/keep", {"file": "x.mlir"}).code == "no-value"
    assert client("/api/try/98/file").code == "no-value"


def refused(client: Client, body: object) -> StepwellError:
    """The error of an edit of `k0`, which is found in this process: the process of a try takes a second."""
    tries, ctx = client.server.site.tries, StepwellContext()
    ctx.target = tries.target
    with pytest.raises(StepwellError) as caught:
        edited(parse_module(ctx, tries.kernels["k0"].text), ctx, edit_of(body))
    return caught.value


def test_edits_with_errors_name_the_line(client: Client):
    text = client.text("convert-graph-to-linalg")
    wrong = client(
        "/api/kernel/k0/try", {"level": "linalg", "text": text.replace("linalg.fill", "linalg.fil")}
    )
    error = wrong.json["error"]
    assert (wrong.status, error["code"], error["line"]) == (422, "syntax", 5)
    assert "linalg.fill" in error["message"]
    wrong = refused(client, {"schedule": "#sched.schedule<tile = [2"})
    assert wrong.code == "syntax" and str(wrong.where).endswith(":26")


@whole
def test_text_of_a_level_is_tried(client: Client):
    text = client.text("unroll-vectors")
    body = {"level": "vector", "text": text.replace("arith.maximumf", "arith.minimumf"), "runs": 1}
    data = client("/api/kernel/k0/try", body).json
    assert data["difference"] > 0.1 > data["allowed"], "a wrong kernel has times all the same"
    assert data["us"]["ratio"][1] > 0
    assert ["relu0"] in data["sets"], "lines that were not edited keep their nodes"
    last = [step for step in data["steps"] if "lines" in step][-1]
    assert any(number >= 0 for number in last["lines"])


def test_other_passes_are_tried(client: Client):
    steps = [step for step in OF_KERNELS if step.name != "hoist-accumulators"]
    data = client("/api/kernel/k0/try", {"pipeline": text_of(steps), "runs": 1}).json
    assert data["difference"] <= data["allowed"]
    assert list(dict.fromkeys(step["level"] for step in data["steps"])) == ["tensor", "loop", "llvm"]
    assert "hoist-accumulators" not in [step["pass"] for step in data["steps"]]
    assert refused(client, {"pipeline": "fuse-ops"}).code == "bad-option"
    assert refused(client, {"pipeline": "sink-reshapes,,"}).code == "bad-pipeline"


def test_text_that_is_code_needs_trust(client: Client):
    loops = client.text("bufferize")
    assert client("/api/kernel/k0/try", {"level": "loops", "text": loops}).code == "needs-trust"
    assert client("/api/kernel/k0/try", {"level": "linalg", "text": loops}).code == "needs-trust"
    call = "builtin.module { func.func private @f() { func.call @f() : () -> ()  func.return } }"
    assert client("/api/kernel/k0/try", {"level": "linalg", "text": call}).code == "needs-trust"


@whole
def test_text_that_is_trusted_is_tried(client: Client):
    loops = client.text("bufferize")
    client.server.site.tries.trusts_ir = True
    try:
        data = client("/api/kernel/k0/try", {"level": "loops", "text": loops, "runs": 1}).json
    finally:
        client.server.site.tries.trusts_ir = False
    assert data["difference"] == 0


def test_the_interface_of_a_kernel_stays(client: Client):
    text = client.text("convert-graph-to-linalg")
    for wrong in (
        client.text("convert-graph-to-linalg", "k1"),
        text.replace('symbols = ["N"]', 'symbols = ["M"]'),
    ):
        assert refused(client, {"level": "linalg", "text": wrong}).code == "type-mismatch"
    assert refused(client, {"level": "linalg", "text": "builtin.module {}"}).code == "type-mismatch"


def made_text(client: Client, body: str) -> str:
    """A kernel with the interface of `k0` and another body, which has a result `%made`."""
    head = client.text("convert-graph-to-linalg").partition("\n    ")[0]
    return f"{head}\n{body}\n    func.return %made : tensor<?x192xf32>\n  }}\n}}\n"


FAR = """
    %empty = tensor.empty(%N) : tensor<?x192xf32>
    %far = arith.constant 100000000000 : index
    %zeros = arith.constant dense<0.0> : vector<16xf32>
    %made = vector.transfer_write %zeros, %empty[%far, %far] {in_bounds = [true]}
      : vector<16xf32>, tensor<?x192xf32>
"""
ENDLESS = """
    %empty = tensor.empty(%N) : tensor<?x192xf32>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 1000000000000000 : index
    %zeros = arith.constant dense<0.0> : vector<16xf32>
    %made = scf.for %i = %zero to %many step %one iter_args(%t = %empty) -> (tensor<?x192xf32>) {
      %w = vector.transfer_write %zeros, %t[%zero, %zero] {in_bounds = [true]}
        : vector<16xf32>, tensor<?x192xf32>
      scf.yield %w : tensor<?x192xf32>
    }
"""


@whole
def test_a_kernel_that_crashes_ends_its_process_alone(client: Client):
    found = client("/api/kernel/k0/try", {"level": "vector", "text": made_text(client, FAR)})
    assert found.code == "kernel-crashed" and "SIGSEGV" in found.json["error"]["message"]
    assert client("/api/kernel/k0/try", {"schedule": SCHEDULE, "runs": 1}).status == 200


@whole
def test_a_kernel_that_never_ends_is_ended(client: Client):
    tries = client.server.site.tries
    tries.seconds = 2
    try:
        found = client("/api/kernel/k0/try", {"level": "vector", "text": made_text(client, ENDLESS)})
    finally:
        tries.seconds = 20
    assert found.code == "timed-out"


@whole
def test_a_newer_try_ends_an_older_one(client: Client):
    replies: list[Reply] = []
    body = {"level": "vector", "text": made_text(client, ENDLESS)}
    older = Thread(target=lambda: replies.append(client("/api/kernel/k0/try", body)))
    older.start()
    end = monotonic() + 30
    while client.server.site.tries._running is None and monotonic() < end:  # pyright: ignore[reportPrivateUsage]
        sleep(0.01)
    assert client("/api/kernel/k0/try", {"schedule": SCHEDULE, "runs": 1}).status == 200
    older.join()
    assert replies[0].code == "superseded"


def test_a_port_that_is_taken(client: Client):
    with pytest.raises(StepwellError, match=r"error\[cannot-serve\]: .*in use"):
        Server(client.server.site, client.server.server_port)


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcdef")))
def test_same_lines_are_equal_and_each_is_one_line(now: list[str], before: list[str]):
    same = same_lines(now, before)
    assert all(now[i - 1] == before[j - 1] for i, j in same.items())
    assert len(set(same.values())) == len(same)
    assert same_lines(now, now) == {i: i for i in range(1, len(now) + 1)}


def test_lines_around_an_edit_are_the_same():
    before = ["module", "a", "b", "c", "b", "end"]
    assert same_lines(["module", "a", "new", "b", "end"], before) == {1: 1, 2: 2, 4: 5, 5: 6}
    assert same_lines(["module", "x", "c", "y", "a", "end"], before) == {1: 1, 3: 4, 5: 2, 6: 6}


def test_no_file_is_half_written(tmp_path: Path):
    with pytest.raises(StepwellError, match="cannot-write"):
        write_new_text(tmp_path / "no" / "x.mlir", "text")
    write_new_text(tmp_path / "x.mlir", "text")
    assert (tmp_path / "x.mlir").stat().st_mode & 0o777 == 0o644

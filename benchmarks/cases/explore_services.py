"""Figures of a try in the playground, of the language server, and of logs that are off."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

import onnx

from benchmarks.log_and_trace import share_when_off
from benchmarks.zoo import model_path

_TRIES = 5
_LINES = 10_000
_PREPARED_SECONDS = 5
"""A user takes at least so long for an edit, in which the next process has started."""


def serve(folder: Path) -> Mapping[str, float]:
    """The median seconds of tries of a product of 512 x 512 matrices with other tiles."""
    from stepwell.tools.driver.options import CompileOptions
    from stepwell.tools.explore.collect import collect
    from stepwell.tools.explore.serve.playground import playground

    path, options = folder / "product.onnx", CompileOptions(profile=True)
    text = "net (float[512, 512] x, float[512, 512] w) => (float[512, 512] y) { y = MatMul(x, w) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'), str(path))
    data = collect(path, options)
    server = playground(path, options, data, "", {})
    tries = server.site.tries
    schedule = str(server.site.kernel("k0")["schedule"][0])  # pyright: ignore[reportIndexIssue]
    halved = re.sub(r"\d+", lambda number: str(max(1, int(number[0]) // 2)), schedule, count=1)
    seconds: list[float] = []
    try:
        for _ in range(_TRIES):
            sleep(_PREPARED_SECONDS)
            begin = perf_counter()
            found = tries.run("k0", {"schedule": halved})
            seconds.append(perf_counter() - begin)
            assert found["us"] is not None
    finally:
        server.server_close()
        tries.close()
    return {"seconds": median(seconds)}


def lsp(folder: Path) -> Mapping[str, float]:
    """Milliseconds from a change in a file of 10,000 lines to the place of a definition, the largest of 8."""
    from lsprotocol import types

    from tests.explore.lsp_client import editor

    lines = ["func.func @main() {", "  %v0 = arith.constant 0 : index"]
    lines += [f"  %v{i} = arith.addi %v{i - 1}, %v0 : index" for i in range(1, _LINES)]
    lines += ["  func.return", "}", ""]
    at = _LINES // 2
    worst = 0.0
    with editor(folder) as client:
        uri = client.open("large.mlir", "\n".join(lines))
        client.diagnostics(uri)
        for number in range(8):
            begin = perf_counter()
            place = types.Position(at, 0)
            change = types.TextDocumentContentChangePartial(types.Range(place, place), f"  // {number}\n")
            document = types.VersionedTextDocumentIdentifier(2 + number, uri)
            client.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
            use = types.Position(at + 1 + number, lines[at].rindex("%v0") + 1)
            asked = types.DefinitionParams(types.TextDocumentIdentifier(uri), use)
            found = client.ask("text_document_definition", asked)
            worst = max(worst, perf_counter() - begin)
            assert found.range.start.line == 1
    return {"ms": 1e3 * worst}


def off(folder: Path) -> Mapping[str, float]:
    """The share of a compilation that calls of the log and spans take while they are off."""
    del folder
    path = model_path("gru_seq")
    assert path is not None
    return {"%": 100 * share_when_off(path).share}

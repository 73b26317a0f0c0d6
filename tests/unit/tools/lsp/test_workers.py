"""The worker processes of the language server: cancelled readings, crashes, plugins."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from threading import Thread
from time import sleep
from typing import cast

import pytest

from stepwell.tools.lsp.workers import RequestError, Workers
from tests.support.samples import whole

OP = "  %{} = graph.relu %x : tensor<4xf32> -> tensor<4xf32>\n"
LONG = "func.func @f(%x: tensor<4xf32>) {\n" + "".join(map(OP.format, range(60_000))) + "  func.return\n}\n"


@pytest.fixture(scope="module")
def workers() -> Generator[Workers]:
    made = Workers()
    yield made
    made.close()


def test_a_reading_that_is_cancelled(workers: Workers) -> None:
    """The next text does not wait for it: the other process reads it."""
    found: list[object] = []
    reading = Thread(target=lambda: found.append(workers.read(LONG, "long.mlir")))
    workers.ask("dialects")  # the process that will read has its imports
    reading.start()
    while not workers.is_reading and reading.is_alive():
        sleep(0.01)
    workers.cancel()
    facts = cast("dict[str, list[object]]", workers.read("%x = graph.nope\n", "short.mlir"))
    reading.join()
    assert found == [None] and len(facts["diagnostics"]) == 1


def test_errors_are_texts(workers: Workers) -> None:
    with pytest.raises(RequestError, match=r"error\[unknown-pass\]"):
        workers.ask("pass", "%x = arith.constant 1 : i32\n", file="a.mlir", pipeline="nope")
    with pytest.raises(RequestError, match=r"error\[syntax\]"):
        workers.ask("pass", "%x = \n", file="a.mlir", pipeline="cse")


PLUGIN = """
import os
from xdsl.passes import ModulePass

class EndPass(ModulePass):
    name = "end-of-{0}"

    def apply(self, ctx, op):
        os._exit(7)
"""


@whole
def test_a_worker_that_dies_is_replaced(workers: Workers, tmp_path: Path) -> None:
    """With the plugins that were loaded."""
    plugin = tmp_path / "end_of_lsp.py"
    plugin.write_text(PLUGIN.format("lsp"))
    workers.load(str(plugin))
    for _ in range(2):
        with pytest.raises(RequestError, match="status 7"):
            workers.ask("pass", "%x = arith.constant 1 : i32\n", file="a.mlir", pipeline="end-of-lsp")
    assert "end-of-lsp" in cast("dict[str, str]", workers.ask("passes"))


def test_a_plugin_that_cannot_be_loaded(workers: Workers, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="bad-plugin"):
        workers.load(str(tmp_path / "nowhere.py"))
    assert "graph" in cast("dict[str, str]", workers.ask("dialects"))

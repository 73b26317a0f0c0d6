"""The benchmark's own pieces: what a table says of the engines."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from benchmarks.run import report
from stepwell.tools.measure.bench import ModelResult
from stepwell.tools.measure.peers import ENGINES, installed_peers


@pytest.mark.parametrize("name", ["stepwell", *installed_peers()])
def test_an_engine_is_found_in_the_package_index(name: str) -> None:
    # A package may bear another name than what it is imported by: iree, tvm.
    assert version(ENGINES[name].distribution)


def test_a_report_names_versions_and_peers_that_failed() -> None:
    peers = installed_peers()
    result = ModelResult("net", 1, {"stepwell": 1.5}, failed={p: "failed: RuntimeError" for p in peers})
    text = report([result], peers)
    assert text.count("failed: RuntimeError") == len(peers)
    assert all(f"{p} {version(ENGINES[p].distribution)}" in text for p in ("stepwell", *peers))

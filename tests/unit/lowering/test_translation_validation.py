"""Every FileCheck input that can run means the same before and after the passes that its RUN lines name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.plugins import load_plugin
from tests.support.plugins import forgotten_plugins
from tests.support.validate import run_before_after

_FILECHECK = Path(__file__).parents[2] / "filecheck"
# Rewrites by rules that a file brings: its author answers for what they mean, and tests need odd ones. The
# interpreter has no level 0: test_graph_to_onnx.py holds that conversion to the meanings of operators.
# Training makes another program of a model, and so do other random numbers: test_training.py and
# test_training_mode.py compare them with numpy. Statistics are
# further results, which the tests of quantizing use. Tiles in the memory of a block lack barriers after
# `tile-to-grid`, and `map-loops-to-gpu` inserts some, which the interpreter of loops cannot run:
# tests/unit/passes/loop/gpu runs such kernels at the end of their pipeline.
_LEFT_OUT = (
    "rewrite-patterns",
    "convert-graph-to-onnx",
    "append-loss",
    "append-optimizer",
    "count-draws",
    "collect-statistics",
    "tile-to-grid",
    "map-loops-to-gpu",
    "dead-code-elimination{ignore-effects}",
)
_WITHOUT_BARRIERS = "tile-to-grid"
# A million iterations each, at several levels.
_LONG = ("loop/stream-stores.mlir", "loop/convert-loops-to-llvm/parallel.mlir")
_PIPELINE = re.compile(r"//\s*RUN:\s*stepwell-opt\b(.*?)(?:\||$)", re.MULTILINE)


def _cases() -> list[tuple[Path, str, tuple[str, ...]]]:
    """Files with the pipelines that they run, other than those that expect errors, and their plugins."""
    pipelines: dict[tuple[Path, tuple[str, ...]], list[str]] = {}
    for path in sorted(_FILECHECK.rglob("*.mlir")):
        for line in _PIPELINE.findall(path.read_text(encoding="utf-8")):
            words = shlex.split(line)
            if "-p" in words and "--verify-diagnostics" not in words and "--split-input-file" not in words:
                words = [word.replace("%S", str(path.parent)) for word in words]
                pipeline = words[words.index("-p") + 1]
                plugins = tuple(words[i + 1] for i, word in enumerate(words) if word == "--load")
                if not pipeline.startswith(_LEFT_OUT) and not pipeline.endswith(_WITHOUT_BARRIERS):
                    pipelines.setdefault((path, plugins), []).append(pipeline)
    return [
        (path, pipeline, plugins)
        for (path, plugins), several in pipelines.items()
        for pipeline in dict.fromkeys(several)
        if not any(other.startswith(f"{pipeline},") for other in several)  # which is judged there as well
    ]


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("path", "pipeline", "plugins"),
    [
        pytest.param(
            *(path, pipeline, plugins),
            id=f"{path.relative_to(_FILECHECK)}:{pipeline}",
            marks=[pytest.mark.slow] * path.as_posix().endswith(_LONG),
        )
        for path, pipeline, plugins in _cases()
    ],
)
def test_means_the_same(path: Path, pipeline: str, plugins: tuple[str, ...]) -> None:
    try:
        with forgotten_plugins():
            for plugin in plugins:
                load_plugin(plugin)
            ran = run_before_after(path.read_text(encoding="utf-8"), pipeline)
    except StepwellError as error:
        if error.code in ("syntax", "unknown-pass"):
            pytest.skip(f"not for this: {error.message}")
        raise
    if not ran:
        pytest.skip("no function of it can run before the passes")

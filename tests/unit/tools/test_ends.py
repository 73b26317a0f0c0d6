"""Compilations that end by Ctrl-C or by a signal: the commands name the pass, or its file and line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stepwell.tools import cli
from stepwell.tools.opt import command as opt
from tests.commands import written
from tests.onnx_models import onnx_model

PLUGIN = """
import os
import signal
from stepwell.passes import Pass

class Ends(Pass):
    name = "{name}"

    def apply(self, ctx, op):
        {code}
"""


def _plugin(folder: Path, name: str, code: str) -> str:
    path = folder / f"{name}_plugin.py"
    path.write_text(PLUGIN.format(name=name, code=code))
    return str(path)


@pytest.mark.parametrize("tool", ["stepwell", "stepwell-opt"])
def test_ctrl_c_names_the_pass(tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"waits-{tool}"
    plugin = _plugin(tmp_path, name, "raise KeyboardInterrupt")
    model = str(written(tmp_path / "m.onnx", onnx_model("g (float[4] x) => (float[4] y) { y = Relu (x) }")))
    if tool == "stepwell":
        status = cli.main(["run", model, "--load", plugin, "--require-pass", name])
    else:
        status = opt.main([model, "--load", plugin, "-p", f"convert-onnx-to-graph,{name}"])
    assert status == 130
    assert capsys.readouterr().err == f"interrupted in pass {name} of the plugin {plugin}\n"


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_fatal_signal_shows_the_line(tmp_path: Path) -> None:
    plugin = _plugin(tmp_path, "dies", "os.kill(os.getpid(), signal.SIGSEGV)")
    model = written(tmp_path / "m.onnx", onnx_model("g (float[4] x) => (float[4] y) { y = Relu (x) }"))
    command = [
        sys.executable,
        "-m",
        "stepwell",
        "run",
        str(model),
        "--load",
        plugin,
        "--require-pass",
        "dies",
    ]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGSEGV
    first = next(line for line in ended.stderr.splitlines() if "File" in line)
    assert first.strip() == f'File "{plugin}", line 10 in apply'

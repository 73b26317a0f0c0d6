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
from tests.support.samples import whole

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
    lines = iter(ended.stderr.splitlines())
    assert any(line.startswith("Current thread") for line in lines)
    first = next(lines)
    assert first.strip() == f'File "{plugin}", line 10 in apply'


# A shell lets what it starts in the background ignore Ctrl-C, and so do the processes of these.
_INTERRUPTED = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)"
_NATIVE = f"""
{_INTERRUPTED}
import ctypes
import os
import threading
from stepwell.tools.failure import ending_when_interrupted

mutex, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
with ending_when_interrupted():
    libc.pthread_mutex_lock(mutex)
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    libc.pthread_mutex_lock(mutex)  # for ever, and signals do not end it
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_native_call_that_does_not_return() -> None:
    ended = subprocess.run([sys.executable, "-c", _NATIVE], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, "interrupted in native code\n")


@whole
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("executor", ["native", "vm"])
def test_an_endless_loop_of_native_code(executor: str, tmp_path: Path) -> None:
    """A recursion in tail position over tensors is one call, which no Python interrupts."""
    program = tmp_path / "endless.mlir"
    program.write_text(
        """
        func.func private @spin(%n: tensor<i64>) -> tensor<i64> {
          %one = graph.constant dense<1> : tensor<i64>
          %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %next = graph.maximum %m, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
          %zero = graph.constant dense<0> : tensor<i64>
          %stop = graph.equal %next, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
          %r = graph.if %stop : tensor<i1> -> (tensor<i64>) {
            graph.yield %next : tensor<i64>
          } else {
            %again = func.call @spin(%next) : (tensor<i64>) -> tensor<i64>
            graph.yield %again : tensor<i64>
          }
          func.return %r : tensor<i64>
        }
        func.func @main(%n: tensor<i64>) -> tensor<i64> {
          %r = func.call @spin(%n) : (tensor<i64>) -> tensor<i64>
          func.return %r : tensor<i64>
        }
        """
    )
    code = f"{_INTERRUPTED}\nimport sys\nfrom stepwell.tools import cli\nsys.exit(cli.main())"
    command = [sys.executable, "-c", code, "run", str(program), "--executor", executor]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(6)  # imports and compilation take two seconds, on a busy machine more
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and "Traceback" not in errors

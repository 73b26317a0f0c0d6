"""`stepwell bisect`: planted faults are named by level, pass, kernel and rewrite."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest

from stepwell.lowering.kernels import kernel
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools import cli
from tests.commands import Capture
from tests.onnx_models import onnx_model
from tests.support.faults import FAULTS, planted
from tests.support.forks import found_in, status_in
from tests.support.imports import ROOT
from tests.support.samples import whole

NETWORK = """g (float[5, 40] x, float[40, 24] w) => (float[5, 24] y, float[5, 40] z) {
  e = Exp(x)
  s = Sub(x, e)
  r = Relu(s)
  y = MatMul(r, w)
  t = Sub(e, r)
  z = Tanh(t)
}"""
SKIPPABLE = {"simplify-expr", "fold-scale-axis", "vectorize", "hoist-addresses"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(onnx_model(NETWORK), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def bisected(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The status and the results of `stepwell bisect net.onnx`, in a process of its own."""
    return found_in(folder, "bisect", "net.onnx", *arguments)


def status_of(folder: Path, command: str) -> int:
    """The status of a printed command, in a process of its own."""
    return status_in(folder, shlex.split(command)[1:])


HIDDEN = """g (float[5, 1] x) => (float[5, 1] y) {
  e = Exp(x)
  s = Sub(x, e)
  y = Softmax(s)
}"""


@whole
def test_a_value_that_no_output_shows(tmp_path: Path) -> None:
    """A softmax of one number is 1, whatever the number: the values before it are judged too."""
    onnx.save(onnx_model(HIDDEN), tmp_path / "net.onnx")
    assert bisected(tmp_path)[0] == 0
    status, found = bisected(tmp_path, "--load", planted("simplify-expr", tmp_path).name)
    assert (status, found["pass"], found["value"]) == (1, "simplify-expr", "s")
    assert found["rewrite"]["rule"] == "SwapOperands"
    assert found["note"] == "the outputs do not show it"
    assert [status_of(tmp_path, found[which]) for which in ("good", "bad")] == [0, 1]


BROKEN = """
from stepwell.dialects import graph
from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate
from stepwell.runtime.dims import Dim
from xdsl.rewriter import InsertPoint, Rewriter

Faulty = load_pass("simplify-expr")
plain = Faulty.apply
register_predicate("broken.any")(lambda value: True)  # a plugin registers something

def apply(self, ctx, op):
    plain(self, ctx, op)
    for inner in [inner for inner in op.walk() if inner.name == "graph.subtract"]:
        {fault}

Faulty.apply = apply
"""
FAULTY_OPS = {
    "broken IR": "inner.operands = [inner.operands[0]] * 3",
    "sizes do not fit": (
        "check = graph.AssertOp(Dim.of(2), Dim.of(3), 'sizes do not fit')\n"
        "        Rewriter.insert_op(check, InsertPoint.before(inner))"
    ),
}


@pytest.mark.sample(9)
@pytest.mark.parametrize("note", FAULTY_OPS)
def test_a_pass_that_leaves_a_program_that_does_not_run(note: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN.format(fault=FAULTY_OPS[note]))
    status, found = bisected(tmp_path, "--load", "broken.py", "--level", "graph")
    assert (status, found["pass"], found["level"]) == (1, "simplify-expr", "graph")
    assert note in found["note"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named(name: str, model: Path, tmp_path: Path) -> None:
    plugin = planted(name, tmp_path)
    status, found = bisected(tmp_path, "--load", plugin.name)
    assert (status, found["schema"], found["found"]) == (1, "stepwell-bisect/1", True)
    assert (found["pass"].partition("{")[0], found["level"]) == (name, FAULTS[name].level)
    assert (found["kernel"] is None) == (found["level"] == "graph")
    assert (found["good"] is None) <= (name not in SKIPPABLE)
    if name in SKIPPABLE:
        assert f"--load {plugin.name} --check --pass-limit {found['index']}" in found["bad"]
        assert found["note"] == ""  # the run is right at the limit before, and wrong with it
    if name == "simplify-expr":
        assert [status_of(tmp_path, found[which]) for which in ("good", "bad")] == [0, 1]


def test_a_wrong_rewrite_is_named_with_its_texts(model: Path, tmp_path: Path) -> None:
    _, found = bisected(tmp_path, "--load", planted("simplify-expr", tmp_path).name)
    rewrite = found["rewrite"]
    assert (rewrite["index"], rewrite["count"], rewrite["rule"]) == (1, 2, "SwapOperands")
    assert "graph.subtract %x, %e" in rewrite["before"] and "graph.subtract %e, %x" in rewrite["after"]
    assert 'node "Sub#1"' in found["node"]
    assert found["value"] == "s" and found["difference"] > 0.1
    assert found["stop"].endswith("--pdb-at simplify-expr=1")


PRODUCTS = """g (float[5, 40] x, float[40, 24] w, float[24, 40] v) => (float[5, 40] y) {
  h = MatMul(x, w)
  q = MatMul(h, v)
  y = Sub(q, x)
}"""


@whole
def test_rewrites_are_numbered_over_all_kernels(tmp_path: Path) -> None:
    """The kernel before has right ones; the command that stops in the debugger counts them."""
    onnx.save(onnx_model(PRODUCTS), tmp_path / "net.onnx")
    _, found = bisected(tmp_path, "--load", planted("vectorize", tmp_path).name)
    rewrite = found["rewrite"]
    assert (found["kernel"], rewrite["rule"]) == ("k1", "SwapOperands")
    assert 1 < rewrite["index"] <= rewrite["count"]
    good, bad = (f"{found['bad']} --rewrite-limit vectorize={rewrite['index'] - n}" for n in (1, 0))
    assert [status_of(tmp_path, good), status_of(tmp_path, bad)] == [0, 1]


def test_what_cannot_be_skipped_is_shown_on_the_kernel_alone(model: Path, tmp_path: Path) -> None:
    _, found = bisected(tmp_path, "--load", planted("bufferize", tmp_path).name)
    assert found["bad"].startswith("stepwell validate ") and found["bad"].endswith(",bufferize")
    assert [status_of(tmp_path, found[which]) for which in ("good", "bad")] == [0, 1]


@whole
def test_machine_code_is_tried_with_and_without_the_optimizations_of_llvm(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found = bisected(tmp_path, "--load", planted("convert-loops-to-llvm", tmp_path).name)
    assert "with LLVM's pipeline it is wrong, without LLVM's pipeline it is wrong" in found["note"]
    plain = kernel.compile_to_object

    def wrong_alone(text: str, target: TargetDescription, *, optimize: bool) -> bytes:
        """Code of LLVM that is wrong where its pipeline has not run: of a vector, here."""
        return plain(text if optimize else text.replace(" fsub ", " fadd "), target, optimize=optimize)

    monkeypatch.setattr(kernel, "compile_to_object", wrong_alone)
    status, found = bisected(tmp_path, "--no-cache")
    assert (status, found["level"]) == (1, "llvm")
    assert "with LLVM's pipeline it is right, without LLVM's pipeline it is wrong" in found["note"]


def test_a_healthy_model(model: Path, tmp_path: Path) -> None:
    status, found = bisected(tmp_path)
    assert (status, found["found"]) == (0, False)
    assert bisected(tmp_path, "--level", "graph")[0] == 0


TEST = """
import sys
import numpy as np
import stepwell

model = stepwell.load(sys.argv[1])
values = np.linspace(-1, 1, 960, dtype=np.float32)
feeds = {i.name: np.resize(values, i.shape) for i in model.inputs}
x, w = feeds.values()
wanted = np.maximum(x - np.exp(x), 0) @ w
sys.exit(not np.allclose(model.run(feeds)["y"], wanted, rtol=1e-3, atol=1e-4))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simplify-expr", "vectorize"])
def test_a_command_finds_what_it_judges(name: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(TEST)
    plugin = planted(name, tmp_path)
    command = f"{sys.executable} judge.py {{}}"
    status, found = bisected(tmp_path, "--load", plugin.name, "--test", command)
    assert (status, found["pass"]) == (1, name)
    assert (found["rewrite"] is not None) == FAULTS[name].by_pattern
    assert f"--pass-limit {found['index']} -o net.stepwell && " in found["bad"]


REFUSED = {
    "true": "bad-test: the command names no artifact",
    "true {}": "bad-test: the command says good without a limit",
    "false {}": "not-a-pass: wrong with every skippable pass off",
    "no-such-command {}": "bad-test: the shell cannot run the command",
    "if true; then false {}": "bad-test: the shell cannot read the command without a limit",
    "false '{}": "bad-test: the shell cannot read the command without a limit",
    "exit 125 # {}": "bad-test: the command cannot tell without a limit",
    "sleep 60 # {}": "bad-test: the command took over 1 seconds without a limit",
    "test -f flag || { touch flag; false; } # {}": "bad-test: the test is not repeatable",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_judges_nothing(
    command: str, model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["bisect", str(model), "--test", command, "--timeout", "1"]
    assert cli.main(arguments) == 1
    code, _, message = REFUSED[command].partition(": ")
    assert f"error[{code}]: {message}" in capsys.readouterr().err


def test_a_command_that_judges_the_other_way_round(
    model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says good of the artifact with all passes, twice, and bad of the one without."""
    monkeypatch.chdir(tmp_path)
    command = "n=$(cat runs 2>/dev/null); echo x$n > runs; test ${#n} -lt 2 # {}"
    assert cli.main(["bisect", str(model), "--test", command]) == 1
    shown = capsys.readouterr().err
    assert "error[bad-test]: the command says good without a limit" in shown
    assert "help: at limit 0, without the passes, it says bad" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.stepwell"], "error[no-source]: an artifact holds no IR"),
        (["m.onnx", "--pass-limit", "3"], "error[bad-option]: bisect sets the limits itself"),
        (["m.onnx", "--start", "now"], "error[bad-usage]"),
    ],
)
def test_misuse(arguments: Sequence[str], message: str, capsys: Capture) -> None:
    assert cli.main(["bisect", *arguments]) in (1, 2)
    assert message in capsys.readouterr().err


@whole
def test_pass_runs_have_their_numbers_at_chosen_levels(model: Path, tmp_path: Path) -> None:
    """`run --check` searches kernels without level 1; the numbers of runs are those of the compilation."""
    load = ("--load", planted("vectorize", tmp_path).name)
    _, found = bisected(tmp_path, *load)
    _, below = bisected(tmp_path, *load, "--level", "tensor", "--level", "loop", "--level", "llvm")
    assert (below["index"], below["note"]) == (found["index"], "")


@whole
def test_the_fault_in_a_file_of_its_own_is_found() -> None:
    """In a process of its own, because a plugin stays loaded."""
    model, fault = ROOT / "tests/models/gru_seq.onnx", ROOT / "tests/support/fault_simplify.py"
    command = [
        sys.executable,
        "-m",
        "stepwell.tools.cli",
        "bisect",
        str(model),
        "--load",
        str(fault),
        "--json",
    ]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert (found["pass"], found["rewrite"]["rule"]) == ("simplify-expr", "SubtractInstead")

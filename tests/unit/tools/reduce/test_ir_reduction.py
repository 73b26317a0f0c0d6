"""`stepwell reduce F.mlir`: small programs of any level that fail as the first one does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.passes.registry import load_pass
from stepwell.runtime.environment import CACHE
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from stepwell.tools.opt import main as stepwell_opt
from stepwell.tools.reduce.ir_kinds import IrRuns
from stepwell.tools.reduce.ir_reduction import reduce_ir
from stepwell.tools.reduce.request import Request
from tests.support.faults import FAULTS, planted
from tests.support.plugins import forgotten_plugins
from tests.support.samples import whole
from tests.support.shell import run_line

TYPE = "tensor<4x8xf32>"
ERROR, WRONG = Request("error"), Request("wrong")
LOOP = """func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) {
  %n = arith.constant 8 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %a = memref.load %x[%i] : memref<8xf32>
    %b = memref.load %y[%i] : memref<8xf32>
    %e = arith.mulf %a, %b : f32
    %s = arith.subf %e, %b : f32
    %t = arith.addf %s, %a : f32
    memref.store %t, %y[%i] : memref<8xf32>
  }
  func.return
}
"""
CRASHES = """import os
from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate
register_predicate("crashes.any")(lambda value: True)
load_pass("simplify-expr").apply = lambda self, ctx, op: os.kill(os.getpid(), 11)
"""


def graph(*ops: str) -> str:
    """A function of unary graph ops in a row, with `subtract` of the argument among them."""
    lines, last = [f"func.func @main(%x: {TYPE}) -> {TYPE} {{"], "%x"
    for index, op in enumerate(ops):
        types = f"({TYPE}, {TYPE}) -> {TYPE}" if op == "subtract" else f"{TYPE} -> {TYPE}"
        operands = f"{last}, %x" if op == "subtract" else last
        last = f"%v{index}"
        lines.append(f"  {last} = graph.{op} {operands} : {types}")
    return "\n".join([*lines, f"  func.return {last} : {TYPE}\n}}\n"])


LARGE = graph(*["exp", "tanh"] * 100, "subtract", *["tanh", "exp"] * 50)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for files and the cache; plugins and faults are gone in the end."""
    monkeypatch.setenv(CACHE.name, str(tmp_path / "cache"))
    for name in FAULTS:
        monkeypatch.setattr(load_pass(name), "apply", load_pass(name).apply)
    with forgotten_plugins():
        yield tmp_path


def written(folder: Path, text: str) -> tuple[Path, Path]:
    """The file of a text, and that of what it is reduced to."""
    (folder / "in.mlir").write_text(text)
    return folder / "in.mlir", folder / "out.mlir"


def broken(monkeypatch: pytest.MonkeyPatch, *names: str, with_: str = "") -> None:
    """Make `simplify-expr` fail on the ops of some names, in a program that has another one too."""

    def apply(self: object, ctx: Context, module: ModuleOp) -> None:
        present = {op.name for op in module.walk()}
        for name in names:
            for op in module.walk():
                if op.name == name and (name != names[0] or not with_ or with_ in present):
                    fail(op)

    def fail(op: Operation) -> None:
        raise RuntimeError(f"cannot do {op.name}")

    monkeypatch.setattr(load_pass("simplify-expr"), "apply", apply)


def ops_of(output: Path) -> list[str]:
    """The names of a file's ops of graph, arith and memref."""
    return re.findall(r"(?:graph|arith|memref|scf)\.\w+(?= )", output.read_text())


def run_line_of(output: Path) -> str:
    (line,) = re.findall(r"// RUN: (.*)", output.read_text())
    return line


def test_an_internal_error_becomes_one_op_and_one_pass(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "graph.subtract")
    path, output = written(folder, LARGE)
    pipeline = "simplify-inference,fold-constant,simplify-expr,dead-code-elimination"
    found = reduce_ir(path, output, pipeline, ERROR)
    assert (found.before, found.after, ops_of(output)) == (301, 1, ["graph.subtract"])
    assert found.signature.pass_name == "simplify-expr" and found.probes < 40
    assert not (folder / "cache").exists()  # a probe leaves no reproducer
    assert run_line_of(output) == "stepwell-opt %s -p 'simplify-expr' --verify-diagnostics"
    assert (
        "    // expected-error: error[internal]: RuntimeError: cannot do graph.subtract\n"
        in output.read_text()
    )
    outcome = run_line(run_line_of(output), {"%s": str(output)})
    assert outcome.status == 0, outcome.stderr
    assert found.command == f"stepwell-opt {output} -p 'simplify-expr'"
    monkeypatch.undo()
    assert run_line(run_line_of(output), {"%s": str(output)}).status == 1  # the test fails once mended


def test_a_reproducer_needs_no_option(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(monkeypatch, "graph.subtract")
    path, output = written(folder, graph("exp", "subtract", "tanh"))
    assert stepwell_opt([str(path), "-p", "fold-constant,simplify-expr"]) == 1
    assert "reproduce it with" in capsys.readouterr().err
    (reproducer,) = (folder / "cache" / "reproducers").iterdir()
    assert reduce_ir(reproducer, output, request=ERROR).after == 1


def test_an_error_of_another_op_is_another_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "graph.subtract", "graph.tanh", with_="graph.exp")
    path, output = written(folder, graph("tanh", "exp", "tanh", "subtract", "exp", "tanh"))
    reduce_ir(path, output, "simplify-expr", ERROR)
    assert sorted(ops_of(output)) == ["graph.exp", "graph.subtract"]
    reduce_ir(path, output, "simplify-expr", Request("error", any_of_kind=True))
    assert len(ops_of(output)) == 1


def test_a_wrong_pass_stays_the_same(folder: Path) -> None:
    load = ("--load", str(planted("simplify-expr", folder)))
    path, output = written(folder, graph("exp", "tanh", "subtract", "exp"))
    found = reduce_ir(path, output, "fold-constant,simplify-expr", WRONG, load)
    assert (found.signature.kind, found.signature.pass_name) == ("wrong", "simplify-expr")
    assert ops_of(output) == ["graph.subtract"]
    assert run_line_of(output) == f"stepwell validate %s -p 'simplify-expr' --load {load[1]}"
    assert run_line(run_line_of(output), {"%s": str(output)}).status == 1


def test_a_wrong_op_leaves_its_loop(folder: Path) -> None:
    load = ("--load", str(planted("expand-math", folder)))
    path, output = written(folder, LOOP)
    found = reduce_ir(path, output, "expand-math", WRONG, load)
    assert found.signature.pass_name == "expand-math"
    assert found.after <= 5 and "scf.for" not in ops_of(output) and "arith.subf" in ops_of(output)


def test_a_wrong_op_of_a_fused_group(folder: Path) -> None:
    load = ("--load", str(planted("convert-graph-to-linalg", folder)))
    ops = graph("exp", "tanh", "subtract", "exp").splitlines()
    fused = [
        ops[0],
        f"  %r = graph.fused (%p = %x : {TYPE}) -> ({TYPE}) {{",
        *(line.replace("%x", "%p") for line in ops[1:5]),
        f"    graph.yield %v3 : {TYPE}\n  }}\n  func.return %r : {TYPE}\n}}\n",
    ]
    path, output = written(folder, "\n".join(fused))
    found = reduce_ir(path, output, "convert-graph-to-linalg,share-kernels", WRONG, load)
    assert found.signature.pass_name == "convert-graph-to-linalg"
    assert found.after == 3 and {"graph.fused", "graph.subtract"} < set(ops_of(output))


def test_attributes_that_fix_the_types_of_a_function_go_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "llvm.fsub")
    body = "\n".join(f"  %v{i + 1} = llvm.fadd %v{i}, %v{i} : f32" for i in range(40))
    path, output = written(
        folder,
        f"""llvm.func @k(%args: !llvm.ptr, %dims: !llvm.ptr, %ctx: !llvm.ptr) -> i32
            attributes {{sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}} {{
          %status = llvm.mlir.constant(0) : i32
          %v0 = llvm.load %args : !llvm.ptr -> f32
          {body}
          %s = llvm.fsub %v40, %v0 : f32
          llvm.return %status : i32
        }}""",
    )
    found = reduce_ir(path, output, "simplify-expr", ERROR)
    assert found.after == 1 and found.probes < 30 and "sched.kernel" not in output.read_text()


def test_an_op_at_fault_leaves_its_loop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "arith.subf")
    path, output = written(folder, LOOP)
    reduce_ir(path, output, "simplify-expr", ERROR)
    assert ops_of(output) == ["arith.subf"]


def test_extents_shrink_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "graph.matmul")
    path, output = written(
        folder,
        """func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
          %y = graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
          func.return %y : tensor<4x8xf32>
        }""",
    )
    reduce_ir(path, output, "simplify-expr", ERROR)
    assert set(re.findall(r"tensor<\S+>", output.read_text())) == {"tensor<1x1xf32>"}


def test_text_that_is_no_ir(folder: Path) -> None:
    path, output = written(folder, LARGE.replace("graph.subtract", "graph.subtrct"))
    found = reduce_ir(path, output, "simplify-expr", ERROR)
    assert found.signature.code == "syntax" and found.after <= 4
    assert run_line(run_line_of(output), {"%s": str(output)}).status == 0


@whole
def test_a_crash(folder: Path) -> None:
    (folder / "crashes.py").write_text(CRASHES)
    path, output = written(folder, graph("exp"))
    options = ("--load", str(folder / "crashes.py"))
    found = reduce_ir(path, output, "fold-constant,simplify-expr", Request(budget=0.001), options)
    assert (found.signature.kind, found.signature.code) == ("crash", "SIGSEGV")
    assert run_line_of(output).startswith("stepwell-opt %s -p 'simplify-expr' --load ")


def test_a_test_command(folder: Path) -> None:
    path, output = written(folder, graph("exp", "tanh", "exp"))
    found = reduce_ir(path, output, request=Request(command="grep -q graph.tanh {}"))
    assert ops_of(output) == ["graph.tanh"]
    assert found.command == f"grep -q graph.tanh {output}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true {}", "calls an empty program interesting"),
        ("false {}", "does not call the input interesting"),
        ("no-such-command {}", "the shell cannot run the command"),
        ("grep 'tanh {}", "the shell cannot read the command"),
        ("test -e FOLDER/seen || { touch FOLDER/seen; false; } # {}", "not repeatable"),
        ("true", "names no case"),
        ("exit 125 # {}", "does not call the input interesting: it ended with 125"),
    ],
)
def test_a_command_that_tells_nothing(folder: Path, command: str, message: str) -> None:
    path, output = written(folder, graph("exp"))
    with pytest.raises(StepwellError, match=message) as raised:
        reduce_ir(path, output, request=Request(command=command.replace("FOLDER", str(folder))))
    assert raised.value.code == "bad-test"


def test_a_command_the_other_way_round(folder: Path) -> None:
    path, output = written(folder, graph("exp"))
    with pytest.raises(StepwellError, match="does not call the input interesting") as raised:
        reduce_ir(path, output, request=Request(command="! grep -q graph.exp {}"))
    assert "an empty program is interesting to it" in str(raised.value)


def test_nothing_wrong(folder: Path) -> None:
    path, output = written(folder, graph("exp"))
    for wanted in (Request(), ERROR, WRONG):
        with pytest.raises(StepwellError) as raised:
            reduce_ir(path, output, "simplify-expr", wanted)
        assert raised.value.code == "not-interesting"
    assert not output.exists()
    with pytest.raises(StepwellError, match="no pipeline"):
        reduce_ir(path, output)


def test_another_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "graph.exp")
    path, output = written(folder, graph("exp"))
    with pytest.raises(StepwellError, match=r"found error\[internal\]"):
        reduce_ir(path, output, "simplify-expr", Request("error", "unsupported-op"))


@whole
def test_an_interrupt_leaves_the_best_so_far(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "graph.subtract")
    path, output = written(folder, LARGE)
    plain, count = IrRuns.error_signature, 0

    def interrupted(self: IrRuns, case: object) -> object:
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return plain(self, case)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(IrRuns, "error_signature", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reduce_ir(path, output, "simplify-expr", ERROR)
    assert len(ops_of(output)) < 300 and "graph.subtract" in ops_of(output)
    assert run_line(run_line_of(output), {"%s": str(output)}).status == 0


@pytest.mark.parametrize("written_first", [False, True])
def test_an_interrupt_says_whether_there_is_a_case(
    written_first: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = written(folder, LARGE)
    output.unlink(missing_ok=True)

    def interrupted(*_: object) -> None:
        if written_first:
            output.write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr("stepwell.tools.commands.reduce._reduced_ir", interrupted)
    assert cli.main(["reduce", str(path), "-o", str(output)]) == 130
    best = f"{output} is the best so far" if written_first else "no case was written yet"
    assert f"stopped: {best}" in capsys.readouterr().out


def test_jobs_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "graph.subtract", with_="graph.exp")
    path, output = written(folder, graph("tanh", "exp", "tanh", "subtract", "exp", "tanh"))
    texts: set[str] = set()
    for jobs in (1, 3):
        reduce_ir(path, output, "simplify-expr", Request("error", jobs=jobs))
        texts.add(output.read_text())
    assert len(texts) == 1

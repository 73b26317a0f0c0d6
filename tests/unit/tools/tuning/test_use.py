"""Compilations with databases: which records are used, and that results stay what they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import stepwell as sw
from stepwell import __version__
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import TUNED
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.passes.context import PassContext
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.records.apply import apply_records, task_of
from stepwell.tools.records.database import write_records
from stepwell.tools.records.record import TaskRecord, Trial
from stepwell.tools.records.transfer import distance, structure_of

KERNEL = """
func.func private @k0(%x: tensor<40x24xf32>) -> tensor<24x40xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %e = tensor.empty() : tensor<24x40xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<40x24xf32>) outs(%e : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  } -> tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}
func.func @main(%x: tensor<40x24xf32> {graph.name = "x"}) -> (tensor<24x40xf32> {graph.name = "y"}) {
  %y = func.call @k0(%x) : (tensor<40x24xf32>) -> tensor<24x40xf32>
  func.return %y : tensor<24x40xf32>
}
"""
SCRIPT = "{tiles = [#sched.schedule<tile = [4, 8], order = [1, 0], parallel = [1, 0], vectorize = 1>]}"
STEPS = """
  %c = sched.stage "linalg.generic.0"
  %i, %j = sched.loops %c
  %i0, %i1 = sched.split %i by [?, 4]
  %j0, %j1 = sched.split %j by [?, 8]
  sched.reorder %j0, %i0, %i1, %j1
  sched.parallel %j0, %i0
  sched.unroll %i1
  sched.vectorize %j1
"""
STEPWISE = f'sched.script @tuned for "kernel" {{{STEPS}}}'
X = np.arange(960, dtype=np.float32).reshape(40, 24)


def program(text: str = KERNEL) -> Program:
    ctx = StepwellContext()
    return Program(parse_module(ctx, text), ctx)


def task_and_text(text: str = KERNEL) -> tuple[str, str]:
    functions = [op for op in program(text).module.ops if isinstance(op, FuncOp)]
    (kernel,) = [op for op in functions if op.sym_name.data == "k0"]
    return task_of(kernel)


def task() -> str:
    return task_and_text()[0]


def trial(script: str = SCRIPT) -> Trial:
    here = target_digest(host_target()), machine_name()
    return Trial(task(), *here, 1, script, "ok", ratio=(1.2, 1.1, 1.3), confirmed=True, stepwell=__version__)


def used(folder: Path, *trials: Trial) -> tuple[int, list[str]]:
    """How many kernels get a schedule of these records, and the remarks."""
    write_records(folder / "t.jsonl", trials)
    own = program()
    with PassContext() as context:
        count, _ = apply_records(own.module, own.ctx, host_target(), [folder / "t.jsonl"])
    attributes = [op.attributes for op in own.module.ops]
    assert count == sum(TUNED in each for each in attributes)
    return count, [remark.message for remark in context.remarks]


def compiled(folder: Path, *trials: Trial) -> tuple[bytes, np.ndarray, list[str]]:
    """The code of the program with these records, its result, and the remarks."""
    write_records(folder / "t.jsonl", trials)
    options = CompileOptions(use_cache=False, tuning_db=str(folder / "t.jsonl"), processes=1)
    with PassContext() as context:
        image = build_image(program(), options)
    model = sw.CompiledModel(image)
    result = model(X)
    assert isinstance(result, np.ndarray)
    code = image.main.variants[0].code
    assert isinstance(code, LinkedCode)
    return code.contents[: code.text_bytes], result, [remark.message for remark in context.remarks]


def test_a_record_decides_the_code_and_not_the_result(tmp_path: Path) -> None:
    codes: list[bytes] = []
    for trials in ((), (trial(STEPWISE),), (trial(STEPWISE),), (trial(SCRIPT),)):  # that of before the last
        code, result, remarks = compiled(tmp_path, *trials)
        codes.append(code)
        assert np.array_equal(result, 2 * X.T) and not any("not used" in text for text in remarks)
    assert codes[0] != codes[1] == codes[2] == codes[3]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("{tiles = [#sched.schedule<tile = [4], parallel = [0]>]}", "an op has 2 loops, and its schedule 1"),
        ("{tiles = []}", "it is for 0 ops, and there are 1"),
        ('{tiles = [#sched.schedule<form = "x">]}', "takes tiles, and the schedule is the form x"),
        ("{tiles = 4 : i64}", "a tuned schedule is {forms"),
        ("import os", "cannot be read"),
        ("{tiles = [#sched.schedule<tile = [4, 99999999999999999999]>]}", "cannot be read"),
        ("[" * 5000, "cannot be read"),
        (STEPWISE.replace("generic.0", "generic.7"), "kernel has no stage linalg.generic.7"),
        (STEPWISE.replace("by [?, 4]", "by [?, 0]"), "factors are positive"),
        (STEPWISE.replace("sched.loops", "sched.lops"), "cannot be read"),
        (STEPWISE + STEPWISE.replace("@tuned", "@other"), "expected a sched.script"),
        ("sched.script @a" + " {" * 5000, "cannot be read"),
    ],
)
def test_an_illegal_record_is_ignored_with_a_remark(tmp_path: Path, script: str, words: str) -> None:
    code, result, remarks = compiled(tmp_path, trial(script))
    assert np.array_equal(result, 2 * X.T) and code == compiled(tmp_path)[0]
    assert any("not used" in text and words in text for text in remarks), remarks


def test_a_schedule_that_a_later_pass_refuses_is_dropped() -> None:
    """The choosers cannot see that vectors of 4096 lanes are too long to be summed."""
    text = """
    func.func private @k(%x: tensor<8x8192xf32>, %i: tensor<8xf32>) -> tensor<8xf32> attributes {
        sched.kernel = #sched.kernel<inputs = 2, outputs = 1>,
        sched.tuned = {tiles = [#sched.schedule<tile = [1, 4096], parallel = [0], vectorize = 1>]}} {
      %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
          iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x8192xf32>) outs(%i : tensor<8xf32>) {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        linalg.yield %c : f32
      } -> tensor<8xf32>
      func.return %y : tensor<8xf32>
    }
    """
    ctx = StepwellContext()
    made = compile_kernel(lambda: parse_module(ctx, text), ctx, host_target())
    plain = parse_module(ctx, text)
    for op in plain.ops:
        op.attributes.pop(TUNED)
    assert made.code == compile_kernel(plain.clone, ctx, host_target()).code
    assert [r.message for r in made.remarks if "not used" in r.message and "2048 lanes" in r.message]


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ({}, 1),
        ({"machine": "another"}, 1),
        ({"machine": "another", "target": "c0"}, 0),
        ({"target": "c0"}, 0),
        ({"stepwell": "9.9.9"}, 0),
        ({"confirmed": False}, 0),
        ({"status": "slower"}, 0),
        ({"ratio": (5.0, 0.9, 9.0)}, 0),
        ({"task": "0" * 32}, 0),
    ],
)
def test_a_record_is_used_where_it_was_measured(
    tmp_path: Path, change: dict[str, object], count: int
) -> None:
    found, remarks = used(tmp_path, replace(trial(), **change))  # pyright: ignore[reportArgumentType]
    assert found == count
    assert any("other machines" in text for text in remarks) == (change.get("target") == "c0")


def test_this_machine_wins_over_another_one_of_its_kind(tmp_path: Path) -> None:
    better = replace(trial("{tiles = [unit]}"), machine="another", ratio=(3.0, 2.9, 3.1))
    write_records(tmp_path / "t.jsonl", [better, trial()])
    own = program()
    apply_records(own.module, own.ctx, host_target(), [tmp_path / "t.jsonl"])
    (kernel,) = [op for op in own.module.ops if TUNED in op.attributes]
    assert "tile = [4, 8]" in str(kernel.attributes[TUNED])


def test_a_database_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StepwellError) as refused:
        build_image(program(), CompileOptions(tuning_db=str(tmp_path / "none.jsonl")))
    assert refused.value.code == "no-file"


def test_a_large_database_is_read_at_once(tmp_path: Path) -> None:
    """The bound of 30 ms is for a quiet machine; four times that is still no reading of all lines."""
    mine = trial()
    rows = [replace(mine, task=f"{n:032x}", number=n) for n in range(10_000)]
    write_records(tmp_path / "t.jsonl", [*rows, mine])
    own = program()
    apply_records(own.module, own.ctx, host_target(), [])
    begin = process_time()
    assert apply_records(own.module, own.ctx, host_target(), [tmp_path / "t.jsonl"])[0] == 1
    assert process_time() - begin < 0.12


@pytest.mark.sample(3)
@pytest.mark.parametrize(("rows", "columns", "count"), [(80, 24, 1), (80, 48, 1), (200, 96, 0), (1, 24, 0)])
def test_a_record_is_transferred_to_near_sizes_if_asked(
    tmp_path: Path, rows: int, columns: int, count: int
) -> None:
    name, text = task_and_text()
    write_records(tmp_path / "t.jsonl", [TaskRecord(name, text), trial()])
    other = KERNEL.replace("40x", f"{rows}x").replace("x40", f"x{rows}")
    other = other.replace("x24x", f"x{columns}x").replace("<24x", f"<{columns}x")
    for transfer in (False, True):
        own = program(other)
        found, _ = apply_records(
            own.module, own.ctx, host_target(), [tmp_path / "t.jsonl"], transfer=transfer
        )
        assert found == (count if transfer else 0)
    options = CompileOptions(tuning_db=str(tmp_path / "t.jsonl"), transfer=True, use_cache=False, processes=1)
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    assert np.array_equal(sw.CompiledModel(build_image(program(other), options))(x), 2 * x.T)


def test_sizes_are_not_the_bits_of_elements() -> None:
    half = KERNEL.replace("f32", "f16")
    assert structure_of(task_and_text()[1]).sizes == structure_of(task_and_text(half)[1]).sizes
    assert structure_of(task_and_text()[1]).text != structure_of(task_and_text(half)[1]).text
    assert distance((4, 8), (8, 16)) == 2.0 and distance((1, 8), (2, 8)) == float("inf")


def test_exported_scripts_are_schedules_of_a_model(tmp_path: Path) -> None:
    """A kernel is found by its digest, whatever its nodes are called; an illegal step is an error."""
    write_records(tmp_path / "t.jsonl", [trial(STEPWISE)])
    file = tmp_path / "s.mlir"
    assert cli.main(["tune", "--export", str(tmp_path / "t.jsonl"), "-o", str(file)]) == 0
    text = file.read_text()
    assert f'sched.script @tuned_0 for "{task()}" {{' in text and ": 1.20" in text
    codes: list[bytes] = []
    for more in ({}, {"schedules": str(file)}, {"tuning_db": str(tmp_path / "t.jsonl")}):
        options = CompileOptions(use_cache=False, processes=1, **more)  # pyright: ignore[reportArgumentType]
        code = build_image(program(), options).main.variants[0].code
        assert isinstance(code, LinkedCode)
        codes.append(code.contents[: code.text_bytes])
    assert codes[0] != codes[1] == codes[2]
    file.write_text(text.replace("sched.parallel %j0, %i0", "sched.parallel %i1, %j1"))
    with pytest.raises(StepwellError) as refused:
        build_image(program(), CompileOptions(schedules=str(file)))
    assert refused.value.code == "illegal-schedule"

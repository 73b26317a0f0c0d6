"""Costs beside the gains: a large database, the import of `stepwell.te`, an operator by its formula."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import onnx

from benchmarks.cases.movement import MOVEMENT
from benchmarks.tuning.results import COST_BOUNDS, Result, Results
from stepwell import __version__, te
from stepwell.dialects.plugins.operators import OPERATORS
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import host_target
from stepwell.runtime.rpc.interleaved import interleave, ratio
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.measure.peers import Runner
from stepwell.tools.records.apply import apply_records
from stepwell.tools.records.database import write_records
from stepwell.tools.records.record import Trial
from stepwell.tools.tuning.tasks import extract_tasks

_LINES, _ROUNDS = 10_000, 25
_IMPORT = "import stepwell, time; t = time.process_time(); import stepwell.te; print(time.process_time() - t)"
_HEAD = """<ir_version: 8, opset_import: ["" : 18, "com.acme" : 1]>
clip (float[4, 3, 34, 34] x, float[16, 3, 3, 3] w, float[16, 1, 1] b) => (float[4, 16, 32, 32] y) {
    p = Conv(x, w) """
_BY_FORMULA = _HEAD + "q = com.acme.SoftClip<beta = 2.0>(p) y = Add(q, b) }"
_BY_OPS = _HEAD + (
    "two = Constant<value_float = 2.0>() one = Constant<value_float = 1.0>() m = Mul(p, two) e = Exp(m) "
    "s = Add(one, e) l = Log(s) q = Div(l, two) y = Add(q, b) }"
)


def measure_costs(results: Results, folder: Path) -> None:
    """Measure each cost that is not known."""
    work: Sequence[Callable[[], float]] = (lambda: _database_ms(folder), _import_ms, _formula_ratio)
    for name, cost in zip(COST_BOUNDS, work, strict=True):
        if not results.is_known("costs", name, 1, 0):
            results.add(Result("costs", name, 1, 0, cost()))


def _database_ms(folder: Path) -> float:
    """Milliseconds to look up the kernels of a model in a database of many lines of this machine."""
    case = next(case for case in MOVEMENT if case.name.startswith("transpose"))
    extracted = extract_tasks(case.model(), CompileOptions())
    module, ctx = extracted.program.module, extracted.program.ctx
    here = target_digest(host_target()), machine_name()
    script = "{tiles = [#sched.schedule<tile = [4, 8], parallel = [0, 1], vectorize = 1>]}"
    row = Trial("", *here, 1, script, "ok", ratio=(1.2, 1.1, 1.3), confirmed=True, stepwell=__version__)
    path = folder / "large.jsonl"
    write_records(path, [replace(row, task=f"{n:032x}", number=n) for n in range(_LINES)])

    def seconds(files: Sequence[Path]) -> float:
        begin = process_time()
        apply_records(module, ctx, host_target(), files)
        return process_time() - begin

    return 1e3 * (min(seconds([path]) for _ in range(9)) - min(seconds([]) for _ in range(9)))


def _import_ms() -> float:
    """Milliseconds that the import of `stepwell.te` takes after that of `stepwell`."""
    runs = [
        subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
        for _ in range(9)
    ]
    return 1e3 * min(float(run.stdout) for run in runs)


def _formula_ratio() -> float:
    """The time of a model with an operator by its formula, over that of the formula in ONNX ops."""
    before = OPERATORS.snapshot()

    @te.operator("com.acme", "SoftClip", beta=1.0)
    def soft_clip(x: te.Tensor, *, beta: float) -> te.Tensor:  # pyright: ignore[reportUnusedFunction]
        return te.compute(x.shape, lambda *i: te.log(1 + te.exp(beta * x[i])) / beta)

    try:
        runners = {text: _runner(text) for text in (_BY_FORMULA, _BY_OPS)}
    finally:
        OPERATORS.restore(before)
    taken = interleave(runners, _ROUNDS, process_time)
    return ratio(taken[_BY_FORMULA], taken[_BY_OPS]).median


def _runner(text: str) -> Runner:
    model = compile(onnx.parser.parse_model(text), threads=1)
    rng = np.random.default_rng(0)
    shapes = [(4, 3, 34, 34), (16, 3, 3, 3), (16, 1, 1)]
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    def run() -> Sequence[Array]:
        model(*arrays)
        return ()

    return run

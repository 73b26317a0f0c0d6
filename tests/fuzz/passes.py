"""Case: a pass of level 1 on a random graph or a model of the zoo, held to the class of its patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

from benchmarks.zoo import F32_MODELS, model_path
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.interpret import Noise, interpret
from stepwell.passes import run_pipeline
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.registry import PASSES, load_pass
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.tools.check.judgement import slack_of
from stepwell.tools.check.rows import Status, table_of
from stepwell.tools.check.validation import Known, Validate, roundings_of, validated_pipeline
from tests.fuzz.builder import Array
from tests.fuzz.generate import random_program

# Passes that need a file, print something or make another program, and ways to run those that have options.
_LEFT_OUT = frozenset(
    "annotate-devices match-patterns rewrite-patterns merge-composite print-call-graph count-macs"
    " count-params detect-features extract-fused-functions append-loss append-optimizer to-cps"
    " bind-states choose-tokens pin-composites".split()
)
_WAYS = {
    "combine-parallel": [
        f"combine-parallel{{op={op} min-branches=2}}" for op in ("conv", "matmul", "batch_matmul")
    ],
    "convert-layout": ["convert-layout{block=8}", 'convert-layout{conv="NHWC:HWIO"}'],
    "defuse-ops": ["fuse-ops,defuse-ops"],
    "fold-constant": ["fold-constant", "fold-constant,dynamic-to-static,fold-constant"],
    "fold-scale-axis": [f"fold-constant,fold-scale-axis{{direction={d}}}" for d in ("forward", "backward")],
    "fuse-ops": ["fuse-ops", "fuse-ops{max-ops=3}"],
    "legalize": ['legalize{set="wide-floats"}'],
    "pack-bfloats": ["fold-constant,pack-bfloats{lanes=8 always=true}"],
    "pack-weights": ["fold-constant,pack-weights{lanes=8}"],
    "simplify-inference": ["simplify-inference", "simplify-inference{only=batch_norm}"],
}

# Constants that were copied into kernels stay copies.
_CHANGE_AGAIN = frozenset(["fuse-ops,defuse-ops"])
_FINE = (Status.SAME, Status.RIGHT)


@cache
def pipelines() -> list[str]:
    """Each pass of level 1 in each way, of those that round at most."""
    found: list[str] = []
    for name, entry in PASSES.items():
        if not entry.place.startswith("stepwell.passes.graph.") or name in _LEFT_OUT:
            continue
        pass_class = load_pass(name)
        numerics = pass_class.numerics if issubclass(pass_class, Pass) else Numerics.EXACT
        if numerics in (Numerics.EXACT, Numerics.ROUNDING):
            found += _WAYS.get(name, [name])
    return found


def check_pass(pipeline: str, seed: int) -> tuple[str, str]:
    """Run a pass on a model at level 1: results as before, and a second time changes nothing."""
    return _checked(pipeline, _random_start(seed))


def check_zoo(pipeline: str, name: str) -> tuple[str, str]:
    """The same for a model of the zoo."""
    return _checked(pipeline, _zoo_start(name))


@dataclass(frozen=True)
class Start:
    """A model at level 1 and what it gives; that is the same for each pass, and takes as long as one."""

    ctx: StepwellContext
    module: ModuleOp
    known: Known
    """Its inputs and results."""


@lru_cache(maxsize=1)
def _random_start(seed: int) -> Start | tuple[str, str]:
    program = random_program(seed, (5, 20))
    return _start(program.model, list(program.inputs.values()))


@lru_cache(maxsize=1)
def _zoo_start(name: str) -> Start | tuple[str, str]:
    path = model_path(name)
    if path is None:
        raise FileNotFoundError(f"{name} is not here")
    return _start(path, list(F32_MODELS[name].feeds(seed=1).values()))


def _start(model: ModelProto | Path, inputs: list[Array]) -> Start | tuple[str, str]:
    """The model at level 1 with its results, or status and reason when there is no such thing."""
    try:
        ctx, module = _graph(model)
        results = interpret(module, ctx, "main", inputs)
        slack = slack_of(interpret(module, ctx, "main", inputs, noise=Noise()), results)
    except InternalError:
        raise
    except StepwellError as error:
        return "error", f"{error.code}: {error.message}"[:200]
    return Start(ctx, module, Known(inputs, results, slack))


def _checked(pipeline: str, start: Start | tuple[str, str]) -> tuple[str, str]:
    """Status and reason."""
    if isinstance(start, tuple):
        return start
    ctx, module = start.ctx, start.module.clone()
    validate = Validate(ctx, {"main": start.known}, least=roundings_of(module), full=True)
    rows = validated_pipeline(module, pipeline, ctx, validate)
    if (wrong := next((row for row in rows if row.status not in _FINE), None)) is not None:
        return "wrong", table_of([wrong]).partition("\n")[0][:200]
    once = str(module)
    try:
        run_pipeline(module, pipeline, ctx)
    except StepwellError as error:
        return "wrong", f"{error.code}: {error.message}"[:200]
    if str(module) != once and pipeline not in _CHANGE_AGAIN:
        return "wrong", "a second time changes the graph again"
    return "native", ""


def _graph(model: ModelProto | Path) -> tuple[StepwellContext, ModuleOp]:
    ctx = StepwellContext()
    module = import_onnx(model, ctx)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    return ctx, module

"""The default pipelines of level 1, as text that `stepwell-opt -p` takes."""

from collections.abc import Container, Iterable, Sequence
from functools import reduce

from stepwell.passes.registry import load_pass
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription

LEVELS = ("onnx", "graph", "linalg", "vector", "loops", "llvm", "ll", "asm")
"""What a program can be written as, from the model down."""
FROM_ONNX = "convert-onnx-to-graph"

# Each step with the lowest level that it runs at, that of the pass or higher: 0 keeps every digit, 1 may
# round in other places, 2 stores data as kernels like it best, 3 is all else that is not approximate.
_STEPS: Sequence[tuple[int, str]] = (
    (1, "fold-qdq"),
    (0, "fold-constant"),
    (0, "dynamic-to-static"),
    (1, "flatten-atrous-conv"),
    (1, "simplify-expr"),
    (0, "fold-explicit-padding"),
    (1, "raise-to-row-ops"),
    (1, "simplify-inference{only=batch_norm}"),
    (1, "fold-constant"),
    (1, "fold-scale-axis{direction=backward}"),
    (1, "fold-scale-axis{direction=forward}"),
    (3, "combine-parallel"),
    (1, "simplify-expr"),
    (1, "fold-constant"),
    (1, "fold-qdq"),
    (0, "eliminate-common-subexpr"),
    (0, "BACKENDS"),  # they take their part before anything is done for kernels of ours
    (1, "legalize{set=kernels}"),
    (1, "legalize{set=wide-convs}"),
    (1, "legalize{set=transposed-products}"),
    (1, "fold-constant"),
    (1, "decompose-conv-transpose"),
    (2, "pack-integers{lanes=LANES shorts=SHORTS}"),
    (2, "convert-layout{block=LANES winograd=REDUCED}"),
    (2, "winograd-conv{mode=WINOGRAD lanes=LANES}"),
    (2, "pack-weights{lanes=LANES}"),
    (2, "fold-constant"),
    (0, "pack-narrow-weights"),
    (2, "eliminate-common-subexpr"),  # one copy of weights that were packed for several users
    (0, "dead-code-elimination"),
    (0, "canonicalize-cast"),
    (0, "fuse-ops"),
    (0, "check-indices"),
)


NEEDED_BELOW = {
    FROM_ONNX: "every later pass works on the ops that it makes",
    "fuse-ops": "it decides what becomes a kernel, and kernels alone are lowered",
}
"""Passes that nothing below level 1 does without, and why."""


_PARTITION_STEPS = ("merge-composite", "annotate-target", "merge-regions", "partition-graph")


def expect_passes_of_level_1(names: Iterable[str]) -> None:
    """
    Require that level 1 runs some passes, at some optimization level, or that its passes require them.

    Raises: StepwellError `unknown-pass`, `bad-option`.
    """
    wanted = {name: load_pass(name).name for name in names}
    if not wanted:
        return
    known = dict.fromkeys([FROM_ONNX, *(step.partition("{")[0] for _, step in _STEPS), *_PARTITION_STEPS])
    del known["BACKENDS"]
    inner = [other for name in known for other in getattr(load_pass(name), "required", ())]
    for given, name in wanted.items():
        if name not in known and name not in inner:
            message = f"the pipeline of level 1 has no {given}, and these options are about it alone"
            raise StepwellError(
                "bad-option",
                None,
                message,
                help=f"level 1 runs {', '.join(known)}; stepwell-opt runs any pass",
            )


def expect_needed_passes(disabled: Container[str]) -> None:
    """Require the passes that the way to machine code needs. Raises: StepwellError `bad-option`."""
    for name, reason in NEEDED_BELOW.items():
        if name in disabled:
            raise StepwellError(
                "bad-option",
                None,
                f"{name} is a disabled pass, and below level 1 nothing goes on without it: {reason}",
                help="--emit graph writes the program as it is without the pass",
            )


def graph_pipeline(
    opt_level: int,
    target: TargetDescription,
    winograd: str = "auto",
    backends: Sequence[str] = (),
    *,
    low_memory: bool = False,
    required: Container[str] = (),
    disabled: Container[str] = (),
) -> str:
    """
    The passes of level 1 for an optimization level: 0 keeps every digit, from 1 on rounding may differ.

    Args: `winograd` is `off`, or a mode of `winograd-conv`; `backends` take their part of the model;
    `low_memory` allows no packed weights that are larger than the model's; passes
    named in `required` run although their level is higher, those in `disabled` never do.
    """
    lanes = str(target.f32_lanes)
    shorts = str(target.arch == "x86_64" and not target.has_byte_products and not low_memory).lower()
    is_direct = winograd == "off" or low_memory or "winograd-conv" in disabled
    numbers = {"LANES": lanes, "SHORTS": shorts, "WINOGRAD": winograd, "REDUCED": str(not is_direct).lower()}
    steps: list[str] = []
    for level, step in _STEPS:
        name = step.partition("{")[0]
        off = name in disabled or (name == "winograd-conv" and is_direct)
        if name == "BACKENDS":
            steps += _partition_passes(backends)
        elif not off and (opt_level >= level or name in required):
            steps.append(reduce(lambda text, word: text.replace(word, numbers[word]), numbers, step))
    return ",".join(steps)


def _partition_passes(backends: Sequence[str]) -> list[str]:
    if not backends:
        return []
    composites = [f"merge-composite{{table={name}}}" for name in backends]
    annotate = f"annotate-target{{backends={','.join(backends)}}}"
    return [*composites, annotate, "merge-regions", "partition-graph{bind-constants}"]

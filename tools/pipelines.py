"""The default pipelines of level 1, as text that `stepwell-opt -p` takes."""

from collections.abc import Sequence

from stepwell.runtime.target import TargetDescription

LEVELS = ("onnx", "graph", "linalg", "vector", "loops", "llvm", "ll", "asm")
"""What a program can be written as, from the model down."""
FROM_ONNX = "convert-onnx-to-graph"

_EXACT = ("fold-constant", "dynamic-to-static", "dead-code-elimination")
_ROUNDING = (
    "fold-qdq",
    "fold-constant",
    "dynamic-to-static",
    "flatten-atrous-conv",
    "simplify-expr",
    "fold-explicit-padding",
    "raise-to-row-ops",
    "simplify-inference{only=batch_norm}",
    "fold-constant",
    "fold-scale-axis{direction=backward}",
    "fold-scale-axis{direction=forward}",
    "simplify-expr",
    "fold-constant",
    "fold-qdq",
    "eliminate-common-subexpr",
)
_FOR_KERNELS = ("decompose-conv-transpose",)
_FLOAT_BYTES = 4  # layouts block channels by the f32 lanes of a vector


def graph_pipeline(
    opt_level: int, target: TargetDescription, winograd: str = "auto", backends: Sequence[str] = ()
) -> str:
    """
    The passes of level 1 for an optimization level: 0 keeps every digit, from 1 on rounding may differ.

    Args: `winograd` is `off`, or a mode of `winograd-conv`; `backends` take their part before anything is
    done for kernels of ours.
    """
    if opt_level == 0:
        return ",".join((*_EXACT, *_partition_passes(backends), "fuse-ops"))
    passes = [*_ROUNDING, *_partition_passes(backends), *_FOR_KERNELS]
    if opt_level >= 2:
        lanes = target.lanes(_FLOAT_BYTES)
        passes += [f"pack-integers{{lanes={lanes}}}", f"convert-layout{{block={lanes}}}"]
        if winograd != "off":
            passes.append(f"winograd-conv{{mode={winograd} lanes={lanes}}}")
        passes += [f"pack-weights{{lanes={lanes}}}", "fold-constant"]
    return ",".join((*passes, "dead-code-elimination", "canonicalize-cast", "fuse-ops"))


def _partition_passes(backends: Sequence[str]) -> list[str]:
    if not backends:
        return []
    composites = [f"merge-composite{{table={name}}}" for name in backends]
    annotate = f"annotate-target{{backends={','.join(backends)}}}"
    return [*composites, annotate, "merge-regions", "partition-graph{bind-constants}"]

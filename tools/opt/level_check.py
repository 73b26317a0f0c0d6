"""The warning for a pass without effect, because the program is on another level than the pass works on."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects.foreign.model_dialect import MODEL_DIALECTS
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.passes.instruments import Instrument

# The level of a pass, by its folder; passes of other folders are not checked.
_FOLDERS: Mapping[str, str] = {
    "stepwell.passes.onnx": "onnx",
    "stepwell.frontend": "onnx",
    "stepwell.lowering.coreml_to_graph": "onnx",
    "stepwell.lowering.mxnet_to_graph": "onnx",
    "stepwell.lowering.onnx_to_graph": "onnx",
    "stepwell.lowering.paddle_to_graph": "onnx",
    "stepwell.lowering.stablehlo_to_graph": "onnx",
    "stepwell.lowering.tflite_to_graph": "onnx",
    "stepwell.lowering.torch_to_graph": "onnx",
    "stepwell.passes.graph": "graph",
    "stepwell.lowering.plugins_to_graph": "graph",
    "stepwell.lowering.graph_to_linalg": "graph",
    "stepwell.lowering.graph_to_onnx": "graph",
    "stepwell.passes.tensor": "linalg",
    "stepwell.passes.tensor.schedule": "linalg",
    "stepwell.lowering.bufferize": "linalg",
}
_ON_ANY_LEVEL = frozenset(
    {
        "bind-states",
        "dead-code-elimination",
        "inline",
        "match-patterns",
        "merge-composite",
        "print-call-graph",
        "remove-unused-functions",
        "rewrite-patterns",
    }
)
_DIALECTS = {
    "onnx": MODEL_DIALECTS,
    "graph": ("graph",),
    "linalg": ("linalg", "tensor", "vector"),
    "loops": ("memref",),
    "llvm": ("llvm",),
}
_NUMBERS = {
    "onnx": "0 (model)",
    "graph": "1 (graph)",
    "linalg": "2 (linalg)",
    "loops": "3 (loops)",
    "llvm": "4 (llvm)",
}
_WAY_DOWN = {"graph": "convert-onnx-to-graph", "linalg": "fuse-ops,convert-graph-to-linalg"}


class LevelCheck(Instrument):
    """Warns on standard error before a pass of another level than the program's."""

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        wanted = level_of_pass(step)
        found = levels_of(module)
        if wanted is None or not found or wanted in found:
            return
        order = list(_NUMBERS)
        above = order.index(found[-1]) < order.index(wanted)
        hint = f": run {_WAY_DOWN[wanted]} first" if above else ""
        print(
            f"warning: {step.name} works on level {_NUMBERS[wanted]}, and the program is on level "
            f"{_NUMBERS[found[-1]]}{hint}",
            file=sys.stderr,
        )


def level_of_pass(step: ModulePass) -> str | None:
    """The level that a pass of ours works on; None for a pass of any level."""
    if step.name in _ON_ANY_LEVEL:
        return None
    place = type(step).__module__
    return next((level for folder, level in _FOLDERS.items() if f"{place}.".startswith(f"{folder}.")), None)


def levels_of(module: ModuleOp) -> list[str]:
    """The levels whose ops a module has, the highest first; graph ops around kernels do not count."""
    dialects = {op.name.partition(".")[0] for op in module.walk()}
    found = [level for level, names in _DIALECTS.items() if not dialects.isdisjoint(names)]
    has_kernels = any(is_kernel(op) for op in module.ops)
    return [level for level in found if level != "graph"] if has_kernels else found

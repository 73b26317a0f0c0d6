"""`set-input-shapes`: give open dimensions of a model's inputs a fixed size."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from stepwell.dialects.onnx.input_shapes import set_input_shapes
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class SetInputShapesPass(ModulePass):
    """
    Give inputs of `@main` fixed shapes: `set-input-shapes{shapes="x=1x3x224x224;mask=1x64"}`.

    A symbol that gets a size by an input's shape is replaced by that size everywhere in the function.
    """

    name = "set-input-shapes"

    shapes: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = next((f for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"), None)
        if main is not None:
            set_input_shapes(main, dict(_parse(part) for part in self.shapes.split(";")))


def _parse(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, dims = text.rpartition("=")
    sizes = dims.split("x")
    if not name or not all(size.isdigit() for size in sizes):
        raise StepwellError("bad-option", "set-input-shapes", f"expected NAME=1x3x224x224, found {text!r}")
    return name, tuple(map(int, sizes))

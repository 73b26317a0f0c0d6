"""`bind-kernels`: matches of patterns become kernels whose code a user wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import BOUND_KERNEL
from stepwell.dialects.graph_ir.dissolve import dissolve
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.kernels.registered import KERNELS

if TYPE_CHECKING:
    from stepwell.passes.graph.kernels.templates import KernelTemplate


@dataclass(frozen=True)
class BindKernelsPass(Pass):
    """
    Bind kernels that users wrote as text to the matches of their patterns.

    ```mlir
    %y = graph.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    // ->
    %y = graph.composite (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>)
        attributes {…, graph.kernel = @doubled_0} {
      %b = graph.add %a, %a : …
      graph.yield %b : tensor<4x8xf32>
    }
    func.func private @doubled_0(%x: tensor<4x8xf32>) -> tensor<4x8xf32> { … }
    ```
    The composite contains the matched ops, which specify the kernel's results: `stepwell validate` compares
    both. `fuse-ops` makes the composite a kernel by itself, and `convert-graph-to-linalg` uses the user's
    function instead of lowering the ops. Matches with other types, or for which a plugin gives no sizes, are
    left alone, with a remark. Class: exact.
    """

    name = "bind-kernels"

    file: str = ""
    """The file of a kernel; if empty, those that plugins have registered."""
    sizes: str = ""
    """The sizes of that kernel, such as `rows=4 columns=32`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for template in self._templates():
            self._bind(template, ctx, op)

    def _templates(self) -> list[KernelTemplate]:
        """The kernel of the file, or those of plugins. Raises: StepwellError `no-file`, `syntax`."""
        if not self.file:
            return [template for _, template in KERNELS.items()]
        from stepwell.passes.graph.kernels.templates import KernelTemplate, fixed_sizes

        return [KernelTemplate.read(self.file, fixed_sizes(self.sizes))]

    def _bind(self, template: KernelTemplate, ctx: Context, module: ModuleOp) -> None:
        """Bind the matches of a template in all functions; equal ones share a function."""
        from stepwell.patterns.groups import Duplicate
        from stepwell.patterns.partitioning import TableRow, partition_table

        rows = [TableRow(e.name, e.pattern, e.check) for e in template.entries(ctx, remark)]
        made: dict[tuple[tuple[str, int], ...], FuncOp] = {}
        for function in functions_of(module):
            for match in partition_table(rows, function, None, Duplicate.NEVER, remark=remark):
                sizes = _sizes(template, match)
                if sizes is None:
                    dissolve(match)
                    continue
                key = tuple(sizes.items())
                if key not in made:
                    made[key] = template.function(ctx, sizes, match.result_types, match)
                    made[key].properties["sym_name"] = StringAttr(_free_name(module, template.name))
                    made[key].properties["sym_visibility"] = StringAttr("private")
                    module.body.block.add_op(made[key])
                match.attributes[BOUND_KERNEL] = SymbolRefAttr(made[key].sym_name)
                count("bound kernels")


def _sizes(template: KernelTemplate, match: graph.CompositeOp) -> dict[str, int] | None:
    """The dimensions of a match with the sizes of the kernel for them; None where it does not fit."""
    dimensions = template.dimensions(match.operand_types, match)
    if dimensions is None:
        found, wanted = ", ".join(map(str, match.operand_types)), ", ".join(template.parameters)
        remark(match, f"kernel @{template.name} is for {wanted}, found {found}")
        return None
    sizes = template.sizes(dimensions, match)
    if sizes is None:
        remark(match, f"kernel @{template.name} is not wanted for {dimensions}")
    return None if sizes is None else dict(sizes)


def _free_name(module: ModuleOp, name: str) -> str:
    """The name of a new function, numbered."""
    taken = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    number = 0
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"

"""Products with weights of a few bits by their number of rows: few in registers, many by panels."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.passes.tensor.forms.nbits_panels import all_by_panels
from stepwell.passes.tensor.forms.nbits_registers import rows_in_registers


def nbits_by_rows(op: MatmulNbitsOp, sizes: Mapping[str, int], constants: Constants) -> SSAValue:
    """
    `scf.if` the rows are at most `few`, the loops of the form `registers`, else those of `panels`.

    ```mlir
    %is_few = arith.cmpi sle, %rows, %c2 : index
    %y = scf.if %is_few -> (tensor<?x4096xf32>) { … } else { … }
    ```
    """
    emit = IRBuilder.before(op, constants)
    rows, few = emit.materialize(dim_size(emit, op.x, 0)), emit.materialize(sizes["few"])
    is_few = emit.compare("sle", rows, few)
    then, otherwise = Block(), Block()
    inside = emit.inside(then)
    inside.insert(scf.YieldOp(rows_in_registers(inside, op, sizes["chains"], op.init)))
    inside = emit.inside(otherwise)
    inside.insert(scf.YieldOp(all_by_panels(inside, op, sizes["depth"], sizes["groups"], op.init)))
    branches = scf.IfOp(is_few, [op.init.type], Region(then), Region(otherwise))
    return emit.insert(branches).results[0]

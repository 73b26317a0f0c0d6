"""Products with weights of a few bits by their number of rows: few in registers, many by panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Region, SSAValue

from stepwell.dialects.arith import SelectOp
from stepwell.dialects.graph.nbits_products import LEAST_BLOCK
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.tensor.forms.nbits_bytes import rows_of_bytes
from stepwell.passes.tensor.forms.nbits_digits import rows_by_digits
from stepwell.passes.tensor.forms.nbits_panels import all_by_panels
from stepwell.passes.tensor.forms.nbits_registers import rows_in_registers


def nbits_by_rows(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.if` at most `few` rows, which are finite: the loops of the form `registers`, else those of `panels`.

    ```mlir
    %is_few = arith.cmpi sle, %rows, %c2 : index
    %seen = arith.select %is_few, %rows, %c0 : index
    %zeros = scf.for %row = %c0 to %seen … { … }         // the numbers times 0: NaN if one is infinite
    %is_finite = arith.cmpf oeq, %zeros, %zero : f32
    %both = arith.andi %is_few, %is_finite : i1
    %y = scf.if %both -> (tensor<?x4096xf32>) { … } else { … }
    ```
    Zero points meet sums in registers, where infinity less infinity would be NaN.
    """
    rows, few = emit.materialize(dim_size(emit, op.x, 0)), emit.materialize(sizes["few"])
    is_few = emit.compare("sle", rows, few)
    seen = emit.value(SelectOp(is_few, rows, emit.materialize(0)))
    is_registers = emit.value(arith.AndIOp(is_few, _are_finite(emit, op, seen)))
    return _either(
        emit,
        op,
        is_registers,
        lambda inside: rows_in_registers(inside, op, sizes["chains"], op.init),
        lambda inside: all_by_panels(inside, op, sizes, op.init),
    )


def nbits_by_digits_or_panels(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.if` all rows are finite: the loops of the form `digits`, else those of `panels`.

    ```mlir
    %zeros = scf.for %row = %c0 to %rows … { … }         // the numbers times 0: NaN if one is infinite
    %is_finite = arith.cmpf oeq, %zeros, %zero : f32
    %y = scf.if %is_finite -> (tensor<?x4096xf32>) { … } else { … }
    ```
    """
    return _either(
        emit,
        op,
        _are_finite(emit, op, emit.materialize(dim_size(emit, op.x, 0))),
        lambda inside: rows_by_digits(inside, op, sizes, op.init),
        lambda inside: all_by_panels(inside, op, sizes, op.init),
    )


def nbits_by_arithmetic(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.if` at most `few` rows: the loops of the form `registers` or `digits`, else those of bytes.

    ```mlir
    %is_few = arith.cmpi sle, %rows, %c4 : index
    %y = scf.if %is_few -> (tensor<?x4096xf32>) { … } else { … }
    ```
    """
    assert op.few is not None
    rows, few = emit.materialize(dim_size(emit, op.x, 0)), emit.materialize(op.few.value.data)
    return _either(
        emit,
        op,
        emit.compare("sle", rows, few),
        lambda inside: _few(inside, op, sizes),
        lambda inside: rows_of_bytes(inside, op, sizes, op.init),
    )


def _few(emit: IRBuilder, op: MatmulNbitsOp, sizes: Mapping[str, int]) -> SSAValue:
    """The product of few rows."""
    if "digit_rows" in sizes:
        return rows_by_digits(emit, op, sizes, op.init)
    return rows_in_registers(emit, op, sizes["chains"], op.init)


def _either(
    emit: IRBuilder,
    op: MatmulNbitsOp,
    condition: SSAValue,
    then: Callable[[IRBuilder], SSAValue],
    otherwise: Callable[[IRBuilder], SSAValue],
) -> SSAValue:
    """The result of an `scf.if` that computes the product in one of two ways."""
    blocks = Block(), Block()
    for block, way in zip(blocks, (then, otherwise), strict=True):
        inside = emit.inside(block)
        inside.insert(scf.YieldOp(way(inside)))
    branches = scf.IfOp(condition, [op.init.type], Region(blocks[0]), Region(blocks[1]))
    return emit.insert(branches).results[0]


def _are_finite(emit: IRBuilder, op: MatmulNbitsOp, rows: SSAValue) -> SSAValue:
    """An i1: no element of the first rows is infinite or NaN, since the sum of their products with 0 is 0."""
    type, zero = vector_type(f32, (LEAST_BLOCK,)), emit.number(0.0, f32)
    nothing = emit.number(0.0, type)
    beyond = None if op.steps % LEAST_BLOCK == 0 else zero

    def one_row(emit: IRBuilder, row: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def one_vector(emit: IRBuilder, step: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            x = read(emit, op.x, [row, step], type, (1,), beyond)
            return [emit.value(arith.AddfOp(carried[0], emit.value(arith.MulfOp(x, nothing))))]

        return emit.loop(0, op.steps, LEAST_BLOCK, carried, one_vector)

    (zeros,) = emit.loop(0, rows, 1, [nothing], one_row)
    kind = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)
    return emit.compare("oeq", emit.value(MultiReductionOp(kind, zeros, zero, [0])), zero)

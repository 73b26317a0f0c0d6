"""
Named ops of linalg as equations over loops, and the classes of those that xDSL lacks.

An equation has a letter for each loop: `bmk,bkn->bmn` is a product of matrices by batches. `(h+k)` is a
position of a window: the first letter times a stride, plus the second times a dilation. Loops whose letters
are in the result are parallel, the others are reductions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr, DenseIntElementsAttr
from xdsl.dialects.linalg import Linalg
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)

EQUATIONS: Mapping[str, str] = {
    "batch_matmul": "bmk,bkn->bmn",
    "batch_matmul_transpose_a": "bkm,bkn->bmn",
    "batch_matmul_transpose_b": "bmk,bnk->bmn",
    "batch_matvec": "bmk,bk->bm",
    "batch_mmt4d": "bmkxz,bnkyz->bmnxy",
    "batch_reduce_matmul": "bmk,bkn->mn",
    "batch_vecmat": "bk,bkn->bn",
    "conv_1d": "(w+k),k->w",
    "conv_1d_ncw_fcw": "nc(w+k),fck->nfw",
    "conv_1d_nwc_wcf": "n(w+k)c,kcf->nwf",
    "conv_2d": "(h+k)(w+l),kl->hw",
    "conv_2d_nchw_fchw": "nc(h+k)(w+l),fckl->nfhw",
    "conv_2d_ngchw_fgchw": "ngc(h+k)(w+l),fgckl->ngfhw",
    "conv_2d_ngchw_gfchw": "ngc(h+k)(w+l),gfckl->ngfhw",
    "conv_2d_nhwc_fhwc": "n(h+k)(w+l)c,fklc->nhwf",
    "conv_2d_nhwc_hwcf": "n(h+k)(w+l)c,klcf->nhwf",
    "conv_2d_nhwgc_gfhwc": "n(h+k)(w+l)gc,gfklc->nhwgf",
    "conv_3d": "(d+j)(h+k)(w+l),jkl->dhw",
    "conv_3d_ncdhw_fcdhw": "nc(d+j)(h+k)(w+l),fcjkl->nfdhw",
    "conv_3d_ndhwc_dhwcf": "n(d+j)(h+k)(w+l)c,jklcf->ndhwf",
    "depthwise_conv_1d_ncw_cw": "nc(w+k),ck->ncw",
    "depthwise_conv_1d_nwc_wc": "n(w+k)c,kc->nwc",
    "depthwise_conv_1d_nwc_wcm": "n(w+k)c,kcm->nwcm",
    "depthwise_conv_2d_nchw_chw": "nc(h+k)(w+l),ckl->nchw",
    "depthwise_conv_2d_nhwc_hwc": "n(h+k)(w+l)c,klc->nhwc",
    "depthwise_conv_2d_nhwc_hwcm": "n(h+k)(w+l)c,klcm->nhwcm",
    "depthwise_conv_3d_ncdhw_cdhw": "nc(d+j)(h+k)(w+l),cjkl->ncdhw",
    "depthwise_conv_3d_ndhwc_dhwc": "n(d+j)(h+k)(w+l)c,jklc->ndhwc",
    "dot": "m,m->",
    "matmul": "mk,kn->mn",
    "matmul_transpose_a": "km,kn->mn",
    "matmul_transpose_b": "mk,nk->mn",
    "matvec": "mn,n->m",
    "mmt4d": "mkxz,nkyz->mnxy",
    "quantized_batch_matmul": "bmk,bkn,,->bmn",
    "quantized_matmul": "mk,kn,,->mn",
    "vecmat": "k,kn->n",
    **{f"pooling_ncw_{kind}": "nc(w+k),k->ncw" for kind in ("max", "sum")},
    **{f"pooling_nwc_{kind}": "n(w+k)c,k->nwc" for kind in ("max", "min", "sum")},
    **{f"pooling_nchw_{kind}": "nc(h+k)(w+l),kl->nchw" for kind in ("max", "sum")},
    **{f"pooling_nhwc_{kind}": "n(h+k)(w+l)c,kl->nhwc" for kind in ("max", "min", "sum")},
    **{f"pooling_nhwc_{kind}_unsigned": "n(h+k)(w+l)c,kl->nhwc" for kind in ("max", "min")},
    **{f"pooling_ndhwc_{kind}": "n(d+j)(h+k)(w+l)c,jkl->ndhwc" for kind in ("max", "min", "sum")},
}
"""Contractions and windows, with their operands and result."""
ELEMENTWISE = frozenset(
    "abs add ceil copy div div_unsigned erf exp floor log max min mul negf powf reciprocal round rsqrt "
    "select sqrt square sub tanh".split()
)
"""Ops that read each tensor at their own position, and scalars everywhere."""
_TERM = re.compile(r"\((\w)\+(\w)\)|(\w)")


class Loops(NamedTuple):
    """The loops of a structured op: the map of each operand, the result last, and p or r for each loop."""

    maps: Sequence[AffineMap]
    kinds: str


def loops_of(equation: str, strides: Sequence[int], dilations: Sequence[int]) -> Loops:
    """
    The loops of an equation; those of the result come first.

    Args: `strides` and `dilations` are those of windows in order; ones where they are shorter.
    """
    operands, _, result = equation.partition("->")
    letters = dict.fromkeys(result + "".join(filter(str.isalpha, operands)))
    number = {letter: AffineExpr.dimension(position) for position, letter in enumerate(letters)}

    def map_of(text: str) -> AffineMap:
        terms: list[AffineExpr] = []
        windows = 0
        for first, second, plain in _TERM.findall(text):
            if plain:
                terms.append(number[plain])
                continue
            stride, dilation = (
                given[windows] if windows < len(given) else 1 for given in (strides, dilations)
            )
            terms.append(_times(number[first], stride) + _times(number[second], dilation))
            windows += 1
        return AffineMap(len(number), 0, tuple(terms))

    kinds = "".join("p" if letter in result else "r" for letter in letters)
    return Loops([map_of(text) for text in (*operands.split(","), result)], kinds)


def _times(expression: AffineExpr, factor: int) -> AffineExpr:
    return expression if factor == 1 else expression * factor


class NamedOp(IRDLOperation):
    """A named op in the generic form, with the region that MLIR prints."""

    inputs = var_operand_def()
    outputs = var_operand_def()
    made = var_result_def()
    body = region_def("single_block")

    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)
    indexing_maps = opt_prop_def(ArrayAttr[Attribute])
    cast = opt_prop_def(Attribute)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)


def op_class(name: str) -> type[Operation] | None:
    """The class of a named op that xDSL lacks, by its name in the IR; None for any other op."""
    return _op_class(name.removeprefix("linalg.")) if name in _LACKING else None


@cache
def _op_class(name: str) -> type[Operation]:
    title = "".join(part.capitalize() for part in name.split("_"))
    body = {"__doc__": f"`linalg.{name}`.", "__module__": __name__, "name": f"linalg.{name}"}
    return irdl_op_definition(type(f"{title}Op", (NamedOp,), body))


_LACKING = frozenset(f"linalg.{name}" for name in (*EQUATIONS, *ELEMENTWISE, "contract")) - frozenset(
    op.name for op in Linalg.operations
)

"""Matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import shape_text
from stepwell.dialects.types import dims_of
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.promotion import computed, number
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


@converts("linear.default")
def linear(call: Call) -> Value:
    """x times the transposed weight, plus a bias."""
    x, weight, bias = call.tensor("input"), call.tensor("weight"), call.optional("bias")
    if weight.rank == 1:
        result = (x * weight).reduce("sum", [x.rank - 1])
    else:
        result = x.matmul(weight.transpose([1, 0]))
    return result if bias is None else result + bias


@converts("mm.default", "bmm.default")
def mm(call: Call) -> Value:
    """The product of two matrices, or of two stacks of them."""
    return call.tensor().matmul(call.tensor("mat2"))


@converts("matmul.default")
def matmul(call: Call) -> Value:
    """The product of matrices, vectors or stacks of them."""
    return call.tensor().matmul(call.tensor("other"))


@converts("mv.default")
def mv(call: Call) -> Value:
    """A matrix times a vector."""
    return call.tensor().matmul(call.tensor("vec"))


@converts("dot.default")
def dot(call: Call) -> Value:
    """The inner product of two vectors."""
    return call.tensor().matmul(call.tensor("tensor"))


@converts("outer.default", "ger.default")
def outer(call: Call) -> Value:
    """All products of the elements of two vectors."""
    return call.tensor().cast(call.element).unsqueeze(1) * call.tensor("vec2").cast(call.element)


@converts("addmm.default")
def addmm(call: Call) -> Value:
    """beta * self + alpha * the product of two matrices."""
    return _sum_of(call, call.tensor("mat1").matmul(call.tensor("mat2")))


@converts("baddbmm.default")
def baddbmm(call: Call) -> Value:
    """beta * self + alpha * the products of two stacks of matrices."""
    return _sum_of(call, _products(call))


def _products(call: Call) -> Value:
    """The products of two stacks of matrices, not rounded yet."""
    element = computed(call.element)
    first, second = (call.tensor(name).cast(element) for name in ("batch1", "batch2"))
    return first.matmul(second)


@converts("addmv.default")
def addmv(call: Call) -> Value:
    """beta * self + alpha * the product of a matrix and a vector."""
    return _sum_of(call, call.tensor("mat").matmul(call.tensor("vec")))


@converts("addbmm.default")
def addbmm(call: Call) -> Value:
    """beta * self + alpha * the sum of the products of two stacks of matrices."""
    return _sum_of(call, _products(call).reduce("sum", [0]))


@converts("addr.default")
def addr(call: Call) -> Value:
    """beta * self + alpha * all products of two vectors."""
    return _sum_of(call, call.tensor("vec1").unsqueeze(1) * call.tensor("vec2"))


def _sum_of(call: Call, product: Value) -> Value:
    """A product times alpha, plus `self` times beta; a beta of 0 leaves NaN of `self` out."""
    if call.value("alpha") != 1:
        product = product * number(call, "alpha", product.element)
    if call.value("beta") == 0:
        return product.cast(call.element)
    added = call.tensor().cast(product.element)
    if call.value("beta") != 1:
        added = added * number(call, "beta", added.element)
    return (product + added).cast(call.element)


@converts("einsum.default")
def einsum(call: Call) -> Value:
    """A sum of products over indices."""
    equation, inputs = str(call.value("equation")).replace(" ", ""), call.tensors()
    terms, arrow, result = equation.partition("->")
    letters = terms.split(",")
    if "." in equation:
        letters, result = _without_ellipsis(call, letters, result if arrow else None, inputs)
    elif not arrow:
        result = _implicit(letters)
    return call.at.op(graph.EinsumOp([each.ssa for each in inputs], f"{','.join(letters)}->{result}"))


def _implicit(terms: Sequence[str]) -> str:
    """The letters of the result, where an equation has none: all that occur once, sorted."""
    text = "".join(terms)
    return "".join(sorted(letter for letter in set(text) if text.count(letter) == 1))


def _without_ellipsis(
    call: Call, terms: Sequence[str], result: str | None, inputs: Sequence[Value]
) -> tuple[list[str], str]:
    """The terms and the result of an equation with letters in place of `...`."""
    spare = [chr(code) for code in range(ord("A"), ord("Z") + 1) if chr(code) not in "".join(terms)]
    counts = [
        each.rank - len(term.replace("...", "")) if "..." in term else 0
        for term, each in zip(terms, inputs, strict=True)
    ]
    if (most := max(counts)) > len(spare):
        raise call.unsupported("the equation has too many indices")
    shared = spare[:most]
    expanded = [
        term.replace("...", "".join(shared[most - count :]))
        for term, count in zip(terms, counts, strict=True)
    ]
    if result is None:
        named = [term.replace("...", "") for term in terms]
        return expanded, "".join(shared) + _implicit(named)
    return expanded, result.replace("...", "".join(shared))


@converts("conv1d.default", "conv2d.default", "conv3d.default", "conv1d.padding", "conv2d.padding")
@converts("conv3d.padding")
def convolution_of_rank(call: Call) -> Value:
    """A convolution of one, two or three axes, with padding as numbers or as a word."""
    x, weight = call.tensor("input"), call.tensor("weight")
    rank = weight.rank - 2
    dilations = call.integers("dilation", rank)
    if isinstance(padding := call.value("padding"), str):
        pads = _worded_pads(padding, weight, dilations)
    else:
        pads = [*call.integers("padding", rank)] * 2
    is_single = x.rank == rank + 1
    if is_single:
        x = x.unsqueeze(0)
    conv = graph.ConvOp(
        x.ssa,
        weight.ssa,
        strides=call.integers("stride", rank),
        dilations=dilations,
        pads=pads,
        groups=call.integer("groups"),
    )
    result = _with_bias(call.at.op(conv), call.optional("bias"))
    return result.reshape(result.dims[1:]) if is_single else result


def _worded_pads(word: str, weight: Value, dilations: Sequence[int]) -> list[int]:
    """The pads of `valid`, which are none, or of `same`: the odd cell is at the end."""
    kernel = [dim.value for dim in weight.dims[2:]]
    totals = [d * (k - 1) if word == "same" else 0 for d, k in zip(dilations, kernel, strict=True)]
    return [total // 2 for total in totals] + [total - total // 2 for total in totals]


def _with_bias(result: Value, bias: Value | None) -> Value:
    return result if bias is None else result.formula.op(graph.BiasAddOp(result.ssa, bias.ssa, 1))


@converts("convolution.default", "_convolution.default", "conv_transpose1d.default")
@converts("conv_transpose2d.input", "conv_transpose3d.input")
def convolution(call: Call) -> Value:
    """A convolution, or a transposed one."""
    x, weight, bias = call.tensor("input"), call.tensor("weight"), call.optional("bias")
    rank = weight.rank - 2
    strides, dilations = call.integers("stride", rank), call.integers("dilation", rank)
    pads, groups = [*call.integers("padding", rank)] * 2, call.integer("groups")
    is_single = x.rank == rank + 1
    if is_single:
        x = x.unsqueeze(0)
    if call.has("transposed") and not call.flag("transposed"):
        made = graph.ConvOp(x.ssa, weight.ssa, strides=strides, dilations=dilations, pads=pads, groups=groups)
    else:
        # Torch adds the bias before it rounds.
        element = x.element if bias is None else computed(x.element)
        x, weight = x.cast(element), weight.cast(element)
        bias = None if bias is None else bias.cast(element)
        made = graph.ConvTransposeOp(
            x.ssa,
            weight.ssa,
            strides=strides,
            dilations=dilations,
            pads=pads,
            output_padding=call.integers("output_padding", rank),
            groups=groups,
        )
    result = _with_bias(call.at.op(made), bias)
    result = result.cast(call.element)
    return result.reshape(dims_of(result.ssa.type)[1:]) if is_single else result


@converts("bilinear.default")
def bilinear(call: Call) -> Value:
    """The products of two tensors by a matrix for each output."""
    x, y = call.tensor("input1"), call.tensor("input2")
    batch = "ABCDEFG"[: x.rank - 1]
    # Torch rounds the products by the matrices.
    rows = call.at.op(graph.EinsumOp([x.ssa, call.tensor("weight").ssa], f"{batch}i,oij->{batch}oj"))
    result = call.at.op(graph.EinsumOp([rows.ssa, y.ssa], f"{batch}oj,{batch}j->{batch}o"))
    bias = call.optional("bias")
    return result if bias is None else result + bias


@converts("linalg_cross.default", "cross.default")
def cross(call: Call) -> Value:
    """The vector product along an axis of size 3; torch rounds each product of narrow floats."""
    a, b = (call.tensor(name).cast(call.element).broadcast_to(call.dims) for name in ("self", "other"))
    axes = [axis for axis, dim in enumerate(a.dims) if dim == 3]
    if call.value("dim") is not None:
        axes = [axis for axis in axes if axis == call.axis(rank=len(call.dims))]
    if not axes:
        raise call.unsupported(f"an axis of size 3 is needed, the shape is {shape_text(a.dims)}")
    axis = axes[0]

    def product(first: int, second: int) -> Value:
        return a.slice(axis, first, first + 1) * b.slice(axis, second, second + 1)

    parts = [product(i, j) - product(j, i) for i, j in ((1, 2), (2, 0), (0, 1))]
    return call.at.concat(parts, axis)


@converts("tensordot.default")
def tensordot(call: Call) -> Value:
    """A sum of products over some axes of two tensors."""
    x, y = call.tensor(), call.tensor("other")
    left = [axis % x.rank for axis in call.integers("dims_self")]
    right = [axis % y.rank for axis in call.integers("dims_other")]
    first = [chr(ord("a") + axis) for axis in range(x.rank)]
    second = [chr(ord("a") + x.rank + axis) for axis in range(y.rank)]
    for a, b in zip(left, right, strict=True):
        second[b] = first[a]
    kept = [letter for axis, letter in enumerate(first) if axis not in left]
    kept += [letter for axis, letter in enumerate(second) if axis not in right]
    equation = f"{''.join(first)},{''.join(second)}->{''.join(kept)}"
    return call.at.op(graph.EinsumOp([x.ssa, y.ssa], equation))


def static(dims: Sequence[Dim], call: Call, what: str) -> list[int]:
    """Dimensions as numbers. Raises: StepwellError `unsupported` for an open one."""
    if not all(dim.is_static for dim in dims):
        raise call.unsupported(f"{what} must be numbers, found {', '.join(map(str, dims))}")
    return [dim.value for dim in dims]

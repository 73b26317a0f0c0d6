"""Derivatives of graph ops against central differences in f64, and the list of ops that have none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.types import element_of, tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.graph.gradients import given as given  # it registers the rule of calls
from stepwell.passes.graph.gradients.decompositions import DECOMPOSED
from stepwell.passes.graph.gradients.rules import RULES, ops_with_derivative, rule_of_type, zero
from stepwell.passes.graph.gradients.without_derivative import REASONS
from tests.unit.passes.graph.gradients.derivative_cases import SIZES, Array, Build, Cases

STEP = 1e-5


def function_of(build: Build, arrays: Sequence[Array]) -> FuncOp:
    """`@f` with arguments for arrays, whose body is the op that is built, and what it is built on."""
    block = Block(arg_types=[tensor_type(element_of(a.dtype), a.shape) for a in arrays])
    op = build(*block.args)
    pending: list[Operation] = [op]
    ops: list[Operation] = []
    while pending:  # operands before their users
        each = pending.pop()
        if each in ops:
            ops.remove(each)
        ops.insert(0, each)
        pending += [v.owner for v in each.operands if isinstance(v.owner, Operation)]
    block.add_ops([*ops, ReturnOp(*op.results)])
    return FuncOp("f", (block.arg_types, op.result_types), Region(block))


def with_vjp(function: FuncOp, wrt: Sequence[int]) -> ModuleOp:
    """A module in which `@main` calls the product of cotangents of `@f`."""
    type = function.function_type
    floats = [t for t in type.outputs if is_float(t)]
    made = FunctionType.from_lists(
        [*type.inputs, *floats], [*type.outputs, *(type.inputs.data[number] for number in wrt)]
    )
    value = graph.VjpOp("f", wrt, made)
    block = Block(arg_types=made.inputs.data)
    call = graph.CallOp(value.result, list(block.args), made.outputs.data)
    block.add_ops([value, call, ReturnOp(*call.results)])
    return ModuleOp([function, FuncOp("main", made, Region(block))])


def check(build: Build, *arrays: Array, wrt: Sequence[int] | None = None) -> None:
    """Compare directional derivatives with central differences."""
    wrt = [i for i, a in enumerate(arrays) if a.dtype == np.float64] if wrt is None else wrt
    module, ctx = with_vjp(function_of(build, arrays), wrt), StepwellContext()
    verify_module(module)
    results = interpret(module, ctx, "f", list(arrays))
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    rng = np.random.default_rng(1)
    weights = [rng.standard_normal(r.shape) for r in results if r.dtype == np.float64]
    found = interpret(module, ctx, "main", [*arrays, *weights])
    for value, again in zip(results, found, strict=False):
        np.testing.assert_allclose(
            np.asarray(again, np.float64), np.asarray(value, np.float64), rtol=1e-12, atol=1e-14
        )
    gradients = found[len(results) :]

    def total(moved: Sequence[Array]) -> float:
        values = [r for r in interpret(module, ctx, "f", list(moved)) if r.dtype == np.float64]
        return sum(float(np.sum(w * np.asarray(v, np.float64))) for w, v in zip(weights, values, strict=True))

    for _ in range(4):
        along = [rng.standard_normal(arrays[i].shape) for i in wrt]
        shifted = [list(arrays), list(arrays)]
        for sign, moved in zip((1, -1), shifted, strict=True):
            for i, direction in zip(wrt, along, strict=True):
                moved[i] = arrays[i] + sign * STEP * direction
        wanted = (total(shifted[0]) - total(shifted[1])) / (2 * STEP)
        given = sum(
            float(np.sum(np.asarray(g, np.float64) * d)) for g, d in zip(gradients, along, strict=True)
        )
        assert given == pytest.approx(wanted, rel=1e-6, abs=1e-7)


FIRST = Cases(*SIZES[0]).all()


def wrt_of(arrays: Sequence[Array], name: str) -> list[int]:
    """The operands of floats; the limit and step of a range decide about its size."""
    if name == "graph.range":
        return [0, 2]
    masked = [2] if "masked" in name else []
    return [i for i, a in enumerate(arrays) if a.dtype == np.float64 and i - 1 not in masked]


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", FIRST)
def test_derivatives_agree_with_central_differences(name: str):
    build, arrays = FIRST[name]
    check(build, *arrays, wrt=wrt_of(arrays, name))


def test_each_op_has_a_rule_or_is_decomposed_or_says_why_not():
    for op in graph.OPS:
        stands = [rule_of_type(op) is not None, op in DECOMPOSED, op in REASONS]
        assert sum(stands) == 1, f"{op.name} is in {sum(stands)} of the lists"


def test_each_rule_has_a_case():
    ops_with_derivative()  # reads them
    rules = {name for name, rule in RULES.items() if rule is not zero}
    rules -= {"graph.if", "graph.for", "graph.while", "graph.call", "graph.tuple", "graph.get"}
    rules -= {"adt.make", "adt.match"}  # in the files beside, as those of control flow
    rules -= {"graph.observe"}  # the identity, of f32 alone
    assert not rules - {name.partition(" ")[0] for name in FIRST}

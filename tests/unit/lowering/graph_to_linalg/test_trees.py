"""Ensembles of trees in both forms: the digits of a walk by the text of ai.onnx.ml, row by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import VectorType

import stepwell as sw
from stepwell import Target
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.gpu.launch import LaunchFuncOp
from stepwell.dialects.graph.trees import MOST_LEAVES
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.lowering.emit_source import emit_kernels
from stepwell.lowering.interpret import interpret
from stepwell.lowering.onnx_to_graph.ml.tree_tables import tables_of
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import GPU_PIPELINE
from stepwell.runtime.meaning import Array
from tests.kernels import kernel
from tests.support.forests import FEATURES, random_nodes, random_rows, walked
from tests.support.samples import examples

_MOST_LEAVES = 300


class Forest:
    """Random trees with the operands of `graph.tree_ensemble`, and what they come to."""

    def __init__(self, seed: int, sizes: Sequence[int], depth: int, targets: int, **options: Any):
        rng = np.random.default_rng(seed)
        self.aggregate = str(options.pop("aggregate", "sum"))
        self.dtype = np.dtype(options.pop("dtype", np.float32))
        rows = int(options.pop("rows", 9))
        nodes = random_nodes(rng, sizes, depth, self.dtype, **options)
        weights = rng.standard_normal((len(nodes.features), targets)).astype(self.dtype)
        self.tables = tables = tables_of(nodes, FEATURES)
        self.x = random_rows(rng, rows, self.dtype)
        self.expected: Any = walked(nodes, self.x, weights, self.aggregate)
        own = weights[list(tables.leaves)]
        self.operands: list[Array] = [self.x, tables.nodes, tables.trees, own, *tables.bit_vectors]

    def module(self, *, is_open: bool = False) -> Any:
        """The op as a kernel, with an open number of rows or not."""

        def build(x: Any, *tables: Any) -> graph.TreeEnsembleOp:
            flips, facts = self.tables.flips, self.tables.facts
            return graph.TreeEnsembleOp(x, tables, aggregate=self.aggregate, flips=flips, **facts)

        names = [["N", FEATURES], *[None] * (len(self.operands) - 1)] if is_open else None
        return kernel(build, self.operands, names)

    def text(self, form: str, *, is_open: bool = False) -> str:
        """The op on level 2, with a schedule of a form."""
        module = self.module(is_open=is_open)
        run_pipeline(module, "convert-graph-to-linalg,choose-schedules", StepwellContext())
        return re.sub(r"#sched\.schedule<form.*?}>", f"#sched.schedule<{form}>", str(module))


_FORESTS = st.builds(
    Forest,
    seed=st.integers(0, 1 << 16),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    depth=st.integers(1, 12),
    targets=st.integers(1, 10),
    rows=st.integers(0, 20),
    aggregate=st.sampled_from(["sum", "min", "max"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    missing=st.booleans(),
    shared=st.booleans(),
)


@examples(40)
@given(forest=_FORESTS)
def test_the_meaning_walks(forest: Forest) -> None:
    found: Any = interpret(forest.module(), StepwellContext(), "main", forest.operands)[0]
    np.testing.assert_allclose(found, forest.expected, rtol=1e-5, atol=1e-6)


@examples(25)
@given(forest=_FORESTS, form=st.sampled_from(["walk", "bits"]), is_open=st.booleans())
def test_loops_have_the_digits_of_a_walk(forest: Forest, form: str, is_open: bool) -> None:
    sizes = "rows = 4, block = 8, trees = 3" if form == "walk" else "rows = 8, least = 3, trees = 3"
    if not forest.tables.bit_vectors:
        form, sizes = "walk", "rows = 4, block = 8, trees = 3"
    text = forest.text(f'form = "{form}", sizes = {{{sizes}}}', is_open=is_open)
    (found,) = sw.parse(text).run("expand-forms").interpret(*forest.operands)
    np.testing.assert_array_equal(found, forest.expected)


_COMPILED: Sequence[dict[str, Any]] = [
    {"sizes": [32] * 20, "depth": 5, "targets": 1},
    {"sizes": [32] * 20, "depth": 9, "targets": 3, "missing": False},
    {"sizes": [5, 64, 33, 2, 1] * 4, "depth": 12, "targets": 10, "aggregate": "max"},
    {"sizes": [64] * 5, "depth": 8, "targets": 70, "dtype": np.float64},
    {"sizes": [20] * 17, "depth": 6, "targets": 2, "shared": True, "aggregate": "min"},
    {"sizes": [_MOST_LEAVES, 65, 3], "depth": 12, "targets": 1, "shared": True},
    {"sizes": [17, 30, 2] * 4, "depth": 7, "targets": 1, "dtype": np.float64},
    {"sizes": [1], "depth": 1, "targets": 1},
]


@pytest.mark.sample(8)
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v3"])
@pytest.mark.parametrize("case", range(len(_COMPILED)))
@pytest.mark.parametrize("form", ["walk", "bits"])
def test_compiled_code_has_the_digits_of_a_walk(case: int, form: str, mcpu: str) -> None:
    options = _COMPILED[case]
    forest = Forest(case, **options, rows=150)
    if form == "bits" and not forest.tables.bit_vectors:
        pytest.skip(f"its trees have more than {MOST_LEAVES} leaves")
    model = sw.parse(forest.text(f'form = "{form}"', is_open=True)).compile(target=mcpu, threads=2)
    for rows in (150, 64, 41, 16, 7, 1, 0):
        x, *tables = forest.operands
        found: Any = model(x[:rows], *tables)
        np.testing.assert_array_equal(found, forest.expected[:rows])


@pytest.mark.parametrize(
    ("sizes", "rows", "form"),
    [([32] * 9, 64, "bits"), ([32] * 9, 2, "walk"), ([64] * 9, 64, "walk"), ([65] * 9, 64, "walk")],
)
def test_the_form_is_chosen(sizes: Sequence[int], rows: int, form: str) -> None:
    module = Forest(0, sizes, 7, 1, rows=rows).module()
    run_pipeline(module, "convert-graph-to-linalg,choose-schedules{mcpu=x86-64-v3}", StepwellContext())
    assert f'form = "{form}"' in str(module)


@pytest.mark.parametrize(("targets", "aggregate"), [(1, "sum"), (3, "max")])
def test_a_thread_of_a_gpu_walks_a_row(targets: int, aggregate: str) -> None:
    """Its languages have no vectors: a block of rows in lanes was the host's, or one thread's."""
    forest = Forest(5, [17, 30, 2, 1], 7, targets, aggregate=aggregate, rows=300)
    module, ctx = forest.module(), StepwellContext()
    module.attributes[TARGET] = SpecAttr.of(Target("webgpu"))
    run_pipeline(module, f"convert-graph-to-linalg,{GPU_PIPELINE}", ctx)
    assert not any(isinstance(result.type, VectorType) for op in module.walk() for result in op.results)
    emit_kernels(module, Target("webgpu"))  # nothing is refused
    launches = [op for op in module.walk() if isinstance(op, LaunchFuncOp)]
    assert max(constant_index(op.grid[0]) or 0 for op in launches) > 1  # rows are shared among threads
    (found,) = interpret(module, ctx, "main", forest.operands)
    np.testing.assert_array_equal(found, forest.expected)

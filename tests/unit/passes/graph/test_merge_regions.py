"""Regions of random graphs: without cycles, as large as they can be, and the program computes the same."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.graph.partition.annotate_target import TARGET
from stepwell.passes.graph.partition.merge_regions import REGION
from tests.patterns import Graph, elementwise
from tests.support.samples import whole


def random_graph(seed: int, ops: int = 24) -> Graph:
    """Unary and binary ops; most of them belong to one of two targets."""
    rng = random.Random(seed)
    names, lines = ["x", "y"], list[str]()
    for i in range(ops):
        recent = names[-rng.choice([2, 4, 99]) :]
        if rng.random() < 0.5:
            lines.append(f"v{i} = {rng.choice(['tanh', 'neg', 'relu'])} {rng.choice(recent)}")
        else:
            kind = rng.choice(["add", "maximum"])
            lines.append(f"v{i} = {kind} {rng.choice(recent)}, {rng.choice(names)}")
        names.append(f"v{i}")
    made = elementwise("; ".join(lines), returns=", ".join(names[-3:]))
    for op in made.func.body.block.ops:
        if op.results and (target := rng.choice(["a", "a", "b", None])) is not None:
            op.attributes[TARGET] = StringAttr(target)
    return made


def regions_of(made: Graph) -> dict[Operation, object]:
    """The region of each op, itself for one without."""
    ops = [op for op in made.func.body.block.ops if op.results]
    return {op: op.attributes.get(REGION, op) for op in ops}


def edges_of(regions: dict[Operation, object]) -> dict[object, set[object]]:
    """From each region to those that read it."""
    found: dict[object, set[object]] = defaultdict(set)
    for op, region in regions.items():
        for value in op.operands:
            source = regions.get(value.owner) if isinstance(value.owner, Operation) else None
            if source is not None and source != region:
                found[source].add(region)
    return found


def reaches(edges: dict[object, set[object]], start: object, end: object, *, indirectly: bool) -> bool:
    """Whether a way leads from one region to another; `indirectly`: through a third one."""
    stack = [region for region in edges[start] if not (indirectly and region == end)]
    seen: set[object] = set()
    while stack:
        region = stack.pop()
        if region == end:
            return True
        if region not in seen:
            seen.add(region)
            stack += edges[region]
    return False


@pytest.mark.parametrize("seed", range(40))
def test_regions_have_no_cycles_and_no_two_could_be_one(seed: int) -> None:
    made = random_graph(seed)
    run_pipeline(made.module, "merge-regions", made.ctx)
    regions = regions_of(made)
    edges = edges_of(regions)
    targets = {region: op.attributes.get(TARGET) for op, region in regions.items()}
    for region in list(edges):
        assert not reaches(edges, region, region, indirectly=False)
        for user in edges[region]:
            if targets[region] is not None and targets[region] == targets[user]:
                assert reaches(edges, region, user, indirectly=True), (region, user)


@pytest.mark.parametrize("seed", range(10))
def test_partitioned_programs_compute_the_same(seed: int) -> None:
    made = random_graph(seed)
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(2)]
    expected = interpret(made.module, made.ctx, "main", inputs)
    run_pipeline(made.module, "merge-regions,partition-graph", made.ctx)
    made.module.verify()
    assert any(isinstance(op, graph.ExternalOp) for op in made.func.body.block.ops)
    for result, wanted in zip(interpret(made.module, made.ctx, "main", inputs), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@whole
@pytest.mark.parametrize("kind", [pytest.param("chain", marks=whole), "fan"])
def test_thousands_of_ops_come_into_one_region(kind: str) -> None:
    if kind == "chain":
        lines = [f"v{i} = neg {'x' if i == 0 else f'v{i - 1}'}" for i in range(4_000)]
    else:
        lines = ["v0 = neg x", *(f"v{i} = tanh v0" for i in range(1, 4_000))]
    made = elementwise("; ".join(lines))
    for op in made.func.body.block.ops:
        if op.results:
            op.attributes[TARGET] = StringAttr("a")
    run_pipeline(made.module, "merge-regions", made.ctx)
    assert {str(op.attributes[REGION]) for op in made.func.body.block.ops if op.results} == {"0 : i64"}

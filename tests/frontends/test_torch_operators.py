"""
The samples of torch's own database of operators, against a ledger: what converts is equal to eager mode.

A line of the ledger has an operator, a dtype, and the outcomes of its samples, interpreted and compiled. What
is equal there must stay so. `python -m tests.frontends.test_torch_operators` writes the ledger.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.exported import read_torch
from stepwell.lowering.interpret import Program
from stepwell.lowering.torch_to_graph import converted_overloads
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from tests.frontends.torch_database import DTYPES, entries, is_close, outcomes, title
from tests.support.components import needs

torch = needs("torch")
pytestmark = pytest.mark.slow

LEDGER = Path(__file__).with_name("torch_operators.txt")
SHARDS = 16
TOGETHER = 16
"""Operators whose programs are compiled as one."""


@cache
def ledger() -> Mapping[tuple[str, str], Sequence[str]]:
    """The known outcomes by operator and dtype."""
    lines = (line.split("\t") for line in LEDGER.read_text(encoding="utf-8").splitlines())
    return {(name, dtype): found for name, dtype, *found in lines}


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_sample_is_lost(shard: int) -> None:
    lost: list[str] = []
    for dtype in DTYPES:
        for name, now in _current(entries(dtype)[shard::SHARDS], dtype):
            known = ledger().get((name, dtype), ())
            lost += [
                f"{name} {dtype} {number}: {before}, now {after}"
                for number, (before, after) in enumerate(zip(known, now, strict=False))
                if after not in (before, "equal")
            ]
    assert not lost, lost


def _current(ops: Sequence[Any], dtype: str) -> Iterator[tuple[str, list[str]]]:
    """The name of each operator, and the outcomes of its samples."""
    for begin in range(0, len(ops), TOGETHER):
        group = ops[begin : begin + TOGETHER]
        yield from zip(map(title, group), outcomes(group, dtype), strict=True)


def test_claimed_samples_are_equal() -> None:
    """
    Of the samples whose overloads are all converted, without what is refused for good.

    Results of bf16 may differ where torch rounds between the steps of an operator; these count as not equal.
    """
    counts = Counter((dtype, each) for (_, dtype), found in ledger().items() for each in found)
    for dtype in DTYPES:
        equal, refused, other = (
            counts[dtype, each] for each in ("equal", "refused: unsupported", "different")
        )
        assert equal > 200 and equal >= 0.97 * (equal + refused + other), dtype
        assert not other or dtype == "bf16"
    assert not [each for _, each in counts if each.startswith(("compiled", "crashed", "refused: invalid"))]


def test_overloads_of_core_aten_are_converted() -> None:
    packets = (getattr(torch.ops.aten, name) for name in dir(torch.ops.aten))
    overloads = [
        getattr(packet, name)
        for packet in packets
        if isinstance(packet, torch._ops.OpOverloadPacket)
        for name in packet.overloads()
    ]
    core = {str(each) for each in overloads if torch.Tag.core in each.tags}
    assert len(core) > 180 and len(core & set(converted_overloads())) >= 170, core - set(
        converted_overloads()
    )


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_reductions_at_indices(reduce: str, include_self: bool, dtype: Any) -> None:
    """Elements that nothing is written to stay; several updates of one element count."""

    class Module(torch.nn.Module):
        def forward(self, x: Any, index: Any, src: Any) -> Any:
            return x.scatter_reduce(1, index, src, reduce, include_self=include_self)

    torch.manual_seed(0)
    x, src = (torch.randint(-9, 9, shape).to(dtype) for shape in ((3, 5), (2, 7)))
    given = x, torch.randint(0, 4, (2, 6)), src
    context = StepwellContext()
    module = read_torch(torch.export.export(Module(), given, strict=False), context)
    run_pipeline(module, FROM_MODELS["torch"], context)
    (found,) = Program(module, context, quick=True)([each.numpy() for each in given], {})
    assert is_close(found, Module()(*given))


def main(dtypes: Sequence[str]) -> None:
    """Write the ledger, a line an operator and dtype; goes on where it was ended."""
    done = ledger() if LEDGER.exists() else {}
    with LEDGER.open("a", encoding="utf-8") as file:
        for dtype in dtypes or DTYPES:
            ops = [op for op in entries(dtype) if (title(op), dtype) not in done]
            for name, found in _current(ops, dtype):
                file.write("\t".join([name, dtype, *found]) + "\n")
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

"""
The samples of torch's own database of operators, against a ledger: what converts is equal to eager mode.

`python -m tests.frontends.test_torch_operators` writes the ledger; a case that it has as equal must stay so.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.torch.exported import read_torch
from stepwell.lowering.interpret import Program
from stepwell.lowering.torch_to_graph import converted_overloads
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.errors import StepwellError
from tests.support.components import needs

torch = needs("torch")
needs("expecttest")  # of torch's database
pytestmark = pytest.mark.slow

LEDGER = Path(__file__).with_name("torch_operators.txt")
LEFT_OUT = ("linalg.", "fft.", "sparse", "special", "to_sparse", "nn.functional.dropout", "torch.ops")
UNINITIALIZED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_as_".split()
)
"""Operators with results that have any elements."""
SAMPLES, LOOKED_AT = 3, 24
SHARDS = 16


def entries() -> list[Any]:
    """The operators of the database that have samples of f32."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if torch.float32 in op.dtypes and not title(op).startswith(LEFT_OUT)]


def title(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples(op: Any) -> Iterator[Any]:
    """A few samples of an operator, different in rank, keywords or number of arguments."""
    seen: set[object] = set()
    for sample in itertools.islice(op.sample_inputs("cpu", torch.float32), LOOKED_AT):
        key = (getattr(sample.input, "ndim", 0), tuple(sorted(sample.kwargs)), len(sample.args))
        if key not in seen and len(seen) < SAMPLES:
            seen.add(key)
            yield sample


def outcome(op: Any, sample: Any) -> str:
    """The outcome of a sample: `equal`, `refused`, `not exported`, or else what went wrong."""
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, spec = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    tensors = tuple(leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor))

    class Module(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            values = iter(given)
            args, kwargs = tree_unflatten(
                [next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec
            )
            return op.op(*args, **kwargs)

    try:
        with torch.no_grad(), redirect_stderr(StringIO()), redirect_stdout(StringIO()):
            wanted = tree_flatten(Module()(*[each.clone() for each in tensors]))[0]
            program = torch.export.export(Module().eval(), tensors, strict=False)
    except Exception:
        return "not exported"
    if not all(isinstance(each, torch.Tensor) for each in wanted):
        return "not exported"
    context = StepwellContext()
    try:
        module = read_torch(program, context)
        run_pipeline(module, FROM_MODELS["torch"], context)
    except StepwellError as error:
        return f"refused: {error.code}"
    found = Program(module, context, quick=True)([each.numpy() for each in tensors], {})
    if op.name in UNINITIALIZED:
        shapes = [each.shape for each in found], [tuple(each.shape) for each in wanted]
        return "equal" if shapes[0] == shapes[1] else "different"
    return "equal" if all(map(is_close, found, wanted)) else "different"


def is_close(found: Any, wanted: Any) -> bool:
    array = np.asarray(found)
    if wanted.dtype == torch.bfloat16:
        array, wanted = array.astype(np.float32), wanted.float()
    try:
        torch.testing.assert_close(
            torch.from_numpy(np.array(array)), wanted.contiguous(), equal_nan=True, rtol=1e-4, atol=1e-4
        )
    except (AssertionError, TypeError):
        return False
    return True


def outcomes(op: Any) -> list[str]:
    """The outcome of each sample of an operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [outcome(op, sample) for sample in samples(op)]
        except NotImplementedError:
            return []


@cache
def ledger() -> dict[str, list[str]]:
    """The known outcomes by operator."""
    lines = (line.split("\t") for line in LEDGER.read_text(encoding="utf-8").splitlines())
    return {name: found for name, *found in lines}


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_sample_is_lost(shard: int) -> None:
    torch.manual_seed(0)
    lost: list[str] = []
    for op in entries()[shard::SHARDS]:
        known = ledger().get(title(op))
        if known is None:
            continue
        for number, (before, now) in enumerate(zip(known, outcomes(op), strict=False)):
            if now not in (before, "equal"):
                lost.append(f"{title(op)} {number}: {before}, now {now}")
    assert not lost, lost


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


def main() -> None:
    """Write the ledger, an operator a line; goes on where it was ended."""
    done = ledger() if LEDGER.exists() else {}
    with LEDGER.open("a", encoding="utf-8") as file:
        for op in entries():
            if title(op) not in done:
                torch.manual_seed(0)
                file.write("\t".join([title(op), *outcomes(op)]) + "\n")
                file.flush()


if __name__ == "__main__":
    main()

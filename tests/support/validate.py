"""Translation validation: the same inputs through a module before and after a pipeline, results compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.scalars import numpy_dtype
from stepwell.lowering.interpret.signature import Signature
from stepwell.passes import Pass, parse_passes, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array

RELATIVE: Mapping[str, float] = {"float64": 1e-12, "float32": 2e-5, "float16": 5e-3, "bfloat16": 4e-2}
"""Tolerances by dtype, against the largest result: sums of a few hundred terms in another order."""
APPROXIMATE = 4e-2
"""The least tolerance for passes of the class `approximate`."""


def run_before_after(
    text: str,
    pipeline: str,
    inputs: Mapping[str, Sequence[Array]] | None = None,
    symbols: Mapping[str, int] | None = None,
) -> list[str]:
    """Run a pipeline on a module, and its functions before and after: `Validation` for one pipeline."""
    return Validation(text, inputs, symbols).run(pipeline)


class Validation:
    """
    A module on which pipelines run one after another, and its functions as they were in the beginning.

    Args: `inputs` by function name; others are made up, with `symbols` as sizes of dynamic dimensions.
    """

    def __init__(
        self,
        text: str,
        inputs: Mapping[str, Sequence[Array]] | None = None,
        symbols: Mapping[str, int] | None = None,
    ):
        self.ctx = StepwellContext()
        self.module = parse_module(self.ctx, text)
        self._before = self.module.clone()
        self._inputs = inputs or {}
        self._symbols = symbols
        self._known: dict[str, _Known | None] = {}
        self._numerics = Numerics.EXACT

    def run(self, pipeline: str) -> list[str]:
        """
        Run a pipeline, then each function that it leaves, and compare with the results of the beginning.

        Results must agree as well as the numeric classes of the passes promise.
        Returns: the names of the functions that ran; one that the interpreter cannot run before is left out.
        Raises: AssertionError when a result differs; StepwellError when a function that ran before the
        pipeline fails after it.
        """
        self._numerics = _looser(self._numerics, numerics_of(pipeline))
        run_pipeline(self.module, pipeline, self.ctx)
        self.module.verify()
        left = {f.sym_name.data for f in _functions(self.module)}
        names = [f.sym_name.data for f in _functions(self._before)]
        return [name for name in sorted({*names} & (left | self._inputs.keys())) if self._agrees(name)]

    def _agrees(self, name: str) -> bool:
        """Whether a function ran before and after; the results are the same then."""
        if name not in self._known:
            self._known[name] = self._first_run(name)
        if (known := self._known[name]) is None:
            return False
        try:
            found = interpret(self.module, self.ctx, name, known.inputs)
        except StepwellError as error:
            # A pass may fix dimensions that were open, or declare kernels that it had with their bodies.
            if error.code in ("bad-inputs", "unsupported", "unknown-function"):
                return False
            raise
        compare(name, known.results, found, self._numerics)
        return True

    def _first_run(self, name: str) -> _Known | None:
        function = next(f for f in _functions(self._before) if f.sym_name.data == name)
        try:
            given = self._inputs.get(name)
            inputs = made_up_inputs(function, self._symbols) if given is None else given
            return _Known(inputs, interpret(self._before, self.ctx, name, inputs))
        except (StepwellError, TypeError) as error:
            if name in self._inputs:
                raise AssertionError(f"@{name} does not run before the pipeline: {error}") from error
            return None


@dataclass(frozen=True)
class _Known:
    """The inputs of a function, and its results before any pipeline."""

    inputs: Sequence[Array]
    results: Sequence[Array]


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [f for f in module.walk() if isinstance(f, func.FuncOp) and f.body.blocks]


def made_up_inputs(
    function: func.FuncOp, symbols: Mapping[str, int] | None = None, seed: int = 0
) -> list[Array]:
    """
    Arrays for a function's inputs that reveal errors: no two elements alike, of both signs; small integers.

    Args: `symbols` gives sizes of dynamic dimensions; others get 5, 6, 7, …
    """
    signature = Signature.of(function)
    told = {name for dims in signature.dims for dim in dims for name in dim.symbols()}
    random = np.random.default_rng(seed)
    sizes = dict(symbols or {})
    free = count(5)
    made: list[Array] = []
    for type, dims in zip(signature.types[: signature.inputs], signature.dims, strict=False):
        for name in sorted({name for dim in dims for name in dim.symbols()} - sizes.keys()):
            sizes[name] = next(free)
        shape = [dim.evaluate(sizes) for dim in dims]
        dtype = numpy_dtype(type)
        if dtype.kind in "iu":
            made.append(random.integers(0, 4, shape).astype(dtype))
        elif dtype.kind == "b":
            made.append(random.integers(0, 2, shape).astype(dtype))
        else:
            made.append(random.standard_normal(shape).astype(dtype))
    if told >= set(signature.names):
        return made
    return [*made, *(np.array(sizes.get(name) or next(free)) for name in signature.names)]


def numerics_of(pipeline: str) -> Numerics:
    """The loosest class of the passes of a pipeline; passes below level 1 may round."""
    declared = [
        step.numerics
        if isinstance(step, Pass) and ".passes.graph." in type(step).__module__
        else Numerics.ROUNDING
        for step in parse_passes(pipeline)
    ]
    return _looser(*declared)


def _looser(*classes: Numerics) -> Numerics:
    return max(classes, key=list(Numerics).index, default=Numerics.EXACT)


def compare(
    name: str, expected: Sequence[Array], found: Sequence[Array], numerics: Numerics = Numerics.ROUNDING
) -> None:
    """Raises: AssertionError when results differ by more than their class allows."""
    assert len(found) == len(expected), f"@{name}: {len(found)} results instead of {len(expected)}"
    arrays = zip(map(np.asarray, expected), map(np.asarray, found), strict=True)  # scalars too
    for position, (want, have) in enumerate(arrays):
        where = f"result {position} of @{name}"
        assert have.dtype == want.dtype, f"{where}: {have.dtype} instead of {want.dtype}"
        assert have.shape == want.shape, f"{where}: shape {have.shape} instead of {want.shape}"
        if numerics is Numerics.QUANTIZED and want.dtype.kind in "iu":
            steps = have.astype(np.int64) - want.astype(np.int64)
            assert np.abs(steps).max(initial=0) <= 1, where
            continue
        relative = RELATIVE.get(want.dtype.name)
        if relative is None or numerics is Numerics.EXACT:
            np.testing.assert_array_equal(have, want, err_msg=where)  # zeros of both signs are equal
            continue
        if numerics is Numerics.APPROXIMATE:
            relative = max(relative, APPROXIMATE)
        wanted, had = want.astype(np.float64), have.astype(np.float64)
        scale = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        np.testing.assert_allclose(had, wanted, rtol=relative, atol=relative * float(scale), err_msg=where)

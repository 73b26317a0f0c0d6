"""
Watching a run: the first ops that make NaN, infinities and other suspect values, also inside of kernels.

Findings are makers alone, ops with suspect results of clean inputs, and the model's own inputs and constants.
What comes after them is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_array
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.debug.program import DebugProgram
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.values import Values

Mask = npt.NDArray[np.bool_]
Test = Callable[[Array], Mask]
DEFAULT = "nan,overflow"
_ALMOST = 0.99
"""The share of a type's largest number from which on a number counts as an overflow."""
_RANGE = re.compile(r"range=(?P<low>[^:]+):(?P<high>[^:]+)")


@dataclass(frozen=True)
class Finding:
    """A value with suspect elements: an input of the model, a constant, or made by an op of clean inputs."""

    value: str
    node: str
    """Empty for an input."""
    op: str
    """`input` for an input, `constant` for a constant."""
    kernel: str
    """Empty for both of them."""
    kind: str
    index: tuple[int, ...]
    """Of the first suspect element."""
    count: int
    share: float
    """The suspect share of all elements."""
    inputs: tuple[tuple[float, float], ...]
    """The least and greatest finite element of each input."""

    def __str__(self) -> str:
        ranges = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in self.inputs)
        where = f", kernel {self.kernel}" if self.kernel else ""
        of_node = f'value "{self.value}" of node "{self.node}" ({self.op}{where})'
        what = of_node if self.node else f'{self.op} "{self.value}"'
        return f"{self.kind}: {what}: {self.count} ({self.share:.1%}), the first at {list(self.index)}" + (
            f"; inputs {ranges}" if ranges else ""
        )


@dataclass(frozen=True)
class Watched:
    """The findings of a run in order, and the number of later values."""

    findings: list[Finding]
    bearers: int


@dataclass(frozen=True)
class Kind:
    """A kind of suspect elements."""

    name: str
    test: Test
    is_needed_whole: bool = False
    """Whether all elements must be suspect."""
    needs_finite_inputs: bool = False


def _is_float(array: Array) -> bool:
    return array.dtype.kind in "fV" and array.dtype.itemsize <= np.dtype(np.float64).itemsize


def _none(array: Array) -> Mask:
    return np.zeros(array.shape, np.bool_)


def _nan(array: Array) -> Mask:
    return np.isnan(array.astype(np.float64)) if _is_float(array) else _none(array)


def _inf(array: Array) -> Mask:
    return np.isinf(array.astype(np.float64)) if _is_float(array) else _none(array)


def _limits(array: Array) -> Any:
    """The limits of an array's floats, narrow ones included."""
    finfo: Any = ml_dtypes.finfo
    return finfo(array.dtype)


def _overflow(array: Array) -> Mask:
    if not _is_float(array):
        return _none(array)
    return np.abs(array.astype(np.float64)) >= _ALMOST * float(_limits(array).max)


def _denormal(array: Array) -> Mask:
    if not _is_float(array):
        return _none(array)
    size = np.abs(array.astype(np.float64))
    return (size > 0) & (size < float(_limits(array).tiny))


def _zeros(array: Array) -> Mask:
    return array.astype(np.float64) == 0 if array.dtype.kind in "fVui" else _none(array)


def _saturated(array: Array) -> Mask:
    if array.dtype.kind not in "iu":
        return _none(array)
    limits = np.iinfo(array.dtype.name)
    return (array == limits.max) | (array == limits.min) if limits.min else array == limits.max


def _outside(low: float, high: float, array: Array) -> Mask:
    if array.dtype.kind not in "fVui":
        return _none(array)
    numbers = array.astype(np.float64)
    return (numbers < low) | (numbers > high)


_KINDS: Mapping[str, Kind] = {
    "nan": Kind("nan", _nan),
    "inf": Kind("inf", _inf),
    "overflow": Kind("overflow", _overflow, needs_finite_inputs=True),
    "denormal": Kind("denormal", _denormal),
    "zeros": Kind("zeros", _zeros, is_needed_whole=True),
    "saturated": Kind("saturated", _saturated),
}
KINDS = (*_KINDS, "range=LO:HI")


def kinds_of(*texts: str) -> list[Kind]:
    """The kinds in texts such as `nan,range=-10:10`. Raises: StepwellError `bad-option`."""
    return [_kind(word.strip()) for text in texts for word in text.split(",")]


def _kind(word: str) -> Kind:
    if word.startswith("range="):
        try:
            match = _RANGE.fullmatch(word)
            low, high = (float("nan"),) * 2 if match is None else (float(match["low"]), float(match["high"]))
        except ValueError:
            low = high = float("nan")
        if not low <= high:
            raise StepwellError("bad-option", None, f"range needs LO:HI, found {word!r}")
        return Kind(word, partial(_outside, low, high))
    if word not in _KINDS:
        message = f"there is nothing called {word!r} to watch"
        raise StepwellError("bad-option", None, message, help=f"it is {', '.join(KINDS)}")
    return _KINDS[word]


def watch_run(values: Values, recorded: Recorded, kinds: Sequence[Kind]) -> Watched:
    """The findings in the values of a run, kernel by kernel."""
    watching = _Watching(values.program, kinds, values.by_value)
    for name, value, array in _inputs(values, recorded):
        watching.given(name, "input", value, array)
    for name in values.names:  # of weights, constants that the program has are looked at
        value = values.located(name)
        if value is not None and isinstance(value.owner, graph.ConstantOp):
            watching.given(name, "constant", value, constant_array(value.owner, values.program.ctx.weights))
    for call in values.program.calls:
        for op, arrays in _computed(call, values, recorded):
            watching.op(op, call, arrays)
    return Watched(watching.findings, watching.bearers)


def watch_inputs(values: Values, recorded: Recorded, kinds: Sequence[Kind]) -> list[Finding]:
    """The findings in the inputs of a run."""
    watching = _Watching(values.program, kinds, values.by_value)
    for name, value, array in _inputs(values, recorded):
        watching.given(name, "input", value, array)
    return watching.findings


def _inputs(values: Values, recorded: Recorded) -> Iterator[tuple[str, SSAValue, Array]]:
    """The name, value and array of each input that is a tensor."""
    for name in filter(values.is_input, values.names):
        value = values.expect(name)
        if isinstance(array := recorded.array(value), np.ndarray):
            yield name, value, array


def _computed(
    call: Operation, values: Values, recorded: Recorded
) -> Iterator[tuple[Operation, Mapping[SSAValue, Array]]]:
    """The ops of a call with the arrays of their operands and results: those of a kernel, or the call."""
    around = {value: recorded.array(value) for value in (*call.operands, *call.results)}
    arrays = {value: array for value, array in around.items() if array is not None}
    if not isinstance(call, graph.FusedOp):
        yield call, arrays
        return
    try:
        inside = values.inside(call, recorded)
    except StepwellError:  # the interpreter cannot run one of its ops
        inside = None
    if inside is None:
        yield call, arrays
        return
    arguments = zip(call.body.block.args, call.operands, strict=True)
    arrays |= inside
    arrays |= {argument: arrays[operand] for argument, operand in arguments if operand in arrays}
    for op in call.body.block.ops:
        if not isinstance(op, graph.YieldOp):
            yield op, _with_observed(op, call, arrays, values)


def _with_observed(
    op: Operation, call: graph.FusedOp, arrays: Mapping[SSAValue, Array], values: Values
) -> Mapping[SSAValue, Array]:
    """The arrays of an op, with the kernel's own results in place of computed ones."""
    found = dict(arrays)
    for result in op.results:
        border = values.border(result)
        if border is not None and border in arrays and arrays[border].size == arrays[result].size:
            found[result] = arrays[border]
    return found


@dataclass
class _Watching:
    program: DebugProgram
    kinds: Sequence[Kind]
    names: Mapping[SSAValue, str]
    findings: list[Finding] = field(default_factory=list[Finding])
    bearers: int = 0
    _dirty: set[tuple[str, SSAValue]] = field(default_factory=set[tuple[str, SSAValue]])
    _bearing: set[SSAValue] = field(default_factory=set[SSAValue])

    def given(self, name: str, what: str, value: SSAValue, array: Array) -> None:
        """Look at an input or a constant (`what`); an infinite one is no overflow."""
        for kind in self.kinds:
            if not kind.needs_finite_inputs and (mask := suspect(kind, array)) is not None:
                self._dirty.add((kind.name, value))
                owner = value.owner
                node = self.program.origins.last_node(owner) if isinstance(owner, Operation) else ""
                self.findings.append(_finding(name, node, what, "", kind, mask, ()))

    def op(self, op: Operation, call: Operation, arrays: Mapping[SSAValue, Array]) -> None:
        """Look at the results of an op."""
        aliases = self._aliases(op, call)
        inputs = [(aliases.get(v, v), arrays[v]) for v in op.operands if v in arrays]
        for result in op.results:
            if result not in arrays:
                continue
            for kind in self.kinds:
                if (mask := suspect(kind, arrays[result])) is not None:
                    self._judge(kind, mask, op, call, result, inputs)

    def _aliases(self, op: Operation, call: Operation) -> dict[SSAValue, SSAValue]:
        """The values around a kernel that its arguments are."""
        if not isinstance(call, graph.FusedOp) or op is call:
            return {}
        return dict(zip(call.body.block.args, call.operands, strict=True))

    def _judge(
        self,
        kind: Kind,
        mask: Mask,
        op: Operation,
        call: Operation,
        result: SSAValue,
        inputs: Sequence[tuple[SSAValue, Array]],
    ) -> None:
        inherited = any(
            (name, value) in self._dirty for value, _ in inputs for name in {kind.name, "overflow", "nan"}
        )
        bears = any(suspect(kind, array) is not None for _, array in inputs)
        infinite = kind.needs_finite_inputs and any(_inf(array).any() for _, array in inputs)
        if bears or infinite:
            if inherited:
                self._mark(kind, result, call)
                self._count(result)
            return
        self._mark(kind, result, call)
        if inherited:
            self._count(result)
            return
        ranges = tuple(value_range(array) for _, array in inputs if array.dtype.kind in "fVui")
        name = self.names.get(result) or result.name_hint or ""
        node = self.program.origins.last_node(op)
        kernel = self.program.name_of(call)
        self.findings.append(_finding(name, node, op.name, kernel, kind, mask, ranges))

    def _mark(self, kind: Kind, result: SSAValue, call: Operation) -> None:
        self._dirty.add((kind.name, result))
        last = call.body.block.last_op if isinstance(call, graph.FusedOp) else None
        if last is not None:
            for yielded, outer in zip(last.operands, call.results, strict=True):
                if yielded is result:
                    self._dirty.add((kind.name, outer))

    def _count(self, result: SSAValue) -> None:
        if result not in self._bearing:
            self._bearing.add(result)
            self.bearers += 1


def suspect(kind: Kind, array: Array) -> Mask | None:
    """The suspect elements of an array; None where there are none, or too few."""
    mask = kind.test(np.asarray(array))
    is_suspect = mask.all() and mask.size if kind.is_needed_whole else mask.any()
    return np.atleast_1d(mask) if is_suspect else None


def _finding(
    value: str,
    node: str,
    op: str,
    kernel: str,
    kind: Kind,
    mask: Mask,
    ranges: tuple[tuple[float, float], ...],
) -> Finding:
    first = tuple(int(i) for i in np.unravel_index(int(mask.argmax()), mask.shape))
    count = int(mask.sum())
    return Finding(value, node, op, kernel, kind.name, first, count, count / mask.size, ranges)


def value_range(array: Array) -> tuple[float, float]:
    """The least and greatest finite element; NaN where there is none."""
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    return (float(finite.min()), float(finite.max())) if finite.size else (float("nan"), float("nan"))

"""
Comparison of a run with a reference: the local and the total difference of each kernel, and the first node
that departs.

The local difference compares a kernel's results with its meaning at level 1 on the same inputs: it is large
when levels 2 to 4 or LLVM are wrong. The total difference compares the model's values with the reference's:
it alone is large when a pass of level 1 or an earlier kernel is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from textwrap import indent
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.locations import node_names
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.check.check import is_quantizing
from stepwell.tools.check.differences import allowed_of_model, relative_difference
from stepwell.tools.check.judgement import slack_of
from stepwell.tools.debug.program import DebugProgram
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.references import Reference
from stepwell.tools.debug.values import Values

if TYPE_CHECKING:
    from stepwell.tools.bisect.finding import Finding

_FLIPS = 1e-2
"""The mean difference, in a model that rounds to integers, of values that were almost between two of them."""

_SHOWN_NAMES = 3
"""The names in an error of each side of a comparison."""

_NOISY_RUNS = 8
"""The runs of a kernel with other roundings: few elements are so near to a half that one run shows it."""


@dataclass(frozen=True)
class KernelDifference:
    """The differences of a kernel, each relative to the scale of the values, and what rounding allows."""

    name: str
    nodes: tuple[str, ...]
    local: float | None
    """None for a kernel that did not run, or whose meaning or inputs are not known."""
    total: float | None
    """The largest of its values in the model; None where the reference has none of them."""
    allowed: float

    @property
    def is_right(self) -> bool:
        """Whether the kernel computes its meaning, as far as that is known."""
        return self.local is None or self.local <= self.allowed


@dataclass(frozen=True)
class ValueDifference:
    """The difference of a value of the model from the reference's."""

    name: str
    node: str
    op: str
    difference: float
    allowed: float

    @property
    def is_right(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference <= self.allowed


@dataclass(frozen=True)
class Departure:
    """The first node, in the model's order, whose value departs from the reference, and its kernel."""

    value: ValueDifference
    kernel: KernelDifference | None
    is_rounding: bool = False
    """Whether each node is right on the inputs that it had, so that only roundings have grown."""
    guilty: Finding | None = None
    """The pass run at fault, where it was searched for."""

    @property
    def is_of_graph(self) -> bool:
        """Whether the kernel is right on its own inputs, so that a pass of level 1 is at fault."""
        return self.kernel is None or self.kernel.is_right

    def to_json(self) -> dict[str, object]:
        """The departure as JSON values; a search adds the pass and the keys after it."""
        return {
            "node": self.value.node,
            "value": self.value.name,
            "kernel": None if self.kernel is None else self.kernel.name,
            "difference": self.value.difference,
            "allowed": self.value.allowed,
            "rounding": self.is_rounding,
            "level": "graph" if self.is_of_graph else None,
            "pass": None,
            "rewrite": None,
            "replay": None,
            **({} if self.guilty is None else self._guilt(self.guilty.facts())),
        }

    def _guilt(self, facts: Mapping[str, object]) -> dict[str, object]:
        return {**{key: facts[key] for key in ("level", "pass", "rewrite")}, "replay": facts["bad"]}

    def __str__(self) -> str:
        value, kernel = self.value, self.kernel
        line = (
            f'wrong: node "{value.node}" ({value.op}), value "{value.name}": '
            f"difference {value.difference:.2g} of its range, allowed {value.allowed:.0e}"
        )
        if kernel is None:
            return line
        verdict = "right" if kernel.is_right else "wrong"
        local = "not known" if kernel.local is None else f"{verdict} (difference {kernel.local:.2g})"
        guilt = "so a pass below level 1 did it, or LLVM"
        if kernel.is_right:
            guilt = "and so is each node: roundings grow" if self.is_rounding else "so a graph pass did it"
        nodes = " ".join(kernel.nodes)
        line = f"{line}\n  kernel {kernel.name} = {nodes}, on its own inputs: {local}, {guilt}"
        return line if self.guilty is None else f"{line}\n{indent(str(self.guilty), '  ')}"


@dataclass(frozen=True)
class Comparison:
    """A run compared with a reference, kernel by kernel."""

    kernels: list[KernelDifference]
    values: list[ValueDifference]
    """Those of the model that were judged, in its order."""
    first: Departure | None
    """None when nothing departs."""
    unjudged: list[str] = field(default_factory=list[str])
    """The values without a reference, or without memory."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """By node that the reference cannot run: why."""
    wanted: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """The reference's values by name."""

    def expect_judged(self) -> None:
        """
        Require that some value was compared. Raises: StepwellError `no-reference`.

        Without one, "nothing departs" would be said of a list of values with other names.
        """
        if self.values or not self.unjudged or self.first is not None:
            return
        has = ", ".join(list(filter(None, self.wanted))[:_SHOWN_NAMES]) or "no values"
        why = "".join(f'; node "{node}": {reason}' for node, reason in list(self.refused.items())[:1])
        raise StepwellError(
            "no-reference",
            None,
            f"nothing was compared: none of the reference's values is one of the compiled program{why}",
            help=f"the reference has {has}, the model {', '.join(self.unjudged[:_SHOWN_NAMES])}; "
            "`stepwell debug MODEL --list` has all names",
        )

    def to_json(self) -> dict[str, object]:
        """The kernels and the departure as JSON values."""
        return {
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "first": None if self.first is None else self.first.to_json(),
            "unjudged": self.unjudged,
            "refused": dict(self.refused),
        }

    def __str__(self) -> str:
        lines = [
            f"{k.name}: local {_number(k.local)}, total {_number(k.total)}, allowed {k.allowed:.0e}"
            f"  {' '.join(k.nodes)}"
            for k in self.kernels
        ]
        lines += [f'no reference for node "{node}": {why}' for node, why in self.refused.items() if node]
        if self.unjudged:
            lines.append(f"not judged: {', '.join(self.unjudged)}")
        lines.append("nothing departs" if self.first is None else str(self.first))
        return "\n".join(lines)


def _mean_difference(found: Array, wanted: Array) -> float:
    """The root of the mean squared difference, relative to the range; infinite where shapes differ."""
    if found.shape != wanted.shape or not wanted.size or wanted.dtype.kind not in "fiu":
        return float("inf")
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    return float(np.sqrt(np.mean((a - b) ** 2))) / (float(np.ptp(b)) or 1.0)


def _number(difference: float | None) -> str:
    return "-" if difference is None else f"{difference:.2g}"


def compare_run(values: Values, recorded: Recorded, reference: Reference) -> Comparison:
    """Compare the recorded values of a run with a reference."""
    return _Comparing(values, recorded, reference).result()


class _Comparing:
    def __init__(self, values: Values, recorded: Recorded, reference: Reference):
        self._values, self._recorded, self._reference = values, recorded, reference
        self._program: DebugProgram = values.program
        self._is_quantized = is_quantizing(value.op for value in self._program.origins.values)
        self._judged: dict[str, ValueDifference] = {}
        self._unjudged: dict[str, None] = {}
        self._of_kernel: dict[Operation, KernelDifference] = {}

    def result(self) -> Comparison:
        """The comparison, kernel by kernel, since the values inside of each take memory."""
        named: dict[Operation | None, list[str]] = {}
        for name in self._values.names:
            value = self._values.located(name)
            node = self._values.node(name)
            if value is not None and node is not None and node.weight is None:
                named.setdefault(self._program.kernel_of(value), []).append(name)
        for kernel in self._program.calls:
            local = self._local(kernel) if isinstance(kernel, graph.FusedOp) else None
            totals = [self._total(name) for name in named.pop(kernel, [])]
            known = [total for total in totals if total is not None]
            nodes = tuple(node_names(kernel.location))
            self._of_kernel[kernel] = KernelDifference(
                self._program.name_of(kernel),
                nodes,
                None if local is None else local[0],
                max(known, default=None),
                self._local_allowed(kernel) if local is None else local[1],
            )
        for names in named.values():
            for name in names:
                self._total(name)
        order = {name: place for place, name in enumerate(self._values.names)}
        judged = sorted(self._judged.values(), key=lambda value: order[value.name])
        kernels = [k for op, k in self._of_kernel.items() if isinstance(op, graph.FusedOp)]
        unjudged = sorted(self._unjudged, key=order.__getitem__)
        return Comparison(
            kernels, judged, self._first(judged), unjudged, self._reference.refused, self._reference.values
        )

    def _local(self, kernel: graph.FusedOp) -> tuple[float, float] | None:
        """
        The largest difference of a kernel's results from its meaning on its inputs, and the allowed one.

        Where it is larger than usual, other roundings of the kernel's own ops say how much they may do.
        """
        found = [self._recorded.array(result) for result in kernel.results]
        inputs = self._values.inputs(kernel, self._recorded)
        if inputs is None or any(array is None for array in found):
            return None
        body, sizes = self._values.body(kernel), self._recorded.known_sizes()
        try:
            inside, wanted = body(inputs, sizes)
        except StepwellError:
            return None
        self._recorded.inside = {kernel: inside}
        pairs = zip((array for array in found if array is not None), wanted, strict=True)
        difference = max(relative_difference(have, np.asarray(want)) for have, want in pairs)
        allowed = self._local_allowed(kernel)
        if difference > allowed:
            noisy = (body.with_noise(inputs, sizes, seed) for seed in range(_NOISY_RUNS))
            allowed = max(allowed, *(each for outputs in noisy for each in slack_of(outputs, wanted)))
        return difference, allowed

    def _local_allowed(self, kernel: Operation) -> float:
        arrays = [self._recorded.array(result) for result in kernel.results]
        return max((self._allowed(array) for array in arrays if array is not None), default=0.0)

    def _allowed(self, array: Array) -> float:
        return allowed_of_model(array.dtype, quantized=self._is_quantized)

    def _total(self, name: str) -> float | None:
        node, wanted = self._values.node(name), self._reference.values.get(name)
        if node is None:
            return None
        found = None if wanted is None else self._found(name)
        if found is None or wanted is None:
            self._unjudged[name] = None
            return None
        difference = relative_difference(found, wanted)
        allowed = self._allowed(wanted)
        self._judged[name] = ValueDifference(name, node.node, node.op, difference, allowed)
        return difference

    def _first(self, judged: list[ValueDifference]) -> Departure | None:
        wrong = [value for value in judged if not value.is_right]
        for value in wrong:
            kernel = self._kernel_of(value.name)
            if (kernel is not None and not kernel.is_right) or not self._is_inherited(value):
                return Departure(value, kernel)
        if (departure := next(self._wrong_kernels(), None)) is not None:
            return departure
        outputs = {spec.name for spec in self._program.interface.outputs}
        if any(value.name in outputs for value in wrong):
            return Departure(wrong[0], self._kernel_of(wrong[0].name), is_rounding=True)
        return None

    def _is_inherited(self, value: ValueDifference) -> bool:
        """Whether the node of a value is right on its recorded inputs, whose difference the value has."""
        wanted = self._reference.alone(value.name, self._found)
        found = self._found(value.name)
        if wanted is None or found is None:
            return False
        if self._is_quantized and _mean_difference(found, wanted) <= _FLIPS:
            return True
        return relative_difference(found, wanted) <= value.allowed

    def _found(self, name: str) -> Array | None:
        """The array of a value in the run; None where the program has none."""
        try:
            return self._values.array(name, self._recorded)
        except StepwellError:
            return None

    def _wrong_kernels(self) -> Iterator[Departure]:
        """Kernels that are wrong although all values that have a reference are right."""
        for op, kernel in self._of_kernel.items():
            if not kernel.is_right and kernel.local is not None:
                node = self._program.origins.last_node(op)
                named = next((v for v in self._program.origins.values if v.node == node), None)
                name, kind = ("", "") if named is None else (named.name, named.op)
                yield Departure(ValueDifference(name, node, kind, kernel.local, kernel.allowed), kernel)

    def _kernel_of(self, name: str) -> KernelDifference | None:
        value = self._values.located(name)
        kernel = None if value is None else self._program.kernel_of(value)
        return None if kernel is None else self._of_kernel.get(kernel)

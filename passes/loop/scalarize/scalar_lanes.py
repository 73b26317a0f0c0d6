"""The vectors of a function as a 1:N conversion: a scalar for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import RewritePattern

from stepwell.patterns.driver.one_to_many import OneToMany
from stepwell.runtime.errors import StepwellError


class ScalarLanes(OneToMany["list[SSAValue]"]):
    """The lanes of each vector that was replaced, in order."""

    def is_split(self, type: Attribute) -> bool:
        return isinstance(type, VectorType)

    def types(self, value: SSAValue) -> Sequence[Attribute]:
        vector = cast("VectorType[Attribute]", value.type)
        if vector.get_num_dims() != 1:
            owner = value.owner if isinstance(value.owner, Operation) else None
            help = "run unroll-vectors first: it leaves vectors of one dimension"
            raise StepwellError("unsupported", owner, f"{vector} has several dimensions", help=help)
        return [vector.element_type] * vector.get_shape()[0]

    def gathered(self, value: SSAValue, values: Sequence[SSAValue]) -> list[SSAValue]:
        return list(values)

    def values(self, pieces: list[SSAValue]) -> Sequence[SSAValue]:
        return pieces

    def whole(self, value: SSAValue) -> list[SSAValue]:
        owner = value.owner if isinstance(value.owner, Operation) else None
        name = owner.name if owner is not None else "an argument"
        raise StepwellError("unsupported", owner, f"{name} of type {value.type} has no form on scalars")


@dataclass
class LanePattern(RewritePattern):
    """The base class of patterns that replace an op on vectors by ops on their lanes."""

    lanes: ScalarLanes

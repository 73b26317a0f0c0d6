"""Constants in other layouts, each made once for all ops that read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import DimLike
from stepwell.passes.context import count
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


class PackedConstants:
    """The packed forms of constants, by the constant and the name of the form."""

    def __init__(self, weights: WeightStore):
        self._weights = weights
        self._made: dict[tuple[SSAValue, str], SSAValue] = {}

    def of(
        self,
        value: SSAValue,
        form: str,
        shape: Sequence[DimLike],
        arrange: Callable[[Array], Array],
        element: Attribute | None = None,
    ) -> SSAValue:
        """
        A constant in a form, which a function computes.

        Args: `element` is the type of its elements, by default that of the constant.
        """
        constant = value.owner
        assert isinstance(constant, graph.ConstantOp)
        if (value, form) not in self._made:
            made = constant.derived(form, arrange, shape, self._weights, element=element)
            count("weights packed")
            self._made[value, form] = IRBuilder.after(constant).value(made)
        return self._made[value, form]

"""Positions of a thread in its block and grid, and the sizes of both."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure


class _AlongDimension(IRDLOperation):
    """An op with an index along a dimension as result."""

    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$dimension attr-dict"

    def __init__(self, dimension: DimensionEnum):
        super().__init__(result_types=[IndexType()], properties={"dimension": DimensionAttr(dimension)})


@irdl_op_definition
class ThreadIdOp(_AlongDimension):
    """
    The position of the thread in its block along a dimension.

    ```mlir
    %t = gpu.thread_id x
    ```
    """

    name = "gpu.thread_id"


@irdl_op_definition
class BlockIdOp(_AlongDimension):
    """
    The position of the block in the grid along a dimension.

    ```mlir
    %b = gpu.block_id x
    ```
    """

    name = "gpu.block_id"


@irdl_op_definition
class BlockDimOp(_AlongDimension):
    """
    The number of threads of a block along a dimension.

    ```mlir
    %n = gpu.block_dim x
    ```
    """

    name = "gpu.block_dim"


@irdl_op_definition
class GridDimOp(_AlongDimension):
    """
    The number of blocks of the grid along a dimension.

    ```mlir
    %n = gpu.grid_dim x
    ```
    """

    name = "gpu.grid_dim"


@irdl_op_definition
class GlobalIdOp(_AlongDimension):
    """
    The position of the thread in the grid: block id times block size, plus thread id.

    ```mlir
    %i = gpu.global_id x
    ```
    """

    name = "gpu.global_id"


class _OfSubgroup(IRDLOperation):
    """An op with an index as result."""

    result = result_def(IndexType)
    traits = traits_def(Pure())

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class LaneIdOp(_OfSubgroup):
    """
    The position of the thread in its subgroup.

    ```mlir
    %l = gpu.lane_id
    ```
    """

    name = "gpu.lane_id"
    assembly_format = "attr-dict"


@irdl_op_definition
class SubgroupIdOp(_OfSubgroup):
    """
    The position of the subgroup in its block; `: index` may follow, as in MLIR.

    ```mlir
    %s = gpu.subgroup_id : index
    ```
    """

    name = "gpu.subgroup_id"
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class SubgroupSizeOp(_OfSubgroup):
    """
    The number of threads of a subgroup.

    ```mlir
    %n = gpu.subgroup_size : index
    ```
    """

    name = "gpu.subgroup_size"
    assembly_format = "attr-dict `:` type($result)"

"""The types of values in scripts: a stage, and a loop of one."""

from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class StageType(ParametrizedAttribute, TypeAttribute):
    """An op of a kernel that has a schedule, or will have."""

    name = "sched.stage"


@irdl_attr_definition
class LoopType(ParametrizedAttribute, TypeAttribute):
    """A loop of a stage, or a part of it that a split has made."""

    name = "sched.loop"


STAGE, LOOP = StageType(), LoopType()

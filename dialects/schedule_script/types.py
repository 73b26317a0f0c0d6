"""The types of values in scripts: a stage, a loop of one, the factors of a split, and a choice."""

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


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """The factors of a split, as a search has chosen them."""

    name = "sched.tile"


@irdl_attr_definition
class ChoiceType(ParametrizedAttribute, TypeAttribute):
    """A number or a text that a search has chosen."""

    name = "sched.choice"


STAGE, LOOP, TILE, CHOICE = StageType(), LoopType(), TileType(), ChoiceType()

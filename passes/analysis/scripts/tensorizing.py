"""`tensorize`: the code of an intrinsic in place of tiles of a stage, where these are its formula."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.schedule_script import IntrinsicOp, intrinsics_of
from stepwell.dialects.schedule_script.known_intrinsics import KNOWN, known_intrinsic
from stepwell.dialects.tensor_ir.rewrites.same_formula import Comparison, Difference
from stepwell.dialects.tensor_ir.rewrites.tensorized import OuterLoop, Tensorized
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.analysis.scripts.formula import Formula, listed
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Kind, Loop, Nest
from stepwell.passes.analysis.scripts.rewrites import Target, generic_of
from stepwell.runtime.errors import did_you_mean


def tensorize(target: Target, loop: Loop, intrinsic: IntrinsicOp) -> None:
    """Replace a loop, with the loops inside of it, by the code of an intrinsic."""
    nest, name = target.nest, intrinsic.sym_name.data
    assert nest is not None
    op = generic_of(target)
    nest.expect_present(loop)
    at = nest.loops.index(loop)
    _expect_kinds(nest, at)
    sizes = _tile(nest, nest.loops[:at])
    formula = Structured.of(intrinsic.generic)
    assert formula is not None
    if not nest.view.can_slice(set(range(nest.view.rank))):
        raise IllegalStepError(f"tiles of {target.name} reach no slices: {nest.formula}")
    accesses = _accesses(nest.formula), _accesses(Formula.of(formula, "result"))
    found = Comparison(nest.view, sizes, formula, nest.formula.loops, name, accesses).paired()
    if isinstance(found, Difference):
        raise IllegalStepError(found.message, _help(found, intrinsic))
    parameters: list[SSAValue] = [*intrinsic.function("meaning").body.block.args]
    positions = [parameters.index(value) for value in intrinsic.generic.operands]
    of_argument: dict[int, int] = {}
    for argument, own in zip(positions, found.operands, strict=True):
        first = of_argument.setdefault(argument, own)
        if (op.operands[first], nest.view.maps[first]) != (op.operands[own], nest.view.maps[own]):
            access = nest.formula.access_of(op.operands[own])
            raise IllegalStepError(f"{name} reads one operand twice, the stage reads {access} as well")
    outer = [
        OuterLoop(o.dim, o.step, nest.kind(o) is Kind.PARALLEL, nest.kind(o) is Kind.UNROLLED)
        for o in nest.loops[:at]
    ]
    Tensorized(nest.view, tuple(outer), tuple(sizes), intrinsic.function("code"), of_argument).write()


def _accesses(formula: Formula) -> list[str]:
    """The operands of an op as `A[i, r]`."""
    return [formula.access_of(value) for value in formula.view.op.operands]


def _expect_kinds(nest: Nest, at: int) -> None:
    """Require lanes to be none of the loops outside, and no decision about those inside."""
    for loop in nest.loops[:at]:
        if nest.kind(loop) in (Kind.VECTOR, Kind.INSIDE):
            raise IllegalStepError(f"loop {loop.name} is {nest.kind(loop).value}, and contains the tile")
    for loop in nest.loops[at:]:
        if nest.kind(loop) is not Kind.SERIAL:
            raise IllegalStepError(
                f"loop {loop.name} is {nest.kind(loop).value}, and the code of an intrinsic replaces it"
            )


def _tile(nest: Nest, outer: Sequence[Loop]) -> list[int]:
    """The iterations of each loop in a tile. Raises: IllegalStepError where tiles are not all of one size."""
    sizes: list[int] = []
    for dim in range(nest.view.rank):
        found = nest.view.extents[dim]
        for loop in (each for each in outer if each.dim == dim):
            if found is None:
                break
            if found % loop.step:
                raise IllegalStepError(
                    f"tiles of {loop.step} leave {found % loop.step} of the {found} iterations of loop "
                    f"{nest.formula.loops[dim]} over",
                    f"split by a divisor, or pad({nest.formula.loops[dim]}, {loop.step}) first",
                )
            found = loop.step
        if found is None:
            raise IllegalStepError(f"the extent of loop {nest.formula.loops[dim]} is known at run time")
        sizes.append(found)
    return sizes


def _help(difference: Difference, intrinsic: IntrinsicOp) -> str:
    """The next step after a difference."""
    if difference.progress < 2:
        return f"split loops so that the parts from the loop on are those of {intrinsic.sym_name.data}"
    if difference.progress < 5:
        names = [op.name for op in intrinsic.generic.body.block.ops]
        return f"the body of {intrinsic.sym_name.data} has {listed(names)}"
    return "transform_layout makes another order of its dimensions"


def intrinsic_named(name: str, step: Operation) -> IntrinsicOp:
    """The intrinsic of a name: of the script's module, else a built-in one. Raises: IllegalStepError."""
    module = step
    while (parent := module.parent_op()) is not None:
        module = parent
    declared = intrinsics_of(module) if isinstance(module, ModuleOp) else {}
    found = declared.get(name) or known_intrinsic(name)
    if found is None:
        names = [*declared, *KNOWN]
        help = f"{did_you_mean(name, names)}the intrinsics are {listed(names)}"
        raise IllegalStepError(f"no intrinsic is named {name}", help)
    return found

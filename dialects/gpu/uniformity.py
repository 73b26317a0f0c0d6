"""Values that differ between the threads of a block because they depend on a thread id."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

_IDS = ("gpu.thread_id", "gpu.global_id", "gpu.lane_id", "gpu.subgroup_id")
"""Ops with a different result in each thread."""
_SHARED = ("memref.load", "vector.load", "gpu.subgroup_reduce", "gpu.all_reduce")
"""Ops with a result that data decides: the interpreter checks those, not the verifier."""
_THREAD_ARGS = range(3, 6)
"""The arguments of the body of `gpu.launch` that are thread ids."""


def divergent_ancestor(op: Operation) -> Operation | None:
    """
    The innermost op around another whose condition or bounds depend on a thread id; None without one.

    A value loaded from memory does not count as an id: a barrier that depends on it is checked when the
    kernel runs.
    """
    memo: dict[SSAValue, bool] = {}
    parent = op.parent_op()
    while parent is not None and parent.name not in ("gpu.func", "gpu.launch", "func.func"):
        if isinstance(parent, scf.IfOp | scf.ForOp | scf.IndexSwitchOp | scf.ParallelOp):
            decides = parent.operands[:3] if isinstance(parent, scf.ForOp) else parent.operands
            if any(depends_on_thread(value, memo) for value in decides):
                return parent
        if isinstance(parent, scf.WhileOp) and depends_on_thread(_condition(parent), memo):
            return parent
        parent = parent.parent_op()
    return None


def _condition(loop: scf.WhileOp) -> SSAValue:
    """The value that decides about another iteration."""
    last = loop.before_region.block.last_op
    assert last is not None
    return last.operands[0]


def depends_on_thread(value: SSAValue, memo: dict[SSAValue, bool] | None = None) -> bool:
    """Whether a value is computed from a thread id, by data or by the branch that chose it."""
    memo = {} if memo is None else memo
    stack = [value]
    seen: set[SSAValue] = set()
    while stack:
        current = stack.pop()
        if memo.get(current):
            memo[value] = True
            return True
        if current in seen or current in memo:
            continue
        seen.add(current)
        owner = current.owner
        if isinstance(owner, Block):
            stack.extend(_sources_of_argument(owner, current))
            if _is_thread_id(owner, current):
                memo[value] = True
                return True
        elif owner.name in _IDS:
            memo[value] = True
            return True
        elif owner.name not in _SHARED:
            stack.extend(owner.operands)
            stack.extend(_yielded(owner))
    memo |= dict.fromkeys(seen, False)
    return False


def _is_thread_id(block: Block, argument: SSAValue) -> bool:
    parent = block.parent_op()
    is_launch = parent is not None and parent.name == "gpu.launch"
    return is_launch and list(block.args).index(argument) in _THREAD_ARGS  # pyright: ignore[reportArgumentType]


def _sources_of_argument(block: Block, argument: SSAValue) -> list[SSAValue]:
    """The values that an argument of a loop's body comes from."""
    parent = block.parent_op()
    if parent is None or parent.name.partition(".")[0] != "scf":
        return []
    if isinstance(parent, scf.ForOp):
        position = list(block.args).index(argument)  # pyright: ignore[reportArgumentType]
        bounds = parent.operands[:3]
        return (
            [*bounds, parent.iter_args[position - 1], _yielded(parent)[position - 1]]
            if position
            else [*bounds]
        )
    return [*parent.operands, *_yielded(parent)]


def _yielded(op: Operation) -> list[SSAValue]:
    """The operands of the terminators of an op's regions."""
    lasts = (block.last_op for region in op.regions for block in region.blocks)
    return [value for last in lasts if last is not None for value in last.operands]

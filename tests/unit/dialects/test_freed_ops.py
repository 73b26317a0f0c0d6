"""Erased ops are freed at once, with what is in their regions, and leave others as they are."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region

from stepwell.dialects import _xdsl as _xdsl  # puts the faster methods in place


@pytest.fixture
def no_collector() -> Iterator[None]:
    """No collection of cycles: what is freed has no cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def loop() -> tuple[func.FuncOp, Operation]:
    """A function with a loop, which has a loop inside, and a constant that only the loop uses."""
    main = func.FuncOp("main", ((), ()))
    zero = arith.ConstantOp.from_int_and_width(0, IndexType())
    inner = Block([made := arith.ConstantOp.from_int_and_width(1, IndexType())], arg_types=[IndexType()])
    inner.add_ops([arith.AddiOp(made.result, inner.args[0]), scf.YieldOp()])
    outer = Block(arg_types=[IndexType()])
    outer.add_ops([scf.ForOp(zero, zero, zero, [], inner), scf.YieldOp()])
    main.body.block.add_ops([zero, found := scf.ForOp(zero, zero, zero, [], outer), func.ReturnOp()])
    return main, found


@pytest.mark.usefixtures("no_collector")
def test_an_erased_loop_is_freed_with_its_body() -> None:
    main, op = loop()
    gone = [weakref.ref(each) for each in op.walk()]
    assert len(gone) == 6
    op.detach()
    op.erase()
    del op
    assert [each() for each in gone] == [None] * len(gone)
    assert [each.name for each in main.body.block.ops] == ["arith.constant", "func.return"]
    assert next(iter(main.body.block.ops)).results[0].first_use is None


@pytest.mark.usefixtures("no_collector")
def test_an_erased_module_is_freed() -> None:
    module = ModuleOp([loop()[0]])
    gone = [weakref.ref(each) for each in module.walk()]
    module.erase()
    del module
    assert len(gone) == 10 and [each() for each in gone] == [None] * len(gone)


def test_a_region_that_was_moved_stays() -> None:
    main, op = loop()
    body = op.regions[0]
    kept = Region()
    body.move_blocks(kept)
    op.detach()
    op.erase()
    assert [each.name for each in kept.block.ops] == ["scf.for", "scf.yield"]
    assert len(kept.block.args) == 1 and kept.block.first_op is not None
    assert next(iter(kept.block.first_op.regions[0].block.ops)).results[0].type == IndexType()
    assert len(list(main.walk())) == 3


def test_a_used_result_is_an_error_before_anything_is_freed() -> None:
    main, _ = loop()
    zero = next(iter(main.body.block.ops))
    zero.detach()
    with pytest.raises(ValueError, match="still has uses"):
        zero.erase()
    assert len(zero.results) == 1

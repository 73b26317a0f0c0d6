"""Placement of random programs with random pins: the same results, each operand where its op is, no more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

import stepwell
from stepwell.dialects import dev, graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.dev.devices import ON
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.control_flow import ControlFlowOp
from stepwell.dialects.graph.loops import LoopOp
from stepwell.dialects.parser import parse_module
from stepwell.dialects.target import SpecAttr
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.graph.placement.domains import Domain
from stepwell.passes.graph.placement.shape_arithmetic import deciding_operands
from stepwell.passes.graph.placement.uses import is_placed
from stepwell.passes.instruments import module_text
from tests.fuzz.generate import random_program

DEVICES = ("host", "gpu0", "gpu1")
TYPES = "(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"


def add_devices(module: ModuleOp, pick: random.Random) -> None:
    """Declare two devices, and pin a few ops."""
    for name in reversed(DEVICES[1:]):
        target = SpecAttr.of(stepwell.Target("cuda"))
        module.body.block.insert_op_before(dev.DeviceOp(name, target), module.body.block.first_op)  # type: ignore[arg-type]
    for op in module.walk():
        if op.results and isinstance(op, GraphOp) and pick.random() < 0.2:
            op.attributes[ON] = SymbolRefAttr(pick.choice(DEVICES))


def device_of(attribute: Attribute | None, position: int) -> str | None:
    if isinstance(attribute, ArrayAttr):
        attribute = attribute.data[position]
    return attribute.string_value() if isinstance(attribute, SymbolRefAttr) else None


def place_of(value: SSAValue) -> str | None:
    """The device of a value by the attributes that the pass wrote; None for a constant and a size."""
    owner = value.owner
    if not is_placed(value.type):
        return None
    if isinstance(owner, dev.CopyOp):
        return owner.devices[1]
    if isinstance(owner, Operation):
        placed = [result for result in owner.results if is_placed(result.type)]
        return device_of(owner.attributes.get(ON), placed.index(value))  # pyright: ignore[reportArgumentType]
    return None if owner.parent_op() is None else place_of_argument(value, owner)


def place_of_argument(value: SSAValue, block: Block) -> str | None:
    parent = block.parent_op()
    index = list(block.args).index(value)  # pyright: ignore[reportArgumentType]
    if isinstance(parent, FuncOp):
        assert parent.arg_attrs is not None
        return device_of(parent.arg_attrs.data[index].data.get(ON), 0)
    if isinstance(parent, LoopOp):
        first = int(isinstance(parent, graph.ForOp))
        return place_of(parent.values[index - first]) if index >= first else "host"
    return None


def devices_of_operands(op: Operation) -> list[str | None]:
    """For each operand the device that must have it by the attributes of ops and functions; None for any."""
    parent = op.parent_op()
    if isinstance(op, ReturnOp):
        assert isinstance(parent, FuncOp) and parent.res_attrs is not None
        return [device_of(attributes.data.get(ON), 0) for attributes in parent.res_attrs]
    if isinstance(parent, graph.WhileOp) and op is parent.test.block.last_op:
        return ["host"]
    if isinstance(op, graph.YieldOp) and isinstance(parent, ControlFlowOp):
        return [place_of(result) for result in parent.values]
    if isinstance(op, LoopOp):
        results = [place_of(result) for result in op.values]
        return [*[None] * (len(op.operands) - len(results)), *results]
    if isinstance(op, ControlFlowOp | graph.ShapeOfOp):
        return [None] * len(op.operands)
    return [device_of(op.attributes.get(ON), 0)] * len(op.operands)


def expect_agreement(module: ModuleOp) -> int:
    """Require each operand to be where its op is; returns the number of copies."""
    copies = 0
    for op in module.walk():
        if isinstance(op, dev.CopyOp):
            copies += 1
            assert place_of(op.input) in (None, op.devices[0]) and op.devices[0] != op.devices[1]
            assert op.result.uses, "a copy that nothing reads"
            continue
        deciding = deciding_operands(op)
        for index, (operand, device) in enumerate(zip(op.operands, devices_of_operands(op), strict=True)):
            wanted = "host" if index in deciding else device
            assert wanted is None or place_of(operand) in (None, wanted), f"{op} reads {operand}"
    copied = [(op.input, op.devices[1]) for op in module.walk() if isinstance(op, dev.CopyOp)]
    assert len({*copied}) == len(copied), "a value is copied to a device twice"
    return copies


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(60))
def test_random_programs_compute_the_same(seed: int):
    program = random_program(seed, (4, 25))
    read = stepwell.read(program.model)
    module, ctx = read.op, read.context
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    inputs = list(program.inputs.values())
    wanted = interpret(module, ctx, "main", inputs)
    add_devices(module, random.Random(seed))
    default, io = random.Random(seed).choice(DEVICES), "host" if seed % 3 else "device"
    step = f"place-devices{{default={default} io={io}}}"
    run_pipeline(module, step, ctx)
    module.verify()
    copies = expect_agreement(module)
    for found, expected in zip(interpret(module, ctx, "main", inputs), wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    text = module_text(module)
    run_pipeline(module, step, ctx)
    assert module_text(module) == text
    run_pipeline(module, "fold-device-copies", ctx)
    assert sum(isinstance(op, dev.CopyOp) for op in module.walk()) <= copies


def test_domains_on_different_devices_are_not_joined():
    one, two, three = Domain("gpu0"), Domain(), Domain("gpu1")
    assert one.join(two) and two.device == "gpu0"
    assert not two.join(three) and not three.join(one)
    assert three.device == "gpu1" and one.join(two)


def test_a_long_program_with_a_copy_for_each_op():
    """Each op reads the two before it, which are on the other device: no recursion over the program."""
    count = 1500
    arguments = ", ".join(f"%v{i}: tensor<4xf32>" for i in range(2))
    lines = [
        f"  %v{i} = graph.add %v{i - 1}, %v{i - 2} {{dev.on = @{('host', 'gpu0')[i % 2]}}} : {TYPES}"
        for i in range(2, count)
    ]
    text = "\n".join(
        (
            'dev.device @gpu0 #target.spec<"cuda", {}>',
            f"func.func @main({arguments}) -> tensor<4xf32> {{",
            *lines,
            f"  func.return %v{count - 1} : tensor<4xf32>",
            "}",
        )
    )
    ctx = StepwellContext()
    module = parse_module(ctx, text, "chain.mlir")
    run_pipeline(module, "place-devices{default=gpu0}", ctx)
    copies = [op for op in module.walk() if isinstance(op, dev.CopyOp)]
    # A value is read by the op after it, on the other device, and by the one after that, on its own.
    assert len(copies) == count - 1
    assert expect_agreement(module) == len(copies)


def test_a_long_chain_is_placed_in_linear_time():
    """A chain that is joined from the far end: each find is short, and nothing recurses."""
    domains = [Domain() for _ in range(20_000)]
    for a, b in zip(domains[1:][::-1], domains[:-1][::-1], strict=True):
        assert a.join(b)
    assert domains[0].join(Domain("gpu0"))
    assert {domain.device for domain in domains} == {"gpu0"}

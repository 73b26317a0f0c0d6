"""The devices of the values and ops of a module as sets, and the uses that join these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from stepwell.dialects import dev, graph
from stepwell.dialects.dev.devices import HOST, ON, device_names, expect_device, pinned, signature_pins
from stepwell.dialects.graph.control_flow import ControlFlowOp
from stepwell.dialects.graph.loops import LoopOp
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.base import functions_of
from stepwell.passes.graph.placement.domains import Domain
from stepwell.passes.graph.placement.shape_arithmetic import deciding_operands, is_test, shape_arithmetic

MAIN = "main"


@dataclass(frozen=True)
class PlacedUse:
    """An operand of an op, and the device that it must be on."""

    op: Operation
    index: int
    domain: Domain
    is_boundary: bool
    """Whether the value may be on another device without being pulled along."""

    @property
    def value(self) -> SSAValue:
        """The value that is used."""
        return self.op.operands[self.index]


class Devices:
    """
    For each op and value of a module the device as a set, with pins, and all uses in the order of the text.

    Args: `default` is the device of what nothing decides; `host_io` is whether parameters and results of
    `@main` are on the host.
    Raises: StepwellError `bad-device` for a pin to a device that the module does not have.
    """

    def __init__(self, module: ModuleOp, *, default: str, host_io: bool):
        self.names = device_names(module)
        self._default = default
        self.uses: list[PlacedUse] = []
        self.op_domains: dict[Operation, Domain] = {}
        self._values: dict[SSAValue, Domain] = {}
        self._free: set[SSAValue] = set()
        """Values that pull nothing and are not pulled: of pinned ops, of copies, pinned parameters."""
        self._host_io = host_io
        self._sizes = shape_arithmetic(module)
        self._results: dict[str, list[Domain]] = {}
        self.functions = functions_of(module)
        self._by_name = functions_by_name(module)
        for function in self._by_name.values():
            self._add_signature(function)
        for function in self.functions:
            self._add_block(function.body.block, self._function_pin(function))
        for function in self.functions:
            self._add_uses(function.body.block, function)

    def of_value(self, value: SSAValue) -> Domain | None:
        """The set of a value; None for constants and values that are no tensors, which every device has."""
        return self._values.get(value)

    def name_of(self, domain: Domain | None) -> str:
        """The device of a set, once all sets are joined."""
        device = None if domain is None else domain.device
        return self._default if device is None else device

    def results_of(self, function: FuncOp) -> Sequence[Domain]:
        """The sets of the results of a function."""
        return self._results[function.sym_name.data]

    def _function_pin(self, function: FuncOp) -> str | None:
        return next(iter(pinned(function.attributes.get(ON), self.names, function)), None)

    def _add_signature(self, function: FuncOp) -> None:
        given = signature_pins(function, "arg_attrs", self.names)
        wanted = signature_pins(function, "res_attrs", self.names)
        host = function.is_declaration or (self._host_io and function.sym_name.data == MAIN)
        self._results[function.sym_name.data] = [Domain(HOST if host else pin) for pin in wanted]
        if function.is_declaration:
            return
        for argument, pin in zip(function.body.block.args, given, strict=True):
            if is_placed(argument.type):
                self._values[argument] = Domain(HOST if host else pin)
                if host or pin is not None:
                    self._free.add(argument)

    def _add_block(self, block: Block, default: str | None) -> None:
        """Make the sets of a block's ops and results. Args: `default` is where ops without a pin are."""
        for op in block.ops:
            if isinstance(op, graph.ConstantOp) or op.has_trait(IsTerminator):
                continue
            count = sum(is_placed(result.type) for result in op.results)
            pins = pinned(op.attributes.get(ON), self.names, op, max(1, count)) or [default] * max(1, count)
            if isinstance(op, ControlFlowOp):
                self._add_control_flow(op, pins, default)
                continue
            if isinstance(op, dev.CopyOp):
                for device in op.devices:
                    expect_device(device, self.names, op)
                self._set(op.result, Domain(op.devices[1]), is_free=True)
                continue
            if isinstance(op, graph.CallOp) and op.callee is not None:
                self._add_call(op)
                continue
            host = op in self._sizes or not all(map(is_known, (*op.operands, *op.results)))
            pin = HOST if host else pins[0]
            domain = self.op_domains[op] = Domain(pin)
            for result in op.results:
                self._set(result, domain, is_free=pin is not None)

    def _add_control_flow(self, op: ControlFlowOp, pins: Sequence[str | None], default: str | None) -> None:
        placed = [result for result in op.values if is_placed(result.type)]
        for result, pin in zip(placed, pins, strict=False):
            self._set(result, Domain(pin), is_free=pin is not None)
        if isinstance(op, graph.ForOp):
            self._set(op.body.block.args[0], Domain(HOST), is_free=True)  # the host counts
        for region in op.regions:
            for result, argument in zip(op.values, _carried(op, region.block), strict=False):
                if is_placed(argument.type) and result in self._values:
                    self._values[argument] = self._values[result]
                    if result in self._free:
                        self._free.add(argument)
            self._add_block(region.block, default)

    def _add_call(self, op: graph.CallOp) -> None:
        assert op.callee is not None
        for result, domain in zip(op.results, self._results[op.callee.string_value()], strict=False):
            self._set(result, domain, is_free=False)

    def _set(self, value: SSAValue, domain: Domain, *, is_free: bool) -> None:
        if is_placed(value.type):
            self._values[value] = domain
            if is_free:
                self._free.add(value)

    def _add_uses(self, block: Block, function: FuncOp) -> None:
        for op in block.ops:
            domains = list(self._use_domains(op, function))
            deciding = deciding_operands(op)
            for index, domain in enumerate(domains):
                if index in deciding:
                    self._use(op, index, Domain(HOST), is_boundary=True)
                elif domain is not None:
                    is_return = isinstance(op, ReturnOp) and domain.device is not None
                    self._use(op, index, domain, is_boundary=is_return or op in self._sizes)
            if isinstance(op, ControlFlowOp):
                for region in op.regions:
                    self._add_uses(region.block, function)
            else:
                for inner in _inner_ops(op):
                    for index in range(len(inner.operands)):
                        self._use(inner, index, self.op_domains[op], is_boundary=False)

    def _use(self, op: Operation, index: int, domain: Domain, *, is_boundary: bool) -> None:
        value = op.operands[index]
        if value in self._values or isinstance(value.owner, graph.ConstantOp):
            self.uses.append(PlacedUse(op, index, domain, is_boundary or value in self._free))

    def _use_domains(self, op: Operation, function: FuncOp) -> Iterator[Domain | None]:
        """For each operand of an op the set of the device that must have it; None where any may."""
        if isinstance(op, graph.ShapeOfOp) or is_test(op):
            yield None  # the shape is known without the elements, and the host reads conditions
        elif isinstance(op, ReturnOp):
            yield from self._results[function.sym_name.data]
        elif isinstance(op, dev.CopyOp):
            yield Domain(op.devices[0])
        elif isinstance(op, graph.YieldOp) and isinstance(parent := op.parent_op(), ControlFlowOp):
            yield from (self._values.get(result) for result in parent.values)
        elif isinstance(op, ControlFlowOp):
            yield from [None] * (len(op.operands) - (len(op.inits) if isinstance(op, LoopOp) else 0))
            if isinstance(op, LoopOp):
                yield from (self._values.get(result) for result in op.values)
        elif isinstance(op, graph.CallOp) and op.callee is not None:
            callee = self._by_name[op.callee.string_value()]
            arguments = () if callee.is_declaration else callee.body.block.args
            yield from (self._values.get(argument) for argument in arguments)
            if callee.is_declaration:
                yield from (Domain(HOST) for _ in op.operands)
        elif op in self.op_domains:
            yield from (self.op_domains[op] for _ in op.operands)


def _carried(op: ControlFlowOp, block: Block) -> Sequence[BlockArgument]:
    """The arguments of a region of a loop for its carried values, in the order of its results."""
    if not isinstance(op, LoopOp):
        return ()
    first = 1 if isinstance(op, graph.ForOp) else 0
    return block.args[first : first + len(op.inits)]


def _inner_ops(op: Operation) -> Iterator[Operation]:
    """The ops in regions of an op that is computed as one, such as a composite."""
    for region in op.regions:
        yield from region.walk()


def is_placed(type: Attribute) -> bool:
    """Whether a value of a type is on one device: tensors, and tuples of them."""
    if isinstance(type, TupleType):
        return all(map(is_placed, type.types.data))
    return isinstance(type, TensorType)


def is_known(value: SSAValue) -> bool:
    """Whether a value may be on another device than the host: no function, list, cell or data of a type."""
    return is_placed(value.type) or value.type.name == "index"

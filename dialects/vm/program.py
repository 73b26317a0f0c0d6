"""A module of the `vm` dialect as a program of the machine, and back: the texts of both are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    FunctionType,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.adt.data import ConstructorOp, DataOp
from stepwell.dialects.constants import array_of, constant_attr, inline_attr
from stepwell.dialects.type_variables import TYPE_KIND, ParamsAttr
from stepwell.dialects.types import WeightAttr, dtype_of
from stepwell.dialects.vm.function import HOST, SEGMENT, ConstantOp, VmFuncOp
from stepwell.dialects.vm.instructions import GIVEN, OPS, InstructionOp, number, numbers_of, registers
from stepwell.dialects.vm.value_types import ir_element, ir_type, ir_types, program_type
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import StateSpec
from stepwell.runtime.vm.instructions import FIELDS, TUPLE, ConstructorOf, Field, Kind, Outputs, targets_of
from stepwell.runtime.vm.program import (
    Code,
    Constant,
    Constructor,
    DataType,
    Function,
    Location,
    Packed,
    Place,
    Program,
    Signature,
    Type,
    location_runs,
)


def program_of(module: ModuleOp, weights: WeightStore) -> Program:
    """
    The program that a verified module states. Functions of level 1 that are neither segments nor of the host
    are left out.

    Raises: StepwellError `missing-weights`, `unsupported` for a type that no register can contain.
    """
    return _Reader(module, weights).program()


class _Reader:
    """The numbers that the symbols of a module have in its program."""

    def __init__(self, module: ModuleOp, weights: WeightStore):
        ops = list(module.body.ops)
        self._weights = weights
        self._data = [op for op in ops if isinstance(op, DataOp)]
        self._constants = [op for op in ops if isinstance(op, ConstantOp)]
        self._packed = [op for op in ops if isinstance(op, FuncOp) and {SEGMENT, HOST} & op.attributes.keys()]
        self._functions = [op for op in ops if isinstance(op, VmFuncOp)]
        self._data_of = {op.sym_name.data: (n, op) for n, op in enumerate(self._data)}
        groups: tuple[Sequence[FuncOp | VmFuncOp], ...] = (self._packed, self._functions)
        self._numbers = {op.sym_name.data: n for group in groups for n, op in enumerate(group)}

    def program(self) -> Program:
        """The program."""
        constants = (
            Constant(
                op.value.weight_name.data if isinstance(op.value, WeightAttr) else "",
                array_of(op.value, self._weights),
            )
            for op in self._constants
        )
        return Program(
            tuple(map(data_type, self._data)),
            tuple(constants),
            tuple(map(_packed, self._packed)),
            tuple(map(self._function, self._functions)),
        )

    def _function(self, op: VmFuncOp) -> Function:
        starts: dict[Block, int] = {}
        ops: list[InstructionOp] = []
        for block in op.body.blocks:
            starts[block] = len(ops)
            ops += cast("list[InstructionOp]", list(block.ops))
        code = tuple(Code(each.INSTRUCTION.name, self._operands(each, starts)) for each in ops)
        locations = location_runs([_location(each.location) for each in ops])
        signature = _signature(op)
        return Function(op.sym_name.data, *op.counts, code, signature, locations)

    def _operands(self, op: InstructionOp, starts: Mapping[Block, int]) -> tuple[object, ...]:
        targets = [starts[block] for block in op.successors]
        singles = iter(targets)
        return tuple(
            next(singles)
            if field.kind is Kind.TARGET
            else tuple(targets)
            if field.kind is Kind.TARGETS
            else self._operand(op, field)
            for field in op.INSTRUCTION.fields
        )

    def _operand(self, op: InstructionOp, field: Field) -> object:
        value = op.properties.get(field.name)
        match field.kind:
            case Kind.USES:
                return tuple(numbers_of(value))
            case Kind.OUTPUTS:
                return Outputs(tuple(numbers_of(value)), GIVEN in op.properties)
            case Kind.FUNCTION | Kind.PACKED:
                return self._numbers[cast(SymbolRefAttr, value).string_value()]
            case Kind.CONSTRUCTOR:
                return self._constructor(cast("SymbolRefAttr | None", value))
            case Kind.STRING:
                return cast(StringAttr, value).data
            case Kind.TYPE:
                return program_type(cast(Attribute, value))
            case Kind.ELEMENT:
                return dtype_of(cast(Attribute, value)).name
            case _:
                return numbers_of(value)[0]

    def _constructor(self, symbol: SymbolRefAttr | None) -> ConstructorOf:
        if symbol is None:
            return TUPLE
        index, data = self._data_of[symbol.root_reference.data]
        return ConstructorOf(index, data.tag(symbol.nested_references.data[-1].data))


def data_type(op: DataOp) -> DataType:
    """A data type as bytecode has it."""
    kinds = op.params.by_name if op.params is not None else {}
    constructors = (
        Constructor(each.sym_name.data, tuple(map(program_type, each.fields))) for each in op.constructors
    )
    return DataType(op.sym_name.data, tuple(kinds), tuple(kinds.values()), tuple(constructors))


def _packed(op: FuncOp) -> Packed:
    inputs, outputs = (tuple(map(program_type, side)) for side in _sides(op.function_type))
    return Packed(op.sym_name.data, HOST in op.attributes, inputs, outputs)


def _sides(type: FunctionType) -> tuple[Sequence[Attribute], Sequence[Attribute]]:
    return type.inputs.data, type.outputs.data


def _signature(op: VmFuncOp) -> Signature | None:
    type = op.function_type
    return None if type is None else signature_of_type(type, op.input_names, op.states)


def signature_of_type(
    type: FunctionType, names: tuple[str, ...], states: tuple[StateSpec, ...] = ()
) -> Signature:
    """The interface of a public function. Raises: StepwellError `unsupported` for a type."""
    inputs, outputs = (tuple(map(program_type, side)) for side in _sides(type))
    return Signature(inputs, outputs, names, states)


def _location(location: Attribute) -> Location:
    """The places of a location, in order; none where it is unknown."""
    match location:
        case FileLineColLoc():
            return (Place("", location.filename.data, location.line.data, location.column.data),)
        case NameLoc():
            inside = _location(location.location)
            return ((inside[0] if inside else Place())._replace(name=location.desc.data),)
        case FusedLoc():
            parts = cast("Sequence[Attribute]", location.locations)
            return tuple(place for part in parts for place in _location(part))
        case _:
            return ()


def module_of(program: Program, weights: WeightStore) -> ModuleOp:
    """
    The module that states a verified program, the bodies of its segments left out.

    Args: `weights` gets the constants that are weights.
    Raises: StepwellError `bad-bytecode` for a type that the IR lacks.
    """
    try:
        return ModuleOp(_ops_of(program, weights))
    except (ValueError, TypeError, VerifyException) as error:
        raise StepwellError("bad-bytecode", None, f"the program has no text: {error}") from None


def _ops_of(program: Program, weights: WeightStore) -> list[Operation]:
    ops: list[Operation] = [_data_op(data) for data in program.data]
    for index, (name, array) in enumerate(program.constants):
        attr = constant_attr(array, name, weights) if name else inline_attr(array)
        ops.append(ConstantOp.of(index, attr))
    for packed in program.packed:
        sides = (ir_types(packed.inputs), ir_types(packed.outputs))
        op = FuncOp.external(packed.name, *map(list, sides))
        op.attributes[HOST if packed.is_host else SEGMENT] = UnitAttr()
        ops.append(op)
    return [*ops, *(_func_op(function, program) for function in program.functions)]


def _data_op(data: DataType) -> DataOp:
    constructors = [ConstructorOp(name, ir_types(fields)) for name, fields in data.constructors]
    properties: dict[str, Attribute] = {"sym_name": StringAttr(data.name)}
    if data.parameters:
        kinds = data.kinds or (TYPE_KIND,) * len(data.parameters)
        properties["params"] = ParamsAttr.of(dict(zip(data.parameters, kinds, strict=True)))
    return DataOp.create(properties=properties, regions=[Region(Block(constructors))])


def _func_op(function: Function, program: Program) -> VmFuncOp:
    starts = {target for code in function.code for target in targets_of(*code)}
    starts |= {pc + 1 for pc, code in enumerate(function.code) if code.name in _ENDS}
    starts = {0, *starts} - {len(function.code)}
    blocks = {start: Block() for start in sorted(starts)}
    block = blocks[0]
    for pc, code in enumerate(function.code):
        block = blocks.get(pc, block)
        op = _instruction_op(code, blocks, program)
        op.location = _location_attr(function.places(pc))
        block.add_op(op)
    type, names, states = None, (), ()
    if (signature := function.signature) is not None:
        type = FunctionType.from_lists(list(ir_types(signature.inputs)), list(ir_types(signature.outputs)))
        names, states = signature.names, signature.states
    counts = function.parameters, function.registers
    return VmFuncOp.of(function.name, counts, type, Region(list(blocks.values())), names, states)


_ENDS = frozenset(name for name, op in OPS.items() if op.INSTRUCTION.is_terminator)


def _instruction_op(code: Code, blocks: Mapping[int, Block], program: Program) -> InstructionOp:
    properties: dict[str, Attribute] = {}
    for field, value in zip(FIELDS[code.name], code.operands, strict=True):
        if (attr := _attribute(field.kind, value, program)) is not None:
            properties[field.name] = attr
        if isinstance(value, Outputs) and value.are_given:
            properties[GIVEN] = UnitAttr()
    return OPS[code.name].of(properties, [blocks[target] for target in targets_of(*code)])


def _attribute(kind: Kind, value: object, program: Program) -> Attribute | None:
    """The property of an operand; None for blocks, and for the constructor of tuples."""
    match kind, value:
        case Kind.TARGET | Kind.TARGETS, _:
            return None
        case _, Outputs():
            return registers(value.registers)
        case _, ConstructorOf():
            if value == TUPLE:
                return None
            data = program.data[value.data]
            return SymbolRefAttr(data.name, [data.constructors[value.tag].name])
        case _, Type():
            return ir_type(value)
        case Kind.ELEMENT, str():
            return ir_element(value)
        case _, str():
            return StringAttr(value)
        case Kind.FUNCTION, int():
            return SymbolRefAttr(program.functions[value].name)
        case Kind.PACKED, int():
            return SymbolRefAttr(program.packed[value].name)
        case Kind.USES, tuple():
            return registers(cast("tuple[int, ...]", value))
        case _:
            return number(cast(int, value))


def _location_attr(location: Location) -> LocationAttr:
    parts = [_place_attr(place) for place in location]
    if len(parts) == 1:
        return parts[0]
    return FusedLoc(ArrayAttr(parts), NoneAttr()) if parts else UnknownLoc()


def _place_attr(place: Place) -> LocationAttr:
    if not place.file:
        return NameLoc(StringAttr(place.name), NoneAttr())
    file = FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.column))
    return NameLoc(StringAttr(place.name), file) if place.name else file

"""
The verifier of programs, before the first instruction runs: indices, counts, targets, and by data flow that
each register is written on every path before it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.error_codes import CODES
from stepwell.runtime.image import MAIN
from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.vm.flow import ENDS, check_flow, fail, place_of
from stepwell.runtime.vm.instructions import (
    FIELDS,
    TUPLE,
    ConstructorOf,
    Kind,
    Outputs,
    registers_read,
    registers_written,
    targets_of,
)
from stepwell.runtime.vm.program import (
    DATA,
    ELEMENT,
    FUNCTION,
    TENSOR,
    VARIABLE,
    VARIABLE_KINDS,
    Code,
    DataType,
    Function,
    Program,
    Type,
)
from stepwell.runtime.vm.program_states import state_problem

MAX_REGISTERS = 1 << 16
MAX_INSTRUCTIONS = 1 << 24
_MAX_OPEN_DIMS = 4096


def verify(program: Program) -> None:
    """
    Check a program. Raises: StepwellError `bad-bytecode`, which names the function and the instruction;
    `too-large` for a function whose data flow takes too much memory or time.
    """
    _Verifier(program).run()


class _Verifier:
    """The checks of one program."""

    def __init__(self, program: Program):
        self._program = program
        self._data = {data.name: data for data in program.data}
        self._known: set[Type] = set()

    def run(self) -> None:
        """Check everything."""
        program = self._program
        for group, kind in ((program.data, "data type"), (program.packed, "packed function")):
            _unique(cast("Sequence[DataType]", group), kind)
        _unique(program.functions, "function")
        for data in program.data:
            self._check_data(data)
        for packed in program.packed:
            self._check_types((*packed.inputs, *packed.outputs), f"@{packed.name}", ())
        seen: set[tuple[int, int, int]] = set()
        total = 0
        for function in program.functions:
            self._check_signature(function)
            # Equal bodies are one object: it is checked once for each number of registers.
            key = id(function.code), function.parameters, function.registers
            if key not in seen:
                seen.add(key)
                total += len(function.code)
                if total > MAX_INSTRUCTIONS:
                    fail(f"@{function.name}", f"there are more than {MAX_INSTRUCTIONS} instructions")
                self._check_function(function)

    def _check_data(self, data: DataType) -> None:
        place = f"data type @{data.name}"
        for names in (data.parameters, [each.name for each in data.constructors]):
            if len(set(names)) != len(names):
                fail(place, f"a name occurs twice among {', '.join(names)}")
            if not all(map(_is_name, names)):
                fail(place, f"a name is not printed among {names}")
        if len(data.kinds) != len(data.parameters):
            fail(place, "its variables and their kinds are not as many")
        if unknown := [kind for kind in data.kinds if kind not in VARIABLE_KINDS]:
            fail(place, f"there is no kind {unknown[0]!r} of type variables")
        for constructor in data.constructors:
            self._check_types(constructor.fields, place, data.parameters)

    def _check_types(self, types: Sequence[Type], place: str, variables: Collection[str]) -> None:
        for type in types:
            if variables or type not in self._known:
                self._check_type(type, place, variables)
                self._known |= set() if variables else {type}

    def _check_type(self, type: Type, place: str, variables: Collection[str]) -> None:
        self._check_types(type.parts, place, variables)
        counts = {FUNCTION: 2, "cell": 1, TENSOR: 0, ELEMENT: 0, VARIABLE: 0}
        if type.kind in counts and len(type.parts) != counts[type.kind]:
            fail(place, f"a {type.kind} type has {len(type.parts)} types inside")
        if type.kind == DATA:
            data = self._data.get(type.name)
            if data is None or len(data.parameters) != len(type.parts):
                fail(place, f"there is no data type {type.name} of {len(type.parts)} arguments")
        elif type.kind in (VARIABLE, TENSOR, ELEMENT):
            _check_element(type, place, variables)
        elif type.kind == FUNCTION and any(part.kind != "tuple" for part in type.parts):
            fail(place, "a function type needs its inputs and its outputs")

    def _check_signature(self, function: Function) -> None:
        if (signature := function.signature) is None:
            return
        place = f"@{function.name}"
        self._check_types((*signature.inputs, *signature.outputs), place, ())
        if len(signature.inputs) != function.parameters or not signature.outputs:
            fail(place, f"its type has {len(signature.inputs)} inputs and {len(signature.outputs)} outputs")
        if signature.names and len(signature.names) != len(signature.inputs):
            fail(place, "its inputs and their names are not as many")
        if problem := state_problem(signature, self._program.constants, is_main=function.name == MAIN):
            fail(place, problem)

    def _check_function(self, function: Function) -> None:
        place, code = f"@{function.name}", function.code
        if not function.parameters <= function.registers <= MAX_REGISTERS:
            fail(place, f"{function.parameters} parameters in {function.registers} registers")
        if not code or code[-1].name not in ENDS:
            fail(place, "its last instruction does not leave the function")
        for pc, each in enumerate(code):
            if problem := self._problem(each, function):
                fail(place_of(function, pc), problem)
        check_flow(function)

    def _problem(self, code: Code, function: Function) -> str:
        """The fault in the operands of an instruction, in words; empty for none."""
        for register in (*registers_read(*code), *registers_written(*code)):
            if register >= function.registers:
                return f"register r{register} of {function.registers}"
        for target in targets_of(*code):
            if not 0 < target < len(function.code) or function.code[target - 1].name not in ENDS:
                return f"instruction {target} does not begin a block"
        for field, value in zip(FIELDS[code.name], code.operands, strict=True):
            match field.kind:
                case Kind.CONSTANT if cast(int, value) >= len(self._program.constants):
                    return f"there is no constant #{value}"
                case Kind.FUNCTION | Kind.PACKED:
                    if problem := self._call_problem(code, field.kind, cast(int, value)):
                        return problem
                case Kind.CONSTRUCTOR:
                    if problem := self._make_problem(cast(ConstructorOf, value), code):
                        return problem
                case Kind.STRING if field.name == "code" and value not in CODES:
                    return f"there is no error code {value!r}"
                case Kind.TARGETS if not value:
                    return "there is no block to go on at"
                case Kind.TYPE | Kind.ELEMENT:
                    type = value if isinstance(value, Type) else Type(TENSOR, str(value))
                    if type.kind != TENSOR or not all(dim.isdecimal() for dim in type.dims):
                        return f"{type} is no tensor of known sizes"
                    _check_element(type, place_of(function, 0), ())
                case _:
                    pass
        return ""

    def _call_problem(self, code: Code, kind: Kind, callee: int) -> str:
        operands = dict(zip((field.name for field in FIELDS[code.name]), code.operands, strict=True))
        given = len(cast("tuple[int, ...]", operands.get("arguments", operands.get("captures"))))
        if kind is Kind.FUNCTION:
            if callee >= len(self._program.functions):
                return f"there is no function {callee}"
            expected = self._program.functions[callee].parameters
            is_enough = given <= expected if "captures" in operands else given == expected
            return "" if is_enough else f"a function of {expected} parameters gets {given} arguments"
        if callee >= len(self._program.packed):
            return f"there is no packed function {callee}"
        packed, outputs = self._program.packed[callee], cast(Outputs, operands["outputs"])
        expected = len(packed.inputs), len(packed.outputs)
        if (given, len(outputs.registers)) != expected:
            return f"@{packed.name} has {expected[0]} parameters and {expected[1]} results"
        return ""

    def _make_problem(self, constructor: ConstructorOf, code: Code) -> str:
        if constructor == TUPLE:
            return ""
        if not 0 <= constructor.data < len(self._program.data):
            return f"there is no data type {constructor.data}"
        known = self._program.data[constructor.data].constructors
        if constructor.tag >= len(known):
            return f"@{self._program.data[constructor.data].name} has {len(known)} constructors"
        expected, given = len(known[constructor.tag].fields), len(cast("tuple[int, ...]", code.operands[-1]))
        name = known[constructor.tag].name
        return "" if expected == given else f"{name} has {expected} fields, found {given}"


def _unique(items: Sequence[DataType] | Sequence[Function], kind: str) -> None:
    names = [item.name for item in items]
    if len(set(names)) != len(names):
        fail("", f"the name of a {kind} occurs twice")
    if not all(map(_is_name, names)):
        fail("", f"a {kind} has no printable name")


def _is_name(name: str) -> bool:
    return bool(name) and name.isprintable()


def _check_element(type: Type, place: str, variables: Collection[str]) -> None:
    """Check the names in a type of a tensor, an element or a variable."""
    name = type.name.removeprefix("!")
    if type.kind == VARIABLE or (type.kind == TENSOR and type.name.startswith("!")):
        if name not in variables:
            fail(place, f"the type variable {name} is not declared")
        return
    try:
        is_number = not dtype_from_name(name).hasobject
        if len(type.dims) > _MAX_OPEN_DIMS:
            raise ValueError(f"{len(type.dims)} dimensions")
        for dim in type.dims:
            if dim != UNKNOWN and not dim.isdecimal():
                Dim.of(dim)
    except (ValueError, RecursionError) as error:
        fail(place, f"{type.kind} type: {error}")
    if not is_number:
        fail(place, f"{name} is no element type")

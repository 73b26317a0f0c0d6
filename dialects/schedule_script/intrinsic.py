"""`sched.intrinsic`: a formula on tensors of known size, and the code that computes it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolNameConstraint, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

_PARTS = ("meaning", "code")
MOST_LOOPS = 6
"""The loops of a formula, which are paired in every order with those of a tile."""


@irdl_op_definition
class IntrinsicOp(IRDLOperation):
    """
    A user's intrinsic: `tensorize` replaces a tile that computes the formula `meaning` by the code.

    ```mlir
    sched.intrinsic @twice {
      func.func @meaning(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
        %r = linalg.generic {…} ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) …
        func.return %r : tensor<8xf32>
      }
      func.func @code(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
        …
      }
    }
    ```
    The last arguments are the tensors that the results start from.

    Constraints:
      (C1) the body has the functions `meaning` and `code` alone, of one type, without symbols.
      (C2) arguments are numbers, or tensors of known size.
      (C3) `meaning` is one `linalg.generic`: its operands are arguments, its results are returned in order,
           and the last arguments are its inits.
      (C4) the body of the generic does not compute with indices of loops.
      (C5) `code` returns at its end, from one block.
      (C6) the formula has at most six loops.
    """

    name = "sched.intrinsic"

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), SymbolTable(), NoTerminator(), IsolatedFromAbove())

    def __init__(self, name: str, functions: Sequence[Operation] | Region):
        body = functions if isinstance(functions, Region) else Region(Block(functions))
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[body])

    @classmethod
    def parse(cls, parser: Parser) -> IntrinsicOp:
        name, body = parser.parse_symbol_name(), parser.parse_region()
        return cls(name.data, body if body.blocks else [])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)

    def function(self, name: str) -> FuncOp:
        """The function `meaning` or `code`."""
        return next(op for op in self.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == name)

    @property
    def generic(self) -> linalg.GenericOp:
        """The op of the formula."""
        ops = self.function("meaning").body.block.ops
        return next(op for op in ops if isinstance(op, linalg.GenericOp))

    def verify_(self) -> None:
        functions = [op for op in self.body.block.ops if isinstance(op, FuncOp)]
        names = [op.sym_name.data for op in functions]
        if sorted(names) != sorted(_PARTS) or len(functions) < len(self.body.block.ops):  # (C1)
            raise VerifyException(f"an intrinsic has the functions meaning and code alone, found {names}")
        meaning, code = map(self.function, _PARTS)
        if meaning.is_declaration or code.is_declaration:
            raise VerifyException("meaning and code of an intrinsic need bodies, found a declaration")
        if meaning.function_type != code.function_type:
            raise VerifyException(
                f"meaning and code must have one type, found {meaning.function_type} and {code.function_type}"
            )
        for type in (*meaning.function_type.inputs, *meaning.function_type.outputs):  # (C2)
            if isinstance(type, TensorType) and not type.has_static_shape():
                raise VerifyException(f"the tensors of an intrinsic are of known size, found {type}")
        self._verify_meaning(meaning)
        if len(code.body.blocks) != 1 or code.body.block.last_op is None:  # (C5)
            raise VerifyException(f"code is one block, found {len(code.body.blocks)}")

    def _verify_meaning(self, meaning: FuncOp) -> None:
        ops, args = list(meaning.body.block.ops), list(meaning.body.block.args)
        found = [op for op in ops if isinstance(op, linalg.GenericOp)]
        last = meaning.body.block.last_op
        if len(found) != 1 or len(ops) != 2 or last is None:  # (C3)
            names = ", ".join(op.name for op in ops[:8])
            raise VerifyException(f"meaning is one linalg.generic and a return, found {names}")
        (op,) = found
        inits: list[SSAValue] = list(op.outputs)
        if list(last.operands) != list(op.results) or inits != args[len(args) - len(inits) :]:
            raise VerifyException(
                "meaning must return the results of its generic, whose inits are the last arguments"
            )
        if any(value not in args for value in op.operands) or {*op.operands} != {*args}:
            raise VerifyException(
                "the generic must use all arguments of meaning, and no other values, as operands"
            )
        if (count := len(op.iterator_types)) > MOST_LOOPS:  # (C6)
            raise VerifyException(f"the formula has at most {MOST_LOOPS} loops, found {count}")
        if any(isinstance(inner, linalg.IndexOp) for inner in op.body.block.ops):  # (C4)
            raise VerifyException(
                "the formula of an intrinsic must not use indices of loops, found linalg.index"
            )


def intrinsics_of(module: ModuleOp) -> dict[str, IntrinsicOp]:
    """The intrinsics that a module declares, by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, IntrinsicOp)}

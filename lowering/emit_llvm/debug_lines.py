"""Debug locations: for each instruction the line of its op in the printed `llvm` level."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.dialects import llvm
from xdsl.ir import Operation

_VERSION = 3


class DebugLines:
    """The metadata of a module's lines: a file, its compile unit, a subprogram for each function."""

    def __init__(self, metadata: Callable[[str], str], lines: Mapping[Operation, int]):
        """
        Args: `metadata` adds a node to the module's metadata, and returns the reference to it; `lines` are
        those of `printed_lines`.
        """
        self._lines = lines
        self._metadata = metadata
        names = [op.sym_name.data for op in lines if isinstance(op, llvm.FuncOp) and op.body.blocks]
        file = "main" if "main" in names else names[0].partition(".")[0]
        self._file = self._metadata(f'!DIFile(filename: "{file}.mlir", directory: "")')
        self._unit = self._metadata(
            f"distinct !DICompileUnit(language: DW_LANG_C, file: {self._file}, emissionKind: LineTablesOnly)"
        )
        self._type = self._metadata(f"!DISubroutineType(types: {self._metadata('!{}')})")
        flag = self._metadata(f'!{{i32 2, !"Debug Info Version", i32 {_VERSION}}}')
        self.named = [f"!llvm.dbg.cu = !{{{self._unit}}}", f"!llvm.module.flags = !{{{flag}}}"]
        self._locations: dict[tuple[str, int], str] = {}
        self._scope = ""

    def function(self, op: llvm.FuncOp) -> str:
        """The reference to the function's subprogram, for the end of its first line."""
        line = self._lines[op]
        self._scope = self._metadata(
            f'distinct !DISubprogram(name: "{op.sym_name.data}", file: {self._file}, line: {line}, '
            f"type: {self._type}, unit: {self._unit}, spFlags: DISPFlagDefinition)"
        )
        return f" !dbg {self._scope}"

    def suffix(self, op: Operation) -> str:
        """The reference to the location of an instruction, for its end."""
        key = self._scope, self._lines[op]
        if (found := self._locations.get(key)) is None:
            found = self._metadata(f"!DILocation(line: {key[1]}, column: 1, scope: {self._scope})")
            self._locations[key] = found
        return f", !dbg {found}"

"""A run as files: the program's graph with the keys of TVM's debug executor, and the values."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.lowering.main_to_buffers import VIEWS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import make_folder, whole_file, write_text
from stepwell.runtime.interface import Array
from stepwell.tools.debug.program import DebugProgram, result_number
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.values import Values
from stepwell.tools.driver.compilation import main_of

GRAPH_FILE, VALUES_FILE = "graph.json", "values.npz"
_SAFE = " !#$&'()+,-.;=@[]^_`{}~"
"""What file names may have beside letters and digits; all else in the names of values is percent-encoded."""


def write_dump(values: Values, recorded: Recorded, folder: Path) -> None:
    """
    Write `graph.json` and `values.npz` into a folder, which is made.

    Raises: StepwellError `cannot-write`.
    """
    make_folder(folder)
    write_text(folder / GRAPH_FILE, json.dumps(_graph(values, recorded), indent=1) + "\n")
    with whole_file(folder / VALUES_FILE) as file:
        np.savez(file, allow_pickle=False, **dict(_arrays(values, recorded)))


def _arrays(values: Values, recorded: Recorded) -> dict[str, Array]:
    """All values of the run by encoded name; those of narrow types in the next wider one of numpy's."""
    found: dict[str, Array] = {}
    for name in values.names:
        try:
            array = values.array(name, recorded)
        except StepwellError:  # it is gone, or its kernel did not run
            continue
        if array.dtype.kind != "O":
            is_narrow = array.dtype.kind == "V" or array.dtype.num > np.dtype(np.void).num + 4
            found[quote(name, safe=_SAFE)] = array.astype(np.float32) if is_narrow else array
    return found


def _graph(values: Values, recorded: Recorded) -> dict[str, object]:
    """The nodes of `@main`: inputs, constants and calls, each with the keys of the debug executor."""
    return _Nodes(values.program, values, recorded).to_json()


class _Nodes:
    def __init__(self, program: DebugProgram, values: Values, recorded: Recorded):
        self._program, self._values, self._recorded = program, values, recorded
        self._nodes: list[dict[str, object]] = []
        self._place: dict[SSAValue, tuple[int, int]] = {}
        self._row: list[int] = [0]
        self._types: list[tuple[list[int], str]] = []

    def to_json(self) -> dict[str, object]:
        """The graph as JSON values."""
        arguments: list[int] = []
        for name in self._values.names:
            value = self._values.located(name)
            if value is not None and not isinstance(value.owner, Operation):
                arguments.append(self._argument(name, value))
        for op in main_of(self._program.graph).body.block.ops:
            if isinstance(op, graph.ConstantOp):
                name = self._values.by_value.get(op.results[0]) or op.results[0].name_hint or "constant"
                arguments.append(self._argument(name, op.results[0]))
            elif op in self._program.unit_numbers:
                self._call(op)
        last = main_of(self._program.graph).body.block.last_op
        heads = [[*self._of(value), 0] for value in (() if last is None else last.operands)]
        return {
            "nodes": self._nodes,
            "arg_nodes": arguments,
            "heads": heads,
            "node_row_ptr": self._row,
            "attrs": {
                "shape": ["list_shape", [shape for shape, _ in self._types]],
                "dltype": ["list_str", [dtype for _, dtype in self._types]],
            },
        }

    def _argument(self, name: str, value: SSAValue) -> int:
        node: dict[str, object] = {"op": "null", "name": name, "inputs": []}
        return self._add(node, {}, [value])

    def _call(self, op: Operation) -> None:
        kernel = self._program.name_of(op)
        inputs = [[*place, 0] for value in op.operands if (place := self._find(value)) is not None]
        name = self._values.by_value.get(op.results[0]) if op.results else None
        attrs = {
            "func_name": kernel,
            "flatten_data": "0",
            "num_inputs": str(len(inputs)),
            "num_outputs": str(len(op.results)),
            "hash": self._program.hash_of(op),
        }
        node: dict[str, object] = {"op": "tvm_op", "name": name or kernel, "inputs": inputs}
        self._add(node, attrs, list(op.results))

    def _add(self, node: dict[str, object], attrs: dict[str, str], results: list[SSAValue]) -> int:
        number = len(self._nodes)
        for index, result in enumerate(results):
            self._place[result] = number, index
            array = self._recorded.array(result)
            shape, dtype = ([], "") if array is None else (list(array.shape), array.dtype.name)
            self._types.append((shape, dtype))
        shape, dtype = self._types[-len(results)] if results else ([], "")
        node["attrs"] = {**attrs, "T": f"type: {dtype}"}
        node["shape"] = shape
        self._nodes.append(node)
        self._row.append(self._row[-1] + len(results))
        return number

    def _find(self, value: SSAValue) -> tuple[int, int] | None:
        while isinstance(owner := value.owner, VIEWS):
            value = owner.operands[0]
        return self._place.get(value)

    def _of(self, value: SSAValue) -> tuple[int, int]:
        return self._find(value) or (0, result_number(value))

"""The table by which a conversion imports the files of its patterns."""

from __future__ import annotations

from pathlib import Path

from stepwell.dialects import onnx
from stepwell.lowering import onnx_to_graph
from stepwell.lowering.onnx_to_graph.pattern_files import FILES, OnnxPatterns, operators_of, patterns_in_file
from stepwell.runtime.files.weights import WeightStore


def test_the_table_has_all_patterns_by_their_operators() -> None:
    folder = Path(onnx_to_graph.__file__).parent
    files = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if path.stem != "__init__"
    }
    found = {
        file: {
            name.rpartition(".")[2]
            for pattern in patterns_in_file(file)
            for name in operators_of(pattern(WeightStore()))
        }
        for file in files
        if file not in ("support", "pattern_files")
    }
    assert {file: sorted(set(titles.split())) for file, titles in FILES.items()} == {
        file: sorted(titles) for file, titles in found.items() if titles
    }


def test_patterns_of_two_files_are_in_the_order_of_the_table() -> None:
    """Those of strings come first, which leave other tensors to the second file."""
    patterns = OnnxPatterns(WeightStore())
    files = [type(pattern).__module__.rpartition(".")[2] for pattern in patterns.of(onnx.CastOp)]
    assert files[0] == "strings" and files[-1] == "cast"
    assert patterns.of(onnx.CastOp) is patterns.of(onnx.CastOp)
    assert not patterns.of(onnx.FunctionOp)

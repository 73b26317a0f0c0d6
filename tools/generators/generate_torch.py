"""
Writes `dialects/torch/signatures.txt` from an installed torch.

Run `python -m stepwell.tools.generators.generate_torch` after choosing another version of torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import stepwell.dialects.torch
from stepwell.frontend.torch.targets import LEFT_OUT_ARGUMENTS
from stepwell.runtime.packages import needed

SIGNATURES = Path(stepwell.dialects.torch.__file__).with_name("signatures.txt")
CONVERTED = SIGNATURES.with_name("converted.txt")
_HEAD = "# Written by stepwell/tools/generators/generate_torch.py. Overloads of torch's aten library:\n"
_LEFT_OUT = re.compile(
    r"_?foreach|.*quantize|.*qint|.*mkldnn|cudnn|_cudnn|miopen|_?fused_|.*sparse|.*nested|.*_cuda|_fw_|.*onednn|"
    r".*mps|_?sym_|.*named|_test|_nnpack|_slow|(?!_to_copy|lift_fresh_copy).*_copy|.*functorch|fake_|_fake|.*xnnpack|.*_jagged|_efficient|"
    r".*_int4|.*_int8|_fft|fft|_linalg|linalg_(?!vector_norm|cross)|special_|_cslt|_scaled_mm|.*_for_mps|_assert|_conj|.*vulkan|"
    r"_neg_|_resize|resize|set_|_reshape|_embedding_bag|_coalesce|_unpack|_pack|_use|_has|_weight_norm|.*_dyn_quant"
)
_OF_PYTHON = frozenset(("__and__", "__lshift__", "__or__", "__rshift__", "__xor__"))
"""Names of Python's operators, which programs have for `a & b`."""
_TYPES = frozenset(
    "Tensor int SymInt float Scalar bool str ScalarType Layout Device MemoryFormat Generator".split()
)
_TYPE = re.compile(r"(?P<base>\w+)(?:\([^)]*\))?(?P<rest>[?\[\]\d]*)")


def main() -> None:
    """Write the file; overloads that only earlier releases have stay in it."""
    earlier = SIGNATURES.read_text(encoding="utf-8").splitlines()[1:]
    lines = sorted((by_overload(earlier) | by_overload(signatures())).values())
    SIGNATURES.write_text(_HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{SIGNATURES}: {len(lines)} overloads")
    CONVERTED.write_text(converted_text(), encoding="utf-8")


def by_overload(lines: Iterable[str]) -> dict[str, str]:
    """The lines of signatures by the names of their overloads."""
    return {line.partition("(")[0]: line for line in lines}


def converted_text() -> str:
    """The contents of `converted.txt`: the overloads with a conversion, which the reader leaves whole."""
    from stepwell.lowering.torch_to_graph import converted_overloads

    head = "# Written by stepwell/tools/generators/generate_torch.py. Overloads with a conversion:\n"
    return head + "".join(f"{name}\n" for name in sorted(converted_overloads()))


def signatures() -> Iterator[str]:
    """The lines of the overloads that a program for inference can have. Raises: StepwellError."""
    with needed("the table of overloads", install="torch"):
        torch = cast(Any, import_module("torch"))
    schemas = {schema.name for schema in torch._C._jit_get_all_schemas()}
    for name in sorted(name.removeprefix("aten::") for name in schemas if name.startswith("aten::")):
        if (name.startswith("__") and name not in _OF_PYTHON) or _LEFT_OUT.match(name):
            continue
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            schema = getattr(packet, overload)._schema
            if (line := _line(f"aten.{name}.{overload}", schema)) is not None:
                yield line


def _line(name: str, schema: Any) -> str | None:
    """The line of an overload; None for one with an output argument or with values that the IR lacks."""
    arguments: list[str] = []
    keywords = False
    for argument in schema.arguments:
        declared = _declared(str(argument.real_type))
        if argument.is_out or declared is None:
            return None
        if argument.kwarg_only and not keywords:
            keywords = True
            arguments.append("*")
        default = f"={_default(argument.default_value)}" if argument.has_default_value() else ""
        if argument.name in LEFT_OUT_ARGUMENTS and not default:  # the readers leave them out
            declared, default = f"{declared.removesuffix('?')}?", "=None"
        arguments.append(f"{declared} {argument.name}{default}")
    results = [_declared(str(result.real_type)) for result in schema.returns]
    if any(result is None or not result.startswith("Tensor") for result in results):
        return None
    known = [result for result in results if result]
    returned = known[0] if len(known) == 1 else f"({', '.join(known)})"
    return f"{name}({', '.join(arguments)}) -> {returned}"


def _declared(real: str) -> str | None:
    """A type as the file has it, from torch's text (`Optional[List[SymInt]]`); None for another one."""
    if inner := re.fullmatch(r"Optional\[(.*)\]", real):
        declared = _declared(inner[1])
        return declared and f"{declared}?"
    if inner := re.fullmatch(r"List\[(.*)\]", real):
        declared = _declared(inner[1])
        return declared and f"{declared}[]"
    base = {"number": "Scalar", "Optional": ""}.get(real, real)
    return base if base in _TYPES else None


def _default(value: object) -> str:
    """A default as text of a signature."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_default, cast('list[object]', value)))}]"
    return repr(value)


if __name__ == "__main__":
    main()

"""`stepwell inspect` of the artifact of a program with functions: interface, segments, instructions."""

from __future__ import annotations

from argparse import Namespace

from stepwell.runtime.image import NATIVE, Entry, ModelImage
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.vm.bytecode import decode
from stepwell.runtime.vm.program import Program
from stepwell.runtime.vm.verify import verify
from stepwell.tools.report import readable_bytes


def inspect_program(image: ModelImage, args: Namespace) -> int:
    """Print what a program contains, with `--vm` its instructions; returns the exit status."""
    program = decode(image.program, image.weights)
    verify(program)
    if args.vm:
        print(disassembled(program))
        return 0
    for function in program.public():
        if function.signature is None:
            continue
        signature = function.signature
        states, signature = signature.states, signature.public
        inputs = [f"{signature.name_of(n)}: {type}" for n, type in enumerate(signature.inputs)]
        outputs = ", ".join(map(str, signature.outputs))
        print(f"@{function.name}({', '.join(inputs)}) -> {outputs}")
        for state in states:
            print(f"state {state.name}: {function.signature.inputs[state.input]}")
    instructions = sum(len(function.code) for function in program.functions)
    print(f"bytecode: {instructions} instructions in {len(program.functions)} functions")
    if (native := image.functions.get(NATIVE)) is not None:
        print(f"native functions: {readable_bytes(_code_bytes(native))} of code")
    for name, entry in image.segments.items():
        print(f"segment @{name}: {readable_bytes(_code_bytes(entry))} of code")
    args.facts |= {
        "functions": [function.name for function in program.functions],
        "instructions": instructions,
        "native": native is not None,
        "segments": list(image.segments),
        **image.summary,
    }
    return 0


def _code_bytes(entry: Entry) -> int:
    codes = [variant.code for variant in entry.variants]
    return sum(len(code.contents) for code in codes if isinstance(code, LinkedCode))


def disassembled(program: Program) -> str:
    """The instructions of a program as text of the `vm` dialect; segments are declarations."""
    from stepwell.dialects.vm.program import module_of
    from stepwell.passes.instruments import module_text
    from stepwell.runtime.files.weights import WeightStore

    return module_text(module_of(program, WeightStore())).removesuffix("\n")

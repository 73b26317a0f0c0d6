"""
Bytecode: a program as bytes, the same for equal programs.

After a version (u16) come tables: texts, types, data types, constants, packed functions, bodies, functions,
locations. Numbers are LEB128. An instruction is its opcode and its operands in the order of its text;
targets are numbers of instructions. Types and locations refer to texts, and a type to types before it. Equal
bodies are stored once.
"""

from stepwell.runtime.vm.decoder import decode as decode
from stepwell.runtime.vm.encoder import encode as encode
from stepwell.runtime.vm.wire import VERSION as VERSION

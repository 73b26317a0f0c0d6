"""The machine for programs of functions, data types and cells: bytecode, its verifier, and an executor."""

"""
Costs on a CPU: tables of the tuned constants, and the cost functions of a core over `TargetDescription`.

Only here does the compiler have numbers that decide about speed: facts of an instruction set, and bounds of
size or accuracy, are where they are used. `python -m benchmarks.constants` measures them again.
"""

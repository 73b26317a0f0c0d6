"""Passes on bytecode as ops: functions of instructions on registers."""

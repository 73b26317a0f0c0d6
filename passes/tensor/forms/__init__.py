"""Ops of `linalg_ext` into loops on scalars and vectors: one file for each form of an op."""

"""Tests: FileCheck files, unit tests, whole models, conformance."""

"""Training of ONNX models: a step as a compiled program, and what goes around it."""

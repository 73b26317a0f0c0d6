"""Parts of level 0 and 1 that plugins define: ops of their own, operators of other ONNX domains."""

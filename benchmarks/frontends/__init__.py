"""Models of PyTorch against their ONNX files and against inductor; the cost of reading and calling them."""

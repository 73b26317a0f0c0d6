"""The debugger: values of a compiled model's nodes, from the kernels that run in production."""

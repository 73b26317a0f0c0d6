"""PyTorch beside the compiler: the backend of `torch.compile`, and modules that take and return tensors."""

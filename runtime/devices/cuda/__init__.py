"""GPUs of NVIDIA: the driver by ctypes, and what PTX says about its kernels."""

"""GPUs by a vendor's driver: the calls that those of NVIDIA and AMD have in common, by ctypes."""

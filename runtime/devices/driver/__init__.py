"""GPUs by a vendor's driver: the calls that NVIDIA's and AMD's drivers have in common, by ctypes."""

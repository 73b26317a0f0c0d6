"""GPUs of AMD: code objects, and the driver's interface by ctypes."""

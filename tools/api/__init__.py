"""The Python API: programs as objects, and the functions that read and compile them."""

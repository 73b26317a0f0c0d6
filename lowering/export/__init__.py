"""Export: a compiled model as a file that programs in other languages link or load, and its header."""

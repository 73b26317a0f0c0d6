"""Models of TensorFlow, by its own converter to TFLite in a process of its own."""

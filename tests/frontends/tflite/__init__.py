"""Sample models of TFLite, written by the classes of its schema."""

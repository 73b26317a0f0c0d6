"""What the IR can say: one file or folder a dialect."""

"""The dialects of the IR, each in a file or folder of its own."""

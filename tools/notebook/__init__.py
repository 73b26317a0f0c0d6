"""IR in notebooks: coloured text, and the magic `%%mlir`."""

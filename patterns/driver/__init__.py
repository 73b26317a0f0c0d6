"""The driver of rewrite patterns: sets, greedy application, dialect conversion, and what they share."""

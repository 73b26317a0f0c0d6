"""
Linking: object files become one position-independent image, whose table of outside functions a loader fills.
"""

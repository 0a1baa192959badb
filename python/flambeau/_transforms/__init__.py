"""Function transforms: levels, their interpreter, and the rules of operators."""

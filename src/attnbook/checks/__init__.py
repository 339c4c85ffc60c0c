"""The errors of the library: each gives the values found and the rule that they break.

Arguments are checked before any arithmetic, so that readers see a sentence about queries and keys
instead of a message from inside a matrix product. A non-tensor is a TypeError; a tensor that does
not fit is a ValueError. All checks are here, so that the modules shown in chapters contain only
mathematics.
"""

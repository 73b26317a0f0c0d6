"""
Mutation testing: small faults are put into copies of the source, and the tests that reach them must fail.

Neither of the usual tools fits: mutmut 3 replaces every function of a tree by all of its mutants at once and
draws no sample, cosmic-ray edits the working tree and runs the same tests for each mutant; our operators
(verifiers, NaN, alignment) would be our own in both. Here a mutant is a range of bytes and a new text.
"""

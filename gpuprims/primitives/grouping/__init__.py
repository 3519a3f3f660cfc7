"""Functions that group equal elements: unique, runs, and folds by key. They call other primitives."""

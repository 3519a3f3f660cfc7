"""Equal elements together: unique elements, runs, and folds of the elements of each key; made of other primitives."""

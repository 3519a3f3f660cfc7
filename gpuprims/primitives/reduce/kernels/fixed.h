/* Steps of folds by a fixed tree (fixed_trees.py), whose operations do not depend on the device. */

/* Elements of an output that make a block, and levels of the tree above blocks. */
#define FIXED_BLOCK ((i64)TREE_LANES * TREE_RUN)
#define FIXED_LEVELS 48

/* A lane folds its elements by fours. These fold the first one to four of them; E(k) is number k. */
#define FIRST_1(E) E(0)
#define FIRST_2(E) OP(E(0), E(1))
#define FIRST_3(E) OP(OP(E(0), E(1)), E(2))
#define FIRST_4(E) OP(OP(E(0), E(1)), OP(E(2), E(3)))

/* Add node number `count` to a row of nodes: level k holds the fold of 2^k nodes, as in a binary counter. */
DEVICE void gp_push(value_t *levels, const i64 count, value_t node)
{
    int level = 0;
    for (; count >> level & 1; level++) node = OP(levels[level], node);
    levels[level] = node;
}

/* Fold a row of `count` nodes, at least one: the last ones, which have no neighbours, first. */
DEVICE value_t gp_fold_levels(const value_t *levels, const i64 count)
{
    int level = 0;
    while (!(count >> level & 1)) level++;
    value_t folded = levels[level];
    for (level++; count >> level; level++)
        if (count >> level & 1) folded = OP(levels[level], folded);
    return folded;
}

/* The lowest `bits` bits of a number, the last one first. */
DEVICE int gp_reversed(const int number, const int bits)
{
    int reversed = 0;
    for (int bit = 0; bit < bits; bit++) reversed |= (number >> bit & 1) << (bits - 1 - bit);
    return reversed;
}

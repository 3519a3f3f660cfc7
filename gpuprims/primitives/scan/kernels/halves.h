/* Folds by halves in registers, for what takes the parts of a tile one after the other.
 *
 * host    HALVES: 2^HALVES parts at most; OP(a, b)
 *
 * `kept` has HALVES folds, of the whole halves of 1, 2, 4, ... parts before part `index`, one for each bit of `index`.
 */

/* Return the fold of all parts before part `index` and of `whole`, which comes after them. */
DEVICE value_t gp_follow_kept(const value_t *kept, const int index, value_t whole)
{
#pragma unroll
    for (int bit = 0; bit < HALVES; bit++)
        if (index >> bit & 1) whole = OP(kept[bit], whole);
    return whole;
}

/* Keep the half that ends with part `index`, whose fold is `whole`. */
DEVICE void gp_join_half(value_t *kept, const int index, value_t whole)
{
    int joins = 1;
#pragma unroll
    for (int bit = 0; bit < HALVES; bit++) {
        const int full = index >> bit & 1;
        if (joins && full) whole = OP(kept[bit], whole);
        if (joins && !full) kept[bit] = whole;
        joins &= full;
    }
}

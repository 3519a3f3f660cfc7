/* The merge path goes from the first elements of both arrays to their ends: right for each element taken from the first array,
 * down for each from the second. Where it crosses diagonal d, the first d results have been merged.
 *
 *     first   1  3  3  7
 *     second 2 |__
 *            3    |_____       diagonal 5: 3 elements of the first array, 2 of the second
 *            8          |__
 */

/* True if an element of the second array goes before one of the first. Equal ones do not. */
DEVICE int gp_goes_first(const result_t second, const result_t first)
{
#if DESCENDING
    return gp_precedes(gp_number(first), gp_number(second));
#else
    return gp_precedes(gp_number(second), gp_number(first));
#endif
}

/* Return how many of the first `diagonal` results come from the first array, which has `size` of all n elements. */
DEVICE i64 gp_cross(INPUTS, const layout_t layout, const i64 n, const i64 size, const i64 diagonal)
{
    i64 low = max(diagonal - (n - size), (i64)0), high = min(diagonal, size);
    GP_CROSS(i64, low, high, gp_goes_first(SECOND(diagonal - 1 - middle), FIRST(middle)));
    return low;
}

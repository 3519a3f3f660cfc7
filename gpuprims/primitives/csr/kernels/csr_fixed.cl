/* csr/fixed: neighbouring work-items add the products of a row by a tree that is the same on every device.
 *
 * in      INPUTS: x0 stored elements, x1 their columns, x2 the first element of each of n rows and the end of the last,
 *         x3 the dense matrix
 * out     OUTPUTS: y0 n rows of COLUMNS, the product
 * launch  groups of BLOCK (a power of two); each takes runs of SLOTS rows until none are left
 * host    LANES work-items for a row, a power of two; HELD columns at once; PRODUCT_OF, gp_settled; ELEMENT, COLUMN,
 *         BEGIN, DENSE and PRODUCT (sparse.h), gp_butterfly (shuffling.h)
 * order   lane k of TREE_LANES adds every TREE_LANES-th element of a row, from element k on, to zero; then the lanes by
 *         halves. A work-item has every LANES-th lane
 */
#define SLOTS (BLOCK / LANES)
#define SHARE (TREE_LANES / LANES)

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void csr_fixed(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0), lane = tid % LANES, slot = tid / LANES;

    for (i64 base = get_group_id(0) * (i64)SLOTS; base < n; base += get_num_groups(0) * (i64)SLOTS) {
        const i64 row = base + slot, begin = row < n ? BEGIN(row) : 0, end = row < n ? BEGIN(row + 1) : 0;
        for (int column = 0; column < COLUMNS; column += HELD) {
            value_t sums[SHARE][HELD];
#pragma unroll
            for (int share = 0; share < SHARE; share++)
#pragma unroll
                for (int k = 0; k < HELD; k++) sums[share][k] = 0;

            /* 1. Add products to the sums of lanes. */
            for (i64 first = begin + lane; first < end; first += TREE_LANES) {
#pragma unroll
                for (int share = 0; share < SHARE; share++) {
                    const i64 at = first + share * LANES;
                    if (at >= end) continue;
                    const value_t element = ELEMENT(at);
                    const i64 place = COLUMN(at);
#pragma unroll
                    for (int k = 0; k < HELD; k++)
                        if (column + k < COLUMNS) sums[share][k] += PRODUCT_OF(element, DENSE(place, column + k));
                }
            }

            /* 2. Fold the lanes: those of a work-item, then those of its neighbours. */
#pragma unroll
            for (int stride = SHARE / 2; stride > 0; stride /= 2)
#pragma unroll
                for (int share = 0; share < stride; share++)
#pragma unroll
                    for (int k = 0; k < HELD; k++) sums[share][k] += sums[share + stride][k];
            for (int stride = LANES / 2; stride > 0; stride /= 2) {
#pragma unroll
                for (int k = 0; k < HELD; k++) sums[0][k] += gp_butterfly(sums[0][k], stride, partial, tid);
            }

            /* 3. Store. */
#pragma unroll
            for (int k = 0; k < HELD; k++)
                if (lane == 0 && row < n && column + k < COLUMNS) PRODUCT(row, column + k) = gp_settled(sums[0][k]);
        }
    }
}

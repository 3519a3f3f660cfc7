/* csr/rows: neighbouring work-items share a row of a sparse matrix, and shuffles add their sums.
 *
 * in      INPUTS: x0 stored elements, x1 their columns, x2 the first element of each of n rows and the end of the last,
 *         x3 the dense matrix
 * out     OUTPUTS: y0 n rows of COLUMNS, the product
 * launch  groups of BLOCK (a power of two); each takes runs of SLOTS rows until none are left
 * host    LANES work-items for a row, a power of two; HELD columns at once; ELEMENT, COLUMN, BEGIN, DENSE, PRODUCT and
 *         gp_add_kahan (sparse.h), gp_butterfly (shuffling.h)
 * order   every LANES-th element of a row, ITEMS of them and then these sums, then the lanes by halves
 *
 * Two rows of 6 and 3 elements by LANES = 4; the other lanes of a warp of 16 take the next two rows:
 *
 *     lane    0      1      2      3      0      1      2      3
 *     takes   0 4    1 5    2      3      0      1      2      -
 */
#define SLOTS (BLOCK / LANES)

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void csr_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0), lane = tid % LANES, slot = tid / LANES;

    for (i64 base = get_group_id(0) * (i64)SLOTS; base < n; base += get_num_groups(0) * (i64)SLOTS) {
        const i64 row = base + slot, begin = row < n ? BEGIN(row) : 0, end = row < n ? BEGIN(row + 1) : 0;
        for (int column = 0; column < COLUMNS; column += HELD) {
            value_t sums[HELD], lost[HELD];
#pragma unroll
            for (int k = 0; k < HELD; k++) sums[k] = lost[k] = 0;

            /* 1. Load ITEMS elements and their columns, then the dense matrix's elements, and add the products. */
            for (i64 first = begin + lane; first < end; first += ITEMS * LANES) {
                value_t elements[ITEMS], few[HELD];
                i64 places[ITEMS];
#pragma unroll
                for (int item = 0; item < ITEMS; item++) {
                    const i64 at = first + item * LANES;
                    elements[item] = at < end ? ELEMENT(at) : 0;
                    places[item] = at < end ? COLUMN(at) : -1;
                }
#pragma unroll
                for (int k = 0; k < HELD; k++) {
                    few[k] = 0;
#pragma unroll
                    for (int item = 0; item < ITEMS; item++)
                        if (places[item] >= 0 && column + k < COLUMNS)
                            few[k] += elements[item] * DENSE(places[item], column + k);
                    gp_add_kahan(&sums[k], &lost[k], few[k]);
                }
            }

            /* 2. Add the lanes' sums. */
            for (int stride = LANES / 2; stride > 0; stride /= 2) {
#pragma unroll
                for (int k = 0; k < HELD; k++) sums[k] += gp_butterfly(sums[k], stride, partial, tid);
            }

            /* 3. Store. */
#pragma unroll
            for (int k = 0; k < HELD; k++)
                if (lane == 0 && row < n && column + k < COLUMNS) PRODUCT(row, column + k) = sums[k];
        }
    }
}

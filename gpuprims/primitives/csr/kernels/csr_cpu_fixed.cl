/* csr/cpu_fixed: each work-item takes a run of a sparse matrix's rows, and adds the products of a row by a tree that is the
 * same on every device, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 stored elements, x1 their columns, x2 the first element of each of n rows and the end of the last,
 *         x3 the dense matrix
 * out     OUTPUTS: y0 n rows of COLUMNS, the product
 * launch  groups of one work-item, one for each run of rows
 * host    PRODUCT_OF, gp_settled; ELEMENT, COLUMN, BEGIN, DENSE, PRODUCT and gp_first_row (sparse.h)
 * order   that of csr/fixed: lane k of TREE_LANES adds every TREE_LANES-th element of a row, from element k on, to zero;
 *         then the lanes by halves
 */
__kernel WORK_GROUP(1)
void csr_cpu_fixed(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const i64 part = get_group_id(0), parts = get_num_groups(0), all = BEGIN(n) + n;
    const i64 last = gp_first_row(INPUT_NAMES, layout, n, (part + 1) * all / parts);

    for (i64 row = gp_first_row(INPUT_NAMES, layout, n, part * all / parts); row < last; row++) {
        const i64 begin = BEGIN(row), end = BEGIN(row + 1);
        for (int column = 0; column < COLUMNS; column++) {
            value_t sums[TREE_LANES];
            for (int lane = 0; lane < TREE_LANES; lane++) sums[lane] = 0;

            /* 1. Add products to the sums of lanes. */
            i64 at = begin;
            for (; at + TREE_LANES <= end; at += TREE_LANES)
                for (int lane = 0; lane < TREE_LANES; lane++)
                    sums[lane] += PRODUCT_OF(ELEMENT(at + lane), DENSE(COLUMN(at + lane), column));
            for (int lane = 0; lane < (int)(end - at); lane++)
                sums[lane] += PRODUCT_OF(ELEMENT(at + lane), DENSE(COLUMN(at + lane), column));

            /* 2. Fold the lanes, and store. */
#pragma unroll
            for (int stride = TREE_LANES / 2; stride > 0; stride /= 2)
                for (int lane = 0; lane < stride; lane++) sums[lane] += sums[lane + stride];
            PRODUCT(row, column) = gp_settled(sums[0]);
        }
    }
}

/* reduce/rows: a few neighbouring lanes fold each output, for many outputs of some hundred elements or fewer.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch none: `parts` is 1, and `partials` and `tickets` are not touched
 * launch  any number of groups of BLOCK (whole warps of WARP lanes); each takes BLOCK / lanes outputs until none are left
 * host    fold_elements (folding.h), OP(a, b), gp_shuffle_down(value, stride), STORE(at, value)
 * order   operands meet in the order of their index; only a commutative operator sees them dealt out with a stride
 *
 * Rows of 12 elements, for VECTOR = 4. As many lanes as a row has vectors, rounded up to a power of two, so that a warp
 * reads rows that follow each other in memory by neighbouring lanes:
 *
 *     row     0               1               2
 *     lane    0   1   2   3   0   1   2   3   0   1   2   3
 *     reads   0.. 4.. 8.. -   0.. 4.. 8.. -   0.. 4.. 8.. -
 */
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) WHOLE_WARPS
void reduce_rows(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *tickets, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts)
{
    const int tid = get_local_id(0);
    int shift = 0; /* the lanes' number as a power of two */
    while (1 << shift < WARP && ((i64)VECTOR << shift) < n) shift++;
    const int lanes = 1 << shift, lane = tid & (lanes - 1);

    for (i64 base = (i64)get_group_id(0) * BLOCK; base >> shift < outputs; base += (i64)get_num_groups(0) * BLOCK) {
        const i64 o = (base + tid) >> shift;
        const int live = o < outputs;

        /* 1. Load and fold. */
        value_t folded = IDENTITY;
        if (live) folded = fold_elements(INPUT_NAMES, layout, o, n, lane, lanes);

        /* 2. Fold the lanes: each takes the value of the one `stride` further on, and the first ends with all. */
        for (int stride = 1; stride < lanes; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));

        /* 3. Store. */
        if (live && lane == 0) STORE(o, folded);
    }
}

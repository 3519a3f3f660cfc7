/* reduce/rows: a few neighbouring lanes fold each output, for many outputs of some hundred elements or fewer.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch none: `parts` is 1, and partials and counters are not touched
 * launch  any number of groups of BLOCK (whole warps of WARP lanes); each takes ROWS x BLOCK / lanes outputs until none
 *         are left
 * host    gp_fold_output (folding.h), MAP_VECTOR, MAP, OP(a, b), IDENTITY, gp_shuffle_down(value, stride), STORE(o,
 *         j, value)
 * order   operands in index order; a commutative operator may take them with a stride
 *
 * Rows of 12 elements, for VECTOR = 4. A row gets as many lanes as it has vectors, rounded up to a power of two, so
 * neighbouring lanes of a warp read consecutive rows. If values have many words, lanes beyond FEW take ITEMS elements each:
 *
 *     row     0               1               2
 *     lane    0   1   2   3   0   1   2   3   0   1   2   3
 *     reads   0.. 4.. 8.. -   0.. 4.. 8.. -   0.. 4.. 8.. -
 */
#define ROWS 4
#define FEW 4

/* Load the vector at j of an output's elements, and the identity where there is none. */
DEVICE void load_row_vector(INPUTS, const layout_t layout, const i64 o, const i64 j, const i64 n, const int live,
                        value_t *values)
{
    if (live && j + VECTOR <= n) {
        MAP_VECTOR(o, j, values);
    } else {
#pragma unroll
        for (int item = 0; item < VECTOR; item++) values[item] = live && j + item < n ? MAP(o, j + item) : IDENTITY;
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void reduce_rows(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts)
{
    const int tid = get_local_id(0);
    int shift = 0; /* log2 of the number of lanes */
    while (1 << shift < WARP && ((i64)(MANY_WORDS && 1 << shift >= FEW ? ITEMS : VECTOR) << shift) < n) shift++;
    const int lanes = 1 << shift, lane = tid & (lanes - 1), rows = PEELED || (i64)VECTOR * lanes < n ? 1 : ROWS;
    const i64 step = BLOCK >> shift, tile = rows * step; /* outputs that a group takes at once, and per iteration */

    for (i64 base = get_group_id(0) * tile; base < outputs; base += get_num_groups(0) * tile) {
        const i64 o = base + (tid >> shift);
        value_t folded[ROWS];

        /* 1. Load and fold; ROWS independent rows in flight if a lane has one vector of each. */
        if (rows > 1) {
            value_t values[ROWS][VECTOR];
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                load_row_vector(INPUT_NAMES, layout, o + row * step, (i64)lane * VECTOR, n, o + row * step < outputs, values[row]);
#pragma unroll
            for (int row = 0; row < ROWS; row++) {
                folded[row] = values[row][0];
#pragma unroll
                for (int item = 1; item < VECTOR; item++) folded[row] = OP(folded[row], values[row][item]);
            }
        } else {
            folded[0] = IDENTITY;
            if (o < outputs) folded[0] = gp_fold_output(INPUT_NAMES, layout, o, n, lane, lanes);
        }

        /* 2. Fold the lanes: each takes the value of the lane `stride` above, and the first lane ends with all. */
        for (int stride = 1; stride < lanes; stride *= 2) {
#pragma unroll
            for (int row = 0; row < ROWS; row++)
                if (row < rows) folded[row] = OP(folded[row], gp_shuffle_down(folded[row], stride));
        }

        /* 3. Store. */
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            if (row < rows && lane == 0 && o + row * step < outputs) STORE(o + row * step, 0, folded[row]);
    }
}

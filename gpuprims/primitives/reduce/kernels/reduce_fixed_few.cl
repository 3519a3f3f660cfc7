/* reduce/fixed_few: a few neighbouring lanes fold each output of few elements by a tree that is the same on every device.
 *
 * in      INPUTS: `size` elements for each of `outputs` outputs, at most ROW_LANES x PIECES x VECTOR
 * out     OUTPUTS: one value for each
 * scratch none: partials and counters are not touched
 * launch  any number of groups of BLOCK (whole warps); each takes ROWS x BLOCK / ROW_LANES outputs until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), OP(a, b), IDENTITY, STORE(o, j, value), gp_shuffle_down(value, stride);
 *         ROW_LANES, PIECES and VECTOR (powers of two), ROWS
 * order   of fixed_trees.py for commutative operators, where each lane of the tree has at most one element: elements i and
 *         i + stride fold, for strides from the largest power of two down
 *
 * Rows of 12 elements, for VECTOR = 2, four lanes and two pieces. Strides of 8 lie between pieces, those of 4 and 2 between
 * lanes, and that of 1 in a vector:
 *
 *     piece   0                1
 *     lane    0  1  2  3       0   1    2 3
 *     holds   01 23 45 67      89 1011  - -
 */
#define HELD (PIECES * VECTOR)            /* elements of a lane */
#define ACROSS_LANES (ROW_LANES * VECTOR) /* elements of a piece */

/* Load a lane's elements of an output; those past the end are folded with nothing. */
DEVICE void load_pieces(INPUTS, const layout_t layout, const i64 o, const int n, const int lane, value_t *values)
{
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
        const int j = piece * ACROSS_LANES + lane * VECTOR;
        if (j + VECTOR <= n) {
            MAP_VECTOR(o, j, values + piece * VECTOR);
        } else {
#pragma unroll
            for (int item = 0; item < VECTOR; item++) values[piece * VECTOR + item] = j + item < n ? MAP(o, j + item) : IDENTITY;
        }
    }
}

/* Fold an output's elements; the first lane ends with the fold of all. */
DEVICE value_t fold_pieces(value_t *values, const int n, const int lane)
{
    const int first = lane * VECTOR;
#pragma unroll
    for (int apart = PIECES / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int k = 0; k < apart * VECTOR; k++) {
            const int other = (k / VECTOR + apart) * ACROSS_LANES + first + k % VECTOR;
            if (other < n) values[k] = OP(values[k], values[k + apart * VECTOR]);
        }
    }
#pragma unroll
    for (int apart = ROW_LANES / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int item = 0; item < VECTOR; item++) {
            const value_t other = gp_shuffle_down(values[item], apart);
            if (first + apart * VECTOR + item < n) values[item] = OP(values[item], other);
        }
    }
#pragma unroll
    for (int apart = VECTOR / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int item = 0; item < apart; item++)
            if (item + apart < n) values[item] = OP(values[item], values[item + apart]);
    }
    return values[0];
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void reduce_fixed_few(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                      const i64 outputs, const i64 size)
{
    const int tid = get_local_id(0), lane = tid % ROW_LANES, n = (int)size;
    const i64 step = BLOCK / ROW_LANES, tile = ROWS * step;

    for (i64 base = get_group_id(0) * tile; base < outputs; base += get_num_groups(0) * tile) {
        const i64 o = base + tid / ROW_LANES;
        value_t values[ROWS][HELD];

        /* 1. Load ROWS independent rows. */
#pragma unroll
        for (int row = 0; row < ROWS; row++)
            load_pieces(INPUT_NAMES, layout, o + row * step, o + row * step < outputs ? n : 0, lane, values[row]);

        /* 2. Fold each, and store. All lanes of a warp take part in shuffles. */
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const value_t folded = fold_pieces(values[row], n, lane);
            if (lane == 0 && o + row * step < outputs) STORE(o + row * step, 0, folded);
        }
    }
}

/* reduce/fixed_few: a few neighbouring lanes fold each output of few elements by a tree that is the same on every device.
 *
 * in      INPUTS: `size` elements for each of `outputs` outputs, at most a block of the tree
 * out     OUTPUTS: one value for each
 * scratch none: partials and counters are not touched
 * launch  any number of groups of BLOCK (whole warps); each takes ROWS x BLOCK / ROW_LANES outputs until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), OP(a, b), IDENTITY, STORE(o, j, value), gp_shuffle_down(value, stride),
 *         gp_shuffle_from(value, lane);
 *         ROW_LANES, PIECES and VECTOR (powers of two), ROWS, TREE_LANES; SEVERAL_EACH if lanes of the tree have more than
 *         one element
 * order   of fixed_trees.py for commutative operators: elements that lie TREE_LANES apart fold by fours, then lanes i and
 *         i + stride of the tree, for strides from the largest power of two down. Work-items hold all lanes of the tree
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

/* Load elements of four vectors TREE_LANES apart, and fold them with the fours before. Outputs end with a whole vector. */
DEVICE void fold_four(INPUTS, const layout_t layout, const i64 o, const int j, const int n, value_t *values)
{
    value_t loaded[4][VECTOR];
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (j + k * TREE_LANES < n) MAP_VECTOR(o, j + k * TREE_LANES, loaded[k]);
#pragma unroll
    for (int item = 0; item < VECTOR; item++) {
        value_t four = loaded[0][item], later = loaded[2][item];
        if (j + TREE_LANES < n) four = OP(four, loaded[1][item]);
        if (j + 3 * TREE_LANES < n) later = OP(later, loaded[3][item]);
        if (j + 2 * TREE_LANES < n) four = OP(four, later);
        if (j < n) values[item] = j < TREE_LANES ? four : OP(values[item], four);
    }
}

/* Load the elements of a lane's pieces of an output. */
DEVICE void load_pieces(INPUTS, const layout_t layout, const i64 o, const int n, const int lane, value_t *values)
{
#if SEVERAL_EACH
    for (int first = 0; first < n; first += 4 * TREE_LANES) {
#pragma unroll
        for (int piece = 0; piece < PIECES; piece++)
            fold_four(INPUT_NAMES, layout, o, first + piece * ACROSS_LANES + lane * VECTOR, n, values + piece * VECTOR);
    }
#else
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
        const int j = piece * ACROSS_LANES + lane * VECTOR;
        if (j + VECTOR <= n) {
            MAP_VECTOR(o, j, values + piece * VECTOR);
        } else {
#pragma unroll
            for (int item = 0; item < VECTOR; item++)
                values[piece * VECTOR + item] = j + item < n ? MAP(o, j + item) : IDENTITY;
        }
    }
#endif
}

/* Fold an output's elements; the first lane ends with the fold of all.
 *
 * Two lanes that fold the items of their vectors share them: the lower one takes the first half, and so on until each has one.
 * Of four lanes with vectors of two:
 *
 *     lane      0       1       2       3
 *     item      0 of    0 of    1 of    1 of
 *     lanes     0 2     1 3     0 2     1 3
 *     then      0 1 2 3         0 1 2 3
 */
DEVICE value_t fold_pieces(value_t *values, const int n, const int at)
{
    const int lane = at % ROW_LANES, first = lane * VECTOR;
#pragma unroll
    for (int apart = PIECES / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int k = 0; k < HELD / 2; k++) { /* as often for each stride: the compiler unrolls both loops */
            const int other = (k / VECTOR + apart) * ACROSS_LANES + first + k % VECTOR;
            if (k < apart * VECTOR && other < n) values[k] = OP(values[k], values[k + apart * VECTOR]);
        }
    }
    int item = 0; /* the first of its vector that a lane has */
#pragma unroll
    for (int apart = ROW_LANES / 2; apart > 0; apart /= 2) {
        const int had = max(2 * VECTOR * apart / ROW_LANES, 1), has = max(had / 2, 1); /* items */
        const int shared = had > has, upper = shared && lane & apart;
        if (upper) item += has;
#pragma unroll
        for (int k = 0; k < has; k++) {
            const value_t own = upper ? values[k + has] : values[k];
            const value_t other = gp_shuffle_from(shared && !upper ? values[k + has] : values[k], at ^ apart);
            const int later = (lane % apart + apart) * VECTOR + item + k;
            values[k] = upper ? other : own;
            if (later < n) values[k] = OP(values[k], upper ? own : other);
        }
    }
#pragma unroll
    for (int stride = VECTOR / 2; stride > 0; stride /= 2) {
        const int apart = ROW_LANES * stride / VECTOR; /* lanes that have both items, or none if one lane has */
#pragma unroll
        for (int k = 0; k < (apart ? max(VECTOR / ROW_LANES, 1) : stride); k++) {
            const value_t other = apart ? gp_shuffle_down(values[k], apart) : values[k + stride];
            if (item + k + stride < n) values[k] = OP(values[k], other);
        }
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
            const value_t folded = fold_pieces(values[row], n, tid % WARP);
            if (lane == 0 && o + row * step < outputs) STORE(o + row * step, 0, folded);
        }
    }
}

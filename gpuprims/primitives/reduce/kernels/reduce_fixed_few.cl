/* reduce/fixed_few: a few neighbouring lanes fold each output of few elements by a tree that is the same on every device.
 *
 * in      INPUTS: `size` elements for each of `outputs` outputs, at most a block of the tree
 * out     OUTPUTS: one value for each
 * scratch none: partials and counters are not touched
 * launch  any number of groups of BLOCK (whole warps); each takes ROWS x BLOCK / ROW_LANES outputs until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), OP(a, b), IDENTITY, STORE(o, j, value), gp_shuffle_down(value, stride),
 *         gp_shuffle_from(value, lane);
 *         ROW_LANES, PIECES and VECTOR (powers of two), ROWS, TREE_LANES; LANE_LOADS (no lane of the tree has more elements, or
 *         it is 4); if lanes have several, outputs end with a whole vector
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
/* Pieces that are loaded before others, if lanes of the tree have several elements. */
#define LOADED_PIECES (16 > LANE_LOADS * VECTOR * PIECES ? PIECES : 16 > LANE_LOADS * VECTOR ? 16 / (LANE_LOADS * VECTOR) : 1)
/* With fewer registers for such lanes, CUDA's compiler folds each two elements before it loads others (rows: fixed_few-odd). */
#define GROUPS_AT_ONCE (LANE_LOADS > 1 || HELD * WORDS >= 32 ? 2 : 4)

/* Fold LANE_LOADS loaded vectors of elements that lie TREE_LANES apart, from place j on, with those before. */
DEVICE void fold_loaded(const int j, const int n, value_t loaded[LANE_LOADS][VECTOR], value_t *values)
{
#pragma unroll
    for (int item = 0; item < VECTOR; item++) {
#pragma unroll
        for (int apart = 1; apart < LANE_LOADS; apart *= 2) {
#pragma unroll
            for (int k = 0; k < LANE_LOADS; k += 2 * apart)
                if (j + (k + apart) * TREE_LANES < n) loaded[k][item] = OP(loaded[k][item], loaded[k + apart][item]);
        }
        if (j < n) values[item] = j < TREE_LANES ? loaded[0][item] : OP(values[item], loaded[0][item]);
    }
}

/* Load the elements of a lane's pieces of an output. If lanes of the tree have several, what a lane lacks is loaded again from the
 * output's last vector, without a branch, and not folded. */
DEVICE void load_pieces(INPUTS, const layout_t layout, const i64 o, const int n, const int lane, value_t *values)
{
#if LANE_LOADS > 1
    for (int first = 0; first < n; first += LANE_LOADS * TREE_LANES) {
#pragma unroll
        for (int piece = 0; piece < PIECES; piece += LOADED_PIECES) {
            const int j = first + piece * ACROSS_LANES + lane * VECTOR;
            value_t loaded[LOADED_PIECES][LANE_LOADS][VECTOR];
#pragma unroll
            for (int k = 0; k < LOADED_PIECES * LANE_LOADS; k++) {
                const int at = j + k / LANE_LOADS * ACROSS_LANES + k % LANE_LOADS * TREE_LANES;
                MAP_VECTOR(o, min(at, n - VECTOR), loaded[k / LANE_LOADS][k % LANE_LOADS]);
            }
#pragma unroll
            for (int k = 0; k < LOADED_PIECES; k++)
                fold_loaded(j + k * ACROSS_LANES, n, loaded[k], values + (piece + k) * VECTOR);
        }
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

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE) WHOLE_WARPS
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
        for (int row = 0; row < ROWS; row++) /* past the last output, the last one */
            load_pieces(INPUT_NAMES, layout, min(o + row * step, outputs - 1), n, lane, values[row]);

        /* 2. Fold each, and store. All lanes of a warp take part in shuffles. */
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            const value_t folded = fold_pieces(values[row], n, tid % WARP);
            if (lane == 0 && o + row * step < outputs) STORE(o + row * step, 0, folded);
        }
    }
}

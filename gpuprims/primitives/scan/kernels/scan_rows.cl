/* scan/rows: a few neighbouring lanes scan each output, for many outputs of some hundred elements or fewer.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: a value at each element
 * scratch none
 * launch  any number of groups of BLOCK (whole warps of WARP lanes); each takes ROWS x BLOCK / ROW_LANES outputs until
 *         none are left
 * host    ROW_LANES, a power of two; ROWS; PIECES; gp_load_values, gp_scan_vectors and gp_store_values (scanning.h),
 *         IDENTITY; HEAD(o), if PEELED
 * order   operands in index order
 *
 * A row gets as many lanes as it has vectors, rounded up to a power of two, or a warp. Neighbouring lanes read consecutive
 * elements. A lane has PIECES vectors of each of ROWS rows in flight. Rows of 12 elements, for VECTOR = 4, ROW_LANES = 4:
 *
 *     row     0               1               2
 *     lane    0   1   2   3   0   1   2   3   0   1   2   3
 *     reads   0.. 4.. 8.. -   0.. 4.. 8.. -   0.. 4.. 8.. -
 *
 * If PEELED, rows begin anywhere. A row's first vector then begins up to VECTOR - 1 elements before it, and its elements
 * before the row are the identity.
 */
#define STEP (BLOCK / ROW_LANES)   /* rows that a group takes side by side */
#define WIDTH (VECTOR * ROW_LANES) /* elements of a piece of a row */
#if PEELED
#define MISSING(o) ((int)((VECTOR - HEAD(o)) % VECTOR)) /* elements of its first vector that are not the row's */
#define END (n + VECTOR - 1)
#else
#define MISSING(o) 0
#define END n
#endif
#define EACH_PIECE                                                                                                     \
    _Pragma("unroll") for (int row = 0; row < ROWS; row++) _Pragma("unroll") for (int piece = 0; piece < PIECES; piece++)

#if PEELED
/* Load VECTOR elements from j on. Where the row has none, those of neighbouring rows are loaded, and the identity is put in
 * their place. Without a branch around loads, all are on their way before the first is waited for. */
DEVICE void load_around(INPUTS, const layout_t layout, const i64 o, const i64 j, const i64 last, const i64 n, value_t *values)
{
    MAP_VECTOR(o, min(j, last), values);
    if (j < 0 || j + VECTOR > n) {
#pragma unroll
        for (int item = 0; item < VECTOR; item++)
            if (j + item < 0 || j + item >= n) values[item] = IDENTITY;
    }
}
#endif

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void scan_rows(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 base = (i64)get_group_id(0) * ROWS * STEP; base < outputs; base += (i64)get_num_groups(0) * ROWS * STEP) {
        const i64 o = base + tid / ROW_LANES;
        value_t before[ROWS];
        int missing[ROWS];
        for (int row = 0; row < ROWS; row++) {
            before[row] = IDENTITY;
            missing[row] = MISSING(o + row * STEP);
        }

        for (i64 first = 0; first < END; first += PIECES * WIDTH) {
            const i64 j = first + tid % ROW_LANES * VECTOR;
            value_t values[ROWS][PIECES][VECTOR];

            /* 1. Load; an output past the last has no elements. The first and the last have no neighbours. */
#if PEELED
            if (o > 0 && o + (ROWS - 1) * STEP + 1 < outputs) {
                EACH_PIECE load_around(INPUT_NAMES, layout, o + row * STEP, j + piece * WIDTH - missing[row],
                                       (n - 1 + missing[row]) / VECTOR * VECTOR - missing[row], n, values[row][piece]);
            } else
#endif
            EACH_PIECE gp_load_values(INPUT_NAMES, layout, o + row * STEP, j + piece * WIDTH - missing[row],
                                      o + row * STEP < outputs ? n : 0, values[row][piece]);

            /* 2. Scan; a piece goes on where the one before ends. */
            EACH_PIECE before[row] = gp_scan_vectors(values[row][piece], before[row], tid % LANES, ROW_LANES);

            /* 3. Store. */
            EACH_PIECE
            if (o + row * STEP < outputs)
                gp_store_values(INPUT_NAMES, OUTPUT_NAMES, layout, o + row * STEP, j + piece * WIDTH - missing[row], n,
                                values[row][piece]);
        }
    }
}

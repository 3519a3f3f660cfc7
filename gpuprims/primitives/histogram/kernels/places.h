/* Find an element's place among the sums: its bin, or of several keys the place of their bins in a grid.
 *
 * A grid has an axis of bins for each key, the last one contiguous, and a row of such grids if ROWS. Its table begins with
 * two words for each axis, which find the axis's own table (binning.h), and has the places of a row in the word after. */
#if GRID
typedef struct {
    binning_t axes[GRID];
    i32 strides[GRID];
    i32 bins, row;
} bins_t;

DEVICE bins_t gp_read_bins(GLOBAL const u64 *table, const i64 bins)
{
    bins_t b;
    b.bins = (i32)bins;
    b.row = (i32)table[2 * GRID];
#pragma unroll
    for (int axis = 0; axis < GRID; axis++) {
        const u64 lengths = table[2 * axis + 1];
        b.axes[axis] = gp_read_table(table + table[2 * axis], (i64)(u32)lengths);
        b.strides[axis] = (i32)(lengths >> 32);
    }
    return b;
}

/* Propose an element's place, which is right if it is `sure`. An element is in no bin if one of its keys is, and in doubt
 * if one of the others is. Tests follow one another without any choice in between, because GPUs join such a row of
 * comparisons, each with the next. */
DEVICE i32 gp_propose_place(const value_t value, const bins_t b, int *sure, int *doubt)
{
    const key_t keys[GRID] = {GRID_KEYS(value)};
    u32 place = (u32)(GRID_ROW(value) * b.row); /* any number outside the bins */
    int inside = 1;
#pragma unroll
    for (int axis = 0; axis < GRID; axis++)
        inside = inside && INSIDE(keys[axis], b.axes[axis]);
    int all = inside;
#pragma unroll
    for (int axis = 0; axis < GRID; axis++) {
        int certain;
        const i32 bin = gp_propose_bin(keys[axis], b.axes[axis], inside, &certain);
        all = all && certain;
        place += (u32)bin * (u32)b.strides[axis];
    }
    *sure = all;
    *doubt = inside && !all;
    return (i32)place;
}

DEVICE i32 gp_guess_place(const value_t value, const bins_t b, int *doubt)
{
    int sure;
    const i32 place = gp_propose_place(value, b, &sure, doubt);
    return sure ? place : b.bins;
}

DEVICE i32 gp_settle_place(const value_t value, const bins_t b)
{
    const key_t keys[GRID] = {GRID_KEYS(value)};
    i32 place = GRID_ROW(value) * b.row;
    int inside = 1;
#pragma unroll
    for (int axis = 0; axis < GRID; axis++) {
        const i32 bin = gp_settle_bin(keys[axis], b.axes[axis]);
        inside &= bin < b.axes[axis].bins;
        place += inside ? bin * b.strides[axis] : 0;
    }
    return inside ? place : b.bins;
}
#else
typedef binning_t bins_t;
#define gp_read_bins gp_read_table
#define gp_guess_place(value, b, doubt) gp_guess_bin(KEY(value), b, doubt)
#define gp_settle_place(value, b) gp_settle_bin(KEY(value), b)

DEVICE i32 gp_propose_place(const value_t value, const bins_t b, int *sure, int *doubt)
{
    *sure = 1;
    return gp_guess_place(value, b, doubt);
}
#endif

/* Load the first item in doubt and find its place. Such items are rare, so registers hold one at a time. */
DEVICE i32 gp_settle_item(INPUTS, const layout_t layout, const i64 o, const i64 base, const int tid, const bins_t b,
                          u32 *left, value_t *value)
{
    const int item = gp_count_bits(~*left & (*left - 1));
    *left &= *left - 1;
    *value = MAP(o, ITEM_INDEX(base, item, tid));
    return gp_settle_place(*value, b);
}

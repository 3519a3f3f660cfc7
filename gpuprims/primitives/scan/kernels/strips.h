/* Strips of neighbouring outputs, for scans down columns.
 *
 * A strip has width x across columns. The lanes of a warp hold ROWS rows of `width` columns of each item, and the
 * WARPS / across warps below each other make a tile. For LANES = 8, ROWS = 2, width = 3, ITEMS = 2:
 *
 *     lane           0    1    2    3    4    5    6    7
 *     item 0       0,0  0,1  0,2  1,0  1,1  1,2    -    -      row, column
 *     item 1       2,0  2,1  2,2  3,0  3,1  3,2    -    -
 */
#define LOOKED 4 /* statuses that a work-item reads at once */
#if LANES > 1
#define ANY_LANE(number) gp_any_lane(number)
#else
#define ANY_LANE(number) (number)
#endif

/* A work-item's place in a tile: `below` warps are above its own, of `down`; `row` is ROWS or more in idle lanes. */
typedef struct { int width, span, column, below, down, row; } place_t;

DEVICE place_t gp_strip_place(const int tid, const int width, const int across)
{
    place_t at;
    at.width = width;
    at.span = width * across;
    at.column = tid / LANES % across * width + tid % LANES % width;
    at.below = tid / LANES / across;
    at.down = WARPS / across;
    at.row = tid % LANES / width;
    return at;
}

/* Scan the rows of an item down the lanes. */
DEVICE value_t gp_scan_down(value_t value, const place_t at)
{
#if ROWS > 1
#pragma unroll
    for (int stride = 1; stride < ROWS; stride *= 2) {
        const value_t earlier = gp_shuffle_up(value, stride * at.width);
        if (at.row >= stride) value = OP(earlier, value);
    }
#endif
    return value;
}

/* Return the value in the last row of a work-item's column. */
DEVICE value_t gp_last_row(const value_t value, const place_t at, const int lane)
{
#if ROWS > 1
    return gp_shuffle_from(value, (ROWS - 1) * at.width + lane % at.width);
#else
    return value;
#endif
}

/* Scan a work-item's rows after `folded`, given those of the other lanes; return the fold of all rows of its column. */
DEVICE value_t gp_scan_rows(value_t *values, value_t folded, const place_t at, const int lane)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const value_t value = gp_scan_down(values[item], at), last = gp_last_row(value, at, lane);
#if INCLUSIVE
        values[item] = OP(folded, value);
#elif ROWS > 1
        const value_t earlier = gp_shuffle_up(value, at.width);
        values[item] = at.row ? OP(folded, earlier) : folded;
#else
        values[item] = folded;
#endif
        folded = OP(folded, last);
    }
    return folded;
}

/* Read the next LOOKED of `count` statuses from `taken` on. */
DEVICE void gp_look_between(GLOBAL u64 *statuses, const i64 status, const int span, const int taken, const int count,
                            u64 *entries)
{
#pragma unroll
    for (int k = 0; k < LOOKED; k++)
        if (taken + k < count) gp_read_entries(statuses, status + (i64)(taken + k) * span, entries + k * WORDS);
}

/* Fold the values of a column's lanes, in the order of their rows; the result is in row 0. */
DEVICE value_t gp_fold_down(value_t whole, const place_t at)
{
#if ROWS > 1
#pragma unroll
    for (int stride = 1; stride < ROWS; stride *= 2) {
        const value_t later = gp_shuffle_down(whole, stride * at.width);
        if (at.row + stride < ROWS) whole = OP(whole, later);
    }
#endif
    return whole;
}

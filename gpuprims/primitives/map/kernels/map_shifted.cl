/* map/shifted: as map/grid, by whole vectors of arrays that begin between them.
 *
 * in      INPUTS, whose neighbours along j are neighbours in memory, or one element
 * out     OUTPUTS, one value at each j in [first, n); index 0 would lie at a whole vector of each output
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS until none are left
 * host    MAP(o, j), MAP_SHIFTED(o, j, values), STORE(o, j, value), STORE_VECTOR(o, j, values); VECTOR, which divides
 *         ITEMS; AHEAD, how many elements behind a vector may be read with it
 *
 *     index     0   1 | 2   3   4   5   6   7 | 8   9   with first = 1, n = 10 and VECTOR = 2, without AHEAD
 *                alone|        by vectors     |         the first and the last ones alone
 */
#define TILE (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK)
void map_shifted(INPUTS, OUTPUTS, const layout_t layout, const i64 first, const i64 n)
{
    const int tid = get_local_id(0);
    /* Vectors hold the elements in [start, whole). */
    const i64 start = first > 0 ? VECTOR : 0, whole = max(start, (n - AHEAD) / VECTOR * VECTOR);

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        const i64 lane = base + tid * VECTOR;
        value_t values[ITEMS];
        if (base >= start && base + TILE <= whole) {
            /* 1. Load and apply: ITEMS independent elements in flight. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR) MAP_SHIFTED(0, lane + item * BLOCK, values + item);
            /* 2. Store. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR) STORE_VECTOR(0, lane + item * BLOCK, values + item);
        } else {
            /* First or last tile: the same with whole vectors, then an element each for work-items. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (lane + item * BLOCK >= start && lane + item * BLOCK < whole)
                    MAP_SHIFTED(0, lane + item * BLOCK, values + item);
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (lane + item * BLOCK >= start && lane + item * BLOCK < whole)
                    STORE_VECTOR(0, lane + item * BLOCK, values + item);
            if (base == 0 && first + tid < min(start, n)) STORE(0, first + tid, MAP(0, first + tid));
            if (whole >= base && whole < base + TILE && whole + tid < n) STORE(0, whole + tid, MAP(0, whole + tid));
        }
    }
}

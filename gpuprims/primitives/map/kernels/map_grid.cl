/* map/grid: neighbouring work-items take neighbouring vectors, so that reads and writes coalesce.
 *
 * in      INPUTS, any layout
 * out     OUTPUTS, one value at each j in [0, n)
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK x ITEMS until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), STORE(o, j, value), STORE_VECTOR(o, j, values), VECTOR, which divides
 *         ITEMS
 */
#define TILE (BLOCK * ITEMS)

__kernel WORK_GROUP(BLOCK)
void map_grid(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 base = (i64)get_group_id(0) * TILE; base < n; base += (i64)get_num_groups(0) * TILE) {
        if (base + TILE <= n) {
            const i64 first = base + tid * VECTOR;
            /* 1. Load and apply: ITEMS independent elements in flight. */
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(0, first + item * BLOCK, values + item);
            /* 2. Store. */
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR) STORE_VECTOR(0, first + item * BLOCK, values + item);
        } else {
            /* Partial tile: the same with whole vectors, then an element each for as many work-items as are left. */
            const i64 first = base + tid * VECTOR, whole = n / VECTOR * VECTOR;
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (first + item * BLOCK < whole) MAP_VECTOR(0, first + item * BLOCK, values + item);
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                if (first + item * BLOCK < whole) STORE_VECTOR(0, first + item * BLOCK, values + item);
            if (VECTOR > 1 && whole + tid < n) STORE(0, whole + tid, MAP(0, whole + tid));
        }
    }
}

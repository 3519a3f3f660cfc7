/* take/cpu_runs: each group takes runs of results, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 elements, with the indexed axes as kept axes; x1 indices
 * out     OUTPUTS: y0 the element at index j, for each j in [0, n)
 * launch  any number of groups of one work-item; each takes tiles of ITEMS results until none are left
 * host    ROW_LENGTH(n), the results along the last axis; SHARED_INDEX if those of a row share an index;
 *         TAKEN_ALONG(k), INDEX_ALONG(k), RESULT_ALONG(k), distances along it; gp_place_of, gp_tell_outside (places.h)
 */
/* The distance of an element from the first one. */
#define PLACED(place) (gp_at_x0(layout, place, 0) - layout.offset[0])

__kernel WORK_GROUP(1)
void take_cpu_runs(INPUTS, OUTPUTS, GLOBAL i64 *found, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                   const i64 length)
{
    __local u32 mark;
    const i64 row = ROW_LENGTH(n);
    u32 outside = 0;

    for (i64 base = (i64)get_group_id(0) * ITEMS; base < n; base += (i64)get_num_groups(0) * ITEMS) {
        const i64 last = min(base + ITEMS, n);
        for (i64 j = base; j < last;) {
            /* 1. Find where a row begins, and how much of it lies in the tile. */
            const i64 stop = min(last, (j / row + 1) * row), count = stop - j;
            GLOBAL const element_t *from = x0 + gp_at_x0(layout, 0, j);
            GLOBAL const index_t *by = x1 + gp_at_x1(layout, 0, j);
            GLOBAL element_t *to = y0 + gp_at_y0(layout, 0, j);

            /* 2. Copy the row of one index, or an element for each index. */
#if SHARED_INDEX
            from += PLACED(gp_place_of(*by, length, &outside));
            for (i64 k = 0; k < count; k++) to[RESULT_ALONG(k)] = from[TAKEN_ALONG(k)];
#else
            for (i64 k = 0; k < count; k++)
                to[RESULT_ALONG(k)] = from[PLACED(gp_place_of(by[INDEX_ALONG(k)], length, &outside))];
#endif
            j = stop;
        }
    }
    gp_tell_outside(found, counters, &mark, outside, 0);
}

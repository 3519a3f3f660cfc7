/* sort/merge: one launch sorts tiles in local memory; then, for runs twice as long each time, a launch finds where the
 * merge path crosses the begins of tiles, and the next merges pairs of runs, a tile of the result a group.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES, unless it is the `first` pass
 *         of INDICES
 *         crossings: for each tile of a result, the elements of the left run in the tiles before, which CROSSES writes
 * out     moved: the elements in longer runs, if KEEPS_KEYS or not the `last` pass; kept: the values, in the last pass as
 *         kept_t
 * launch  TILES: sorts tiles. CROSSES, and else: for runs of `run` elements, whole tiles. Any number of groups of BLOCK,
 *         which take tiles in turn, if CROSSES a work-item each
 * host    SORTS_FIRST (by sort_keys.h, or `less=`), GP_CROSSING (runs.h), KEEP_VALUE (carried.h)
 * order   stable: of equal elements, that of the earlier run goes first
 * source  Green, McColl and Bader, GPU merge path, 2012
 *
 * A work-item's items of a merged run begin where a diagonal crosses the path. For ITEMS = 4, left 1 3 5 7, right 2 3 4 9:
 *
 *     diagonal 0    nothing taken    1 2 3 3
 *     diagonal 4    1 3 and 2 3      4 5 7 9
 */
#define TILE (BLOCK * ITEMS)

GP_CROSSING(gp_local_crossing, LOCAL, int)

/* Merge a work-item's items of two runs into registers, with their places before; the right run begins at `middle`. */
DEVICE void gp_merge_items(LOCAL const element_t *staged, LOCAL const u16 *from, const int begin, const int middle,
                           const int end, const int diagonal, element_t *items, u16 *places)
{
    int a = begin + gp_local_crossing(staged + begin, middle - begin, staged + middle, end - middle, diagonal);
    int b = middle + diagonal - (a - begin);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const int left = a < middle && (b >= end || !SORTS_FIRST(staged[b], staged[a]));
        const int at = left ? a++ : b < end ? b++ : end - 1;
        items[item] = staged[at];
        if (CARRIES) places[item] = from[at];
    }
}

/* Write a work-item's items, and their places before, to local memory. */
DEVICE void gp_put_items(LOCAL element_t *staged, LOCAL u16 *from, const int begin, const int own, const element_t *items,
                         const u16 *places)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        if (item < own) {
            staged[begin + item] = items[item];
            if (CARRIES) from[begin + item] = places[item];
        }
    }
}

#if TILES
__kernel WORK_GROUP(BLOCK)
void sort_merge(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved, GLOBAL u8 *kept,
                const layout_t layout, const i64 rows, const i64 n, const i64 tiles, const i64 last, const i64 keys_at,
                const i64 values_at, const i64 moved_at, const i64 kept_at)
{
    __local element_t staged[TILE];
    __local u16 from[CARRIES ? TILE : 1];
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < rows * tiles; task += get_num_groups(0)) {
        const i64 row = task / tiles, base = task % tiles * TILE;
        const int live = (int)min(n - base, (i64)TILE), begin = tid * ITEMS, own = min(max(live - begin, 0), ITEMS);

        /* 1. Load. */
        for (int k = tid; k < live; k += BLOCK) staged[k] = keys[keys_at + row * n + base + k];
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Sort each work-item's items by exchanges of neighbours. */
        element_t items[ITEMS];
        u16 places[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            items[item] = staged[item < own ? begin + item : 0];
            places[item] = (u16)(begin + item);
        }
#pragma unroll
        for (int round = 0; round < ITEMS; round++)
#pragma unroll
            for (int item = round & 1; item + 1 < ITEMS; item += 2) {
                if (item + 1 < own && SORTS_FIRST(items[item + 1], items[item])) {
                    const element_t element = items[item];
                    const u16 place = places[item];
                    items[item] = items[item + 1];
                    items[item + 1] = element;
                    places[item] = places[item + 1];
                    places[item + 1] = place;
                }
            }

        /* 3. Merge runs of work-items, twice as long each time. */
        barrier(CLK_LOCAL_MEM_FENCE);
        gp_put_items(staged, from, begin, own, items, places);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int run = ITEMS; run < live; run *= 2) {
            const int first = begin / (2 * run) * (2 * run);
            if (own)
                gp_merge_items(staged, from, first, min(first + run, live), min(first + 2 * run, live), begin - first, items,
                               places);
            barrier(CLK_LOCAL_MEM_FENCE);
            gp_put_items(staged, from, begin, own, items, places);
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 4. Store. */
        for (int k = tid; k < live; k += BLOCK) {
            const i64 at = row * n + base + k;
            if (KEEPS_KEYS || !last) moved[moved_at + at] = staged[k];
#if CARRIES
            const carried_t value = INDICES ? (carried_t)(base + from[k]) : values[values_at + row * n + base + from[k]];
            KEEP_VALUE(kept_at + at, value)
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#elif CROSSES
GP_CROSSING(gp_global_crossing, GLOBAL, i64)

__kernel WORK_GROUP(BLOCK)
void sort_merge(GLOBAL const element_t *keys, GLOBAL i64 *crossings, const layout_t layout, const i64 rows, const i64 n,
                const i64 tiles, const i64 run, const i64 keys_at)
{
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0) * (i64)BLOCK + tid; task < rows * tiles; task += get_num_groups(0) * (i64)BLOCK) {
        const i64 base = task % tiles * TILE, pair = base / (2 * run) * (2 * run);
        GLOBAL const element_t *left = keys + keys_at + task / tiles * n + pair;
        const i64 lefts = min(run, n - pair), rights = min(run, n - pair - lefts);
        crossings[task] = gp_global_crossing(left, lefts, left + lefts, rights, base - pair);
    }
}
#else
__kernel WORK_GROUP(BLOCK)
void sort_merge(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved, GLOBAL u8 *kept,
                GLOBAL const i64 *crossings, const layout_t layout, const i64 rows, const i64 n, const i64 tiles,
                const i64 run, const i64 last, const i64 keys_at, const i64 values_at, const i64 moved_at,
                const i64 kept_at)
{
    __local element_t staged[TILE];
    __local u16 from[CARRIES ? TILE : 1];
    const int tid = get_local_id(0), begin = tid * ITEMS;

    for (i64 task = get_group_id(0); task < rows * tiles; task += get_num_groups(0)) {
        const i64 row = task / tiles, base = task % tiles * TILE, pair = base / (2 * run) * (2 * run);
        const int live = (int)min(n - base, (i64)TILE), own = min(max(live - begin, 0), ITEMS);
        GLOBAL const element_t *left = keys + keys_at + row * n + pair;
        const i64 lefts = min(run, n - pair), rights = min(run, n - pair - lefts);

        /* 1. Load the parts of the runs that the tile has, side by side. */
        const i64 a = crossings[task], b = base - pair - a + lefts;
        const i64 to = base - pair + live == lefts + rights ? lefts : crossings[task + 1];
        const int middle = (int)min(max(to - a, (i64)0), (i64)live); /* `less=` may be no order */
        for (int k = tid; k < live; k += BLOCK) {
            staged[k] = k < middle ? left[a + k] : left[b + k - middle];
            if (CARRIES) from[k] = (u16)k;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Merge. */
        element_t items[ITEMS];
        u16 places[ITEMS];
        if (own) gp_merge_items(staged, from, 0, middle, live, begin, items, places);
        barrier(CLK_LOCAL_MEM_FENCE);
        gp_put_items(staged, from, begin, own, items, places);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Store. */
        for (int k = tid; k < live; k += BLOCK) {
            const i64 at = row * n + base + k;
            if (KEEPS_KEYS || !last) moved[moved_at + at] = staged[k];
#if CARRIES
            const int place = from[k];
            const i64 within = pair + (place < middle ? a + place : b + place - middle);
            const carried_t value = values[values_at + row * n + within];
            KEEP_VALUE(kept_at + at, value)
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif

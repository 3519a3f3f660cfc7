/* sort/resident: one launch sorts elements that fit in a tile for each group, by a digit at a time, lowest first. All
 * groups wait for each other twice a digit: until the digits of each tile are counted, and until all elements are moved.
 *
 * in      keys: n elements; values: one for each, if CARRIES and not INDICES
 * out     sorted: the elements in order, if KEEPS_KEYS; kept: the values in their order, as kept_t
 * scratch between: two tables of counts, a row of DIGITS for each group; then elements and values between digits, on two
 *         sides; counters: three zeros, which stay zero
 * local   for each warp a count of each value of the digit; then a tile's elements, then what they carry
 * launch  TRIES: as for sort/onesweep. Else a group of BLOCK for each tile, which must all run at the same time
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h), steps of ranks.h, gp_note_digits (differing.h)
 * order   stable: places within a tile follow the order of warps, items and lanes, which is that of memory
 * source  Satish, Harris and Garland, Designing efficient sorting algorithms for manycore GPUs, 2009; without launches
 *         between its steps
 *
 * Groups tell each other, with the counts of the lowest digit, which digits differ; others are passed over.
 *
 *     group        0        1        2                 each group adds up the rows of the table:
 *     digits    2 0 1    0 2 1    1 0 0
 *     table     1 1 1    1 1 1    2 1 0                all rows: 4 3 2, so 0 begins at 0, 1 at 4, 2 at 7
 *                                                      rows before its own, for group 2: 2 2 2, so its 0 go to 2 and 3
 */
#define BYTES ((int)sizeof(element_t))
#define TILE (BLOCK * ITEMS)
/* Counts of a tile fit in 16 bits, so a work-item reads those of four values at once. */
#define FOURS (DIGITS / 4)
#define PARTS (BLOCK / FOURS)

#if TRIES
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_resident(GLOBAL u32 *faults, const layout_t layout, const i64 rounds LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    const int tid = get_local_id(0);
    if (gp_lanes_out_of_order(counts, rounds, tid)) gp_add_count(faults, 1);
}
#else
/* Tell the other groups that this one has come so far. */
DEVICE void gp_arrive(GLOBAL u64 *arrived, const int tid)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) gp_release_entry(arrived, 1);
}

/* Wait until so many have arrived; what they wrote before is then visible. */
DEVICE void gp_await(GLOBAL u64 *arrived, const u64 many, const int tid)
{
    if (tid == 0)
        while (gp_acquire_entry(arrived) < many)
            ;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Add the counts of all groups to `totals`, and of those before this one to `before`; both are zeros. */
DEVICE void gp_add_rows(GLOBAL const u64 *table, const int groups, const int group, LOCAL u32 *totals, LOCAL u32 *before,
                        const int tid)
{
    const int four = tid % FOURS;
    u32 all[4] = {0, 0, 0, 0}, lower[4] = {0, 0, 0, 0};
#pragma unroll 8
    for (int row = tid / FOURS; row < groups; row += PARTS) {
        const u64 counts = table[row * FOURS + four];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const u32 count = (u32)(counts >> (16 * k)) & 0xffff;
            all[k] += count;
            lower[k] += row < group ? count : 0;
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        gp_add_count(totals + 4 * four + k, all[k]);
        gp_add_count(before + 4 * four + k, lower[k]);
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_resident(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *sorted, GLOBAL u8 *kept,
                   GLOBAL u8 *between, GLOBAL u64 *counters, const layout_t layout, const i64 n, const i64 keys_at,
                   const i64 values_at, const i64 sorted_at, const i64 kept_at, const i64 first_keys,
                   const i64 first_values, const i64 second_keys, const i64 second_values LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    __local u32 sums[WARPS], places[DIGITS], starts[DIGITS], totals[DIGITS];
    __local u32 unlike;
    LOCAL element_t *staged = (LOCAL element_t *)counts;
#if CARRIES
    LOCAL carried_t *beside = (LOCAL carried_t *)counts;
    GLOBAL const carried_t *values_from = values + values_at;
    int numbered = INDICES; /* values are where elements lie */
#endif
    const int tid = get_local_id(0), lane = tid % WARP, warp = tid / WARP;
    const int group = get_group_id(0), groups = get_num_groups(0);
    const u32 base = (u32)group * TILE;
    const int live = (int)min((u32)n - base, (u32)TILE), begin = warp * (WARP * ITEMS) + lane;
    LOCAL u32 *own = counts + warp * DIGITS;
    GLOBAL const element_t *from = keys + keys_at;
    u64 turns = 0; /* how often all groups have waited */
    int side = 1, odd = 0;
    u32 digits = 1; /* that differ, once they are known */

    for (int byte = 0; byte < BYTES; byte++) {
        if (!(digits >> byte & 1)) continue;
        const int shift = 8 * byte;
        GLOBAL u64 *table = (GLOBAL u64 *)between + odd * groups * FOURS;
        odd = !odd;

        /* 1. Load. */
        for (int digit = tid; digit < WARPS * DIGITS; digit += BLOCK) counts[digit] = 0;
        if (tid < DIGITS) totals[tid] = places[tid] = 0;
        if (tid == 0) unlike = 0;
        element_t elements[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = begin + item * WARP;
            elements[item] = j < live ? from[base + j] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (byte == 0) {
            const element_t first = gp_sort_key(from[0]);
            element_t differing = 0;
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (begin + item * WARP < live) differing |= gp_sort_key(elements[item]) ^ first;
            gp_note_digits(&unlike, differing, lane);
        }

        /* 2. Rank each element among those of its warp with its digit. Places past the end rank last. */
        u32 ranks[ITEMS];
        gp_rank_part(own, elements, shift, begin, live, lane, ranks);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Add up the warps' counts, and tell them to the other groups. */
        u32 count = 0;
        if (tid < DIGITS) {
            count = gp_sum_of_warps(counts, tid, WARPS);
            ((GLOBAL u16 *)table)[group * DIGITS + tid] = (u16)(count - (tid == DIGITS - 1 ? TILE - live : 0));
        }
        const u32 start = gp_sum_before(count, sums, tid);
        if (tid < DIGITS) starts[tid] = start;
        if (byte == 0 && tid == 0) gp_set_bits((GLOBAL u32 *)(counters + 2), unlike);
        gp_arrive(counters, tid);
        turns++;

        /* 4. Gather the tile by digits, while others count. */
        gp_gather_part(starts, own, elements, shift, begin, live, ranks, staged);
        gp_await(counters, turns * groups, tid);
        if (byte == 0) digits = *(GLOBAL const u32 *)(counters + 2);
        const int last = digits >> byte <= 1;

        /* 5. Find where the digits of all groups begin, and this group's among them. */
        gp_add_rows(table, groups, group, totals, places, tid);
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 whole = tid < DIGITS ? totals[tid] : 0;
        const u32 lower = gp_sum_before(whole, sums, tid);
        if (tid < DIGITS) places[tid] += lower - start;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (!(digits >> byte & 1) && !last) continue;

        /* 6. Store. */
        side = !side;
        GLOBAL element_t *to = (GLOBAL element_t *)between + (side ? second_keys : first_keys);
        if (last) to = sorted + sorted_at;
        u32 places_of[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int k = item * BLOCK + tid;
            const element_t element = staged[k];
            places_of[item] = places[DIGIT_OF(element, shift)] + (u32)k;
            if (KEEPS_KEYS || !last) {
                if (k < live) to[places_of[item]] = element;
            }
        }
        from = to;
#if CARRIES
        GLOBAL carried_t *values_to = (GLOBAL carried_t *)between + (side ? second_values : first_values);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = begin + item * WARP;
            if (j < live) beside[ranks[item]] = numbered ? (carried_t)(base + (u32)j) : values_from[base + j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int k = item * BLOCK + tid;
            if (k < live) {
                if (last) {
                    ((GLOBAL kept_t *)kept)[kept_at + places_of[item]] = (kept_t)beside[k];
                } else {
                    values_to[places_of[item]] = beside[k];
                }
            }
        }
        values_from = values_to;
        numbered = 0;
#endif
        if (!last) {
            gp_arrive(counters, tid);
            turns++;
            gp_await(counters, turns * groups, tid);
        }
    }

    /* 7. Leave zeros: the last group does. */
    if (tid == 0 && gp_add_entry(counters + 1, 1) == (u64)groups - 1) {
        gp_write_entry(counters, 0);
        gp_write_entry(counters + 1, 0);
        gp_write_entry(counters + 2, 0);
    }
}
#endif

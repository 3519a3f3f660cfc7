/* sort/onesweep: one launch counts all digits, and one for each digit, lowest first, moves elements to their places; a
 * group learns from the statuses of the tiles before its own how many elements of each digit lie there.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES, unless it is the `first` pass
 *         of INDICES
 * out     moved: the elements by this digit, if KEEPS_KEYS or not the `last` pass; kept: the values, in the last pass as
 *         kept_t
 * scratch begins: for each row, digit and value of the digit, the place of its first element; counters: zeros, which
 *         stay zero; statuses (see scan_lookback): one for each value of the digit for each tile
 * local   for each warp a count of each value of the digit; then a tile's elements, then what they carry
 * launch  TRIES: any number of groups of BLOCK; `faults` counts work-items that saw lanes out of order. COUNTS: any
 *         number of groups, the same for each row. Else any number; each takes the next tile until
 *         none are left, so groups that run have taken the tiles before it
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h), steps of ranks.h, KEEP_VALUE (carried.h), gp_prefetch, tile
 *         statuses
 * order   stable: places within a tile follow the order of warps, items and lanes, which is that of memory
 * source  Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs, 2022
 *
 * A pass of a tile of eight elements, by a digit of values 0 to 2:
 *
 *     digits                       2  0  1  0  2  1  0  0
 *     rank among its own           0  0  0  1  1  1  2  3
 *     first place in the tile      of 0: 0   of 1: 4   of 2: 6
 *     place in the tile            6  0  4  1  7  5  2  3      gathered in local memory
 *     place in the row             begins + those in the tiles before + rank
 */
#define BYTES ((int)sizeof(element_t))
#define TILE ((i64)BLOCK * ITEMS)
/* Statuses of earlier tiles that a work-item reads at once. */
#define WINDOW 4
/* Values of a line of the cache, of 128 bytes. */
#define LINE (128 / (int)sizeof(carried_t))
#define TAG_OF(entry) ((u32)((entry) >> 32))

#if TRIES
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_onesweep(GLOBAL u32 *faults, const layout_t layout, const i64 rounds LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    const int tid = get_local_id(0);
    if (gp_lanes_out_of_order(counts, rounds, tid)) gp_add_count(faults, 1);
}
#elif COUNTS
/* Loads of a work-item in flight. */
#define FLYING 8

/* Count every digit of an element. */
DEVICE void gp_count_digits(LOCAL u32 *counts, const element_t element)
{
    const element_t key = gp_sort_key(element);
#pragma unroll
    for (int byte = 0; byte < BYTES; byte++)
        gp_increment(counts + byte * DIGITS + ((u32)(key >> (8 * byte)) & (DIGITS - 1)));
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_onesweep(GLOBAL const element_t *keys, GLOBAL u32 *begins, GLOBAL u32 *counters, const layout_t layout,
                   const i64 n, const i64 parts, const i64 keys_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    __local u32 sums[WARPS];
    __local int done;
    const int tid = get_local_id(0);
    const i64 row = get_group_id(0) / parts, part = get_group_id(0) % parts;
    GLOBAL u32 *all = counters + row * (BYTES * DIGITS + 1);

    /* 1. Count each digit of the group's elements. */
    for (int at = tid; at < BYTES * DIGITS; at += BLOCK) counts[at] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    GLOBAL const element_t *from = keys + keys_at + row * n;
    const i64 step = parts * BLOCK;
    i64 j = part * BLOCK + tid;
    for (; j + (FLYING - 1) * step < n; j += FLYING * step) {
        element_t flying[FLYING];
#pragma unroll
        for (int k = 0; k < FLYING; k++) flying[k] = from[j + k * step];
#pragma unroll
        for (int k = 0; k < FLYING; k++) gp_count_digits(counts, flying[k]);
    }
    for (; j < n; j += step) gp_count_digits(counts, from[j]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int at = tid; at < BYTES * DIGITS; at += BLOCK)
        if (counts[at]) gp_add_count(all + at, counts[at]);
    gp_fence();
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 2. The last group of a row adds them up, and leaves zeros. */
    if (tid == 0) done = gp_last_done(all + BYTES * DIGITS, parts);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!done) return;
    for (int byte = 0; byte < BYTES; byte++) {
        GLOBAL u32 *own = all + byte * DIGITS + tid;
        u32 count = 0;
        if (tid < DIGITS) {
            count = gp_read_word(own);
            gp_write_word(own, 0);
        }
        const u32 before = gp_sum_before(count, sums, tid);
        if (tid < DIGITS) begins[(row * BYTES + byte) * DIGITS + tid] = before;
    }
}
#else
/* Return how many elements of a value of the digit lie in the tiles of a row before `tile`. */
DEVICE u32 gp_look_back(GLOBAL u64 *statuses, const i64 at, const i64 tile, const u32 tag, const int digit)
{
    u32 before = 0;
    for (i64 back = 1; back <= tile;) {
        u64 entries[WINDOW];
#pragma unroll
        for (int k = 0; k < WINDOW; k++)
            entries[k] = back + k <= tile ? gp_read_entry(statuses + 1 + (at - back - k) * DIGITS + digit) : 0;
#pragma unroll
        for (int k = 0; k < WINDOW; k++) {
            const u32 found = TAG_OF(entries[k]);
            if (found != tag && found != tag + 1) break;
            before += (u32)entries[k];
            if (found == tag + 1) return before;
            back++;
        }
    }
    return before;
}

/* Load a work-item's part of a tile that has `live` elements. */
DEVICE void gp_load_part(GLOBAL const element_t *from, element_t *elements, const int begin, const int live)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const int j = begin + item * WARP;
        elements[item] = j < live ? from[j] : 0;
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_onesweep(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL const u32 *begins,
                   GLOBAL element_t *moved, GLOBAL u8 *kept, GLOBAL u64 *statuses, const layout_t layout, const i64 rows,
                   const i64 n, const i64 tiles, const i64 byte, const i64 first, const i64 last, const i64 keys_at,
                   const i64 values_at, const i64 moved_at, const i64 kept_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    __local u32 sums[WARPS], places[DIGITS], starts[DIGITS];
    __local u64 task;
    LOCAL element_t *staged = (LOCAL element_t *)counts;
#if CARRIES
    LOCAL carried_t *beside = (LOCAL carried_t *)counts;
#endif
    const int tid = get_local_id(0), lane = tid % WARP, warp = tid / WARP;
    const int shift = 8 * (int)byte, begin = warp * (WARP * ITEMS) + lane;
    const i64 all = rows * tiles;
    LOCAL u32 *own = counts + warp * DIGITS;
    element_t elements[ITEMS];

    /* 1. Take the first tile. Each tile is loaded while the one before it is stored. */
    if (tid == 0) task = gp_add_entry(statuses, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = TAG_OF(task) + 1; /* of a tile's own counts; with those before it, they have the next tag */
    i64 at = (u32)task;
    if (at < all)
        gp_load_part(keys + keys_at + at / tiles * n + at % tiles * TILE, elements, begin, (int)min(n - at % tiles * TILE, TILE));

    while (at < all) {
        const i64 row = at / tiles, tile = at % tiles, base = tile * TILE;
        const int live = (int)min(n - base, TILE);

        /* 2. Rank each element among those of its warp with its digit. Places past the end rank last. */
        for (int digit = tid; digit < WARPS * DIGITS; digit += BLOCK) counts[digit] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        u32 ranks[ITEMS];
        gp_rank_part(own, elements, shift, begin, live, lane, ranks);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Add up the warps' counts, and tell them to the tiles behind. Take the next tile. */
        u32 count = 0;
        if (tid == 0) task = gp_add_entry(statuses, 1);
        if (tid < DIGITS) {
            count = gp_sum_of_warps(counts, tid, WARPS);
            gp_write_entry(statuses + 1 + at * DIGITS + tid, (u64)(tile ? tag : tag + 1) << 32 | count);
        }
        const u32 start = gp_sum_before(count, sums, tid);
        if (tid < DIGITS) starts[tid] = start;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Gather the tile by digits. Narrow values go to registers meanwhile, wide ones as far as the cache
         * (rows: onesweep-ahead, onesweep-values). */
        gp_gather_part(starts, own, elements, shift, begin, live, ranks, staged);
        const i64 next = (u32)task, next_base = next % tiles * TILE;
        GLOBAL const element_t *from = keys + keys_at + next / tiles * n + next_base;
        const int next_live = next < all ? (int)min(n - next_base, TILE) : 0;
#if CARRIES
        const int numbers = INDICES ? (int)first : 0, early = sizeof(carried_t) <= 4;
        GLOBAL const carried_t *values_from = values + values_at + row * n + base;
        carried_t held[ITEMS];
        if (numbers) {
        } else if (early) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const int j = begin + item * WARP;
                held[item] = j < live ? values_from[j] : 0;
            }
        } else {
            for (int j = tid * LINE; j < live; j += BLOCK * LINE) gp_prefetch(values_from + j);
        }
#else
        gp_load_part(from, elements, begin, next_live);
#endif

        /* 5. Look back. */
        if (tid < DIGITS) {
            const u32 before = gp_look_back(statuses, at, tile, tag, tid);
            if (tile) gp_write_entry(statuses + 1 + at * DIGITS + tid, (u64)(tag + 1) << 32 | (before + count));
            places[tid] = begins[(row * BYTES + byte) * DIGITS + tid] + before - start;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 6. Store. */
#if CARRIES
        u32 to[ITEMS];
#endif
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int k = item * BLOCK + tid;
            const element_t element = staged[k];
            const u32 place = places[DIGIT_OF(element, shift)] + k;
            if (KEEPS_KEYS || !last) {
                if (k < live) moved[moved_at + row * n + place] = element;
            }
#if CARRIES
            to[item] = place;
#endif
        }
#if CARRIES
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = begin + item * WARP;
            if (j < live) beside[ranks[item]] = numbers ? (carried_t)(base + j) : early ? held[item] : values_from[j];
        }
        gp_load_part(from, elements, begin, next_live);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int k = item * BLOCK + tid;
            if (k < live) {
                KEEP_VALUE(kept_at + row * n + to[item], beside[k])
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        at = next;
    }

    /* 7. The last group that finds no tile makes the launch's tags void. */
    if (tid == 0 && at == all + get_num_groups(0) - 1) gp_write_entry(statuses, (u64)(tag + 1) << 32);
}
#endif

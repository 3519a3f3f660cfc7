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
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h), gp_ballot, gp_prefetch, tile statuses
 * order   stable: places within a tile follow the order of warps, items and lanes, which is that of memory
 *         If LANES_IN_ORDER, one atomic addition of a warp returns lower lanes lower numbers. No vendor promises that, so
 *         a launch of TRIES finds out; else lanes vote on each bit
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
#define WARPS (BLOCK / WARP)
#define TILE ((i64)BLOCK * ITEMS)
/* Statuses of earlier tiles that a work-item reads at once. */
#define WINDOW 4
/* Values of a line of the cache, of 128 bytes. */
#define LINE (128 / (int)sizeof(carried_t))
#define TAG_OF(entry) ((u32)((entry) >> 32))

/* Turn counts of the digit's values, one for each of the first DIGITS work-items, into sums of those before. */
DEVICE u32 gp_sum_before(const u32 count, LOCAL u32 *sums, const int tid)
{
    const int lane = tid % WARP;
    u32 whole = count;
    for (int stride = 1; stride < WARP; stride *= 2) {
        const u32 lower = gp_shuffle_word_up(whole, stride);
        whole += lane >= stride ? lower : 0;
    }
    if (lane == WARP - 1) sums[tid / WARP] = whole;
    barrier(CLK_LOCAL_MEM_FENCE);
    u32 before = whole - count;
    for (int warp = 0; warp < DIGITS / WARP; warp++) before += warp < tid / WARP ? sums[warp] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    return before;
}

/* Return the lanes whose digits are like this one's. */
DEVICE u32 gp_lanes_alike(const u32 digit)
{
    u32 alike = 0xffffffffu >> (32 - WARP);
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        const u32 lanes = gp_ballot((int)(digit >> bit & 1));
        alike &= digit >> bit & 1 ? lanes : ~lanes;
    }
    return alike;
}

/* Count an element in its warp's counts, and return how many like it there were: in items before, and in lower lanes. */
DEVICE u32 gp_rank_in_warp(LOCAL u32 *own, const u32 digit, const int lane)
{
#if LANES_IN_ORDER
    return gp_increment(own + digit);
#else
    const u32 alike = gp_lanes_alike(digit), before = own[digit];
    const u32 lower = (u32)gp_count_bits(alike & ((1u << lane) - 1));
    gp_warp_barrier();
    if (lower == 0) own[digit] = before + (u32)gp_count_bits(alike);
    gp_warp_barrier();
    return before + lower;
#endif
}

#if TRIES
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_onesweep(GLOBAL u32 *faults, const layout_t layout, const i64 rounds LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    const int tid = get_local_id(0), lane = tid % WARP;
    LOCAL u32 *own = counts + tid / WARP * DIGITS;
    u32 random = (u32)get_group_id(0) * 2654435761u + (u32)tid * 40503u + 1, wrong = 0;
    for (int at = tid; at < WARPS * DIGITS; at += BLOCK) counts[at] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int round = 0; round < rounds; round++) {
        random = random * 1664525u + 1013904223u;
        const u32 digit = random >> 24 & (DIGITS - 1) >> round % 9; /* from all values of the digit to a single one */
        const u32 before = own[digit];
        gp_warp_barrier();
        const u32 rank = gp_increment(own + digit);
        gp_warp_barrier();
        wrong |= rank - before != (u32)gp_count_bits(gp_lanes_alike(digit) & ((1u << lane) - 1));
    }
    if (wrong) gp_add_count(faults, 1);
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
    const int shift = 8 * (int)byte;
    LOCAL u32 *own = counts + warp * DIGITS;

    for (;;) {
        /* 1. Take the next tile; the last group that finds none makes the launch's tags void. */
        if (tid == 0) task = gp_add_entry(statuses, 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 tag = TAG_OF(task) + 1; /* of a tile's own counts; with those before it, they have the next tag */
        const i64 at = (u32)task, row = at / tiles, tile = at % tiles;
        if (row >= rows) {
            if (tid == 0 && at == rows * tiles + get_num_groups(0) - 1) gp_write_entry(statuses, (u64)(tag + 1) << 32);
            return;
        }
        const i64 base = tile * TILE;
        const int live = (int)min(n - base, TILE);
        const int begin = warp * (WARP * ITEMS) + lane;
        GLOBAL const element_t *from = keys + keys_at + row * n + base;
        for (int digit = tid; digit < WARPS * DIGITS; digit += BLOCK) counts[digit] = 0;

        /* 2. Load. Values are needed after the look-back; they come as far as the cache (rows: onesweep-values). */
        element_t elements[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = begin + item * WARP;
            elements[item] = j < live ? from[j] : 0;
        }
#if CARRIES
        if (!(INDICES ? first : 0))
            for (int j = tid * LINE; j < live; j += BLOCK * LINE) gp_prefetch(values + values_at + row * n + base + j);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Rank each element among those of its warp with its digit. Places past the end rank last. */
        u32 ranks[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const u32 digit = begin + item * WARP < live ? DIGIT_OF(elements[item], shift) : DIGITS - 1;
            ranks[item] = gp_rank_in_warp(own, digit, lane);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Add up the warps' counts, tell them to the tiles behind, and look back. */
        u32 count = 0;
        if (tid < DIGITS) {
#pragma unroll
            for (int k = 0; k < WARPS; k++) {
                const u32 here = counts[k * DIGITS + tid];
                counts[k * DIGITS + tid] = count;
                count += here;
            }
            gp_write_entry(statuses + 1 + at * DIGITS + tid, (u64)(tile ? tag : tag + 1) << 32 | count);
        }
        const u32 start = gp_sum_before(count, sums, tid);
        if (tid < DIGITS) {
            const u32 before = gp_look_back(statuses, at, tile, tag, tid);
            if (tile) gp_write_entry(statuses + 1 + at * DIGITS + tid, (u64)(tag + 1) << 32 | (before + count));
            places[tid] = begins[(row * BYTES + byte) * DIGITS + tid] + before - start;
            starts[tid] = start;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const u32 digit = begin + item * WARP < live ? DIGIT_OF(elements[item], shift) : DIGITS - 1;
            ranks[item] += starts[digit] + own[digit];
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 5. Gather the tile by digits, and store. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) staged[ranks[item]] = elements[item];
        barrier(CLK_LOCAL_MEM_FENCE);
        u32 to[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int k = item * BLOCK + tid;
            const element_t element = staged[k];
            to[item] = places[DIGIT_OF(element, shift)] + k;
            if (KEEPS_KEYS || !last) {
                if (k < live) moved[moved_at + row * n + to[item]] = element;
            }
        }
#if CARRIES
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = begin + item * WARP;
            if (j < live)
                beside[ranks[item]] =
                    (INDICES ? first : 0) ? (carried_t)(base + j) : values[values_at + row * n + base + j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int k = item * BLOCK + tid;
            if (k < live) {
                if (last) {
                    ((GLOBAL kept_t *)kept)[kept_at + row * n + to[item]] = (kept_t)beside[k];
                } else {
                    ((GLOBAL carried_t *)kept)[kept_at + row * n + to[item]] = beside[k];
                }
            }
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif

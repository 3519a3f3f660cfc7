/* rle/round_robin: one pass; groups gather a tile's first elements of runs in local memory and write them, with where
 * the runs begin or how long they are, once the counts before are known.
 *
 * in      INPUTS: n elements
 * out     OUTPUTS: for each run its first element, its begin or its length; their number
 * scratch statuses (scanning.h): one for each tile
 * launch  at most LOOKUPS x BLOCK groups of BLOCK, all running at the same time; `outputs` is 1
 * host    gp_differ, element_t, WRITE_VALUE, WRITE_BEGIN, WRITE_LENGTH and WRITE_NUMBER, WITH_VALUES, WITH_BEGINS,
 *         WITH_LENGTHS; the steps of gathering.h, ELEMENT and raw_t, gp_scan_warps, gp_write_status, gp_status_of and
 *         gp_await_status (scanning.h), OP, IDENTITY
 * order   runs stay in order
 *
 * A tile's status has its number of runs in the lower half; for lengths, the upper half has one more than the place of
 * the last one's begin, or 0. A run's length is written by the tile in which the next run begins, and the last run's by
 * the last tile. For LANES = 4 and VECTOR = 2, in the first tile:
 *
 *     lane          0      1      2      3
 *     first vector  a a    a b    b b    c d      begins   0 -    - 3    - -    6 7
 *     second        d d    d d    e e    e e               - -    - -    12 -   - -      status   5, 13
 */
#define RUNS_OF(word) (int)((word) & 0xffff)
#define LAST_OF(word) (int)((word) >> 16)
#define ELEMENT_WORDS (((int)sizeof(element_t) + 3) / 4)

/* The element of another lane. */
DEVICE element_t element_from(const element_t element, const int lane)
{
#if LANES > 1
    union { element_t element; u32 words[ELEMENT_WORDS]; } passed;
    passed.words[0] = 0;
    passed.element = element;
#pragma unroll
    for (int word = 0; word < ELEMENT_WORDS; word++) passed.words[word] = gp_shuffle_word_from(passed.words[word], lane);
    return passed.element;
#else
    return element;
#endif
}

/* Load a work-item's vectors of a tile and, in each warp's first lane, the element before the warp's. */
DEVICE void fetch_with_edge(INPUTS, const layout_t layout, const i64 base, const i64 n, const int tid, raw_t *raw,
                            element_t *edge)
{
    const i64 first = base + gp_item_offset(tid, 0);
    if (tid % LANES == 0 && first > 0 && first < n) *edge = x0[gp_at_x0(layout, 0, first - 1)];
    gp_fetch_vectors(INPUT_NAMES, layout, base, n, tid, raw);
}

/* Set a bit for each element of a tile that begins a run. */
DEVICE void find_begins(const raw_t *raw, const element_t edge, const i64 base, const i64 n, const int tid, u32 *begins)
{
    const int lane = tid % LANES;
    element_t carried = edge; /* in the first lane: the element before the vector */
#pragma unroll
    for (int vector = 0; vector < VECTORS; vector++) {
        const i64 j = base + gp_item_offset(tid, vector * VECTOR);
        const element_t end = ELEMENT(raw + vector, VECTOR - 1);
        const element_t turned = element_from(end, (lane + LANES - 1) % LANES);
        element_t before = lane ? turned : carried;
        begins[vector] = 0;
#pragma unroll
        for (int item = 0; item < VECTOR; item++) {
            const element_t own = ELEMENT(raw + vector, item);
            if (gp_differ(before, own)) begins[vector] |= 1u << item;
            before = own;
        }
        if (j == 0) begins[vector] |= 1;
        gp_drop_end(&begins[vector], base, j, n);
        carried = turned;
    }
}

/* Return one more than the place in its tile of the last begin of the warp, or 0. */
DEVICE int last_begin(const u32 *begins, const int tid)
{
    u32 word = 0;
    int offset = 0;
#pragma unroll
    for (int vector = 0; vector < VECTORS; vector++)
        if (begins[vector]) {
            word = begins[vector];
            offset = gp_item_offset(tid, vector * VECTOR);
        }
#pragma unroll
    for (int shift = 1; shift < VECTOR; shift *= 2) word |= word >> shift; /* a bit for each item up to the last begin */
    int last = word ? offset + (int)gp_count_bits(word) : 0;
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2)
        last = max(last, (int)gp_shuffle_word_from((u32)last, tid % LANES ^ stride));
#endif
    return last;
}

/* Return the status of a tile, found by one work-item. */
DEVICE u32 status_alone(INPUTS, const layout_t layout, const i64 base)
{
    u32 status = 0;
#pragma unroll 1
    for (int place = 0; place < TILE; place++) {
        const i64 j = base + place;
        if (j == 0 || gp_differ(x0[gp_at_x0(layout, 0, j - 1)], x0[gp_at_x0(layout, 0, j)]))
            status = (u32)(place + 1) << 16 | (RUNS_OF(status) + 1);
    }
    return status;
}

/* Fold the runs of other tiles in each warp, and their last begin, and write the results to local memory. */
DEVICE void fold_between(int runs, int latest, LOCAL int *between, const int tid)
{
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) runs += (int)gp_shuffle_word_down((u32)runs, stride);
#endif
    if (tid % LANES == 0) between[tid / LANES] = runs;
#if WITH_LENGTHS
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) latest = max(latest, (int)gp_shuffle_word_down((u32)latest, stride));
#endif
    if (tid % LANES == 0) between[WARPS + tid / LANES] = latest;
#endif
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void rle_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                      const i64 tiles)
{
#if WITH_VALUES
    __local element_t gathered[BLOCK * ITEMS];
#endif
#if WITH_BEGINS || WITH_LENGTHS
    __local u16 begun[BLOCK * ITEMS];
#endif
    __local value_t partial[WARPS];
    __local int between[2 * WARPS];
    __local u32 launch;
    const int tid = get_local_id(0), groups = get_num_groups(0), lane = tid % LANES;
    raw_t next[VECTORS], ahead[VECTORS];
    const raw_t nothing = {0};
    element_t next_edge = ELEMENT(&nothing, 0), edge = next_edge;
    i64 prefix = 0; /* runs up to the group's last tile */
#if WITH_LENGTHS
    i64 last = 0; /* where the last of these begins */
#endif
    u32 aggregate = 0;

    i64 coming = get_group_id(0), task = coming;
    if (tid == 0) launch = TAG_OF(gp_read_entry(statuses)) + 1;
    if (coming < tiles) fetch_with_edge(INPUT_NAMES, layout, coming * TILE, n, tid, next, &next_edge);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task < tiles; turn++) {
        /* 1. Read the statuses of the tiles between the tile before and the group's last. Take the tile that was loaded
         * meanwhile, and load the next. */
        const i64 base = coming * TILE, following = coming + groups;
        const int others = (int)min(task, (i64)groups - 1);
        u64 entries[LOOKUPS * WORDS];
        gp_read_between(statuses, task, others, turn > 0, tid, entries);
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) ahead[vector] = next[vector];
        edge = next_edge;
        if (following < tiles) fetch_with_edge(INPUT_NAMES, layout, following * TILE, n, tid, next, &next_edge);

        /* 2. Rank the begins of its runs, and write their number and the last one to its status, an iteration before
         * others need it. */
        u32 begins[VECTORS];
        int places[VECTORS];
        find_begins(ahead, edge, base, n, tid, begins);
        u32 own = (u32)gp_rank_chosen(begins, lane, places);
#if WITH_LENGTHS
        own |= (u32)last_begin(begins, tid) << 16;
#endif
        value_t ahead_aggregate;
        const int earlier = RUNS_OF(gp_scan_warps(own, partial, tid, &ahead_aggregate));
        if (tid == BLOCK - 1 && coming < tiles) gp_write_status(statuses, coming, tag, ahead_aggregate);

        /* 3. For the tile before: add the runs of the tiles between. A work-item finds a tile's status itself if it stays
         * empty. Then write what is gathered. */
        if (turn > 0) {
            int runs = 0, latest = 0;
#pragma unroll
            for (int look = 0; look < LOOKUPS; look++) {
                const int which = tid + look * BLOCK;
                u32 status = 0;
                if (which >= others) continue;
                if (!gp_status_of(entries + look * WORDS, tag, tag, &status) &&
                    !gp_await_status(statuses, task - others + which, tag, tag, &status))
                    status = status_alone(INPUT_NAMES, layout, (task - others + which) * TILE);
                runs += RUNS_OF(status);
                if (status) latest = which * (int)TILE + LAST_OF(status);
            }
            fold_between(runs, latest, between, tid);
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
            for (int warp = 0; warp < WARPS; warp++) prefix += between[warp];
#if WITH_LENGTHS
            latest = 0;
#pragma unroll 4
            for (int warp = 0; warp < WARPS; warp++) latest = max(latest, between[WARPS + warp]);
            if (latest) last = (task - others) * TILE + latest - 1;
#endif
            const int number = RUNS_OF(aggregate);
            for (int k = tid; k < number; k += BLOCK) {
#if WITH_VALUES
                WRITE_VALUE(prefix + k, gathered[k]);
#endif
#if WITH_BEGINS
                WRITE_BEGIN(prefix + k, task * TILE + begun[k]);
#endif
#if WITH_LENGTHS
                const i64 before = k ? task * TILE + begun[k ? k - 1 : 0] : last;
                if (prefix + k) WRITE_LENGTH(prefix + k - 1, task * TILE + begun[k] - before);
#endif
            }
            prefix += number;
#if WITH_LENGTHS
            if (aggregate) last = task * TILE + LAST_OF(aggregate) - 1;
#endif
            if (tid == 0 && task == tiles - 1) {
#if WITH_BEGINS
                WRITE_BEGIN(prefix, n);
#endif
#if WITH_LENGTHS
                WRITE_LENGTH(prefix - 1, n - last);
#endif
                WRITE_NUMBER(prefix);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* what was gathered is written, and gp_scan_warps may write to local memory again */

        /* 4. Gather the begins of the next tile. */
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) {
            int place = earlier + places[vector];
#pragma unroll
            for (int item = 0; item < VECTOR; item++)
                if (begins[vector] >> item & 1) {
#if WITH_VALUES
                    gathered[place] = ELEMENT(ahead + vector, item);
#endif
#if WITH_BEGINS || WITH_LENGTHS
                    begun[place] = (u16)(gp_item_offset(tid, vector * VECTOR) + item);
#endif
                    place++;
                }
        }
        aggregate = ahead_aggregate;
        task = coming;
        coming = following;
    }

    /* 5. The last group makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

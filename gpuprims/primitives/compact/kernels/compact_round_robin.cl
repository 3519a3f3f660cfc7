/* compact/round_robin: one pass; groups gather a tile's kept elements in local memory and write them once the counts
 * before are known.
 *
 * in      INPUTS: n elements; those of the first input are kept or left out
 * out     OUTPUTS: the kept elements side by side, and their number
 * scratch statuses (scanning.h): one for each tile
 * launch  at most BLOCK groups of BLOCK, all running at the same time; `outputs` is 1
 * host    gp_fetch_vector, gp_fetch_part, FETCHED, raw_t and staged_t, gp_scan_warps, gp_fold_warps, gp_write_status and
 *         gp_await_status (scanning.h), MAP, OP, IDENTITY
 * order   kept elements stay in order
 *
 * Groups take tiles in turn as in scan/round_robin, and write a tile's count to its status an iteration before others
 * need it. Within a tile, for LANES = 4, VECTOR = 2, k kept and x left out; places are counted by vectors, then by
 * lanes:
 *
 *     lane          0      1      2      3
 *     first vector  k x    k k    x x    x k      places   0 -    1 2    - -    - 3
 *     second        x k    x x    k x    k k               - 4    - -    5 -    6 7
 */
#define VECTORS (ITEMS / VECTOR)

DEVICE void fetch_tile(INPUTS, const layout_t layout, const i64 base, const i64 n, const int tid, raw_t *raw)
{
#pragma unroll
    for (int vector = 0; vector < VECTORS; vector++) {
        const i64 j = base + gp_item_offset(tid, vector * VECTOR);
        if (base + TILE <= n) {
            gp_fetch_vector(INPUT_NAMES, layout, 0, j, raw + vector);
        } else {
            gp_fetch_part(INPUT_NAMES, layout, 0, j, n, raw + vector);
        }
    }
}

/* Return a bit for each of a vector's elements that is kept. */
DEVICE u32 kept_of(const raw_t *raw, const layout_t layout, const i64 j, const i64 n)
{
    u32 bits = 0;
#pragma unroll
    for (int item = 0; item < VECTOR; item++)
        if (j + item < n && FETCHED(raw, item, j + item)) bits |= 1u << item;
    return bits;
}

/* Return the sum of the numbers of lower lanes; `aggregate` is the sum of all lanes. */
DEVICE int rank_of(const int number, const int lane, int *aggregate)
{
    int whole = number;
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) {
        const int earlier = (int)gp_shuffle_word_up((u32)whole, stride);
        if (lane >= stride) whole += earlier;
    }
    *aggregate = (int)gp_shuffle_word_from((u32)whole, LANES - 1);
#else
    *aggregate = whole;
#endif
    return whole - number;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void compact_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                         const i64 tiles)
{
    __local staged_t gathered[BLOCK * ITEMS];
    __local value_t partial[WARPS], between[WARPS];
    __local u32 launch;
    const int tid = get_local_id(0), groups = get_num_groups(0), lane = tid % LANES;
    raw_t next[VECTORS], ahead[VECTORS];
    value_t prefix = IDENTITY, aggregate = IDENTITY;

    i64 coming = get_group_id(0), task = coming;
    if (tid == 0) launch = TAG_OF(gp_read_entry(statuses)) + 1;
    if (coming < tiles) fetch_tile(INPUT_NAMES, layout, coming * TILE, n, tid, next);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task < tiles; turn++) {
        /* 1. Take the tile that was loaded meanwhile, and load the next. */
        const i64 base = coming * TILE, following = coming + groups;
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) ahead[vector] = next[vector];
        if (following < tiles) fetch_tile(INPUT_NAMES, layout, following * TILE, n, tid, next);

        /* 2. Rank its kept elements and write their number to its status, an iteration before others need it. */
        u32 kept[VECTORS];
        int places[VECTORS], count = 0;
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) {
            int whole;
            kept[vector] = kept_of(ahead + vector, layout, base + gp_item_offset(tid, vector * VECTOR), n);
            places[vector] = count + rank_of(gp_count_bits(kept[vector]), lane, &whole);
            count += whole;
        }
        value_t ahead_aggregate;
        const int earlier = (int)gp_scan_warps((value_t)count, partial, tid, &ahead_aggregate);
        if (tid == BLOCK - 1 && coming < tiles) gp_write_status(statuses, coming, tag, ahead_aggregate);

        /* 3. For the tile before: read the counts of the tiles between, one by each work-item, which counts a tile
         * itself if its status stays empty. Then write the gathered elements. */
        if (turn > 0) {
            const int others = (int)min(task, (i64)groups - 1);
            const i64 missing = task - others + tid;
            value_t folded = IDENTITY;
            if (tid < others && !gp_await_status(statuses, missing, tag, tag, &folded)) {
                folded = IDENTITY;
                for (i64 j = missing * TILE; j < (missing + 1) * TILE; j++) folded = OP(folded, MAP(0, j));
            }
            gp_fold_warps(folded, between, tid);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int warp = 0; warp * LANES < others; warp++) prefix = OP(prefix, between[warp]);
            for (int k = tid; k < aggregate; k += BLOCK) WRITE_STAGED(0, prefix + k, gathered[k]);
            prefix = OP(prefix, aggregate);
            if (tid == 0 && task == tiles - 1) WRITE_NUMBER(prefix);
        }
        barrier(CLK_LOCAL_MEM_FENCE); /* the gathered elements are written, and gp_scan_warps may write to local memory again */

        /* 4. Gather the kept elements of the next tile. */
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) {
            int place = earlier + places[vector];
#pragma unroll
            for (int item = 0; item < VECTOR; item++)
                if (kept[vector] >> item & 1) gathered[place++] = ELEMENT(ahead + vector, item);
        }
        aggregate = ahead_aggregate;
        task = coming;
        coming = following;
    }

    /* 5. The last group makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

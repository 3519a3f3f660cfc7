/* compact/round_robin: one pass; groups gather a tile's kept elements in local memory and write them once the counts
 * before are known.
 *
 * in      INPUTS: n elements; those of the first input are kept or left out
 * out     OUTPUTS: the kept elements side by side, and their number
 * scratch statuses (scanning.h): one for each tile
 * launch  at most LOOKUPS x BLOCK groups of BLOCK, all running at the same time; `outputs` is 1
 * host    the steps of gathering.h, FETCHED, raw_t and staged_t, gp_scan_warps, gp_fold_warps, gp_write_status,
 *         gp_status_of and gp_await_status (scanning.h), MAP, OP, IDENTITY
 * order   kept elements stay in order
 *
 * A tile's status has its count. Within a tile, for LANES = 4, VECTOR = 2, k kept and x left out; places are counted by
 * vectors, then by lanes:
 *
 *     lane          0      1      2      3
 *     first vector  k x    k k    x x    x k      places   0 -    1 2    - -    - 3
 *     second        x k    x x    k x    k k               - 4    - -    5 -    6 7
 */
/* What is gathered of a tile: elements, or their places in the tile. */
#if NUMBERED
typedef u16 gathered_t;
#define GATHER(raw, item, place) (gathered_t)(place)
#define WRITE_GATHERED(base, k, gathered) WRITE_STAGED(0, k, (base) + (gathered))
#else
typedef staged_t gathered_t;
#define GATHER(raw, item, place) ELEMENT(raw, item)
#define WRITE_GATHERED(base, k, gathered) WRITE_STAGED(0, k, gathered)
#endif

/* Set a bit for each element of a tile that is kept. */
DEVICE void find_kept(const raw_t *raw, const layout_t layout, const i64 base, const i64 n, const int tid, u32 *kept)
{
#pragma unroll
    for (int vector = 0; vector < VECTORS; vector++) {
        const i64 j = base + gp_item_offset(tid, vector * VECTOR);
        kept[vector] = 0;
#pragma unroll
        for (int item = 0; item < VECTOR; item++)
            if (FETCHED(raw + vector, item, j + item)) kept[vector] |= 1u << item;
        gp_drop_end(&kept[vector], base, j, n);
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void compact_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                         const i64 tiles)
{
    __local gathered_t gathered[BLOCK * ITEMS];
    __local value_t partial[WARPS], between[WARPS];
    __local u32 launch;
    const int tid = get_local_id(0), groups = get_num_groups(0), lane = tid % LANES;
    raw_t next[VECTORS], ahead[VECTORS];
    value_t prefix = IDENTITY, aggregate = IDENTITY;

    i64 coming = get_group_id(0), task = coming;
    if (tid == 0) launch = TAG_OF(gp_read_entry(statuses)) + 1;
    if (coming < tiles) gp_fetch_vectors(INPUT_NAMES, layout, coming * TILE, n, tid, next);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task < tiles; turn++) {
        /* 1. Read the counts of the tiles between the tile before and the group's last. Take the tile that was loaded
         * meanwhile, and load the next. */
        const i64 base = coming * TILE, following = coming + groups;
        const int others = (int)min(task, (i64)groups - 1);
        u64 entries[LOOKUPS * WORDS];
        gp_read_between(statuses, task, others, turn > 0, tid, entries);
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) ahead[vector] = next[vector];
        if (following < tiles) gp_fetch_vectors(INPUT_NAMES, layout, following * TILE, n, tid, next);

        /* 2. Rank its kept elements and write their number to its status, an iteration before others need it. */
        u32 kept[VECTORS];
        int places[VECTORS];
        find_kept(ahead, layout, base, n, tid, kept);
        const int count = gp_rank_chosen(kept, lane, places);
        value_t ahead_aggregate;
        const int earlier = (int)gp_scan_warps((value_t)count, partial, tid, &ahead_aggregate);
        if (tid == BLOCK - 1 && coming < tiles) gp_write_status(statuses, coming, tag, ahead_aggregate);

        /* 3. For the tile before: add the counts of the tiles between. A work-item counts a tile itself if its status
         * stays empty. Then write the gathered elements. */
        if (turn > 0) {
            value_t folded = IDENTITY;
#pragma unroll
            for (int look = 0; look < LOOKUPS; look++) {
                const i64 missing = task - others + tid + look * BLOCK;
                value_t number = IDENTITY;
                if (missing >= task) continue;
                if (!gp_status_of(entries + look * WORDS, tag, tag, &number) &&
                    !gp_await_status(statuses, missing, tag, tag, &number)) {
                    number = IDENTITY;
#pragma unroll 1
                    for (i64 j = missing * TILE; j < (missing + 1) * TILE; j++) number = OP(number, MAP(0, j));
                }
                folded = OP(folded, number);
            }
            gp_fold_warps(folded, between, tid);
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
            for (int warp = 0; warp < WARPS; warp++) prefix = OP(prefix, between[warp]);
            for (int k = tid; k < aggregate; k += BLOCK) WRITE_GATHERED(task * TILE, prefix + k, gathered[k]);
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
                if (kept[vector] >> item & 1)
                    gathered[place++] = GATHER(ahead + vector, item, gp_item_offset(tid, vector * VECTOR) + item);
        }
        aggregate = ahead_aggregate;
        task = coming;
        coming = following;
    }

    /* 5. The last group makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

/* scan/round_robin: one pass without look-back; groups take tiles in turn and read the aggregates of all tiles since
 * their last.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile
 * launch  at most BLOCK groups of BLOCK, all running at the same time
 * host    gp_fetch_tile and gp_take_tile, FETCHED and raw_t, gp_scan_warp, gp_refold_warp, gp_scan_warps, gp_store_tile,
 *         gp_write_status, gp_read_status and gp_await_status (scanning.h), OP(a, b), IDENTITY
 * order   operands in index order; only the tiles and the number of groups decide how they are associated
 *
 * A tile's prefix is the inclusive prefix of the group's own last tile and the aggregates of the tiles between, which
 * are written as soon as they are loaded. No group waits for another's prefix, so no chain runs through the groups. For
 * 4 groups, group 1:
 *
 *     tile     0  1  2  3  4  5  6  7  8  9
 *     group    0  1  2  3  0  1  2  3  0  1
 *                 |--------|  |--------|
 *               prefix  aggregates    aggregates
 */
__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void scan_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                      const i64 tiles)
{
    __local value_t partial[WARPS], between[WARPS];
    __local staged_t staging[STAGED];
    __local int absent;
    __local u32 launch;
    const int tid = get_local_id(0), groups = get_num_groups(0);
    const task_t step = gp_task_at(groups, tiles);
    raw_t next[ITEMS / VECTOR];
    value_t ahead[ITEMS], values[ITEMS], prefix = IDENTITY;
    value_t ahead_earlier = IDENTITY, ahead_aggregate = IDENTITY, earlier = IDENTITY, aggregate = IDENTITY;

    if (tid == 0) {
        launch = TAG_OF(gp_read_entry(statuses)) + 1;
        absent = -1;
    }
    task_t coming = gp_task_at(get_group_id(0), tiles), task = coming;
    if (coming.o < outputs) gp_fetch_tile(INPUT_NAMES, layout, coming.o, coming.tile * TILE, n, tid, next);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task.o < outputs; turn++) {
        /* 1. Take the tile that was loaded meanwhile, and load the next. */
        const task_t following = gp_task_after(coming, step, tiles);
        if (coming.o < outputs) gp_take_tile(next, layout, coming.tile * TILE, n, tid, ahead);
        if (following.o < outputs)
            gp_fetch_tile(INPUT_NAMES, layout, following.o, following.tile * TILE, n, tid, next);

        /* 2. Scan it and write its aggregate to its status, an iteration before others need it. */
        ahead_earlier = gp_scan_warps(gp_scan_warp(ahead, tid % LANES), partial, tid, &ahead_aggregate);
        if (tid == BLOCK - 1 && coming.o < outputs) gp_write_status(statuses, coming.at, tag, ahead_aggregate);

        /* 3. For the tile before: read the aggregates of the tiles between, one by each work-item. */
        if (turn > 0) {
            const i64 base = task.tile * TILE;
            const int count = (int)min(task.tile, (i64)groups - 1);
            const i64 first = task.at - count;
            value_t folded = IDENTITY;
            int waiting = tid < count && !gp_await_status(statuses, first + tid, tag, tag, &folded);
            if (waiting) gp_raise(&absent, tid);
            gp_fold_warps(folded, between, tid);
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Fold the tiles of groups that do not run. */
            while (absent >= 0) {
                const int whose = absent;
                const i64 missing = base - (count - whose) * TILE;
                const value_t stood_in = gp_refold_warp(INPUT_NAMES, layout, task.o, missing, n, tid);
                value_t whole;
                barrier(CLK_LOCAL_MEM_FENCE);
                gp_scan_warps(stood_in, partial, tid, &whole);
                if (tid == 0) absent = -1;
                /* If the tile's group ran meanwhile, its outputs may have overwritten the inputs, but its status is set. */
                if (tid == whose && !gp_await_status(statuses, first + tid, tag, tag, &folded)) folded = whole;
                if (tid == whose) waiting = 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                if (waiting) waiting = !gp_read_status(statuses, first + tid, tag, tag, &folded);
                if (waiting) gp_raise(&absent, tid);
                gp_fold_warps(folded, between, tid);
                barrier(CLK_LOCAL_MEM_FENCE);
            }

            /* 5. Fold in the prefix, and store. */
            if (task.tile < groups) prefix = IDENTITY;
            for (int warp = 0; warp * LANES < count; warp++) prefix = OP(prefix, between[warp]);
            gp_store_tile(INPUT_NAMES, OUTPUT_NAMES, layout, task.o, base, n, tid, OP(prefix, earlier), values, staging);
            prefix = OP(prefix, aggregate);
        } else {
            barrier(CLK_LOCAL_MEM_FENCE); /* gp_scan_warps writes to local memory again */
        }

        /* 6. Go on to the next tile. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = ahead[item];
        earlier = ahead_earlier;
        aggregate = ahead_aggregate;
        task = coming;
        coming = following;
    }

    /* 7. The last group makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

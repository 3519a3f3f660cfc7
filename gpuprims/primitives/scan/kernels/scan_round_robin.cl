/* scan/round_robin: one pass without look-back; groups take tiles in turn and read the aggregates of all tiles since
 * their last.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile
 * launch  at most BLOCK groups of BLOCK, all running at the same time
 * host    gp_load_tile, gp_scan_warp, gp_refold_warp, gp_scan_warps, gp_store_tile, gp_write_status, gp_read_status and
 *         gp_await_status (scanning.h), OP(a, b), IDENTITY
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
#define VECTORS (ITEMS / VECTOR)
#define CHUNKS (ITEMS / CHUNK)
#define OF_CHUNK (CHUNK / VECTOR) /* vectors of a lane's part of a chunk */
#define TRANSPOSED (OF_CHUNK > 1 && LANES > 1)
/* Bytes of local memory in which a warp exchanges a chunk, as elements or as results. */
#define PART_BYTES(size) (LANES * (int)(size) + 15) / 16 * 16
#define EXCHANGED_BYTES                                                                                                \
    (PART_BYTES(OF_CHUNK * sizeof(raw_t)) > PART_BYTES(CHUNK * RESULT_BYTES) ? PART_BYTES(OF_CHUNK * sizeof(raw_t))    \
                                                                             : PART_BYTES(CHUNK * RESULT_BYTES))

/* Load a work-item's elements of a tile as they are, so that nothing waits for them yet. */
DEVICE void fetch_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                          raw_t *raw)
{
    if (base + TILE <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR)
            gp_fetch_vector(INPUT_NAMES, layout, o, base + gp_item_offset(tid, item), raw + item / VECTOR);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR)
            gp_fetch_part(INPUT_NAMES, layout, o, base + gp_item_offset(tid, item), n, raw + item / VECTOR);
    }
}

/* Return the offset in its tile of a lane's part of a chunk. */
DEVICE int chunk_offset(const int tid, const int chunk)
{
    return tid / LANES * (LANES * ITEMS) + chunk * (LANES * CHUNK) + tid % LANES * CHUNK;
}

/* Exchange the vectors that lanes loaded side by side for those of the lanes' parts. */
DEVICE void exchange_vectors(const raw_t *loaded, LOCAL raw_t *own, const int lane, raw_t *raw)
{
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
#if TRANSPOSED
#pragma unroll
        for (int vector = 0; vector < OF_CHUNK; vector++)
            gp_put_raw(own + vector * LANES + lane, loaded + chunk * OF_CHUNK + vector);
        gp_warp_barrier();
#pragma unroll
        for (int vector = 0; vector < OF_CHUNK; vector++)
            gp_get_raw(own + lane * OF_CHUNK + vector, raw + chunk * OF_CHUNK + vector);
        gp_warp_barrier();
#else
#pragma unroll
        for (int vector = 0; vector < OF_CHUNK; vector++) raw[chunk * OF_CHUNK + vector] = loaded[chunk * OF_CHUNK + vector];
#endif
    }
}

/* Scan the folds of the lanes' parts, all chunks at once; leave what is before each in the warp, and return the warp's
 * aggregate. */
DEVICE value_t scan_chunks(value_t *folds, const int lane)
{
    value_t whole = IDENTITY;
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) {
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            const value_t earlier = gp_shuffle_up(folds[chunk], stride);
            if (lane >= stride) folds[chunk] = OP(earlier, folds[chunk]);
        }
    }
#endif
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const value_t before = whole;
#if LANES > 1
        const value_t earlier = gp_shuffle_up(folds[chunk], 1);
        whole = OP(whole, gp_shuffle_from(folds[chunk], LANES - 1));
        folds[chunk] = lane ? OP(before, earlier) : before;
#else
        whole = OP(whole, folds[chunk]);
        folds[chunk] = before;
#endif
    }
    return whole;
}

/* Fold each of a lane's parts. */
DEVICE void fold_chunks(const raw_t *raw, const layout_t layout, const i64 base, const i64 n, const int tid, value_t *folds)
{
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const i64 first = base + chunk_offset(tid, chunk);
        value_t whole = IDENTITY;
#pragma unroll
        for (int item = 0; item < CHUNK; item++) {
            const value_t value = FETCHED(raw + chunk * OF_CHUNK + item / VECTOR, item % VECTOR, first + item);
            if (item == 0)
                whole = value;
            else if (base + TILE <= n || first + item < n)
                whole = OP(whole, value);
        }
        folds[chunk] = base + TILE <= n || first < n ? whole : IDENTITY;
    }
}

/* Fold a whole tile from memory, by the operations of the two functions above, so that it rounds alike; return the
 * aggregate of the work-item's warp. */
DEVICE value_t refold_chunks(INPUTS, const layout_t layout, const i64 o, const i64 base, const int tid)
{
    value_t folds[CHUNKS];
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const i64 first = base + chunk_offset(tid, chunk);
        value_t whole = MAP(o, first);
#pragma unroll 1
        for (int item = 1; item < CHUNK; item++) whole = OP(whole, MAP(o, first + item));
        folds[chunk] = whole;
    }
    return scan_chunks(folds, tid % LANES);
}

/* Scan a lane's parts, each after the fold of `before` and what is before it in the warp, and store the results. */
DEVICE void store_chunks(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                         const value_t before, const raw_t *raw, const value_t *folds, LOCAL u8 *own,
                         LOCAL staged_t *staging)
{
    const int lane = tid % LANES;
#if !TRANSPOSED
    value_t all[ITEMS];
#endif
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const i64 first = base + chunk_offset(tid, chunk);
        value_t whole = OP(before, folds[chunk]);
        value_t values[CHUNK];
#pragma unroll
        for (int item = 0; item < CHUNK; item++) {
            const value_t value = FETCHED(raw + chunk * OF_CHUNK + item / VECTOR, item % VECTOR, first + item);
            const value_t earlier = whole;
            whole = OP(whole, value);
            values[item] = INCLUSIVE ? whole : earlier;
        }
#if TRANSPOSED
#pragma unroll
        for (int item = 0; item < CHUNK; item += VECTOR)
            RESULT_VECTOR(own, lane * CHUNK + item, first + item, values + item);
        gp_warp_barrier();
#pragma unroll
        for (int vector = 0; vector < OF_CHUNK; vector++) {
            const int at = (vector * LANES + lane) * VECTOR;
            const i64 j = first - lane * CHUNK + at;
            if (base + TILE <= n || j + VECTOR <= n) {
                GIVE_VECTOR(own, at, o, j);
            } else {
                for (int item = 0; item < VECTOR; item++)
                    if (j + item < n) GIVE(own, at + item, o, j + item);
            }
        }
        gp_warp_barrier();
#else
#pragma unroll
        for (int item = 0; item < CHUNK; item++) all[chunk * CHUNK + item] = values[item];
#endif
    }
#if !TRANSPOSED
    gp_store_tile(INPUT_NAMES, OUTPUT_NAMES, layout, o, base, n, tid, IDENTITY, all, staging);
#endif
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void scan_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                      const i64 tiles)
{
    const int tid = get_local_id(0), groups = get_num_groups(0);
    __local value_t partial[WARPS], between[WARPS];
#if TRANSPOSED
    __local u8 ALIGNED exchanged[WARPS * EXCHANGED_BYTES];
    LOCAL staged_t *staging = 0;
    LOCAL u8 *own = exchanged + tid / LANES * EXCHANGED_BYTES;
#else
    __local staged_t staging[STAGED];
    LOCAL u8 *own = 0;
#endif
    __local int absent;
    __local u32 launch;
    const task_t step = gp_task_at(groups, tiles);
    raw_t next[VECTORS], ahead[VECTORS], raw[VECTORS];
    value_t ahead_folds[CHUNKS], folds[CHUNKS], prefix = IDENTITY;
    value_t ahead_earlier = IDENTITY, ahead_aggregate = IDENTITY, earlier = IDENTITY, aggregate = IDENTITY;

    if (tid == 0) {
        launch = TAG_OF(gp_read_entry(statuses)) + 1;
        absent = -1;
    }
    task_t coming = gp_task_at(get_group_id(0), tiles), task = coming;
    if (coming.o < outputs) fetch_tile(INPUT_NAMES, layout, coming.o, coming.tile * TILE, n, tid, next);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task.o < outputs; turn++) {
        /* 1. Take the tile that was loaded meanwhile, and load the next. */
        const task_t following = gp_task_after(coming, step, tiles);
        exchange_vectors(next, (LOCAL raw_t *)own, tid % LANES, ahead);
        if (following.o < outputs)
            fetch_tile(INPUT_NAMES, layout, following.o, following.tile * TILE, n, tid, next);

        /* 2. Scan it and write its aggregate to its status, an iteration before others need it. */
        fold_chunks(ahead, layout, coming.tile * TILE, n, tid, ahead_folds);
        ahead_earlier = gp_scan_warps(scan_chunks(ahead_folds, tid % LANES), partial, tid, &ahead_aggregate);
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
                const value_t stood_in = refold_chunks(INPUT_NAMES, layout, task.o, missing, tid);
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
            store_chunks(INPUT_NAMES, OUTPUT_NAMES, layout, task.o, base, n, tid, OP(prefix, earlier), raw, folds, own, staging);
            prefix = OP(prefix, aggregate);
        } else {
            barrier(CLK_LOCAL_MEM_FENCE); /* gp_scan_warps writes to local memory again */
        }

        /* 6. Go on to the next tile. */
#pragma unroll
        for (int vector = 0; vector < VECTORS; vector++) raw[vector] = ahead[vector];
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) folds[chunk] = ahead_folds[chunk];
        earlier = ahead_earlier;
        aggregate = ahead_aggregate;
        task = coming;
        coming = following;
    }

    /* 7. The last group makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

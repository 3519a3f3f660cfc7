/* scan/queues: one pass without look-back, with a duty for each warp; bulk copies bring tiles to a queue in local memory
 * and take results from there.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each, side by side or a few elements apart, in
 *         either direction; if ONE_SCAN, the outputs are rows of one scan
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile
 * launch  at most LOOKUPS x LANES groups of BLOCK, all running at the same time
 * host    RUNS, DEPTH, PLACES, LOOKUPS, LATE, HOLDS, PHASED, SLOT_BYTES, PLACE_BYTES, EACH_QUEUED, EACH_RESULT, QUEUED_VECTOR
 *         and RESULT_VECTOR, and if HOLDS, HELD_VECTOR, HELD_VALUES and held_t; queue.h; gp_write_status (scanning.h),
 *         OP(a, b), OP_IN_RUN(a, b) for values of a run, IDENTITY
 * order   operands in index order, but a commutative operator folds aggregates of tiles lane by lane; only the tiles and
 *         the number of groups decide how operands are associated
 * needs   cp.async.bulk and mbarrier (compute capability 9.0)
 *
 * Groups take tiles in turn, as in scan/round_robin: a tile's prefix is that of the group's own last tile and the
 * aggregates of the tiles since. A tile is a run of ITEMS neighbours for each of RUNS lanes, so that a lane scans its run
 * alone. If the values of a run took too many registers, a lane loads them LATE, one vector after the other as it scans. If
 * results need elements, it HOLDS those of its run in registers, and the slot is free before it scans. ITEMS is an odd number
 * of vectors, so that lanes read different banks of local memory. No warp waits for all others: each duty waits for the one
 * before, tile by tile.
 *
 *     warps       wait for              do                                          then
 *     SCANS       landed                fold runs, scan the folds of a warp         folded
 *     1           folded, by SCANS      scan those, write the aggregate             told
 *     1           aggregates            fold those of the tiles before              learnt
 *     SCANS       told, learnt          scan runs, start the copies of results      taken
 *     1           taken, by SCANS       start the copies of another tile            landed
 *
 * Memory. A gate releases what its arrivals wrote before and acquires it for those who pass, in local memory. All lanes of
 * a warp arrive, each after what it has read and written.
 * - A turn uses slot turn % DEPTH, and passes each of the slot's gates in the phase turn / DEPTH & 1. A phase looks like
 *   the one before last, so no gate may go on by two while a lane waits. None does: whoever lets a gate of the next
 *   turn of a slot open has passed `taken` of this turn, for which all lanes that scan, and through told and folded all
 *   that fold, have passed the other gates. The two warps that wait for `taken` themselves bring the next phase about.
 * - Elements in a slot: written by copies, in the async proxy, whose bytes `landed` counts and shows to those who pass;
 *   read by lanes that fold and lanes that scan. Copies of the next turn come after `taken`, so nobody reads any more;
 *   reads need no fence before writes of another proxy. Lanes write the last bytes of a tile themselves, and a fence
 *   between the proxies keeps the next copies behind these writes.
 * - Results of a warp: written by its lanes, each with a fence between the proxies, then a barrier of the warp, then
 *   copies read them. Lane 0 waits until copies of PLACES turns ago have read, then a barrier of the warp, before they
 *   are written again. Bytes that lanes store themselves are read in the turn that wrote them.
 * - before_run, before_warp and before_tile: written after `landed` or `taken` of the turn, when those who scan have read
 *   the turn's before in the slot.
 * - found: of the warp that learns prefixes, with a barrier of the warp before and after it is read.
 * - An element's place in global memory is read by copies that have landed before the copies that may overwrite it start.
 * - Statuses carry their tag in the same 64 bits as each word, so they need no order.
 * - A tile waits for tiles before it alone, and all groups run at the same time, so some group can always go on.
 */
#define PART (LANES * ITEMS) /* elements of a warp */

/* Fold a run of a tile in the queue. The last tile of a scan may fold what is past its end. */
DEVICE value_t fold_run(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int run, const i64 o, const i64 base,
                        const i64 n)
{
    const int live = (int)min(n - base, (i64)TILE) - run * ITEMS;
    value_t whole = IDENTITY;
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        value_t values[VECTOR];
        QUEUED_VECTOR(queue, run * ITEMS + item, o, base, values);
#pragma unroll
        for (int k = 0; k < VECTOR; k++) {
            if (ONE_SCAN && item + k >= live) values[k] = IDENTITY;
            whole = item + k ? OP_IN_RUN(whole, values[k]) : values[k];
        }
    }
    return whole;
}

/* Scan the values of the first `lanes` lanes. */
DEVICE value_t scan_lanes(value_t whole, const int lane, const int lanes)
{
#pragma unroll
    for (int stride = 1; stride < lanes; stride *= 2) {
        const value_t earlier = gp_shuffle_up(whole, stride);
        if (lane >= stride) whole = OP(earlier, whole);
    }
    return whole;
}

/* The tiles before one in its scan. */
DEVICE i64 tiles_before(const task_t task)
{
    return ONE_SCAN ? task.at : task.tile;
}

/* The tiles since the group's last one, which has the prefix of all others. */
DEVICE int tiles_between(const task_t task, const int groups)
{
    return (int)min(tiles_before(task), (i64)groups);
}

/* Read the words of the statuses of `count` tiles from `first` on. Neighbouring lanes read neighbouring words, whatever the
 * size of a value is: each line of memory is read once. Words past the last look as if they had been read. */
DEVICE void look_up_words(GLOBAL u64 *statuses, const i64 first, const int count, const u32 tag, const int lane,
                          u64 *entries)
{
    GLOBAL u64 *words = statuses + 1 + first * WORDS + lane;
#pragma unroll
    for (int k = 0; k < LOOKUPS * WORDS; k++) {
        entries[k] = (u64)tag << 32;
        if (k * LANES < count * WORDS - lane) entries[k] = gp_read_entry(words + k * LANES);
    }
}

/* Read the words of statuses again until all have come. */
DEVICE void await_words(GLOBAL u64 *statuses, const i64 first, const u32 tag, const int lane, u64 *entries)
{
    GLOBAL u64 *words = statuses + 1 + first * WORDS + lane;
    for (;;) {
        int absent = 0;
#pragma unroll
        for (int k = 0; k < LOOKUPS * WORDS; k++) {
            if (TAG_OF(entries[k]) == tag) continue;
            absent = 1;
            entries[k] = gp_read_entry(words + k * LANES);
        }
        if (!gp_any_lane(absent)) return;
    }
}

/* Fold `count` values, whose words lie in order in local memory. A commutative operator folds values lane by lane, in
 * which lanes read neighbours. For others, a lane folds neighbours: a tree of lanes for each k would take five times as
 * many operations and registers. Only lane 0 gets the result. */
DEVICE value_t fold_found(LOCAL const u32 *found, const int count, const int lane)
{
    value_t whole = IDENTITY;
#pragma unroll
    for (int k = 0; k < LOOKUPS; k++) {
        const int at = COMMUTATIVE ? k * LANES + lane : lane * LOOKUPS + k;
        u32 words[WORDS];
#pragma unroll
        for (int word = 0; word < WORDS; word++) words[word] = found[at * WORDS + word];
        const value_t value = at < count ? gp_join(words) : IDENTITY;
        whole = k ? OP(whole, value) : value;
    }
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) whole = OP(whole, gp_shuffle_down(whole, stride));
    return whole;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT)
void scan_queues(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                 const i64 tiles LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u8, queue); /* DEPTH tiles of elements, then PLACES tiles of results */
    __local u64 landed[DEPTH], folded[DEPTH], told[DEPTH], learnt[DEPTH], taken[DEPTH];
    __local value_t before_run[DEPTH][RUNS], before_warp[DEPTH][SCANS], before_tile[DEPTH];
    __local u32 launch;
    __local u32 found[LOOKUPS * LANES * WORDS];
    const int tid = get_local_id(0), lane = tid % LANES, warp = tid / LANES, groups = get_num_groups(0);
    const task_t step = gp_task_at(groups, tiles);
    task_t task = gp_task_at(get_group_id(0), tiles);

    if (tid == 0) {
        launch = TAG_OF(gp_read_entry(statuses)) + 1;
        for (int slot = 0; slot < DEPTH; slot++) {
            make_gate(landed + slot, LANES);
            make_gate(folded + slot, RUNS);
            make_gate(told + slot, LANES);
            make_gate(learnt + slot, LANES);
            make_gate(taken + slot, RUNS);
        }
        show_to_copies();
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    if (warp == 2 * SCANS + 2) {
        /* 4. Fold the aggregates of the tiles since the group's last, and the prefix of that. Read those of the next tile
         * meanwhile. CUDA runs all groups at the same time, so each aggregate comes. */
        u64 entries[LOOKUPS * WORDS];
        value_t prefix = IDENTITY;
        int count = task.o < outputs ? tiles_between(task, groups) : 0;
        look_up_words(statuses, task.at - count, count, tag, lane, entries);
        for (u32 turn = 0; task.o < outputs; turn++) {
            const task_t following = gp_task_after(task, step, tiles);
            await_words(statuses, task.at - count, tag, lane, entries);
#pragma unroll
            for (int k = 0; k < LOOKUPS * WORDS; k++) found[k * LANES + lane] = (u32)entries[k];
            const int between = count;
            count = following.o < outputs ? tiles_between(following, groups) : 0;
            look_up_words(statuses, following.at - count, count, tag, lane, entries);

            gp_warp_barrier();
            const value_t since = fold_found(found, between, lane);
            gp_warp_barrier();
            prefix = tiles_before(task) < groups ? since : OP(prefix, since);
            if (turn >= DEPTH) pass_gate(taken + turn % DEPTH, turn / DEPTH + 1 & 1);
            if (lane == 0) before_tile[turn % DEPTH] = prefix;
            arrive(learnt + turn % DEPTH);
            task = following;
        }
    }

    for (u32 turn = 0; warp < 2 * SCANS + 2 && task.o < outputs; turn++, task = gp_task_after(task, step, tiles)) {
        const int slot = turn % DEPTH;
        const u32 phase = turn / DEPTH & 1;
        const i64 o = task.o, base = task.tile * TILE;
        LOCAL u8 *elements = queue + slot * SLOT_BYTES;

        if (warp < SCANS) {
            /* 5. Scan runs, each from its prefix, and start the copies of results. */
            LOCAL u8 *results = queue + DEPTH * SLOT_BYTES + (turn % PLACES * SCANS + warp) * PLACE_BYTES;
            const i64 first = base + warp * PART;
            const int count = (int)max(min((i64)PART, n - first), (i64)0);
            value_t values[LATE ? VECTOR : ITEMS];
            pass_gate(landed + slot, phase);
#if HOLDS
            held_t held[ITEMS / VECTOR];
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                HELD_VECTOR(elements, tid * ITEMS + item, o, base, held + item / VECTOR);
#endif
#pragma unroll
            for (int item = 0; item < (LATE ? 0 : ITEMS); item += VECTOR)
                QUEUED_VECTOR(elements, tid * ITEMS + item, o, base, values + item);
            pass_gate(told + slot, phase);
            pass_gate(learnt + slot, phase);
            value_t whole = OP(before_tile[slot], OP(before_warp[slot][warp], before_run[slot][tid]));
            if (!LATE || HOLDS) arrive(taken + slot);
            if (lane == 0) await_copies(PLACES - 1);
            gp_warp_barrier();
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR) {
                value_t *own = values + (LATE ? 0 : item);
#if HOLDS
                HELD_VALUES(held + item / VECTOR, base + tid * ITEMS + item, own);
#else
                if (LATE) QUEUED_VECTOR(elements, tid * ITEMS + item, o, base, own);
#endif
#pragma unroll
                for (int k = 0; k < VECTOR; k++) {
                    const value_t earlier = whole;
                    whole = OP_IN_RUN(whole, own[k]);
                    own[k] = INCLUSIVE ? whole : earlier;
                }
                RESULT_VECTOR(held + item / VECTOR, results, lane * ITEMS + item, o, first, own);
            }
            if (LATE && !HOLDS) arrive(taken + slot);
            show_to_copies();
            gp_warp_barrier();
            take_results(OUTPUT_NAMES, layout, results, o, first, count, PART, lane);
            if (lane == 0) end_copies();
        } else if (warp < 2 * SCANS) {
            /* 2. Fold runs, and scan the folds of a warp. */
            const int run = tid - RUNS;
            pass_gate(landed + slot, phase);
            const value_t whole = scan_lanes(fold_run(INPUT_NAMES, layout, elements, run, o, base, n), lane, LANES);
            const value_t earlier = gp_shuffle_up(whole, 1);
            before_run[slot][run] = lane ? earlier : IDENTITY;
            if (lane == LANES - 1) before_warp[slot][run / LANES] = whole;
            arrive(folded + slot);
        } else if (warp == 2 * SCANS) {
            /* 3. Scan the folds of the warps, and write the tile's aggregate to its status. */
            pass_gate(folded + slot, phase);
            const value_t whole = scan_lanes(lane < SCANS ? before_warp[slot][lane] : IDENTITY, lane, SCANS);
            const value_t earlier = gp_shuffle_up(whole, 1);
            if (lane == SCANS - 1) gp_write_status(statuses, task.at, tag, whole);
            gp_warp_barrier();
            if (lane < SCANS) before_warp[slot][lane] = lane ? earlier : IDENTITY;
            arrive(told + slot);
        } else {
            /* 1. Start the copies of a tile's elements. */
            const int count = (int)min((i64)TILE, n - base);
            if (turn >= DEPTH) pass_gate(taken + slot, phase ^ 1);
            bring_tile(INPUT_NAMES, layout, elements, o, base, count, n, landed + slot, lane);
        }
    }

    /* 6. Results must leave local memory before it is freed; the last group makes the launch's tags void. */
    if (warp < SCANS && lane == 0) await_copies(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

/* scan/fixed_queues: scan/queues in an order that is the same on every device.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` stretches each, side by side or a few elements apart,
 *         in either direction
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile of FOLDED elements
 * launch  groups of BLOCK, all running at the same time, at most as many as have LOOKUPS x LANES - RUN_ITEMS tiles in a turn
 * host    RUNS (TILE_RUNS), DEPTH, PLACES, LOOKUPS, PHASED, SLOT_BYTES, PLACE_BYTES, QUEUED_VECTOR and RESULT_VECTOR;
 *         queue.h, fixed_tiles.h; gp_write_status and gp_status_of (scanning.h), OP(a, b), IDENTITY
 * order   of fixed_scans.py, whatever the number of groups and VECTOR are
 * needs   cp.async.bulk and mbarrier (compute capability 9.0)
 *
 * Groups take stretches of TILES whole tiles in turn. Each has the duties of scan/queues, whose notes on memory hold here:
 *
 *     warps       wait for              do                                                     then
 *     SCANS       landed                fold runs, scan the folds of a warp by halves          folded
 *     1           folded, by SCANS      fold the warps' by halves, write tiles' aggregates     told
 *     1           aggregates, told      find the prefixes of tiles (fixed_tiles.h)             learnt
 *     SCANS       folded, learnt        scan runs, start the copies of results                 taken
 *     1           taken, by SCANS       start the copies of another stretch                    landed
 *
 * A lane scans a run of each tile, as many vectors of which lanes read at once as memory has banks for, each lane from
 * another vector on.
 *
 * Memory, besides:
 * - before_run and ends: written after `landed` of the turn, when those who scan have read the turn's before in the slot.
 * - aggregates: written after `folded` of the turn, when `learnt` of the turn's before in the slot is past.
 * - between, folds and above: of the warp that learns prefixes, with a barrier of the warp after each write.
 */
#define VECTORS (RUN_ITEMS / VECTOR)
#define PART (LANES * RUN_ITEMS) /* elements of a tile that a warp scans */
#define SPAN (LOOKUPS * LANES)
/* Lanes whose runs together fill all banks of local memory. */
#define SIDE_BY_SIDE (128 / (RUN_ITEMS * (int)sizeof(value_t)) > 1 ? 128 / (RUN_ITEMS * (int)sizeof(value_t)) : 1)

/* The first vector of a run that a lane reads or writes. */
DEVICE int first_vector(const int lane)
{
    return lane / SIDE_BY_SIDE % VECTORS;
}

/* Move the vectors of a run `by` places down, round and round. */
DEVICE void rotate_run(value_t *run, const int by)
{
#pragma unroll
    for (int stride = 1; stride < VECTORS; stride *= 2) {
        value_t old[RUN_ITEMS];
#pragma unroll
        for (int k = 0; k < RUN_ITEMS; k++) old[k] = run[k];
#pragma unroll
        for (int k = 0; k < RUN_ITEMS; k++) run[k] = by & stride ? old[(k + stride * VECTOR) % RUN_ITEMS] : old[k];
    }
}

/* Load the run of a stretch that begins with element `at`. */
DEVICE void load_run(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int at, const i64 o, const i64 base,
                     const int lane, value_t *run)
{
    const int first = first_vector(lane);
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        QUEUED_VECTOR(queue, at + (k + first) % VECTORS * VECTOR, o, base, run + k * VECTOR);
    rotate_run(run, VECTORS - first);
}

DEVICE void store_run(OUTPUTS, const layout_t layout, LOCAL u8 *queue, const i64 o, const i64 base, const int lane,
                      value_t *run)
{
    const int first = first_vector(lane);
    rotate_run(run, first);
#pragma unroll
    for (int k = 0; k < VECTORS; k++)
        RESULT_VECTOR(queue, lane * RUN_ITEMS + (k + first) % VECTORS * VECTOR, o, base, run + k * VECTOR);
}

DEVICE void scan_run(value_t *run)
{
#pragma unroll
    for (int k = 1; k < RUN_ITEMS; k++) run[k] = OP(run[k - 1], run[k]);
}

/* Scan the values of `lanes` lanes by halves: of each 2, 4, 8, ... lanes, those of the second half follow the first. */
DEVICE value_t halve_lanes(value_t whole, const int lane, const int lanes)
{
#pragma unroll
    for (int half_of = 1; half_of < lanes; half_of *= 2) {
        const value_t before = gp_shuffle_from(whole, (lane / half_of * half_of - 1) & (LANES - 1));
        if (lane & half_of) whole = OP(before, whole);
    }
    return whole;
}

/* Find what is before a lane's run in its tile: `left` before it in its warp, and the `ends` of the warps before. */
DEVICE value_t earlier_runs(value_t left, LOCAL const value_t *ends, const int warp, const int lane)
{
    value_t whole = ends[lane % SCANS];
#pragma unroll
    for (int half_of = 1; half_of < SCANS; half_of *= 2) {
        const value_t own = gp_shuffle_from(whole, (lane / half_of * half_of - 1) & (LANES - 1));
        const value_t before = gp_shuffle_from(whole, (warp / half_of * half_of - 1) & (LANES - 1));
        if (warp & half_of) left = OP(before, left);
        if (lane & half_of) whole = OP(own, whole);
    }
    const value_t before = gp_shuffle_from(whole, (warp - 1) & (LANES - 1));
    return lane ? left : warp ? before : IDENTITY;
}

/* The first tile of the first run of tiles whose fold a group does not have, as a stretch's turn begins: that of the
 * stretch before, `known`, or none where an output begins. */
DEVICE i64 known_at(const task_t task, const i64 known, const int groups)
{
    return task.tile < groups ? 0 : known;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT)
void scan_fixed_queues(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                       const i64 tiles LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u8, queue); /* DEPTH stretches of elements, then PLACES stretches of results */
    __local u64 landed[DEPTH], folded[DEPTH], told[DEPTH], learnt[DEPTH], taken[DEPTH];
    __local value_t before_run[DEPTH][TILES][RUNS], ends[DEPTH][TILES * SCANS], aggregates[DEPTH][TILES];
    __local value_t before_tile[DEPTH][TILES], between[BETWEEN(SPAN)], folds[2 * TILE_RUNS];
    __local above_t above;
    __local u32 launch;
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
    for (int run = tid; run < 2 * TILE_RUNS; run += BLOCK) folds[run] = IDENTITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    if (warp == 2 * SCANS + 2) {
        /* 4. Find the prefixes of the stretch's tiles by the aggregates of the tiles since the last whole run of tiles. Read
         * those of the next stretch meanwhile. CUDA runs all groups at the same time, so each aggregate comes. */
        u64 entries[LOOKUPS * WORDS];
        i64 known = 0;
        u32 absent = task.o < outputs ? lookups_of((int)(task.tile * TILES), lane) : 0;
        look_up(statuses, (task.at - task.tile) * TILES, absent, lane, entries);
        for (u32 turn = 0; task.o < outputs; turn++) {
            const int slot = turn % DEPTH;
            const i64 first = task.tile * TILES, asked = (task.at - task.tile) * TILES + known;
            const task_t following = gp_task_after(task, step, tiles);
            for (;;) {
#pragma unroll
                for (int k = 0; k < LOOKUPS; k++) {
                    value_t value;
                    if (absent >> k & 1 && gp_status_of(entries + k * WORDS, tag, tag, &value)) {
                        between[BETWEEN(k * LANES + lane)] = value;
                        absent ^= 1u << k;
                    }
                }
                if (!gp_any_lane(absent)) break;
                look_up(statuses, asked, absent, lane, entries);
            }
            const i64 next = known_at(following, first / RUN_ITEMS * RUN_ITEMS, groups);
            if (following.o < outputs) absent = lookups_of((int)(following.tile * TILES - next), lane);
            look_up(statuses, (following.at - following.tile) * TILES + next, absent, lane, entries);

            if (turn >= DEPTH) pass_gate(taken + slot, turn / DEPTH + 1 & 1);
            pass_gate(told + slot, turn / DEPTH & 1);
            gp_warp_barrier();
            gp_find_prefixes(between, folds, &above, aggregates[slot], first, known, lane, before_tile[slot]);
            arrive(learnt + slot);
            known = next;
            task = following;
        }
    }

    for (u32 turn = 0; warp < 2 * SCANS + 2 && task.o < outputs; turn++, task = gp_task_after(task, step, tiles)) {
        const int slot = turn % DEPTH;
        const u32 phase = turn / DEPTH & 1;
        const i64 o = task.o, base = task.tile * TILE;
        LOCAL u8 *elements = queue + slot * SLOT_BYTES;

        if (warp < SCANS) {
            /* 5. Scan runs, fold in what is before each, and start the copies of results. */
            LOCAL u8 *places = queue + DEPTH * SLOT_BYTES + (turn % PLACES * SCANS + warp) * TILES * PLACE_BYTES;
            value_t values[TILES][RUN_ITEMS], before[TILES];
            pass_gate(landed + slot, phase);
#pragma unroll
            for (int k = 0; k < TILES; k++) {
                load_run(INPUT_NAMES, layout, elements, k * FOLDED + tid * RUN_ITEMS, o, base, lane, values[k]);
                scan_run(values[k]);
            }
            pass_gate(folded + slot, phase);
#pragma unroll
            for (int k = 0; k < TILES; k++)
                before[k] = earlier_runs(before_run[slot][k][max(tid - 1, 0)], ends[slot] + k * SCANS, warp, lane);
            pass_gate(learnt + slot, phase);
#pragma unroll
            for (int k = 0; k < TILES; k++) before[k] = OP(before_tile[slot][k], before[k]);
            arrive(taken + slot);
            if (lane == 0) await_copies(PLACES - 1);
            gp_warp_barrier();
#pragma unroll
            for (int k = 0; k < TILES; k++) {
                const i64 first = base + k * FOLDED + warp * PART;
#pragma unroll
                for (int item = RUN_ITEMS - 1; item >= 0; item--)
                    values[k][item] = INCLUSIVE ? OP(before[k], values[k][item])
                                      : item    ? OP(before[k], values[k][item ? item - 1 : 0])
                                                : before[k];
                store_run(OUTPUT_NAMES, layout, places + k * PLACE_BYTES, o, first, lane, values[k]);
            }
            show_to_copies();
            gp_warp_barrier();
#pragma unroll
            for (int k = 0; k < TILES; k++) {
                const i64 first = base + k * FOLDED + warp * PART;
                const int count = (int)max(min((i64)PART, n - first), (i64)0);
                take_results(OUTPUT_NAMES, layout, places + k * PLACE_BYTES, o, first, count, PART, lane);
            }
            if (lane == 0) end_copies();
        } else if (warp < 2 * SCANS) {
            /* 2. Fold runs, and scan the folds of a warp. What is past the end follows all results. */
            const int run = tid - RUNS;
            pass_gate(landed + slot, phase);
#pragma unroll
            for (int k = 0; k < TILES; k++) {
                value_t values[RUN_ITEMS];
                load_run(INPUT_NAMES, layout, elements, k * FOLDED + run * RUN_ITEMS, o, base, lane, values);
                scan_run(values);
                const value_t whole = halve_lanes(values[RUN_ITEMS - 1], lane, LANES);
                before_run[slot][k][run] = whole;
                if (lane == LANES - 1) ends[slot][k * SCANS + run / LANES] = whole;
            }
            arrive(folded + slot);
        } else if (warp == 2 * SCANS) {
            /* 3. Fold the folds of the warps, and write the tiles' aggregates to their statuses. */
            pass_gate(folded + slot, phase);
            const value_t whole = halve_lanes(ends[slot][min(lane, TILES * SCANS - 1)], lane, SCANS);
            if (lane % SCANS == SCANS - 1 && lane < TILES * SCANS) {
                const int tile = lane / SCANS;
                aggregates[slot][tile] = whole;
                if (base + tile * FOLDED < n) gp_write_status(statuses, task.at * TILES + tile, tag, whole);
            }
            arrive(told + slot);
        } else {
            /* 1. Start the copies of a stretch's elements. */
            if (turn >= DEPTH) pass_gate(taken + slot, phase ^ 1);
            bring_tile(INPUT_NAMES, layout, elements, o, base, (int)min((i64)TILE, n - base), n, landed + slot,
                       lane);
        }
    }

    /* 6. Results must leave local memory before it is freed; the last group makes the launch's tags void. */
    if (warp < SCANS && lane == 0) await_copies(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

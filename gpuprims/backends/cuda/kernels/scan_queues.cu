/* scan/queues: one pass without look-back, with a duty for each warp; bulk copies bring tiles into a queue in local
 * memory and take results away.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each; rows start at multiples of 16 bytes
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile
 * launch  at most 32 x LOOKS groups of BLOCK, all running at the same time
 * host    EACH_INPUT, EACH_OUTPUT, QUEUED_INPUTS, QUEUE_VECTOR, DEPTH, ELEMENT_BYTES and RESULT_BYTES; gp_write_status and
 *         gp_read_status (scanning.h), MAP_VECTOR(o, j, values), OP(a, b), IDENTITY
 * order   operands in index order; only the tiles and the number of groups decide how they are associated
 * needs   cp.async.bulk and mbarrier (compute capability 9.0)
 *
 * Groups take tiles in turn, as in scan/round_robin: a tile's prefix is that of the group's own last tile, and the
 * aggregates of the tiles since. A tile is FOLDERS runs of ITEMS neighbours for each lane, so that a lane scans by
 * itself and warps exchange little. Each step waits for a barrier in local memory:
 *
 *     warps          wait for                 do                                          then
 *     bring  1       taken, by all scan warps  start bulk copies of a tile's elements      landed
 *     fold   SCANS   landed                    fold runs, and runs of a warp               folded
 *     tell   1       folded, by all fold warps write the tile's aggregate to its status    told
 *     learn  1       statuses                  fold the aggregates before the tile         learnt
 *     scan   SCANS   told and learnt           scan runs, start a bulk copy of results     taken
 */
#define SCANS ((WARPS - 3) / 2)
#define PART (LANES * ITEMS) /* elements of a warp */
#undef TILE /* scanning.h has all warps scan */
#define TILE (SCANS * PART)
#define PLACES 2 /* of results, for each warp */

DEVICE u32 local_address(const void *place)
{
    return (u32)__cvta_generic_to_shared(place);
}

/* Barriers in local memory, which count arrivals and the bytes of bulk copies. */
DEVICE void prepare_barrier(u64 *where, const int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(local_address(where)), "r"(arrivals) : "memory");
}

DEVICE void arrive(u64 *where)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" : : "r"(local_address(where)) : "memory");
}

DEVICE void arrive_and_expect(u64 *where, const u32 nbytes)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1; }"
                 : : "r"(local_address(where)), "r"(nbytes) : "memory");
}

DEVICE void wait_for(u64 *where, const u32 phase)
{
    u32 done = 0;
    while (!done)
        asm volatile("{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
                     : "=r"(done) : "r"(local_address(where)), "r"(phase) : "memory");
}

DEVICE void bring(void *to, const void *from, const u32 nbytes, u64 *landed)
{
    if (nbytes)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     : : "r"(local_address(to)), "l"(from), "r"(nbytes), "r"(local_address(landed)) : "memory");
}

DEVICE void take_away(void *to, const void *from, const u32 nbytes)
{
    if (nbytes)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     : : "l"(to), "r"(local_address(from)), "r"(nbytes) : "memory");
}

/* Let bulk copies see what a work-item wrote to local memory. */
DEVICE void show_to_copies(void)
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/* A work-item's copies from local memory form groups; wait until at most `left` groups are still being read. */
DEVICE void end_copies(void)
{
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

template <int left> DEVICE void wait_for_copies(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(left) : "memory");
}

/* end of instructions */
/* Load a run of elements, of inputs that lie in a tile of the queue. */
DEVICE void load_run(INPUTS, const layout_t layout, const i64 o, const i64 j, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, j + item, values + item);
}

/* Bytes of `count` elements that one bulk copy moves; lanes copy the few others. */
#define WHOLE(size) ((u32)(count * (size)) & ~15u)

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT)
void scan_queues(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                 const i64 tiles)
{
    extern __shared__ __align__(128) u8 memory[]; /* DEPTH tiles of elements, PLACES tiles of results */
    __local u64 landed[DEPTH], folded[DEPTH], told[DEPTH], learnt[DEPTH], taken[DEPTH];
    __local value_t before_run[DEPTH][SCANS * LANES], before_warp[DEPTH][SCANS], before_tile[DEPTH];
    __local u32 launch;
    const int tid = get_local_id(0), lane = tid % LANES, warp = tid / LANES, groups = get_num_groups(0);
    const task_t step = gp_task_at(groups, tiles);
    task_t task = gp_task_at(get_group_id(0), tiles);

    if (tid == 0) {
        launch = TAG_OF(gp_read_entry(statuses)) + 1;
        for (int slot = 0; slot < DEPTH; slot++) {
            prepare_barrier(landed + slot, 1);
            prepare_barrier(folded + slot, SCANS);
            prepare_barrier(told + slot, 1);
            prepare_barrier(learnt + slot, 1);
            prepare_barrier(taken + slot, SCANS);
        }
        show_to_copies();
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;
    value_t prefix = IDENTITY;

    for (u32 turn = 0; task.o < outputs; turn++, task = gp_task_after(task, step, tiles)) {
        const int slot = turn % DEPTH;
        const u32 phase = turn / DEPTH & 1;
        const i64 o = task.o, base = task.tile * TILE;
        u8 *queued = memory + slot * (TILE * ELEMENT_BYTES);

        if (warp < SCANS) {
            /* 5. Scan runs, each from its prefix, and start the copies of a warp's results. */
            const int place = turn % PLACES;
            value_t values[ITEMS];
            wait_for(landed + slot, phase);
            load_run(QUEUED_INPUTS(queued, o, base), layout, o, base + tid * ITEMS, values);
            wait_for(told + slot, phase);
            wait_for(learnt + slot, phase);
            value_t whole = OP(before_tile[slot], OP(before_warp[slot][warp], before_run[slot][tid]));
            gp_warp_barrier();
            if (lane == 0) {
                arrive(taken + slot);
                wait_for_copies<PLACES - 1>();
            }
            gp_warp_barrier();
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const value_t earlier = whole;
                whole = OP(whole, values[item]);
                values[item] = INCLUSIVE ? whole : earlier;
            }
            u8 *results = memory + DEPTH * (TILE * ELEMENT_BYTES) + (place * SCANS + warp) * (PART * RESULT_BYTES);
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                QUEUE_VECTOR(results, lane * ITEMS + item, base + tid * ITEMS + item, values + item);
            show_to_copies();
            gp_warp_barrier();
            const i64 first = base + warp * PART;
            const i64 count = max(min((i64)PART, n - first), (i64)0);
#define TAKE(to, before, size) take_away(to, results + PART * (before), WHOLE(size));
#define TAKE_REST(to, before, size)                                                                                    \
    for (int at = WHOLE(size) + lane; at < count * (size); at += LANES) ((u8 *)(to))[at] = results[PART * (before) + at];
            if (lane == 0) {
                EACH_OUTPUT(TAKE, o, first)
                end_copies();
            }
            if (count < PART) {
                EACH_OUTPUT(TAKE_REST, o, first)
            }
        } else if (warp < 2 * SCANS) {
            /* 2. Fold runs, and scan the folds of a warp. */
            const int own = tid - SCANS * LANES;
            value_t values[ITEMS];
            wait_for(landed + slot, phase);
            load_run(QUEUED_INPUTS(queued, o, base), layout, o, base + own * ITEMS, values);
            value_t whole = values[0];
#pragma unroll
            for (int item = 1; item < ITEMS; item++) whole = OP(whole, values[item]);
#pragma unroll
            for (int stride = 1; stride < LANES; stride *= 2) {
                const value_t earlier = gp_shuffle_up(whole, stride);
                if (lane >= stride) whole = OP(earlier, whole);
            }
            const value_t earlier = gp_shuffle_up(whole, 1);
            before_run[slot][own] = lane ? earlier : IDENTITY;
            if (lane == LANES - 1) before_warp[slot][own / LANES] = whole;
            gp_warp_barrier();
            if (lane == 0) arrive(folded + slot);
        } else if (warp == 2 * SCANS) {
            /* 3. Scan the warps' folds, and write the tile's aggregate to its status. */
            wait_for(folded + slot, phase);
            value_t whole = lane < SCANS ? before_warp[slot][lane] : IDENTITY;
#pragma unroll
            for (int stride = 1; stride < SCANS; stride *= 2) {
                const value_t earlier = gp_shuffle_up(whole, stride);
                if (lane >= stride) whole = OP(earlier, whole);
            }
            if (lane == SCANS - 1) gp_write_status(statuses, task.at, tag, whole);
            const value_t earlier = gp_shuffle_up(whole, 1);
            if (lane < SCANS) before_warp[slot][lane] = lane ? earlier : IDENTITY;
            gp_warp_barrier();
            if (lane == 0) arrive(told + slot);
        } else if (warp == 2 * SCANS + 1) {
            /* 4. Fold the aggregates of the tiles since the group's last, each lane those of neighbours. */
            const int count = (int)min(task.tile, (i64)groups), each = (count + LANES - 1) / LANES;
            const i64 first = task.at - count;
            value_t whole = IDENTITY;
            if (count) {
                value_t found[LOOKS_EACH];
                int waiting;
                do {
                    waiting = 0;
#pragma unroll
                    for (int look = 0; look < LOOKS_EACH; look++) {
                        const int at = min(lane * each + look, count - 1);
                        waiting |= !gp_read_status(statuses, first + at, tag, tag, found + look);
                    }
                } while (gp_any_lane(waiting));
#pragma unroll
                for (int look = 0; look < LOOKS_EACH; look++)
                    if (look < each && lane * each + look < count) whole = OP(whole, found[look]);
#pragma unroll
                for (int stride = 1; stride < LANES; stride *= 2) {
                    const value_t later = gp_shuffle_down(whole, stride);
                    whole = OP(whole, later);
                }
            }
            prefix = task.tile < groups ? whole : OP(prefix, whole);
            if (turn >= DEPTH) wait_for(taken + slot, phase ^ 1);
            if (lane == 0) {
                before_tile[slot] = prefix;
                arrive(learnt + slot);
            }
            gp_warp_barrier();
        } else {
            /* 1. Start the copies of a tile's elements. */
            const i64 count = min((i64)TILE, n - base);
            if (turn >= DEPTH) wait_for(taken + slot, phase ^ 1);
#define BRING(from, before, size) bring(queued + TILE * (before), from, WHOLE(size), landed + slot);
#define BRING_REST(from, before, size)                                                                                 \
    for (int at = WHOLE(size) + lane; at < count * (size); at += LANES) queued[TILE * (before) + at] = ((const u8 *)(from))[at];
#define ADD_WHOLE(from, before, size) +WHOLE(size)
            if (count < TILE) {
                EACH_INPUT(BRING_REST, o, base)
                show_to_copies();
                gp_warp_barrier();
            }
            if (lane == 0) {
                arrive_and_expect(landed + slot, 0 EACH_INPUT(ADD_WHOLE, o, base));
                EACH_INPUT(BRING, o, base)
            }
            gp_warp_barrier();
        }
    }

    /* 6. Results must have left local memory; the last group makes the launch's tags void. */
    if (warp < SCANS && lane == 0) wait_for_copies<0>();
    if (warp == 2 * SCANS + 1 && lane == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1)
        gp_write_entry(statuses, (u64)tag << 32);
}

/* scan/queues: one pass without look-back, with a duty for each warp; bulk copies bring tiles to a queue in local memory
 * and take results from there.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each; rows begin at multiples of 16 bytes
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile
 * launch  at most LOOKUPS x LANES groups of BLOCK, all running at the same time
 * host    RUNS, DEPTH, PLACES, LOOKUPS, ELEMENT_BYTES, RESULT_BYTES, EACH_QUEUED, EACH_RESULT, QUEUED_VECTOR and
 *         RESULT_VECTOR; gp_write_status and gp_read_status (scanning.h), OP(a, b), IDENTITY
 * order   operands in index order; only the tiles and the number of groups decide how they are associated
 * needs   cp.async.bulk and mbarrier (compute capability 9.0)
 *
 * Groups take tiles in turn, as in scan/round_robin: a tile's prefix is that of the group's own last tile and the
 * aggregates of the tiles since. A tile is a run of ITEMS neighbours for each of RUNS lanes, so that a lane scans its run
 * alone. ITEMS is an odd number of 16-byte vectors of the widest operand, so that lanes read different banks of local
 * memory. No warp waits for all others: each duty waits for the one before, tile by tile.
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
 *   reads need no fence before writes of another proxy. Lanes write the last bytes of a row themselves, and a fence
 *   between the proxies keeps the next copies behind these writes.
 * - Results of a warp: written by its lanes, each with a fence between the proxies, then a barrier of the warp, then
 *   copies read them. Lane 0 waits until copies of PLACES turns ago have read, then a barrier of the warp, before they
 *   are written again. Bytes that lanes store themselves are read in the turn that wrote them.
 * - before_run, before_warp and before_tile: written after `landed` or `taken` of the turn, when those who scan have read
 *   the turn's before in the slot. The warp that learns alone writes and reads before_tile of the slot before.
 * - An element's place in global memory is read by copies that have landed before the copies that may overwrite it start.
 * - Statuses carry their tag in the same 64 bits as each word, so they need no order.
 * - A tile waits for tiles before it alone, and all groups run at the same time, so some group can always go on.
 */
#define SCANS (RUNS / LANES)
#define PART (LANES * ITEMS) /* elements of a warp */
#undef TILE                  /* scanning.h has all warps scan */
#define TILE (RUNS * ITEMS)

/* Gates in local memory: a work-item passes when a phase has all its arrivals, and the bytes of its bulk copies. */
DEVICE u32 local_address(const void *place)
{
    return (u32)__cvta_generic_to_shared(place);
}

DEVICE void make_gate(u64 *gate, const u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(local_address(gate)), "r"(arrivals) : "memory");
}

DEVICE void arrive(u64 *gate)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" : : "r"(local_address(gate)) : "memory");
}

/* Arrive before the bulk copies of so many bytes. */
DEVICE void arrive_before(u64 *gate, const u32 nbytes)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }"
                 :
                 : "r"(local_address(gate)), "r"(nbytes)
                 : "memory");
}

DEVICE void pass_gate(u64 *gate, const u32 phase)
{
    u32 open = 0;
    while (!open)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(open)
                     : "r"(local_address(gate)), "r"(phase)
                     : "memory");
}

/* Bulk copies, of whole 16 bytes: to local memory, which a gate counts, and from there, in groups that a work-item ends and
 * awaits. They see what a work-item wrote to local memory before show_to_copies. */
DEVICE void bring(void *to, const void *from, const u32 nbytes, u64 *gate)
{
    if (nbytes)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :
                     : "r"(local_address(to)), "l"(from), "r"(nbytes), "r"(local_address(gate))
                     : "memory");
}

DEVICE void take(void *to, const void *from, const u32 nbytes)
{
    if (nbytes)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :
                     : "l"(to), "r"(local_address(from)), "r"(nbytes)
                     : "memory");
}

#define show_to_copies() asm volatile("fence.proxy.async.shared::cta;" : : : "memory")
#define end_copies() asm volatile("cp.async.bulk.commit_group;" : : : "memory")
#define await_copies(left) asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(left) : "memory")

/* Bytes of `count` elements that bulk copies move; lanes copy the few others. */
#define WHOLE(size) ((u32)(count * (size)) & ~15u)

/* Fold a run of a tile in the queue. */
DEVICE value_t fold_run(INPUTS, const layout_t layout, LOCAL const u8 *queue, const int run, const i64 o, const i64 base)
{
    value_t whole = IDENTITY;
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        value_t values[VECTOR];
        QUEUED_VECTOR(queue, run * ITEMS + item, o, base + run * ITEMS + item, values);
#pragma unroll
        for (int k = 0; k < VECTOR; k++) whole = item + k ? OP(whole, values[k]) : values[k];
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

/* Fold the aggregates of `count` tiles from `first` on, each lane those of neighbours. Only lane 0 gets the result.
 * CUDA runs all groups at the same time, so each aggregate comes. */
DEVICE value_t fold_statuses(GLOBAL u64 *statuses, const i64 first, const int count, const u32 tag, const int lane)
{
    const int each = (count + LANES - 1) / LANES;
    value_t found[LOOKUPS], whole = IDENTITY;
    int absent;
    do {
        absent = 0;
#pragma unroll
        for (int k = 0; k < LOOKUPS; k++)
            absent |= !gp_read_status(statuses, first + min(lane * each + k, count - 1), tag, tag, found + k);
    } while (gp_any_lane(absent));
#pragma unroll
    for (int k = 0; k < LOOKUPS; k++)
        if (k < each && lane * each + k < count) whole = OP(whole, found[k]);
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) {
        const value_t later = gp_shuffle_down(whole, stride);
        whole = OP(whole, later);
    }
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

    for (u32 turn = 0; task.o < outputs; turn++, task = gp_task_after(task, step, tiles)) {
        const int slot = turn % DEPTH;
        const u32 phase = turn / DEPTH & 1;
        const i64 o = task.o, base = task.tile * TILE;
        LOCAL u8 *elements = queue + slot * (TILE * ELEMENT_BYTES);

        if (warp < SCANS) {
            /* 5. Scan runs, each from its prefix, and start the copies of results. */
            LOCAL u8 *results = queue + DEPTH * (TILE * ELEMENT_BYTES) + (turn % PLACES * SCANS + warp) * (PART * RESULT_BYTES);
            const i64 first = base + warp * PART, count = max(min((i64)PART, n - first), (i64)0);
            value_t values[ITEMS];
            pass_gate(landed + slot, phase);
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                QUEUED_VECTOR(elements, tid * ITEMS + item, o, base + tid * ITEMS + item, values + item);
            pass_gate(told + slot, phase);
            pass_gate(learnt + slot, phase);
            value_t whole = OP(before_tile[slot], OP(before_warp[slot][warp], before_run[slot][tid]));
            arrive(taken + slot);
            if (lane == 0) await_copies(PLACES - 1);
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const value_t earlier = whole;
                whole = OP(whole, values[item]);
                values[item] = INCLUSIVE ? whole : earlier;
            }
            gp_warp_barrier();
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                RESULT_VECTOR(results, lane * ITEMS + item, base + tid * ITEMS + item, values + item);
            show_to_copies();
            gp_warp_barrier();
#define TAKE(to, before, size) take(to, results + PART * (before), WHOLE(size));
#define TAKE_REST(to, before, size)                                                                                    \
    for (int at = WHOLE(size) + lane; at < count * (size); at += LANES)                                                \
        ((GLOBAL u8 *)(to))[at] = results[PART * (before) + at];
            if (lane == 0) {
                EACH_RESULT(TAKE, o, first)
                end_copies();
            }
            if (count < PART) {
                EACH_RESULT(TAKE_REST, o, first)
            }
        } else if (warp < 2 * SCANS) {
            /* 2. Fold runs, and scan the folds of a warp. */
            const int run = tid - RUNS;
            pass_gate(landed + slot, phase);
            const value_t whole = scan_lanes(fold_run(INPUT_NAMES, layout, elements, run, o, base), lane, LANES);
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
        } else if (warp == 2 * SCANS + 1) {
            /* 1. Start the copies of a tile's elements. */
            const i64 count = min((i64)TILE, n - base);
            if (turn >= DEPTH) pass_gate(taken + slot, phase ^ 1);
#define BRING(from, before, size) bring(elements + TILE * (before), from, WHOLE(size), landed + slot);
#define BRING_REST(from, before, size)                                                                                 \
    for (int at = WHOLE(size) + lane; at < count * (size); at += LANES)                                                \
        elements[TILE * (before) + at] = ((GLOBAL const u8 *)(from))[at];
#define ADD_WHOLE(from, before, size) +WHOLE(size)
            if (count < TILE) {
                EACH_QUEUED(BRING_REST, o, base)
                show_to_copies();
                gp_warp_barrier();
            }
            if (lane == 0) {
                arrive_before(landed + slot, 0 EACH_QUEUED(ADD_WHOLE, o, base));
                EACH_QUEUED(BRING, o, base)
            } else {
                arrive(landed + slot);
            }
        } else {
            /* 4. Fold the aggregates of the tiles since the group's last, and the prefix of that. */
            const int count = (int)min(task.tile, (i64)groups), last = (turn + DEPTH - 1) % DEPTH;
            value_t prefix = IDENTITY;
            if (count) prefix = fold_statuses(statuses, task.at - count, count, tag, lane);
            if (turn >= DEPTH) pass_gate(taken + slot, phase ^ 1);
            if (lane == 0) before_tile[slot] = task.tile < groups ? prefix : OP(before_tile[last], prefix);
            arrive(learnt + slot);
        }
    }

    /* 6. Results must leave local memory before it is freed; the last group makes the launch's tags void. */
    if (warp < SCANS && lane == 0) await_copies(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

/* scan/lookback: one pass; a group looks back over the statuses of the tiles before its own to the nearest inclusive
 * prefix.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile
 * launch  any number of groups of BLOCK; each takes the next tile until none are left, so groups that run have taken
 *         the tiles before it
 * host    gp_load_tile, gp_scan_warp, gp_scan_warps, gp_store_tile, gp_write_status and gp_await_status (scanning.h),
 *         OP(a, b), IDENTITY
 * order   operands in index order; how several tiles are associated depends on how far the groups before are, so float
 *         results may differ in their last bits from run to run
 * source  Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, NVIDIA NVR-2016-002, 2016
 *
 * The look-back from tile 6, by LANES = 4 tiles at a time, where `a` is a tile's aggregate and `p` its inclusive
 * prefix:
 *
 *     tile      0  1  2  3  4  5  6
 *     status    p  p  p  a  a  a        one look: p of 2, then a of 3, 4 and 5
 */
/* Return a tile's aggregate or inclusive prefix; the tag tells which. If its status stays empty, the lane folds the
 * tile itself. */
DEVICE u32 look_at(INPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 o, const i64 n, const i64 tile,
                         const i64 at, const u32 tag, value_t *value)
{
    u32 found = gp_await_status(statuses, at, tag, tag + 1, value);
    if (found) return found;
    value_t folded = IDENTITY;
    for (i64 j = tile * TILE; j < min((tile + 1) * TILE, n); j++) folded = OP(folded, MAP(o, j));
    /* If the tile's group ran meanwhile, its outputs may have overwritten the inputs, but its status is set. */
    found = gp_await_status(statuses, at, tag, tag + 1, value);
    if (!found) *value = folded;
    return found ? found : tag;
}

/* Return the fold of all tiles of an output before `tile`, in all lanes of a warp. */
DEVICE value_t look_back(INPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 o, const i64 n, const i64 tile,
                         const i64 first, const u32 tag, const int lane)
{
    value_t before = IDENTITY;
    for (i64 nearest = tile - 1;; nearest -= LANES) {
        /* Each lane reads a tile's status, lane 0 the nearest one. Before tile 0 the inclusive prefix is the identity. */
        const i64 here = nearest - lane;
        value_t folded = IDENTITY;
        u32 found = tag + 1;
        if (here >= 0)
            found = look_at(INPUT_NAMES, statuses, layout, o, n, here, first + here, tag, &folded);

        /* Fold back to the nearest lane that holds an inclusive prefix. Higher lanes hold earlier tiles. */
#if LANES > 1
#pragma unroll
        for (int stride = 1; stride < LANES; stride *= 2) {
            const value_t earlier = gp_shuffle_down(folded, stride);
            const u32 kind = gp_shuffle_word_down(found, stride);
            if (found == tag) {
                folded = OP(earlier, folded);
                found = kind;
            }
        }
        folded = gp_shuffle_from(folded, 0);
        found = gp_shuffle_word_from(found, 0);
#endif
        before = OP(folded, before);
        if (found == tag + 1) return before;
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void scan_lookback(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                   const i64 tiles)
{
    __local value_t partial[WARPS], prefix;
    __local staged_t staging[STAGED];
    __local task_t task;
    __local u32 launch;
    const int tid = get_local_id(0);

    for (;;) {
        /* 1. Take the next tile; the last group that finds none makes the launch's tags void. */
        if (tid == 0) {
            const u64 counted = gp_add_entry(statuses, 1);
            task = gp_task_at((u32)counted, tiles);
            launch = TAG_OF(counted);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 tag = launch + 1; /* of an aggregate; an inclusive prefix has the next tag */
        const i64 o = task.o, tile = task.tile, at = task.at;
        if (o >= outputs) {
            if (tid == 0 && at == outputs * tiles + get_num_groups(0) - 1) gp_write_entry(statuses, (u64)(tag + 1) << 32);
            return;
        }

        /* 2. Load and scan; write the tile's aggregate to its status. */
        value_t values[ITEMS], aggregate;
        gp_load_tile(INPUT_NAMES, layout, o, tile * TILE, n, tid, values);
        const value_t earlier = gp_scan_warps(gp_scan_warp(values, tid % LANES), partial, tid, &aggregate);
        if (tid == 0) gp_write_status(statuses, at, tile ? tag : tag + 1, aggregate);

        /* 3. Look back; write the tile's inclusive prefix to its status. */
        if (tid < LANES && tile > 0) {
            const value_t before = look_back(INPUT_NAMES, statuses, layout, o, n, tile, at - tile, tag, tid);
            if (tid == 0) {
                gp_write_status(statuses, at, tag + 1, OP(before, aggregate));
                prefix = before;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Fold in the prefix, and store. */
        gp_store_tile(INPUT_NAMES, OUTPUT_NAMES, layout, o, tile * TILE, n, tid, tile ? OP(prefix, earlier) : earlier, values,
                   staging);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

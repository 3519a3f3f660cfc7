/* scan/lookback: one pass; a group folds the tiles before its own from what their groups have posted, back to a whole prefix.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each
 * out     OUTPUTS: a value at each of them, where the element was or apart from all of them
 * scratch board (scanning.h): a place for each tile
 * launch  any number of groups of BLOCK; each takes the next tile until none are left, so that a tile's predecessors have been
 *         taken by groups that run
 * host    gp_load_tile, gp_scan_warp, gp_scan_warps, gp_store_tile, post and posted (scanning.h), OP(a, b), IDENTITY
 * order   operands meet in the order of their index; how those of several tiles are put in brackets depends on how far
 *         the groups before have come, so that float results may differ in their last bits from run to run
 * source  Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, NVIDIA NVR-2016-002, 2016
 *
 * What a group sees when it looks back from tile 6, by LANES = 4 tiles at a time, f the fold of a tile, p that of all up to it:
 *
 *     tile      0  1  2  3  4  5  6
 *     posted    p  p  p  f  f  f        one look: p of 2, then f of 3, 4 and 5
 */
/* The fold of a tile, or of all up to it; return which, by its tag. Where none is posted, the lane folds the tile alone. */
DEVICE u32 look_at(INPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 o, const i64 n, const i64 tile,
                         const i64 at, const u32 tag, value_t *value)
{
    u32 found = gp_await_status(statuses, at, tag, tag + 1, value);
    if (found) return found;
    value_t folded = IDENTITY;
    for (i64 j = tile * TILE; j < min((tile + 1) * TILE, n); j++) folded = OP(folded, MAP(o, j));
    /* A tile whose group has come meanwhile may have been written over while it was read, but its fold is posted. */
    found = gp_await_status(statuses, at, tag, tag + 1, value);
    if (!found) *value = folded;
    return found ? found : tag;
}

/* The fold of all tiles of an output before one, for the lanes of a warp. */
DEVICE value_t look_back(INPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 o, const i64 n, const i64 tile,
                         const i64 first, const u32 tag, const int lane)
{
    value_t before = IDENTITY;
    for (i64 nearest = tile - 1;; nearest -= LANES) {
        /* Each lane waits for a tile, the first for the nearest; before tile 0 there is nothing, which is all there is. */
        const i64 here = nearest - lane;
        value_t folded = IDENTITY;
        u32 found = tag + 1;
        if (here >= 0)
            found = look_at(INPUT_NAMES, statuses, layout, o, n, here, first + here, tag, &folded);

        /* Fold the lanes, of which later ones have earlier tiles, as far as the first that has all up to its own. */
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
        /* 1. Take the next tile; the last to find none left makes the launch's tags void. */
        if (tid == 0) {
            const u64 counted = gp_add_entry(statuses, 1);
            task = gp_task_at((u32)counted, tiles);
            launch = TAG_OF(counted);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const u32 tag = launch + 1; /* of a tile's fold; the next one is that of the fold of all up to it */
        const i64 o = task.o, tile = task.tile, at = task.at;
        if (o >= outputs) {
            if (tid == 0 && at == outputs * tiles + get_num_groups(0) - 1) gp_write_entry(statuses, (u64)(tag + 1) << 32);
            return;
        }

        /* 2. Load and scan; post the tile's fold. */
        value_t values[ITEMS], aggregate;
        gp_load_tile(INPUT_NAMES, layout, o, tile * TILE, n, tid, values);
        const value_t earlier = gp_scan_warps(gp_scan_warp(values, tid % LANES), partial, tid, &aggregate);
        if (tid == 0) gp_write_status(statuses, at, tile ? tag : tag + 1, aggregate);

        /* 3. Look back; post the fold of all up to this tile. */
        if (tid < LANES && tile > 0) {
            const value_t before = look_back(INPUT_NAMES, statuses, layout, o, n, tile, at - tile, tag, tid);
            if (tid == 0) {
                gp_write_status(statuses, at, tag + 1, OP(before, aggregate));
                prefix = before;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Fold in what is before, and store. */
        gp_store_tile(INPUT_NAMES, OUTPUT_NAMES, layout, o, tile * TILE, n, tid, tile ? OP(prefix, earlier) : earlier, values,
                   staging);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

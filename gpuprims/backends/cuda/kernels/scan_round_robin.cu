/* scan/round_robin: one pass without look-back; a group's tiles are dealt out, and between two of them all others' folds are posted.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` tiles each
 * out     OUTPUTS: a value at each of them, where the element was or apart from all of them
 * scratch board (scanning.h): a place for each tile
 * launch  at most BLOCK groups of BLOCK, all running at the same time
 * host    load_tile, scan_warp, fold_warp_of_tile, scan_warps, store_tile, post and posted (scanning.h), OP(a, b), IDENTITY
 * order   operands meet in the order of their index, put in brackets by tile and by number of groups alone
 *
 * What is before a tile: all up to the group's own last tile, which it knows, and the folds of the tiles between, each posted
 * as soon as it was loaded. Nobody waits for anybody's prefix, so no chain runs through the groups. For 4 groups, group 1:
 *
 *     tile     0  1  2  3  4  5  6  7  8  9
 *     group    0  1  2  3  0  1  2  3  0  1
 *                 |--------|  |--------|
 *                known  posted        posted
 */
/* How often a work-item looks for a fold before its group folds that tile: a group that does not run holds nobody up for ever. */
#define LOOKS (1 << 14)

/* Leave the folds of each warp's values, in order, in local memory. */
DEVICE void fold_lanes(value_t folded, LOCAL value_t *between, const int tid)
{
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
#endif
    if (tid % LANES == 0) between[tid / LANES] = folded;
}

extern "C" __global__ __launch_bounds__(BLOCK) WHOLE_WARPS
void scan_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *board, const layout_t layout, const i64 outputs, const i64 n,
                      const i64 tiles)
{
    __shared__ value_t partial[WARPS], between[WARPS];
    __shared__ int absent;
    __shared__ u32 launch;
    const int tid = threadIdx.x, groups = gridDim.x;
    const i64 tasks = outputs * tiles;
    value_t next[ITEMS], values[ITEMS], known = IDENTITY, all;

    if (tid == 0) {
        launch = TAG_OF(gp_read_entry(board)) + 1;
        absent = -1;
    }
    i64 task = blockIdx.x;
    if (task < tasks) load_tile(INPUT_NAMES, layout, task / tiles, task % tiles * TILE, n, tid, next);
    __syncthreads();
    const u32 tag = launch;

    for (; task < tasks; task += groups) {
        const i64 o = task / tiles, tile = task % tiles, following = task + groups;

        /* 1. Take the tile that was loaded meanwhile, and load the next. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = next[item];
        if (following < tasks)
            load_tile(INPUT_NAMES, layout, following / tiles, following % tiles * TILE, n, tid, next);

        /* 2. Scan; post the tile's fold, which is to be seen before anything that is stored. */
        const value_t earlier = scan_warps(scan_warp(values, tid % LANES), partial, tid, &all);
        if (tid == BLOCK - 1) {
            post(board, task, tag, all);
            gp_fence();
        }

        /* 3. Collect the folds of the tiles between, a work-item each. */
        const int count = (int)min(tile, (i64)groups - 1);
        value_t folded = IDENTITY;
        int waiting = tid < count;
        for (int look = 0; waiting && look < LOOKS; look++)
            waiting = !posted(board, task - count + tid, tag, tag, &folded);
        if (waiting) gp_raise(&absent, tid);
        fold_lanes(folded, between, tid);
        __syncthreads();

        /* 4. Stand in for groups that do not run. */
        while (absent >= 0) {
            const int whose = absent;
            const i64 base = (tile - count + whose) * TILE;
            const value_t stood_in = fold_warp_of_tile(INPUT_NAMES, layout, o, base, n, tid);
            value_t whole;
            __syncthreads();
            scan_warps(stood_in, partial, tid, &whole);
            if (tid == 0) absent = -1;
            gp_fence(); /* what is not posted now had not been written over when it was read */
            if (waiting && !posted(board, task - count + tid, tag, tag, &folded) && tid == whose) folded = whole;
            if (tid == whose) waiting = 0;
            __syncthreads();
            if (waiting && !posted(board, task - count + tid, tag, tag, &folded)) gp_raise(&absent, tid);
            fold_lanes(folded, between, tid);
            __syncthreads();
        }

        /* 5. Fold in what is before, and store. */
        if (tile < groups) known = IDENTITY;
        for (int warp = 0; warp * LANES < count; warp++) known = OP(known, between[warp]);
        store_tile(INPUT_NAMES, OUTPUT_NAMES, layout, o, tile * TILE, n, tid, OP(known, earlier), values);
        known = OP(known, all);
    }

    /* 6. The last group to be done makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(board, 1) == (u32)groups - 1) gp_write_entry(board, (u64)tag << 32);
}

/* scan/hillis_steele: groups scan a tile in log2(BLOCK) rounds; in each, a work-item folds in the value `stride`
 * before its own.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each tile's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK elements until none are left
 * host    gp_load_level, gp_store_level, gp_keep and gp_recall (scanning.h), OP(a, b), IDENTITY
 * order   operands in index order
 * source  Hillis and Steele, Data parallel algorithms, Communications of the ACM 29 (12), 1986
 *
 * Rounds alternate between two buffers, so one barrier a round is enough. For BLOCK = 8:
 *
 *     stride 1    0    0..1 1..2 2..3 3..4 4..5 5..6 6..7
 *     stride 2    0    0..1 0..2 0..3 1..4 2..5 3..6 4..7
 *     stride 4    0    0..1 0..2 0..3 0..4 0..5 0..6 0..7
 */
__kernel WORK_GROUP(BLOCK)
void scan_hillis_steele(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                        const i64 level, const i64 totals, const i64 folds)
{
    __local value_t buffers[2][BLOCK];
    const int tid = get_local_id(0);
    const i64 tiles = (n + BLOCK - 1) / BLOCK;
    const task_t step = gp_task_at(get_num_groups(0), tiles);

    for (task_t task = gp_task_at(get_group_id(0), tiles); task.o < outputs; task = gp_task_after(task, step, tiles)) {
        const i64 o = task.o, j = task.tile * BLOCK + tid;

        /* 1. Load. */
        const value_t element = j < n ? gp_load_level(INPUT_NAMES, layout, partials, level, o, j, n) : IDENTITY;
        buffers[0][tid] = element;

        /* 2. Scan. */
        int from = 0;
        for (int stride = 1; stride < BLOCK; stride *= 2, from ^= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            value_t folded = buffers[from][tid];
            if (tid >= stride) folded = OP(buffers[from][tid - stride], folded);
            buffers[from ^ 1][tid] = folded;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Keep the tile's aggregate; or fold in the tile's prefix, and store. */
        if (folds) {
            if (tid == BLOCK - 1) gp_keep(partials, totals + task.at, buffers[from][tid]);
        } else if (j < n) {
            const value_t earlier = tid ? buffers[from][tid - 1] : IDENTITY;
            const value_t before = totals < 0 ? earlier : OP(gp_recall(partials, totals + task.at), earlier);
            gp_store_level(INPUT_NAMES, OUTPUT_NAMES, layout, partials, level, o, j, n, before, element);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

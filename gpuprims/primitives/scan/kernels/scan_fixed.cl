/* scan/fixed: groups scan tiles in an order that is the same on every device, runs in registers and their folds in local
 * memory.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each tile's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of BLOCK; each takes tiles of BLOCK runs, of ITEMS elements each, until none are left
 * host    gp_load_values, gp_store_values, gp_keep and gp_recall (scanning.h), OP(a, b), IDENTITY, INCLUSIVE
 * order   of fixed_scans.py, whatever the number of groups and VECTOR are
 */
__kernel WORK_GROUP(BLOCK)
void scan_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                const i64 level, const i64 totals, const i64 folds)
{
    __local value_t ends[BLOCK];
    const int tid = get_local_id(0);
    const i64 tiles = (n + TILE - 1) / TILE;
    const task_t step = gp_task_at(get_num_groups(0), tiles);
    value_t values[ITEMS];

    for (task_t task = gp_task_at(get_group_id(0), tiles); task.o < outputs; task = gp_task_after(task, step, tiles)) {
        const i64 o = task.o, base = task.tile * TILE + tid * ITEMS;

        /* 1. Load a run. What lies past the end changes no result. */
        if (level < 0) {
#pragma unroll
            for (int item = 0; item < ITEMS; item += VECTOR)
                gp_load_values(INPUT_NAMES, layout, o, base + item, n, values + item);
        } else {
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                values[item] = base + item < n ? gp_recall(partials, level + o * n + base + item) : IDENTITY;
        }

        /* 2. Scan it, and scan the folds of runs: those of each second half of 2, 4, 8, ... runs follow the first half's. */
#pragma unroll
        for (int item = 1; item < ITEMS; item++) values[item] = OP(values[item - 1], values[item]);
        ends[tid] = values[ITEMS - 1];
        for (int half_of = 1; half_of < BLOCK; half_of *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid & half_of) ends[tid] = OP(ends[tid / half_of * half_of - 1], ends[tid]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Keep the tile's aggregate; or fold in what lies before, and store. */
        if (folds) {
            if (tid == 0) gp_keep(partials, totals + task.at, ends[BLOCK - 1]);
        } else {
            const value_t earlier = totals < 0 ? IDENTITY : gp_recall(partials, totals + task.at);
            const value_t before = OP(earlier, tid ? ends[tid ? tid - 1 : 0] : IDENTITY);
            const int inclusive = INCLUSIVE && level < 0;
#pragma unroll
            for (int item = ITEMS - 1; item >= 0; item--)
                values[item] = inclusive ? OP(before, values[item]) : item ? OP(before, values[item ? item - 1 : 0]) : before;
            if (level < 0) {
#pragma unroll
                for (int item = 0; item < ITEMS; item += VECTOR)
                    gp_store_values(INPUT_NAMES, OUTPUT_NAMES, layout, o, base + item, n, values + item);
            } else {
#pragma unroll
                for (int item = 0; item < ITEMS; item++)
                    if (base + item < n) gp_keep(partials, level + o * n + base + item, values[item]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* scan/fixed_columns: groups scan tiles of neighbouring outputs in an order that is the same on every device; work-items
 * below each other take the runs of a tile.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs, neighbouring outputs next
 *         to each other in memory
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each tile's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on; an element of
 *         all outputs, then the next
 * launch  any number of groups of BLOCK; each takes tiles of COLUMNS outputs until none are left
 * host    DOWN, a power of two; HALVES (halves.h), gp_keep and gp_recall (scanning.h), MAP(o, j), OP(a, b), IDENTITY,
 *         STORE(o, j, value), INCLUSIVE
 * order   of fixed_scans.py, whatever the number of groups and DOWN are
 *
 * A step takes DOWN runs of ITEMS elements of each output. Their folds are scanned by halves in local memory, and steps
 * are the parts of halves.h.
 */
#define COLUMNS (BLOCK / DOWN) /* outputs of a group */

/* Load a run, an input or from a level, and the identity past the end. */
DEVICE void load_column_run(INPUTS, const layout_t layout, GLOBAL const u32 *partials, const i64 level, const i64 outputs,
                     const i64 o, const i64 first, const i64 last, value_t *values)
{
    if (level >= 0) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            values[k] = first + k < last ? gp_recall(partials, level + (first + k) * outputs + o) : IDENTITY;
    } else if (first + ITEMS <= last) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) values[k] = MAP(o, first + k);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) values[k] = first + k < last ? MAP(o, first + k) : IDENTITY;
    }
}

/* Store a run, or keep it for the level below. */
DEVICE void store_column_run(INPUTS, OUTPUTS, const layout_t layout, GLOBAL u32 *partials, const i64 level, const i64 outputs,
                      const i64 o, const i64 first, const i64 last, const value_t *values)
{
    if (level >= 0) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (first + k < last) gp_keep(partials, level + (first + k) * outputs + o, values[k]);
    } else if (first + ITEMS <= last) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) STORE(o, first + k, values[k]);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            if (first + k < last) STORE(o, first + k, values[k]);
    }
}

/* Scan the folds of a step's runs by halves, in place; return the fold of all of them. */
DEVICE value_t scan_step_ends(LOCAL value_t *ends, const value_t whole, const int tid)
{
#if DOWN > 1
    const int below = tid / COLUMNS, column = tid % COLUMNS;
    ends[tid] = whole;
    for (int half_of = 1; half_of < DOWN; half_of *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (below & half_of) ends[tid] = OP(ends[(below / half_of * half_of - 1) * COLUMNS + column], ends[tid]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return ends[BLOCK - COLUMNS + column];
#else
    return whole;
#endif
}

__kernel WORK_GROUP(BLOCK)
void scan_fixed_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                        const i64 level, const i64 totals, const i64 folds)
{
    __local value_t ends[2][BLOCK]; /* by turns, so that no work-item waits for those that still read */
    const int tid = get_local_id(0), below = tid / COLUMNS, inclusive = INCLUSIVE && level < 0;
    const i64 strips = (outputs + COLUMNS - 1) / COLUMNS, tiles = (n + TILE - 1) / TILE;
    value_t values[ITEMS], kept[HALVES + 1];
    int turn = 0;

    for (i64 task = get_group_id(0); task < strips * tiles; task += get_num_groups(0)) {
        const i64 tile = task / strips, column = task % strips * COLUMNS + tid % COLUMNS, o = min(column, outputs - 1);
        const i64 base = tile * TILE, end = folds && tile == tiles - 1 ? base : min(base + TILE, n);
        const i64 last = column < outputs ? end : base; /* an output past the last has no elements */
        const value_t before_tile = totals < 0 || folds ? IDENTITY : gp_recall(partials, totals + tile * outputs + o);
        value_t left = IDENTITY; /* the fold of the steps before */

        for (int step = 0; base + step * (DOWN * ITEMS) < end; step++, turn ^= 1) {
            const i64 first = base + (step * DOWN + below) * ITEMS;

            /* 1. Load a run. What lies past the end changes no result. */
            load_column_run(INPUT_NAMES, layout, partials, level, outputs, o, first, last, values);

            /* 2. Scan it, and scan the folds of runs by halves. */
#pragma unroll
            for (int k = 1; k < ITEMS; k++) values[k] = OP(values[k - 1], values[k]);
            const value_t whole = scan_step_ends(ends[turn], values[ITEMS - 1], tid);
            const value_t earlier = below ? gp_follow_kept(kept, step, ends[turn][below ? tid - COLUMNS : 0]) : left;
            left = gp_follow_kept(kept, step, whole);
            gp_join_half(kept, step, whole);
            if (folds) continue;

            /* 3. Fold in what lies before, and store. */
            const value_t before = OP(before_tile, earlier);
#pragma unroll
            for (int k = ITEMS - 1; k >= 0; k--)
                values[k] = inclusive ? OP(before, values[k]) : k ? OP(before, values[k ? k - 1 : 0]) : before;
            store_column_run(INPUT_NAMES, OUTPUT_NAMES, layout, partials, level, outputs, o, first, last, values);
        }

        /* 4. Keep the tile's aggregate. Nothing follows the last tile, so that of nothing does. */
        if (folds && below == 0 && column < outputs) gp_keep(partials, totals + tile * outputs + o, left);
    }
}

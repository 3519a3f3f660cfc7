/* scan/column_runs: groups fold and then scan runs of rows of strips, for elements that are narrower than tile statuses.
 *
 * in      INPUTS: n elements for each of `outputs` outputs; neighbouring outputs lie nearer than neighbouring elements
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): if parts > 1, one for each column of each part of each strip
 * launch  any number of groups of BLOCK; each takes a part of a strip until none are left. Groups wait for others that
 *         begin before them
 * host    ROWS x width lanes of a warp, `across` warps side by side, a power of two; `run` rows of a warp, a multiple of
 *         ROWS x FOLDED; FOLDED rows that a work-item folds at once, a multiple of ITEMS; strips.h; gp_write_status,
 *         gp_read_entries, gp_status_of and gp_await_status (scanning.h), MAP(o, j), OP(a, b), IDENTITY,
 *         STORE(o, j, value), COMMUTATIVE
 * order   operands in index order, but a commutative operator folds a run lane by lane; only the numbers of the launch
 *         decide how operands are associated
 *
 * The warps of a part take a run each, one below the other. So a group reads the statuses of a strip once, and each warp
 * scans its run without waiting. It reads the run twice, the second time partly from a cache.
 */

/* Fold `run` rows of a work-item's column with the other lanes of its warp; `first` is the first row of its own. */
DEVICE value_t fold_run(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 run, const place_t at,
                        const int lane)
{
    value_t folded = IDENTITY;
    for (i64 base = first; base < first + run; base += ROWS * FOLDED) {
        value_t values[FOLDED];
#pragma unroll
        for (int item = 0; item < FOLDED; item++) values[item] = MAP(o, base + item * ROWS);
#pragma unroll
        for (int item = 0; item < FOLDED; item++)
#if COMMUTATIVE
            folded = OP(folded, values[item]);
#else
            folded = OP(folded, gp_last_row(gp_scan_down(values[item], at), at, lane));
#endif
    }
#if COMMUTATIVE
    folded = gp_last_row(gp_scan_down(folded, at), at, lane);
#endif
    return folded;
}

/* Scan ROWS x ITEMS rows of a run after `prefix`, the fold of the rows before, and store them; return the fold of all.
 * Unless they are `whole`, rows from `end` on are not the run's. */
DEVICE value_t scan_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 first, const i64 end,
                         const int whole, const int live, const value_t prefix, const place_t at, const int lane)
{
    value_t values[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const i64 j = first + item * ROWS;
        values[item] = MAP(o, whole ? j : min(j, end - 1));
        if (!whole && j >= end) values[item] = IDENTITY;
    }
    const value_t folded = gp_scan_rows(values, prefix, at, lane);
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        if (live && (whole || first + item * ROWS < end)) STORE(o, first + item * ROWS, values[item]);
    return folded;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS) WHOLE_WARPS
void scan_column_runs(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                      const i64 width, const i64 across, const i64 parts, const i64 run)
{
    __local value_t partial[BLOCK], between[BLOCK];
    __local u32 launch;
    const int tid = get_local_id(0), lane = tid % LANES;
    const place_t at = gp_strip_place(tid, (int)width, (int)across);
    const int slot = at.below * at.span + at.column, share = at.row < ROWS ? at.below * ROWS + at.row : WARPS * LANES;
    const int own = at.row < ROWS ? at.row : 0; /* row of an item; idle lanes read the first */
    const i64 tasks = (outputs + at.span - 1) / at.span * parts;

    if (tid == 0 && parts > 1) launch = TAG_OF(gp_read_entry(statuses)) + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (i64 task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
        const i64 strip = task / parts, status = strip * parts * at.span + at.column;
        const int part = (int)(task % parts), live = at.row < ROWS && strip * at.span + at.column < outputs;
        const i64 o = min(strip * at.span + at.column, outputs - 1), above = (i64)part * at.down;
        const i64 first = min((above + at.below) * run, n), end = min(first + run, n);
        value_t prefix = IDENTITY, earlier = IDENTITY, aggregate = IDENTITY;

        /* 1. Fold the runs of the part, and write the aggregate for the parts below. The run that ends at the last row has
         * nothing below it. */
        if (at.down > 1 || parts > 1) {
            value_t folded = IDENTITY;
            if (first + run < n) folded = fold_run(INPUT_NAMES, layout, o, first + own, run, at, lane);
            if (at.row == 0) partial[slot] = folded;
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
            for (int below = 0; below < at.down; below++) {
                if (below == at.below) earlier = aggregate;
                aggregate = OP(aggregate, partial[below * at.span + at.column]);
            }
            if (part + 1 < parts && at.below == 0 && at.row == 0)
                gp_write_status(statuses, status + (i64)part * at.span, tag, aggregate);
        }

        /* 2. Fold the aggregates of the parts above; rows of lanes share them out, and each takes neighbouring ones. A warp
         * folds the runs of groups that do not run. */
        if (parts > 1) {
            const int each = (part + at.down * ROWS - 1) / (at.down * ROWS), taken = share * each;
            const int last = min(taken + each, part);
            value_t whole = IDENTITY;
            for (int k = 0; k < each; k += LOOKED) {
                u64 entries[LOOKED * WORDS];
                value_t read[LOOKED];
                int absent = 0;
                gp_look_between(statuses, status, at.span, taken + k, last, entries);
#pragma unroll
                for (int one = 0; one < LOOKED; one++)
                    if (taken + k + one < last) absent |= !gp_status_of(entries + one * WORDS, tag, tag, read + one);
                if (!ANY_LANE(absent)) {
#pragma unroll
                    for (int one = 0; one < LOOKED; one++)
                        if (taken + k + one < last) whole = OP(whole, read[one]);
                    continue;
                }
                for (int one = k; one < min(k + LOOKED, each); one++) {
                    value_t value = IDENTITY;
                    const int has = taken + one < last;
                    const i64 where = status + (i64)(taken + one) * at.span;
                    const int waiting = has && !gp_await_status(statuses, where, tag, tag, &value);
                    for (int row = 0; ANY_LANE(waiting) && row < ROWS; row++) {
                        const i64 missing = min((at.below * ROWS + row) * each + one, part - 1);
                        value_t stood_in = IDENTITY;
                        for (i64 warp = missing * at.down; warp < (missing + 1) * at.down; warp++)
                            stood_in = OP(stood_in, fold_run(INPUT_NAMES, layout, o, warp * run + own, run, at, lane));
                        /* If the part's group ran meanwhile, its outputs may have overwritten the inputs, but its status
                         * is set. */
                        if (waiting && row == at.row && !gp_await_status(statuses, where, tag, tag, &value))
                            value = stood_in;
                    }
                    if (has) whole = OP(whole, value);
                }
            }
            whole = gp_fold_down(whole, at);
            if (at.row == 0) between[slot] = whole;
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
            for (int below = 0; below < at.down; below++) prefix = OP(prefix, between[below * at.span + at.column]);
        }

        /* 3. Scan the warp's own run, and store. Other warps compute while this one loads. */
        i64 base = first;
        prefix = OP(prefix, earlier);
        for (; base + ROWS * ITEMS <= end; base += ROWS * ITEMS)
            prefix = scan_rows(INPUT_NAMES, OUTPUT_NAMES, layout, o, base + own, end, 1, live, prefix, at, lane);
        if (base < end) scan_rows(INPUT_NAMES, OUTPUT_NAMES, layout, o, base + own, end, 0, live, prefix, at, lane);
        barrier(CLK_LOCAL_MEM_FENCE); /* before the next task writes to local memory */
    }

    /* 4. The last group makes the launch's tags void. */
    if (tid == 0 && parts > 1 && (u32)gp_add_entry(statuses, 1) == (u32)get_num_groups(0) - 1)
        gp_write_entry(statuses, (u64)tag << 32);
}

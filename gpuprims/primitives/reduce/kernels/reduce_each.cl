/* reduce/each: each work-item folds one output, for many outputs whose elements lie side by side or are few.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each BLOCK outputs, zero before and after
 * launch  any number of groups of BLOCK; each takes BLOCK outputs and one part of their elements until none are left
 * host    MAP(o, j), MAP_VECTOR(o, j, values), OP(a, b), IDENTITY, STORE(o, j, value)
 * order   operands in index order
 *
 * The columns of a matrix, for BLOCK = 4 and 2 parts. Neighbours in a group read neighbours in memory:
 *
 *     tid       0 1 2 3 | 0 1 2 3
 *     part 0    v v v v | v v v v      rows 0 ... n/2 - 1
 *     part 1    v v v v | v v v v      rows n/2 ... n - 1
 */

/* Load and fold elements first ... last - 1 of an output, ITEMS independent ones in flight. */
DEVICE value_t fold_run(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 last)
{
    value_t folded = IDENTITY;
    i64 j = first;
    for (; j + ITEMS <= last; j += ITEMS) {
        value_t values[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, j + item, values + item);
        folded = OP(folded, gp_fold_values(values, ITEMS));
    }
    for (; j + VECTOR <= last; j += VECTOR) {
        value_t values[VECTOR];
        MAP_VECTOR(o, j, values);
#pragma unroll
        for (int item = 0; item < VECTOR; item++) folded = OP(folded, values[item]);
    }
    for (; VECTOR > 1 && j < last; j++) folded = OP(folded, MAP(o, j));
    return folded;
}

__kernel WORK_GROUP(BLOCK)
void reduce_each(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts)
{
    __local int last;
    const int tid = get_local_id(0);
    const i64 blocks = (outputs + BLOCK - 1) / BLOCK;
    const i64 run = ((n + parts - 1) / parts + ITEMS - 1) / ITEMS * ITEMS; /* whole vectors, so each starts aligned */

    for (i64 task = get_group_id(0); task < blocks * parts; task += get_num_groups(0)) {
        const i64 part = task / blocks, o = task % blocks * BLOCK + tid;
        const int live = o < outputs;

        /* 1. Load and fold this part of the output. */
        value_t folded = IDENTITY;
        if (live) folded = fold_run(INPUT_NAMES, layout, o, min(part * run, n), min((part + 1) * run, n));

        /* 2. If there are several parts, leave the value; the last group folds all of them in order. The first barrier
         * separates the two tests of `live`, which PoCL 3.1 otherwise joins, so that all work-items leave. */
        if (parts > 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (live) gp_leave(partials, part * outputs + o, folded);
            gp_fence();
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid == 0) last = gp_last_done(counters + task % blocks, parts);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (live && last) {
                folded = IDENTITY;
                for (i64 left = 0; left < parts; left++) folded = OP(folded, gp_collect(partials, left * outputs + o));
            }
        }

        /* 3. Store. */
        if (live && (parts == 1 || last)) STORE(o, 0, folded);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

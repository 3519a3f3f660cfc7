/* reduce/each: each work-item folds one output, or a share of it, for outputs whose elements lie side by side or are few.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each `width` outputs, zero before and after
 * launch  any number of groups of BLOCK; each takes `width` outputs, at most BLOCK, and one part of their elements until
 *         none are left
 * host    gp_fold_elements and gp_fold_partials (folding.h), OP(a, b), IDENTITY, STORE(o, j, value)
 * order   operands in index order; a commutative operator may take them with a stride
 *
 * The columns of a matrix, for BLOCK = 8, a width of 4, and 2 parts. Neighbours in a group read neighbours in memory:
 *
 *     tid      0 1 2 3 | 0 1 2 3      tid      4 5 6 7 | 4 5 6 7
 *     part 0   v v v v | v v v v               v v v v | v v v v     rows 0 ... n/2 - 1, by turns
 *     part 1   v v v v | v v v v               v v v v | v v v v     rows n/2 ... n - 1
 */

/* Fold the values of the work-items that share an output, by a tree; the result is in the first of them. */
DEVICE value_t fold_sharers(const value_t folded, LOCAL value_t *partial, const int tid, const int sharer,
                            const int sharers, const int width)
{
    if (sharers == 1) return folded;
    partial[tid] = folded;
    for (int stride = 1; stride < sharers; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (sharer % (2 * stride) == 0 && sharer + stride < sharers)
            partial[tid] = OP(partial[tid], partial[tid + stride * width]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t whole = partial[tid];
    barrier(CLK_LOCAL_MEM_FENCE);
    return whole;
}

__kernel WORK_GROUP(BLOCK)
void reduce_each(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts, const i64 width)
{
    __local value_t partial[BLOCK];
    __local int last;
    const int tid = get_local_id(0), sharers = BLOCK / (int)width, sharer = tid / (int)width;
    const i64 blocks = (outputs + width - 1) / width;
    const i64 run = ((n + parts - 1) / parts + ITEMS - 1) / ITEMS * ITEMS; /* whole vectors, so each starts aligned */

    for (i64 task = get_group_id(0); task < blocks * parts; task += get_num_groups(0)) {
        const i64 part = task / blocks, o = task % blocks * width + tid % (int)width;
        const int live = sharer < sharers && o < outputs;

        /* 1. Load and fold this part of the output. */
        value_t folded = IDENTITY;
        if (live)
            folded = gp_fold_elements(INPUT_NAMES, layout, o, min(part * run, n), min((part + 1) * run, n), sharer, sharers);

        /* 2. Fold the work-items that share an output. If there are several parts, leave the value; the last group repeats
         * the loop to fold all of them in order. The first barrier separates the two tests of `live`, which PoCL 3.1
         * otherwise joins, so that all work-items leave. */
        for (int collected = parts == 1;; collected = 1) {
            folded = fold_sharers(folded, partial, tid, sharer, sharers, (int)width);
            if (collected) break;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (live && sharer == 0) gp_leave(partials, part * outputs + o, folded);
            gp_fence();
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid == 0) last = gp_last_done(counters + task % blocks, parts);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!last) break;
            folded = IDENTITY;
            if (live) folded = gp_fold_partials(partials, o, outputs, parts, sharer, sharers);
        }

        /* 3. Store. */
        if (live && sharer == 0 && (parts == 1 || last)) STORE(o, 0, folded);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

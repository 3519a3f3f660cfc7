/* reduce/tree: work-items fold part of an output's elements, then a tree in local memory folds the group.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of BLOCK (a power of two); each takes (output, part) pairs until none are left
 * host    gp_fold_elements, gp_fold_tree and gp_fold_partials (folding.h), OP(a, b), IDENTITY, STORE(o, j, value)
 * order   operands in index order; a commutative operator may take them with a stride
 */
__kernel WORK_GROUP(BLOCK)
void reduce_tree(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts)
{
    __local value_t partial[BLOCK];
    __local int last;
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts;

        /* 1. Load and fold this part's elements. */
        value_t folded = gp_fold_elements(INPUT_NAMES, layout, o, 0, n, part * BLOCK + tid, parts * BLOCK);

        /* 2. Fold the group. If the output has several parts, leave the value; the last group repeats the loop to fold all
         * parts. One tree serves both: with two, PoCL 3.1 folds values of several components wrongly. */
        for (int collected = parts == 1;; collected = 1) {
            folded = gp_fold_tree(folded, partial, tid);
            if (collected) break;
            if (tid == 0) {
                gp_leave(partials, task, folded);
                last = gp_last_done(counters + o, parts);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!last) break;
            folded = gp_fold_partials(partials, o * parts, 1, parts, tid, BLOCK);
        }

        /* 3. Store. After the barrier, the next task may write local memory. */
        if ((parts == 1 || last) && tid == 0) STORE(o, 0, folded);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

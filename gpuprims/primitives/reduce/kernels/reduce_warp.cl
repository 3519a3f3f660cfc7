/* reduce/warp: work-items fold part of an output's elements; shuffles fold each warp, then the warps' values.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of BLOCK (whole warps, at most WARP of them); each takes (output, part) pairs until none
 *         are left
 * host    gp_fold_output, gp_fold_elements and gp_fold_partials (folding.h), OP(a, b), IDENTITY, STORE(o, j, value)
 * order   operands in index order; a commutative operator may take them with a stride
 *
 * The fold of a warp of 8 lanes. Each lane takes the value of the lane `stride` above; lane 0 ends with all:
 *
 *     stride 1    0+1  1+2  2+3  3+4  4+5  5+6  6+7  7
 *     stride 2    0..3 1..4 2..5 3..6 4..7 5..7 ...
 *     stride 4    0..7
 */
#define WARPS (BLOCK / WARP)

DEVICE value_t fold_warp(value_t folded)
{
#pragma unroll
    for (int stride = 1; stride < WARP; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
    return folded;
}

/* Load and fold a warp's share of the elements of an output in order; the result is in the first lane. Each lane takes ITEMS
 * neighbours, lane by lane, so that a warp reads whole sectors. */
DEVICE value_t fold_in_order(INPUTS, const layout_t layout, const i64 o, const i64 n, const int lane, const i64 warp,
                             const i64 warps)
{
    const i64 tile = WARP * ITEMS, run = ((n + warps - 1) / warps + tile - 1) / tile * tile, last = min((warp + 1) * run, n);
    value_t folded = IDENTITY;
    for (i64 base = warp * run; base < last; base += tile)
        folded = OP(folded, fold_warp(gp_fold_elements(INPUT_NAMES, layout, o, min(base + lane * ITEMS, last),
                                                       min(base + (lane + 1) * ITEMS, last), 0, 1)));
    return lane == 0 ? folded : IDENTITY;
}

/* Fold a group's values; the result is in its first work-item. */
DEVICE value_t fold_group(value_t folded, LOCAL value_t *partial, const int tid)
{
    folded = fold_warp(folded);
    if (tid % WARP == 0) partial[tid / WARP] = folded;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < WARP) folded = fold_warp(tid < WARPS ? partial[tid] : IDENTITY);
    return folded;
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void reduce_warp(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts)
{
    __local value_t partial[WARPS];
    __local int last;
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts;

        /* 1. Load and fold this part's elements, then the group. */
#if COMMUTATIVE
        value_t folded = gp_fold_output(INPUT_NAMES, layout, o, n, part * BLOCK + tid, parts * BLOCK);
#else
        value_t folded =
            fold_in_order(INPUT_NAMES, layout, o, n, tid % WARP, part * WARPS + tid / WARP, parts * WARPS);
#endif
        folded = fold_group(folded, partial, tid);

        /* 2. If the output has several parts, leave the value; the last group folds all of them. */
        if (tid == 0) {
            last = 1;
            if (parts > 1) {
                gp_leave(partials, task, folded);
                last = gp_last_done(counters + o, parts);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (last && parts > 1) folded = fold_group(gp_fold_partials(partials, o * parts, 1, parts, tid, BLOCK), partial, tid);

        /* 3. Store. After the barrier, the next task may write local memory. */
        if (last && tid == 0) STORE(o, 0, folded);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

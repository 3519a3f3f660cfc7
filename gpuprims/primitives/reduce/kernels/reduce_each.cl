/* reduce/each: each work-item folds a few outputs, or a share of them, for outputs whose elements lie side by side or are
 * few.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each `width` outputs, zero before and after
 * launch  any number of groups of BLOCK; each takes `width` outputs, at most BLOCK x ACROSS, and one part of their
 *         elements until none are left
 * host    MAP_ACROSS(o, j, values), gp_fold_values, gp_fold_elements and gp_fold_partials (folding.h),
 *         OP(a, b), IDENTITY, STORE(o, j, value); ACROSS, which divides `width` and `outputs`
 * order   operands in index order; a commutative operator may take them with a stride
 *
 * The columns of a matrix, for BLOCK = 8, a width of 4, and 2 parts. Neighbours in a group read neighbours in memory:
 *
 *     tid      0 1 2 3 | 0 1 2 3      tid      4 5 6 7 | 4 5 6 7
 *     part 0   v v v v | v v v v               v v v v | v v v v     rows 0 ... n/2 - 1, by turns
 *     part 1   v v v v | v v v v               v v v v | v v v v     rows n/2 ... n - 1
 */
#define EACH_OUTPUT _Pragma("unroll") for (int one = 0; one < ACROSS; one++)

/* Load and fold a work-item's share of elements first ... end - 1 of its outputs. */
DEVICE void fold_outputs(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 end, const int sharer,
                         const int sharers, value_t *folded)
{
#if ACROSS == 1
    folded[0] = gp_fold_elements(INPUT_NAMES, layout, o, first, end, sharer, sharers);
#else
#if COMMUTATIVE
    const i64 start = first + sharer, step = sharers, last = end;
#else
    const i64 run = (end - first + sharers - 1) / sharers, start = first + sharer * run, step = 1, last = min(start + run, end);
#endif
    for (i64 j = start; j < last; j += ITEMS * step) {
        /* ITEMS vectors in flight; beyond the last element, identities. */
        value_t rows[ITEMS][ACROSS], values[ITEMS];
        const int number = (int)min((last - j + step - 1) / step, (i64)ITEMS);
        if (number == ITEMS) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) MAP_ACROSS(o, j + item * step, rows[item]);
        } else {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                EACH_OUTPUT rows[item][one] = IDENTITY;
                if (item < number) MAP_ACROSS(o, j + item * step, rows[item]);
            }
        }
        EACH_OUTPUT
        {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) values[item] = rows[item][one];
            folded[one] = OP(folded[one], gp_fold_values(values, ITEMS));
        }
    }
#endif
}

/* Fold the values of the work-items that share outputs, by a tree; the result is in the first of them. */
DEVICE void fold_sharers(value_t *folded, LOCAL value_t *partial, const int tid, const int sharer, const int sharers,
                         const int slots)
{
    if (sharers == 1) return;
    EACH_OUTPUT partial[one * BLOCK + tid] = folded[one];
    for (int stride = 1; stride < sharers; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (sharer % (2 * stride) == 0 && sharer + stride < sharers) {
            LOCAL value_t *own = partial + tid;
            EACH_OUTPUT own[one * BLOCK] = OP(own[one * BLOCK], own[one * BLOCK + stride * slots]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_OUTPUT folded[one] = partial[one * BLOCK + tid];
    barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel WORK_GROUP(BLOCK)
void reduce_each(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                 const i64 n, const i64 parts, const i64 width)
{
    __local value_t partial[BLOCK * ACROSS];
    __local int last;
    const int tid = get_local_id(0), slots = (int)width / ACROSS, sharers = BLOCK / slots, sharer = tid / slots;
    const i64 blocks = (outputs + width - 1) / width;
    const i64 run = ((n + parts - 1) / parts + ITEMS - 1) / ITEMS * ITEMS; /* whole vectors, so each starts aligned */

    for (i64 task = get_group_id(0); task < blocks * parts; task += get_num_groups(0)) {
        const i64 part = task / blocks, o = task % blocks * width + tid % slots * ACROSS;
        const int live = sharer < sharers && o < outputs;

        /* 1. Load and fold this part of the outputs. */
        value_t folded[ACROSS];
        EACH_OUTPUT folded[one] = IDENTITY;
        if (live) fold_outputs(INPUT_NAMES, layout, o, min(part * run, n), min((part + 1) * run, n), sharer, sharers, folded);

        /* 2. Fold the work-items that share outputs. If there are several parts, leave the values; the last group repeats
         * the loop to fold all of them in order. The first barrier separates the two tests of `live`, which PoCL 3.1
         * otherwise joins, so that all work-items leave. */
        for (int collected = parts == 1;; collected = 1) {
            fold_sharers(folded, partial, tid, sharer, sharers, slots);
            if (collected) break;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (live && sharer == 0) EACH_OUTPUT gp_leave(partials, part * outputs + o + one, folded[one]);
            gp_fence();
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid == 0) last = gp_last_done(counters + task % blocks, parts);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!last) break;
            EACH_OUTPUT folded[one] = IDENTITY;
            if (live) EACH_OUTPUT folded[one] = gp_fold_partials(partials, o + one, outputs, parts, sharer, sharers);
        }

        /* 3. Store. */
        if (live && sharer == 0 && (parts == 1 || last)) EACH_OUTPUT STORE(o + one, 0, folded[one]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* reduce/tree: each group folds its share of one output's elements, then a tree in local memory folds the group.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: `parts` values for each output, at o * parts + part
 * launch  any number of groups of BLOCK (a power of two); each takes (output, part) pairs until none are left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(at, value), COMMUTATIVE
 * order   operands meet in the order of their index; only a commutative operator sees them dealt out with a stride
 *
 * The tree, for BLOCK = 8. Neighbours fold first, so that order is kept:
 *
 *     stride 1    0+1     2+3     4+5     6+7
 *     stride 2    0..3            4..7
 *     stride 4    0..7
 */
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void reduce_tree(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n, const i64 parts)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts;
        const i64 worker = (task % parts) * BLOCK + tid, workers = parts * BLOCK;

        /* 1. Share out: every workers-th element, or, where order matters, one contiguous run. */
#if COMMUTATIVE
        const i64 step = workers;
        i64 j = worker;
        const i64 last = n;
#else
        const i64 step = 1;
        const i64 run = (n + workers - 1) / workers;
        i64 j = min(worker * run, n);
        const i64 last = min(j + run, n);
#endif

        /* 2. Load and fold: ITEMS independent reads in flight, folded pairwise, which also keeps rounding small. */
        value_t folded = IDENTITY;
        for (; j + (ITEMS - 1) * step < last; j += ITEMS * step) {
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) values[item] = MAP(o, j + item * step);
#pragma unroll
            for (int stride = 1; stride < ITEMS; stride *= 2)
#pragma unroll
                for (int item = 0; item + stride < ITEMS; item += 2 * stride)
                    values[item] = OP(values[item], values[item + stride]);
            folded = OP(folded, values[0]);
        }
        for (; j < last; j += step) folded = OP(folded, MAP(o, j));

        /* 3. Fold the group. */
        partial[tid] = folded;
        for (int stride = 1; stride < BLOCK; stride *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid % (2 * stride) == 0) partial[tid] = OP(partial[tid], partial[tid + stride]);
        }

        /* 4. Store; the next task may write partial once everyone is here. */
        if (tid == 0) STORE(task, partial[0]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

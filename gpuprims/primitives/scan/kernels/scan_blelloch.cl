/* scan/blelloch: groups scan a tile by a tree, up to its aggregate and down again, with twice as many operations as
 * elements.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each tile's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of BLOCK (a power of two); each takes tiles of 2 x BLOCK elements until none are left
 * host    gp_load_level, gp_store_level, gp_keep and gp_recall (scanning.h), OP(a, b), IDENTITY
 * order   operands in index order
 * source  Blelloch, Prefix sums and their applications, CMU-CS-90-190, 1990; padding as in Harris, Sengupta and Owens,
 *         Parallel prefix sum (scan) with CUDA, GPU Gems 3, 2007
 *
 * For 2 x BLOCK = 8. On the way down, a right child gets its parent's prefix folded with its left sibling's aggregate:
 *
 *     up, stride 1      0    0..1 2    2..3 4    4..5 6    6..7
 *     up, stride 2      0    0..1 2    0..3 4    4..5 6    4..7
 *     up, stride 4      0    0..1 2    0..3 4    4..5 6    0..7
 *     down, stride 4    0    0..1 2    -    4    4..5 6    0..3        the root was set to the identity
 *     down, stride 2    0    -    2    0..1 4    0..3 6    0..5
 *     down, stride 1    -    0    0..1 0..2 0..3 0..4 0..5 0..6
 */
#define TWICE (2 * BLOCK)
/* One unused value after every 32, so values a power of two apart lie in different banks of local memory. */
#define PADDED(at) ((at) + (at) / 32)

__kernel WORK_GROUP(BLOCK)
void scan_blelloch(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                   const i64 level, const i64 totals, const i64 folds)
{
    __local value_t tree[PADDED(TWICE)];
    const int tid = get_local_id(0);
    const i64 tiles = (n + TWICE - 1) / TWICE;
    const task_t step = gp_task_at(get_num_groups(0), tiles);

    for (task_t task = gp_task_at(get_group_id(0), tiles); task.o < outputs; task = gp_task_after(task, step, tiles)) {
        const i64 o = task.o, base = task.tile * TWICE;

        /* 1. Load, two elements a work-item. */
        value_t elements[2];
#pragma unroll
        for (int item = 0; item < 2; item++) {
            const i64 j = base + tid + item * BLOCK;
            elements[item] = j < n ? gp_load_level(INPUT_NAMES, layout, partials, level, o, j, n) : IDENTITY;
            tree[PADDED(tid + item * BLOCK)] = elements[item];
        }

        /* 2. Go up: each node becomes the fold of its children. */
        for (int stride = 1; stride < TWICE; stride *= 2) {
            const int right = (tid + 1) * 2 * stride - 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (right < TWICE) tree[PADDED(right)] = OP(tree[PADDED(right - stride)], tree[PADDED(right)]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Keep the tile's aggregate; or set the root to the tile's prefix and go down: each node becomes the fold of
         * all elements before its leaves. PoCL 3.1 needs two barriers to separate the loops. */
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0 && folds) gp_keep(partials, totals + task.at, tree[PADDED(TWICE - 1)]);
        if (tid == 0 && !folds) tree[PADDED(TWICE - 1)] = totals < 0 ? IDENTITY : gp_recall(partials, totals + task.at);
        for (int stride = folds ? 0 : BLOCK; stride > 0; stride /= 2) {
            const int right = (tid + 1) * 2 * stride - 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (right < TWICE) {
                const value_t before = tree[PADDED(right)], left = tree[PADDED(right - stride)];
                tree[PADDED(right - stride)] = before;
                tree[PADDED(right)] = OP(before, left);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Store. */
#pragma unroll
        for (int item = 0; item < 2; item++) {
            const int at = tid + item * BLOCK;
            if (!folds && base + at < n)
                gp_store_level(INPUT_NAMES, OUTPUT_NAMES, layout, partials, level, o, base + at, n, tree[PADDED(at)],
                            elements[item]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

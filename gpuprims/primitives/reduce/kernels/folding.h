/* Steps of several reductions. */

/* Fold values pairwise and in order, which also keeps rounding errors small. `count` is a compile-time constant. */
DEVICE value_t gp_fold_values(value_t *values, const int count)
{
#pragma unroll
    for (int stride = 1; stride < count; stride *= 2)
#pragma unroll
        for (int item = 0; item + stride < count; item += 2 * stride)
            values[item] = OP(values[item], values[item + stride]);
    return values[0];
}

/* Load and fold a work-item's part of n elements, which all work-items of all parts share. With a commutative
 * operator it takes every workers-th vector, otherwise one contiguous run. */
DEVICE value_t gp_fold_elements(INPUTS, const layout_t layout, const i64 o, const i64 n, const i64 worker, const i64 workers)
{
#if COMMUTATIVE
    const i64 step = workers * VECTOR, last = n;
    i64 j = worker * VECTOR;
#else
    const i64 step = VECTOR, run = ((n + workers - 1) / workers + VECTOR - 1) / VECTOR * VECTOR;
    const i64 last = min((worker + 1) * run, n);
    i64 j = worker * run;
#endif
    value_t folded = IDENTITY;

    /* ITEMS independent elements in flight, then half as many once. */
    for (; j + (ITEMS / VECTOR - 1) * step + VECTOR <= last; j += ITEMS / VECTOR * step) {
        value_t values[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, j + item / VECTOR * step, values + item);
        folded = OP(folded, gp_fold_values(values, ITEMS));
    }
#if ITEMS / 2 > VECTOR
    if (j + (ITEMS / 2 / VECTOR - 1) * step + VECTOR <= last) {
        value_t values[ITEMS / 2];
#pragma unroll
        for (int item = 0; item < ITEMS / 2; item += VECTOR) MAP_VECTOR(o, j + item / VECTOR * step, values + item);
        folded = OP(folded, gp_fold_values(values, ITEMS / 2));
        j += ITEMS / 2 / VECTOR * step;
    }
#endif

    /* The other whole vectors, then single elements. */
    for (; j + VECTOR <= last; j += step) {
        value_t values[VECTOR];
        MAP_VECTOR(o, j, values);
#pragma unroll
        for (int item = 0; item < VECTOR; item++) folded = OP(folded, values[item]);
    }
    for (; VECTOR > 1 && j < last; j++) folded = OP(folded, MAP(o, j));
    return folded;
}

/* Fold the values that all parts of an output left; each work-item folds a contiguous run of them. */
DEVICE value_t gp_fold_partials(GLOBAL u32 *partials, const i64 o, const i64 parts, const int tid)
{
    const i64 run = (parts + BLOCK - 1) / BLOCK, last = min((tid + 1) * run, parts);
    value_t folded = IDENTITY;
    for (i64 part = tid * run; part < last; part++) folded = OP(folded, gp_collect(partials, o * parts + part));
    return folded;
}

/* Fold a group's values by a tree in local memory and return the result in all work-items. Neighbours fold first, which
 * keeps the order. For BLOCK = 8:
 *
 *     stride 1    0+1     2+3     4+5     6+7
 *     stride 2    0..3            4..7
 *     stride 4    0..7
 */
DEVICE value_t gp_fold_tree(const value_t folded, LOCAL value_t *partial, const int tid)
{
    partial[tid] = folded;
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid % (2 * stride) == 0) partial[tid] = OP(partial[tid], partial[tid + stride]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const value_t whole = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return whole;
}

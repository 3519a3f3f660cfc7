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

/* Fold ITEMS values, of which the first `number`, at least one, are of elements and the others identities. */
DEVICE value_t gp_fold_first(value_t *values, const int number)
{
#ifdef GATHER
    value_t gathered = values[0];
#pragma unroll
    for (int item = 1; item < ITEMS; item++)
        if (item < number) gathered = GATHER(gathered, values[item]);
    return CLOSE(gathered, number);
#else
    return gp_fold_values(values, ITEMS);
#endif
}

/* Fold ITEMS values into what was folded from earlier elements; `fresh` if there were none. Of an operator that picks a value, most
 * values are only compared: few are better than all before them, the logarithm of their number if their order is random. The
 * values from `number` on are identities. */
DEVICE value_t gp_fold_further(const value_t folded, value_t *values, const int fresh, const int number)
{
#ifdef BETTER
    int better = fresh;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        better |= BETTER(LEAD(values[item]), LEAD(folded));
        if (!IN_ORDER) better |= !BETTER(LEAD(folded), LEAD(values[item])); /* an equal value may have a lower index */
    }
    if (!better) return folded;
#endif
    return OP(folded, gp_fold_first(values, number));
}

/* Load and fold a work-item's share of elements first ... end - 1 of an output, of which `workers` work-items each take one.
 * With a commutative operator it takes every workers-th vector, otherwise one contiguous run. `first` is a whole vector. */
DEVICE value_t gp_fold_elements(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 end, const i64 worker,
                                const i64 workers)
{
#if COMMUTATIVE
    const i64 start = first + worker * VECTOR, step = workers * VECTOR, last = end;
#else
    const i64 step = VECTOR, run = ((end - first + workers - 1) / workers + VECTOR - 1) / VECTOR * VECTOR;
    const i64 start = first + worker * run, last = min(start + run, end);
#endif
    value_t folded = IDENTITY, values[ITEMS];
    i64 j = start;

    /* ITEMS independent elements in flight. */
    for (; j + (ITEMS / VECTOR - 1) * step + VECTOR <= last; j += ITEMS / VECTOR * step) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, j + item / VECTOR * step, values + item);
        folded = gp_fold_further(folded, values, j == start, ITEMS);
    }

    /* The rest, also at once: whole vectors, single elements, and identities beyond the last. */
    if (j < last) {
        int number = 0;
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) {
            const i64 at = j + item / VECTOR * step;
            if (at + VECTOR <= last) {
                MAP_VECTOR(o, at, values + item);
            } else {
#pragma unroll
                for (int one = 0; one < VECTOR; one++) values[item + one] = at + one < last ? MAP(o, at + one) : IDENTITY;
            }
            number += (int)min(max(last - at, (i64)0), (i64)VECTOR);
        }
        folded = gp_fold_further(folded, values, j == start, number);
    }
    return folded;
}

/* Fold a worker's share of the values that all parts of an output left, a contiguous run of them. Part k's is at first + k * step. */
DEVICE value_t gp_fold_partials(GLOBAL u32 *partials, const i64 first, const i64 step, const i64 parts, const int worker,
                                const int workers)
{
    const i64 run = (parts + workers - 1) / workers, last = min((worker + 1) * run, parts);
    value_t folded = IDENTITY;
#pragma unroll 4
    for (i64 part = worker * run; part < last; part++) folded = OP(folded, gp_collect(partials, first + part * step));
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

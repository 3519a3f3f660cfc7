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

#define MANY_WORDS (WORDS > 4)

/* Load and fold `count` elements of a work-item's, whole vectors; once, if there are so many. */
#define FOLD_LOADED(count)                                                                                             \
    {                                                                                                                  \
        _Pragma("unroll") for (int item = 0; item < (count); item += VECTOR)                                           \
            MAP_VECTOR(o, j + item / VECTOR * step, values + item);                                                    \
        folded = OP(folded, gp_fold_values(values, count));                                                            \
    }
#define FOLD_ONCE(count)                                                                                               \
    if (j + ((count) / VECTOR - 1) * step + VECTOR <= last) {                                                          \
        FOLD_LOADED(count);                                                                                            \
        j += (count) / VECTOR * step;                                                                                  \
    }

/* Elements that are left at most after these: a half, and its last vector may have a part. */
#define REST (ITEMS / 2 > VECTOR ? ITEMS / 2 : ITEMS)

/* Load the vector at j of an output's elements, and identities from `last` on. */
DEVICE void gp_load_some(INPUTS, const layout_t layout, const i64 o, const i64 j, const i64 last, value_t *values)
{
    if (j + VECTOR <= last) {
        MAP_VECTOR(o, j, values);
    } else {
#pragma unroll
        for (int item = 0; item < VECTOR; item++) {
            values[item] = IDENTITY;
            if (j + item < last) values[item] = MAP(o, j + item);
        }
    }
}

#if SEARCHED
/* True if a value replaces one before it: if it is better, or as good and has the lower index. NaN is better than itself. */
#define REPLACES(value, before)                                                                                        \
    (INDEX_FALLS ? !BETTER(before, value) || BETTER(value, value) : BETTER(value, before) && !BETTER(before, before))

/* Compare the leads of ITEMS loaded elements with the best one, and keep its place. If they are not `whole`, those from `last` on
 * do not count. */
DEVICE void gp_search(const value_t *values, const int whole, const i64 j, const i64 step, const i64 last, lead_t *best, i64 *at)
{
    lead_t top = LEAD(values[0]);
    int place = 0;
#pragma unroll
    for (int item = 1; item < ITEMS; item++) {
        const lead_t lead = LEAD(values[item]);
        if ((whole || j + item / VECTOR * step + item % VECTOR < last) && REPLACES(lead, top)) {
            top = lead;
            place = item;
        }
    }
    if (*at < 0 || REPLACES(top, *best)) {
        *best = top;
        *at = j + place / VECTOR * step + place % VECTOR;
    }
}
#endif

/* False if no element changes a folded value any more, as of any and all; rows: decides */
#if DECIDES
#define UNDECIDED(folded) (!BETTER(LEAD(folded), LEAD(folded)))
#else
#define UNDECIDED(folded) 1
#endif

/* Load and fold a work-item's share of elements first ... end - 1 of an output, which `workers` work-items share.
 * With a commutative operator it takes every workers-th vector, otherwise one contiguous run. `first` is a whole vector. */
DEVICE value_t gp_fold_elements(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 end, const i64 worker,
                                const i64 workers)
{
#if COMMUTATIVE
    const i64 step = workers * VECTOR, last = end;
    i64 j = first + worker * VECTOR;
#else
    const i64 step = VECTOR, run = ((end - first + workers - 1) / workers + VECTOR - 1) / VECTOR * VECTOR;
    i64 j = first + worker * run;
    const i64 last = min(j + run, end);
#endif
    value_t folded = IDENTITY, values[ITEMS];

#if SEARCHED
    /* If the operator picks a value, compare leads alone, and load the best value again. Elements come in the order of their
     * indices, or against it. */
    lead_t best = LEAD(folded);
    i64 at = -1;
    for (; j + (ITEMS / VECTOR - 1) * step + VECTOR <= last; j += ITEMS / VECTOR * step) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, j + item / VECTOR * step, values + item);
        gp_search(values, 1, j, step, last, &best, &at);
    }
    if (j < last) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR)
            gp_load_some(INPUT_NAMES, layout, o, j + item / VECTOR * step, last, values + item);
        gp_search(values, 0, j, step, last, &best, &at);
    }
    if (at >= 0) folded = MAP(o, at);
#else
    /* ITEMS independent elements in flight until the value is decided, then half as many once. Moments and other values of many words cost more to fold
     * than to load, unless all were just loaded: the compiler then computes with their counts. So runs of fewer follow. */
    for (; UNDECIDED(folded) && j + (ITEMS / VECTOR - 1) * step + VECTOR <= last; j += ITEMS / VECTOR * step)
        FOLD_LOADED(ITEMS);
    if (!UNDECIDED(folded)) return folded;
#if ITEMS / 2 > VECTOR
    FOLD_ONCE(ITEMS / 2)
#if MANY_WORDS && ITEMS / 4 > VECTOR
    FOLD_ONCE(ITEMS / 4)
#if ITEMS / 8 > VECTOR
    FOLD_ONCE(ITEMS / 8)
#endif
#endif
#endif

#if MANY_WORDS
    /* The other whole vectors, then single elements. */
    for (; j + VECTOR <= last; j += step) FOLD_LOADED(VECTOR);
    for (; VECTOR > 1 && j < last; j++) folded = OP(folded, MAP(o, j));
#else
    /* The others, all in flight too, and identities beyond the last. */
    if (j < last) {
#pragma unroll
        for (int item = 0; item < REST; item += VECTOR)
            gp_load_some(INPUT_NAMES, layout, o, j + item / VECTOR * step, last, values + item);
        folded = OP(folded, gp_fold_values(values, REST));
    }
#endif
#endif
    return folded;
}

/* Load and fold a work-item's share of all n elements of an output. If rows begin anywhere, the elements before the first whole
 * vector are loaded one by one; the operator commutes. */
DEVICE value_t gp_fold_output(INPUTS, const layout_t layout, const i64 o, const i64 n, const i64 worker, const i64 workers)
{
#if PEELED
    const i64 head = min((i64)HEAD(o), n);
    const value_t folded = gp_fold_elements(INPUT_NAMES, layout, o, head, n, worker, workers);
    return worker < head ? OP(folded, MAP(o, worker)) : folded;
#else
    return gp_fold_elements(INPUT_NAMES, layout, o, 0, n, worker, workers);
#endif
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

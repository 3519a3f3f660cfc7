/* scan/each: each work-item scans one output, for many outputs whose elements lie side by side.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: a value at each element
 * scratch none
 * launch  any number of groups of BLOCK; each takes BLOCK outputs until none are left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(o, j, value)
 * order   operands in index order
 */
/* Load ITEMS elements of an output from `first` on, and the identity past the end. */
DEVICE void load_items(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 n, value_t *values)
{
    if (first + ITEMS <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = MAP(o, first + item);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = first + item < n ? MAP(o, first + item) : IDENTITY;
    }
}

/* Scan ITEMS elements after `before` in place; return the fold of all. */
DEVICE value_t scan_one_by_one(value_t before, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const value_t after = OP(before, values[item]);
        values[item] = INCLUSIVE ? after : before;
        before = after;
    }
    return before;
}

/* Store ITEMS results from `first` on, as far as there are any. */
DEVICE void store_items(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 first, const i64 n,
                        const value_t *values)
{
    if (first + ITEMS <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) STORE(o, first + item, values[item]);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (first + item < n) STORE(o, first + item, values[item]);
    }
}

__kernel WORK_GROUP(BLOCK)
void scan_each(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 base = get_group_id(0) * (i64)BLOCK; base < outputs; base += get_num_groups(0) * (i64)BLOCK) {
        const i64 o = base + tid;
        value_t before = IDENTITY, next[ITEMS];
        if (o < outputs) load_items(INPUT_NAMES, layout, o, 0, n, next);

        /* Load the next elements; scan and store those before. */
        for (i64 j = 0; j < n && o < outputs; j += ITEMS) {
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) values[item] = next[item];
            if (j + ITEMS < n) load_items(INPUT_NAMES, layout, o, j + ITEMS, n, next);
            before = scan_one_by_one(before, values);
            store_items(INPUT_NAMES, OUTPUT_NAMES, layout, o, j, n, values);
        }
    }
}

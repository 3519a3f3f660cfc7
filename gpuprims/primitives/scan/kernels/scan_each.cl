/* scan/each: each work-item scans one output, for many outputs whose elements lie side by side.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: a value at each element
 * scratch none
 * launch  any number of groups of BLOCK; each takes BLOCK outputs until none are left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(o, j, value)
 * order   operands in index order
 */
__kernel WORK_GROUP(BLOCK)
void scan_each(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 base = get_group_id(0) * (i64)BLOCK; base < outputs; base += get_num_groups(0) * (i64)BLOCK) {
        const i64 o = base + tid;
        value_t before = IDENTITY;

        /* Load ITEMS independent elements; scan and store them one by one. */
        for (i64 j = 0; j < n && o < outputs; j += ITEMS) {
            value_t values[ITEMS];
#pragma unroll
            for (int item = 0; item < ITEMS; item++) values[item] = j + item < n ? MAP(o, j + item) : IDENTITY;
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                const value_t after = OP(before, values[item]);
                if (j + item < n) STORE(o, j + item, INCLUSIVE ? after : before);
                before = after;
            }
        }
    }
}

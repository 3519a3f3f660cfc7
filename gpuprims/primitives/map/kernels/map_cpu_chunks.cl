/* map/cpu_chunks: each work-item applies the function to one contiguous chunk, for devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS, any layout
 * out     OUTPUTS, one value at each j in [0, n)
 * launch  any number of groups of one work-item; each takes chunks of ITEMS elements until none are left
 * host    MAP(o, j), STORE(o, j, value)
 */
__kernel WORK_GROUP(1)
void map_cpu_chunks(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    for (i64 base = (i64)get_group_id(0) * ITEMS; base < n; base += (i64)get_num_groups(0) * ITEMS) {
        const i64 last = min(base + ITEMS, n);
        /* Load, apply, store: a plain loop, which the compiler vectorises. */
        for (i64 j = base; j < last; j++) STORE(0, j, MAP(0, j));
    }
}

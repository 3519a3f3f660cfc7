/* map/cpu_chunks: one contiguous chunk a work-item, for devices whose work-items are CPU threads.
 *
 * in      INPUTS, any layout            out     OUTPUTS, one value at each o in [0, outputs)
 * launch  any number of groups of one work-item; each takes chunks of ITEMS elements until none are left
 * host    MAP(o, j), STORE(at, value)
 */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void map_cpu_chunks(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs)
{
    for (i64 base = (i64)get_group_id(0) * ITEMS; base < outputs; base += (i64)get_num_groups(0) * ITEMS) {
        const i64 last = min(base + ITEMS, outputs);
        /* Load, apply, store: a plain loop, which the compiler turns into vectors. */
        for (i64 o = base; o < last; o++) STORE(o, MAP(o, 0));
    }
}

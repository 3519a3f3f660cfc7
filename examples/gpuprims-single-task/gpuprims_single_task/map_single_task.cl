/* map/single_task: one work-item loops over the whole array, which FPGAs and other in-order devices pipeline.
 *
 * in      INPUTS, any layout            out     OUTPUTS, one value at each j in [0, n)
 * launch  one group of one work-item
 * host    MAP(o, j), STORE(o, j, value)
 */
__kernel WORK_GROUP(1)
void map_single_task(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    /* Load, apply, store. */
    for (i64 j = 0; j < n; j++) STORE(0, j, MAP(0, j));
}

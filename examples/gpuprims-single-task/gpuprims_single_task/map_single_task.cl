/* map/single_task: one work-item walks the whole array, the loop that FPGAs and other in-order devices pipeline.
 *
 * in      INPUTS, any layout            out     OUTPUTS, one value at each o in [0, outputs)
 * launch  one group of one work-item
 * host    MAP(o, j), STORE(at, value)
 */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void map_single_task(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs)
{
    /* Load, apply, store. */
    for (i64 o = 0; o < outputs; o++) STORE(o, MAP(o, 0));
}

/* histogram/global_atomic: all groups count in one histogram in global memory, which is slow if many elements share a
 * bin.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, added to the present ones
 * launch  any number of groups of BLOCK; each takes (output, part) pairs until none are left
 * host    gp_load_whole_tile, gp_guess_bin, gp_settle_item and ADD (binning.h), MAP and MAP_VECTOR
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 */
#define gp_add_float gp_add_float_globally

__kernel WORK_GROUP_RESIDENT(BLOCK, WORDS == 1 ? 2 : 1)
void histogram_global_atomic(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                             const i64 parts)
{
    const i64 width = bins + 2;
    const int tid = get_local_id(0);
    const binning_t b = gp_read_table(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts;
        GLOBAL bin_t *own = histograms + o * PLANES * width;
        for (i64 base = task % parts * (BLOCK * ITEMS); base < n; base += parts * (BLOCK * ITEMS)) {
            u32 left = gp_items_left(base, n, tid);
            if (base + BLOCK * ITEMS <= n) {
                value_t values[ITEMS];
                gp_load_whole_tile(INPUT_NAMES, layout, o, base, tid, values);
#pragma unroll
                for (int item = 0; item < ITEMS; item++) {
                    int doubt;
                    const i32 place = gp_guess_bin(KEY(values[item]), b, &doubt);
                    if (COUNTED(place, b)) ADD(own, place, width, values[item], PEAK(o, place));
                    left |= (u32)doubt << item;
                }
            }
            while (left) {
                value_t value;
                const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                if (COUNTED(place, b)) ADD(own, place, width, value, PEAK(o, place));
            }
        }
    }
}

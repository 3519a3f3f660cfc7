/* histogram/global_atomic: all groups count in one histogram in global memory, which is slow if many elements share a
 * bin.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, added to the present ones
 * launch  any number of groups of BLOCK; each takes (output, part) pairs until none are left
 * host    gp_load_whole_tile (binning.h); gp_guess_place, gp_settle_item (places.h), ADD_GLOBALLY (sums.h), MAP
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 */
#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int doubt;                                                                                                     \
        const i32 place = gp_guess_place(value, b, &doubt);                                                            \
        if (COUNTED(place, b)) ADD_GLOBALLY(own, place, width, value, PEAK(o, place));                                          \
        left |= (u32)doubt << (item);                                                                                  \
    } while (0)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void histogram_global_atomic(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                             const i64 parts)
{
    const i64 width = bins + 2, share = gp_share(n, parts);
    const int tid = get_local_id(0);
    const bins_t b = gp_read_bins(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, part = task % parts, end = min((part + 1) * share, n);
        GLOBAL total_t *own = histograms + o * PLANES * width;
        for (i64 base = part * share; base < end; base += BLOCK * ITEMS) {
            u32 left = 0;
            COUNT_TILE(o, base, end, tid);
            while (left) {
                value_t value;
                const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                if (COUNTED(place, b)) ADD_GLOBALLY(own, place, width, value, PEAK(o, place));
            }
        }
        for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
            const value_t value = MAP(o, j);
            const i32 place = gp_settle_place(value, b);
            if (COUNTED(place, b)) ADD_GLOBALLY(own, place, width, value, PEAK(o, place));
        }
    }
}

/* histogram/local_atomic: each group counts in a histogram of its own in local memory, and stores it as one of
 * `parts`.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, for each output, and for each part unless they are
 *         MERGED
 * local   PLANES * (bins + 2) sums, and the guide if it is LOCAL_GUIDE
 * launch  any number of groups of BLOCK; each takes (part, output) pairs until none are left
 * host    gp_load_whole_tile, gp_guess_bin, gp_settle_item and ADD (binning.h), MAP and MAP_VECTOR
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 */
#define gp_add_float gp_add_float_locally

__kernel WORK_GROUP_RESIDENT(BLOCK, WORDS == 1 ? 2 : 1)
void histogram_local_atomic(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                            const i64 parts LOCAL_PARAMETER)
{
    LOCAL_MEMORY(bin_t, own);
    const i32 width = (i32)bins + 2;
    const int tid = get_local_id(0);
    binning_t b = gp_read_table(table, bins);
    SHARE_GUIDE(b, own, PLANES * width, tid);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs;

        /* 1. Clear the sums. */
        for (i32 place = tid; place < PLANES * width; place += BLOCK) own[place] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Load and count. */
        for (i64 base = part * (BLOCK * ITEMS); base < n; base += parts * (BLOCK * ITEMS)) {
            u32 left = gp_items_left(base, n, tid);
            if (base + BLOCK * ITEMS <= n) {
                value_t values[ITEMS];
                gp_load_whole_tile(INPUT_NAMES, layout, o, base, tid, values);
#pragma unroll
                for (int item = 0; item < ITEMS; item++) {
                    int doubt;
                    const i32 place = gp_guess_bin(KEY(values[item]), b, &doubt);
                    ADD(own, place, width, values[item], PEAK(o, place));
                    left |= (u32)doubt << item;
                }
            }
            while (left) {
                value_t value;
                const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                ADD(own, place, width, value, PEAK(o, place));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Store. */
        GLOBAL total_t *whole = WHOLE(o, task);
        for (i32 place = tid; place < PLANES * width; place += BLOCK) LEAVE(whole + place, own[place]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

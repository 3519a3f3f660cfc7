/* histogram/privatised: each group counts in several histograms in local memory, so neighbours seldom add to the same
 * sum.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, for each output, and for each part unless they are
 *         MERGED
 * local   `replicas` (a power of two) times PLANES * (bins + 2) sums, and the guide if it is LOCAL_GUIDE
 * launch  any number of groups of BLOCK; each takes (part, output) pairs until none are left
 * host    gp_load_whole_tile, gp_guess_bin, gp_settle_item and ADD (binning.h), MAP and MAP_VECTOR
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 *
 * The sums of one bin lie side by side, in different banks of local memory. For two replicas:
 *
 *     bin        0     0     1     1     2     2
 *     replica    0     1     0     1     0     1
 *     tid        even  odd   even  odd   even  odd
 */
#define gp_add_float gp_add_float_locally

__kernel WORK_GROUP_RESIDENT(BLOCK, WORDS == 1 ? 2 : 1)
void histogram_privatised(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                          const i64 parts, const i64 replicas LOCAL_PARAMETER)
{
    LOCAL_MEMORY(bin_t, own);
    const i32 width = (i32)bins + 2, copies = (i32)replicas;
    const int tid = get_local_id(0), replica = tid & (copies - 1);
    binning_t b = gp_read_table(table, bins);
    SHARE_GUIDE(b, own, PLANES * width * copies, tid);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs;

        /* 1. Clear the sums. */
        for (i32 place = tid; place < PLANES * width * copies; place += BLOCK) own[place] = 0;
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
                    ADD(own, place * copies + replica, width * copies, values[item], PEAK(o, place));
                    left |= (u32)doubt << item;
                }
            }
            while (left) {
                value_t value;
                const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                ADD(own, place * copies + replica, width * copies, value, PEAK(o, place));
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Add up the replicas, each work-item beginning with another one, and store. */
        GLOBAL total_t *whole = WHOLE(o, task);
        for (i32 place = tid; place < PLANES * width; place += BLOCK) {
            bin_t sum = 0;
            for (i32 k = 0; k < copies; k++) sum = JOIN(sum, own[place * copies + ((k + tid) & (copies - 1))]);
            LEAVE(whole + place, sum);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

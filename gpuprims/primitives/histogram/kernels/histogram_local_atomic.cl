/* histogram/local_atomic: each group counts in a histogram of its own in local memory, and adds it to those of other
 * groups.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: results of `stored` places, `pitch` apart for each output, if FINAL; else PLANES sums for each of
 *         bins + 2 places, for each output, for each part
 * local   `replicas` (a power of two) times DIGITS * (bins + 2) sums, and the guide if it is LOCAL_GUIDE
 * launch  any number of groups of BLOCK; each takes (part, output) pairs until none are left
 * host    gp_load_whole_tile, gp_guess_bin, gp_settle_item (binning.h); ADD, gp_plane and gp_store_totals (sums.h); MAP
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 *
 * The sums of one bin lie side by side, in different banks of local memory, so neighbours seldom add to the same one.
 * For two replicas:
 *
 *     bin        0     0     1     1     2     2
 *     replica    0     1     0     1     0     1
 *     tid        even  odd   even  odd   even  odd
 */
#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int doubt;                                                                                                     \
        const i32 place = gp_guess_bin(KEY(value), b, &doubt);                                                         \
        ADD(own, place * copies + replica, stride, value, PEAK(o, place));                                             \
        left |= (u32)doubt << (item);                                                                                  \
    } while (0)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void histogram_local_atomic(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                            const i64 parts, const i64 stored, const i64 pitch, const i64 replicas LOCAL_PARAMETER)
{
    LOCAL_MEMORY(bin_t, own);
    const i32 width = (i32)bins + 2, copies = SUMS_DIGITS ? (i32)replicas : 1, stride = width * copies;
    const int tid = get_local_id(0), replica = tid & (copies - 1);
    const i64 share = gp_share(n, parts);
    binning_t b = gp_read_table(table, bins);
    SHARE_GUIDE(b, own, DIGITS * stride, tid);
#if COPIES_EDGES
    gp_copy_edges(table, edges, tid);
#endif

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs, end = min((part + 1) * share, n);

        /* 1. Clear the sums. */
        for (i32 place = tid; place < DIGITS * stride; place += BLOCK) own[place] = BEGIN_SUM;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Load and count; then the elements in doubt. */
        for (i64 base = part * share; base < end; base += BLOCK * ITEMS) {
            u32 left = 0;
            COUNT_TILE(o, base, end, tid);
            while (left) {
                value_t value;
                const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                ADD(own, place * copies + replica, stride, value, PEAK(o, place));
            }
        }

        /* 3. Count the elements after the last whole vector. */
        for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
            const value_t value = MAP(o, j);
            const i32 place = gp_settle_bin(KEY(value), b);
            ADD(own, place * copies + replica, stride, value, PEAK(o, place));
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Add up the replicas, each work-item beginning with another one, and store or merge. */
        for (i32 place = tid; place < width; place += BLOCK) {
#if FINAL && !MERGED
            joined_t joined = {0};
#endif
            for (int plane = 0; plane < PLANES; plane++) {
                group_t sum = 0;
                for (i32 k = 0; k < copies; k++)
                    sum = JOIN(sum, gp_plane(own, place * copies + ((k + tid) & (copies - 1)), stride, plane));
#if MERGED
                gp_merge(TOTALS(o) + plane * width + place, (i64)sum);
#elif FINAL
                gp_join_plane(&joined, plane, (i64)sum);
#else
                OWN_ROW(o, part)[plane * width + place] = sum;
#endif
            }
#if FINAL && !MERGED
            if (place < stored) gp_store_total(histograms + o * pitch, place, joined, PEAKS(o));
#endif
        }
#if MERGED
        gp_fence();
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0) own[0] = gp_last_done(counters + o, parts);
        barrier(CLK_LOCAL_MEM_FENCE);
        const int last = (int)own[0];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (last) gp_store_totals(histograms + o * pitch, stored, TOTALS(o), (LOCAL i64 *)own, width, PEAKS(o), tid);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

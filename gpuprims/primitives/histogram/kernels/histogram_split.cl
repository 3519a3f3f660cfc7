/* histogram/split: each group counts a range of the bins in local memory, when all bins do not fit; groups of one part
 * read the same elements, mostly from the cache.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, for each output, for each part
 * local   DIGITS * (span + 1) sums, and the guide if it is LOCAL_GUIDE
 * launch  any number of groups of BLOCK; each takes (part, output, range) triples until none are left
 * host    gp_load_whole_tile (binning.h); gp_guess_place, gp_settle_item (places.h); ADD_IN_PASS and gp_plane (sums.h); MAP
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 *
 *     places    0 1 2 3 | 4 5 6 7 | 8 9        span = 4; counts of other ranges go to one more place
 */
#define WITHIN(place) ((i32)min((u32)((place) - low), (u32)size))
/* Counts at one place are joined by the hardware, so no branch is needed; sums at one place wait for each other. */
#define ADD_WITHIN(place, value)                                                                                       \
    if (SUMS_COUNTS || WITHIN(place) < size) ADD_IN_PASS(pass, own, WITHIN(place), size + 1, value, 0)
#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int doubt;                                                                                                     \
        const i32 place = gp_guess_place(value, b, &doubt);                                                            \
        ADD_WITHIN(place, value);                                                                                      \
        left |= (u32)doubt << (item);                                                                                  \
    } while (0)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void histogram_split(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                     const i64 parts, const i64 span LOCAL_PARAMETER)
{
    LOCAL_MEMORY(bin_t, own);
    const i32 width = (i32)bins + 2, size = (i32)span, ranges = (width + size - 1) / size;
    const int tid = get_local_id(0);
    const i64 share = gp_share(n, parts);
    bins_t b = gp_read_bins(table, bins);
    SHARE_GUIDE(b, own, DIGITS * (size + 1), tid);

    for (i64 task = get_group_id(0); task < outputs * parts * ranges; task += get_num_groups(0)) {
        const i64 whole_task = task / ranges, o = whole_task % outputs, part = whole_task / outputs;
        const i64 end = min((part + 1) * share, n);
        const i32 low = (i32)(task % ranges) * size;

        /* 1. Clear the sums. */
        for (i32 at = tid; at < DIGITS * (size + 1); at += BLOCK) own[at] = BEGIN_SUM(at, size + 1);
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int pass = 0; pass < PASSES; pass++) {
            /* 2. Load and count; then the elements in doubt. */
            for (i64 base = part * share; base < end; base += BLOCK * ITEMS) {
                u32 left = 0;
                COUNT_TILE(o, base, end, tid);
                while (left) {
                    value_t value;
                    const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                    ADD_WITHIN(place, value);
                }
            }

            /* 3. Count the elements after the last whole vector. */
            for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
                const value_t value = MAP(o, j);
                const i32 place = gp_settle_place(value, b);
                ADD_WITHIN(place, value);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 4. Store. */
        for (i32 place = tid; place < min(size, width - low); place += BLOCK)
            for (int plane = 0; plane < PLANES; plane++)
                OWN_ROW(o, part)[plane * (i64)width + low + place] = gp_plane(own, place, size + 1, plane);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

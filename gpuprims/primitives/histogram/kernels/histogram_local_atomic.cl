/* histogram/local_atomic: each group counts in a histogram of its own in local memory, and adds it to those of other
 * groups.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: results of `stored` places, `pitch` apart for each output, if FINAL; else PLANES sums for each of
 *         bins + 2 places, for each output, for each part
 * local   `replicas` (a power of two) times DIGITS * (bins + 2) sums, and the guide if it is LOCAL_GUIDE. WINDOWED sums have
 *         one replica, and WINDOW_WORDS in `replicas` columns for each place
 * launch  any number of groups of BLOCK; each takes (part, output) pairs until none are left
 * host    gp_load_whole_tile (binning.h); gp_guess_place, gp_settle_item (places.h); ADD_IN_PASS, gp_choose_window,
 *         gp_add_in_window, gp_empty_window, gp_plane and gp_finish_merging (sums.h); MAP
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not; sums of
 *         replicas in turn
 *
 * The sums of one bin lie side by side, in different banks of local memory, so neighbours seldom add to the same one.
 * For two replicas:
 *
 *     bin        0     0     1     1     2     2
 *     replica    0     1     0     1     0     1
 *     tid        even  odd   even  odd   even  odd
 */
#if SUMS_DIGITS && !WINDOWED
#define COPIES (i32)replicas
#else
#define COPIES 1
#endif
#if WINDOWED
#define WORDS_BEFORE_GUIDE ((DIGITS + WINDOW_WORDS * columns) * width)
#define ADD_FIRST(place, value, doubt)                                                                                 \
    doubt |= !gp_add_in_window(words + (place) * columns + column, width * columns, WEIGHT(value), window)
#else
#define WORDS_BEFORE_GUIDE (DIGITS * stride)
#define ADD_FIRST(place, value, doubt) ADD_IN_PASS(pass, own, (place) * copies + replica, stride, value, 0)
#endif
#define COUNT(value, item)                                                                                             \
    do {                                                                                                               \
        int doubt;                                                                                                     \
        const i32 place = gp_guess_place(value, b, &doubt);                                                            \
        ADD_FIRST(place, value, doubt);                                                                                \
        left |= (u32)doubt << (item);                                                                                  \
    } while (0)

/* A plane's sum of a place: add up the replicas, each work-item beginning with another one. */
DEVICE group_t gp_sum_of_replicas(LOCAL const bin_t *own, const i32 place, const i32 stride, const i32 copies,
                                  const int plane, const int tid)
{
    group_t sum = 0;
    for (i32 k = 0; k < copies; k++) sum += gp_plane(own, place * copies + ((k + tid) & (copies - 1)), stride, plane);
    return sum;
}
#define SUM_OF(place, plane) gp_sum_of_replicas(own, place, stride, copies, plane, tid)

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void histogram_local_atomic(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                            const i64 parts, const i64 stored, const i64 pitch, const i64 replicas LOCAL_PARAMETER)
{
    LOCAL_MEMORY(bin_t, own);
    const i32 width = (i32)bins + 2, copies = COPIES, stride = width * copies;
    const int tid = get_local_id(0), replica = tid & (copies - 1);
#if WINDOWED
    const i32 columns = (i32)replicas, column = tid & (columns - 1);
    LOCAL u32 *words = own + DIGITS * width;
    __local u32 votes[EXPONENT_MASK + 2];
#endif
    const i64 share = gp_share(n, parts);
    bins_t b = gp_read_bins(table, bins);
    SHARE_GUIDE(b, own, WORDS_BEFORE_GUIDE, tid);
    COPY_EDGES(own, tid);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs, end = min((part + 1) * share, n);

        /* 1. Clear the sums. */
#pragma unroll 1
        for (i32 at = tid; at < DIGITS * stride; at += BLOCK) own[at] = BEGIN_SUM(at, stride);
#if WINDOWED
        for (i32 at = tid; at < WINDOW_WORDS * columns * width; at += BLOCK) words[at] = 0;
        const window_t window = gp_choose_window(INPUT_NAMES, layout, o, part * share, end, votes, tid);
        i32 held = 0;
#endif
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int pass = 0; pass < PASSES; pass++) {
            /* 2. Load and count; then the elements in doubt, or outside the window. */
            for (i64 base = part * share; base < end; base += BLOCK * ITEMS) {
                u32 left = 0;
                COUNT_TILE(o, base, end, tid);
                while (left) {
                    value_t value;
                    const i32 place = gp_settle_item(INPUT_NAMES, layout, o, base, tid, b, &left, &value);
                    ADD_IN_PASS(pass, own, place * copies + replica, stride, value, 0);
                }
#if WINDOWED
                held += BLOCK * ITEMS;
                if (held + BLOCK * ITEMS > HELD * columns) {
                    gp_empty_window(own, words, width, columns, window.lowest, tid);
                    held = 0;
                }
#endif
            }

            /* 3. Count the elements after the last whole vector. */
#pragma unroll 1
            for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) {
                const value_t value = MAP(o, j);
                const i32 place = gp_settle_place(value, b);
                ADD_IN_PASS(pass, own, place * copies + replica, stride, value, 0);
            }
#if WINDOWED
            gp_empty_window(own, words, width, columns, window.lowest, tid);
#else
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
        }

        /* 4. Add up the replicas, and store or merge. */
#if FINAL && !MERGED
#pragma unroll 1
        for (i32 place = tid; place < width; place += BLOCK) {
            joined_t joined = {0};
            for (int plane = 0; plane < PLANES; plane++) gp_join_plane(&joined, plane, SUM_OF(place, plane));
            if (place < stored) gp_store_total(histograms + o * pitch, place, joined);
        }
#else
#if MERGED
        span_t span = EMPTY_SPAN;
#endif
        for (i32 at = tid; at < PLANES * width; at += BLOCK) {
            const i32 plane = PLANES > 1 ? at / width : 0;
            const group_t sum = SUM_OF(at - plane * width, plane);
#if MERGED
            gp_merge(OWN_TOTALS(o, part) + at, (i64)sum);
            WIDEN_SPAN(span, plane, sum);
#else
            OWN_ROW(o, part)[at] = sum;
#endif
        }
#endif
#if MERGED
        gp_merge_spans(SPAN(o), own, span, tid);
        gp_finish_merging(histograms + o * pitch, stored, TOTALS(o), counters + o, SPAN(o), parts, own, width, REPORT, tid);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

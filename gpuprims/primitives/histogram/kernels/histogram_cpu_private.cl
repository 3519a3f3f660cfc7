/* histogram/cpu_private: each work-item counts a stretch of elements in histograms of its own, for devices whose work-
 * items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: sums for each of bins + 2 places, for each output, for each of `replicas` of each part
 * launch  any number of groups of one work-item; each takes (part, output) pairs until none are left
 * host    gp_guess_place and gp_settle_place (places.h), WEIGHT, MAP(o, j)
 * order   elements in index order, in `replicas` (a power of two) sums in turn
 *
 * An addition waits for the previous one to the same sum, but not for one to another replica.
 */
#define ROUND 64
#define OPEN (-1)
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < ROUND; lane++)

__kernel WORK_GROUP(1)
void histogram_cpu_private(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                           const i64 parts, const i64 replicas)
{
    const i64 width = bins + 2, share = (n + parts - 1) / parts;
    const bins_t b = gp_read_bins(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs, end = min((part + 1) * share, n);

        /* 1. Clear the sums. */
        GLOBAL bin_t *rows[CPU_REPLICAS];
        for (int k = 0; k < CPU_REPLICAS; k++) {
            rows[k] = histograms + ((part * replicas + k % replicas) * outputs + o) * width;
            for (i64 place = 0; k < replicas && place < width; place++) rows[k][place] = 0;
        }

        /* 2. Load and find bins, many at once; doubtful ones stay open. */
        i64 j = part * share;
        for (; j + ROUND <= end; j += ROUND) {
            i32 found[ROUND];
            EACH_LANE
            {
                int doubt;
                const i32 place = gp_guess_place(MAP(o, j + lane), b, &doubt);
                found[lane] = doubt ? OPEN : place;
            }

            /* 3. Settle doubtful bins and count, one by one. */
            for (int lane = 0; lane < ROUND; lane += CPU_REPLICAS) {
#pragma unroll
                for (int k = 0; k < CPU_REPLICAS; k++) {
                    const i64 at = j + lane + k;
                    i32 bin = found[lane + k];
                    if (bin == OPEN) bin = gp_settle_place(MAP(o, at), b);
                    rows[k][bin] += WEIGHT(MAP(o, at));
                }
            }
        }
        for (; j < end; j++) {
            const value_t value = MAP(o, j);
            rows[0][gp_settle_place(value, b)] += WEIGHT(value);
        }
    }
}

/* histogram/cpu_private: each work-item counts a stretch of elements in histograms of its own, for devices whose work-items
 * are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` histograms; the table (binning.h)
 * out     histograms: sums for each of bins + 2 places, for each output, for each of `replicas` of each part
 * launch  any number of groups of one work-item; each takes (part, output) pairs until none are left
 * host    guess_bin, settle_bin and TAKEN (binning.h), MAP(o, j)
 * order   elements meet in the order of their index, in one of `replicas` (a power of two) sums each in turn
 *
 * An addition to a bin waits for the last one to it, but not for one to another replica of it.
 */
#define ROUND 64
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < ROUND; lane++)

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void histogram_cpu_private(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                           const i64 parts, const i64 replicas)
{
    const i64 width = bins + 2, share = (n + parts - 1) / parts, next = outputs * width;
    const binning_t b = binning_of(table, bins);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs, end = min((part + 1) * share, n);
        GLOBAL bin_t *own = histograms + (part * replicas * outputs + o) * width;

        /* 1. Begin with nothing. */
        for (i64 replica = 0; replica < replicas; replica++)
            for (i64 place = 0; place < width; place++) own[replica * next + place] = 0;

        /* 2. Load, and find bins, many at once: where all are sure, as nearly always, there is no branch. */
        i64 j = part * share;
        for (; j + ROUND <= end; j += ROUND) {
            i32 found[ROUND];
            int doubts = 0;
            EACH_LANE
            {
                int sure;
                found[lane] = guess_bin(KEY(MAP(o, j + lane)), b, &sure);
                doubts += !sure;
            }
            if (doubts)
                for (int lane = 0; lane < ROUND; lane++) found[lane] = bin_of(KEY(MAP(o, j + lane)), b);

            /* 3. Count one by one. */
#pragma unroll 8
            for (int lane = 0; lane < ROUND; lane++)
                own[(lane & (replicas - 1)) * next + found[lane]] += TAKEN(MAP(o, j + lane));
        }
        for (; j < end; j++) {
            const value_t value = MAP(o, j);
            own[bin_of(KEY(value), b)] += TAKEN(value);
        }
    }
}

/* histogram/bytes: each group counts the 256 values of a byte, in 32 replicas, and then adds the values of each bin.
 *
 * in      INPUTS: n elements of a byte each for each of `outputs` histograms; the table (binning.h)
 * out     histograms: results of `stored` places, `pitch` apart for each output, if FINAL; else a count for each of
 *         bins + 2 places, for each output, for each part
 * launch  any number of groups of BLOCK; each takes (part, output) pairs until none are left
 * host    gp_fetch_vector and FETCHED, gp_bytes_of_bin (binning.h), gp_finish_merging (sums.h), LOWEST, MAP
 * order   counts are the same in any order
 *
 * The counts of one value lie side by side, one in each bank of local memory, so lanes never conflict:
 *
 *     value      0  0  0 ..  0  1  1  1 ..
 *     lane       0  1  2 .. 31  0  1  2 ..
 */
#define REPLICAS 32
#define VECTORS (ITEMS / VECTOR)
#define COUNT_OF(value) (lane + ((i32)KEY(value) - LOWEST) * REPLICAS)

__kernel WORK_GROUP(BLOCK)
void histogram_bytes(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                     const i64 parts, const i64 stored, const i64 pitch)
{
    __local u32 own[BYTES * REPLICAS];
    const int tid = get_local_id(0);
    LOCAL u32 *lane = own + tid % REPLICAS;
    const i64 width = bins + 2, share = gp_share(n, parts);
    const binning_t b = gp_read_table(table, bins);
    COPY_EDGES(own, tid);

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task % outputs, part = task / outputs, end = min((part + 1) * share, n);

        /* 1. Clear the sums. */
#pragma unroll 1
        for (int place = tid; place < BYTES * REPLICAS; place += BLOCK) own[place] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Load a tile's vectors and count; then the elements after the last whole vector. */
        for (i64 base = part * share; base < end; base += BLOCK * ITEMS) {
            if (base + BLOCK * ITEMS <= end) {
                raw_t raw[VECTORS];
#pragma unroll
                for (int vector = 0; vector < VECTORS; vector++)
                    gp_fetch_vector(INPUT_NAMES, layout, o, base + (vector * BLOCK + tid) * VECTOR, raw + vector);
#pragma unroll
                for (int item = 0; item < ITEMS; item++)
                    gp_increment(COUNT_OF(FETCHED(raw + item / VECTOR, item % VECTOR, 0)));
            } else {
                for (int first = 0; VECTOR_ENDS(base, first, tid, end); first += VECTOR) {
                    raw_t raw;
                    gp_fetch_vector(INPUT_NAMES, layout, o, ITEM_INDEX(base, first, tid), &raw);
#pragma unroll
                    for (int item = 0; item < VECTOR; item++) gp_increment(COUNT_OF(FETCHED(&raw, item, 0)));
                }
            }
        }
#pragma unroll 1
        for (i64 j = n - n % VECTOR + tid; part == 0 && j < n; j += BLOCK) gp_increment(COUNT_OF(MAP(o, j)));
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Add the replicas; each lane begins with its own. */
        for (int value = tid; value < BYTES; value += BLOCK) {
            u32 sum = 0;
#pragma unroll 8
            for (int k = 0; k < REPLICAS; k++) sum += own[value * REPLICAS + (k + tid) % REPLICAS];
            own[value * REPLICAS] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Store or merge for each bin the counts of the values from its threshold to the next. */
        for (i64 place = tid; place < width; place += BLOCK) {
            i32 from, to;
            u32 sum = 0;
            gp_bytes_of_bin(place, b, &from, &to);
            for (i32 value = from; value < to; value++) sum += own[(value - LOWEST) * REPLICAS];
#if MERGED
            gp_merge(OWN_TOTALS(o, part) + place, sum);
#elif FINAL
            if (place < stored) histograms[o * pitch + place] = sum;
#else
            OWN_ROW(o, part)[place] = sum;
#endif
        }
#if MERGED
        gp_finish_merging(histograms + o * pitch, stored, TOTALS(o), counters + o, SPAN(o), parts, own, (i32)width, REPORT, tid);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* histogram/partition: sort each tile's elements by ranges of bins, and then add each range in local memory, for more
 * bins than local memory holds.
 *
 * in      INPUTS: n elements; the table (binning.h)
 * out     histograms: PLANES sums for each of bins + 2 places, added to zeros
 * scratch for each of `parts` tiles its elements' places within their ranges of `span` bins, in 16 bits, by range; their
 *         weights; and where the tile's ranges begin
 * local   sorting: two words for each range, places and weights of a tile; adding: DIGITS sums for each of `span` bins,
 *         a word for each range
 * launch  any number of groups of BLOCK; first to sort, then with `adding`. The number of elements in each range is
 *         behind the histograms, or behind the exponents of SCALED sums
 * host    gp_load_whole_tile, gp_guess_bin and gp_settle_bin (binning.h); ADD, gp_plane and ADD_SUM (sums.h); MAP
 * order   elements in the order in which work-items take them: sums of integers are the same, of floats maybe not
 *
 *     tile      5 12  1 14  4  2        span = 4
 *     sorted    1  2 |  5  4 | 12 14    of which the places within ranges are kept: 1 2 1 0 0 2
 *     begins    0       2      4     6
 *
 * Groups share ranges with many elements, so skewed elements keep all groups busy.
 */
#define TILE (BLOCK * ITEMS)
#define LANES 32
#define SORTED(tile) ((GLOBAL u16 *)scratch + (tile) * TILE)
#if SUMS_COUNTS
#define WEIGHT_WORDS 0
#else
#define WEIGHT_WORDS ((int)sizeof(weight_t) / 4)
#define WEIGHTS(tile) ((GLOBAL weight_t *)(scratch + parts * (TILE / 2)) + (tile) * TILE)
#endif
#define BEGINS(tile) (scratch + parts * (TILE / 2 + WEIGHT_WORDS * TILE) + (tile) * (ranges + 1))
#if SUMS_SCALED
#define IN_RANGE(range) (peaks + width + (range))
#else
#define IN_RANGE(range) ((GLOBAL u32 *)(histograms + PLANES * width) + (range))
#endif

/* Replace numbers by the sums of those before them; return the sum of all. */
DEVICE u32 sums_before(LOCAL u32 *numbers, const i32 count, const int tid)
{
    const u32 own = tid < count ? numbers[tid] : 0;
    for (i32 reach = 1; reach < count; reach *= 2) {
        const u32 below = tid >= reach && tid < count ? numbers[tid - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid < count) numbers[tid] += below;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const u32 whole = numbers[count - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < count) numbers[tid] -= own;
    barrier(CLK_LOCAL_MEM_FENCE);
    return whole;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, BLOCK < 1024 ? 1024 / BLOCK : 1)
void histogram_partition(INPUTS, HISTOGRAMS, const layout_t layout, const i64 outputs, const i64 n, const i64 bins,
                         const i64 parts, const i64 span, const i64 adding LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u64, memory);
    const i64 width = bins + 2;
    const i32 ranges = (i32)((width + span - 1) / span);
    const int tid = get_local_id(0);

#if !SUMS_SCALED
    if (!adding) {
#if SUMS_COUNTS
        LOCAL u32 *numbers = (LOCAL u32 *)memory;
#else
        LOCAL weight_t *weights = (LOCAL weight_t *)memory;
        LOCAL u32 *numbers = (LOCAL u32 *)(weights + TILE);
#endif
        LOCAL u32 *begins = numbers + ranges;
        LOCAL u16 *sorted = (LOCAL u16 *)(begins + ranges);
        const binning_t b = gp_read_table(table, bins);
        for (i64 tile = get_group_id(0); tile < parts; tile += get_num_groups(0)) {
            const i64 base = tile * TILE;

            /* 1. Load elements, find their bins, and number those of each range. */
            for (i32 range = tid; range < ranges; range += BLOCK) numbers[range] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            value_t values[ITEMS];
            i32 places[ITEMS];
            u32 ranks[ITEMS];
            const int whole = base + TILE <= n;
            if (whole) gp_load_whole_tile(INPUT_NAMES, layout, 0, base, tid, values);
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                places[item] = (i32)width;
                if (whole || ITEM_INDEX(base, item, tid) < n) {
                    if (!whole) values[item] = MAP(0, ITEM_INDEX(base, item, tid));
                    int doubt;
                    places[item] = gp_guess_bin(KEY(values[item]), b, &doubt);
                    if (doubt) places[item] = gp_settle_bin(KEY(values[item]), b);
                }
                if (COUNTED(places[item], b)) ranks[item] = gp_increment(numbers + places[item] / (i32)span);
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 2. Find where each range begins. */
            for (i32 range = tid; range < ranges; range += BLOCK) {
                begins[range] = numbers[range];
                if (numbers[range]) gp_add_count(IN_RANGE(range), numbers[range]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const u32 counted = sums_before(begins, ranges, tid);
            for (i32 range = tid; range <= ranges; range += BLOCK)
                BEGINS(tile)[range] = range < ranges ? begins[range] : counted;

            /* 3. Sort in local memory, and store. */
#pragma unroll
            for (int item = 0; item < ITEMS; item++) {
                if (!COUNTED(places[item], b)) continue;
                const u32 at = begins[places[item] / (i32)span] + ranks[item];
                sorted[at] = (u16)(places[item] % (i32)span);
#if !SUMS_COUNTS
                weights[at] = WEIGHT(values[item]);
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);
#if !SUMS_COUNTS
            for (u32 k = tid; k < counted; k += BLOCK) WEIGHTS(tile)[k] = weights[k];
#endif
            for (u32 pair = tid; pair < (counted + 1) / 2; pair += BLOCK)
                ((GLOBAL u32 *)SORTED(tile))[pair] = ((LOCAL u32 *)sorted)[pair];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        return;
    }
#endif

    /* 4. Give each range a share of the groups, by its elements; `first` is the first share of each. */
    LOCAL bin_t *own = (LOCAL bin_t *)memory;
    LOCAL u32 *first = (LOCAL u32 *)(own + DIGITS * span);
    for (i32 range = tid; range < ranges; range += BLOCK)
        first[range] = 1 + (u32)((u64)*IN_RANGE(range) * (u64)get_num_groups(0) / (u64)n);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 shares = sums_before(first, ranges, tid);

    for (u32 task = get_group_id(0); task < shares; task += get_num_groups(0)) {
        i32 range = 0;
        for (i32 stride = ranges; stride > 0; stride /= 2)
            while (range + stride < ranges && first[range + stride] <= task) range += stride;
        const u32 share = task - first[range], own_shares = (range + 1 < ranges ? first[range + 1] : shares) - first[range];
        const i64 low = range * span;

        /* 5. Add the range's elements of every tile of the share. */
        for (i32 place = tid; place < DIGITS * span; place += BLOCK) own[place] = BEGIN_SUM;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (i64 tile = share + (i64)(tid / LANES) * own_shares; tile < parts; tile += (i64)own_shares * (BLOCK / LANES)) {
            const u32 end = BEGINS(tile)[range + 1];
#pragma unroll 4
            for (u32 k = BEGINS(tile)[range] + tid % LANES; k < end; k += LANES) {
                const i32 place = SORTED(tile)[k];
#if SUMS_COUNTS
                gp_increment(own + place);
#else
                value_t value;
                value.v1 = WEIGHTS(tile)[k];
                ADD(own, place, (i32)span, value, PEAK(0, low + place));
#endif
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 6. Add its sums to those of all groups. */
        for (i32 place = tid; place < span && low + place < width; place += BLOCK)
            for (int plane = 0; plane < PLANES; plane++) {
                const group_t sum = gp_plane(own, place, (i32)span, plane);
                if (sum != 0) ADD_SUM(histograms + plane * width + low + place, sum);
            }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* histogram/partition: sort each tile's elements by ranges of bins, and then count each range in local memory, for more
 * bins than local memory holds.
 *
 * in      INPUTS: n elements; the table (binning.h)
 * out     histograms: a count for each of bins + 2 places, added to zeros, and behind them the elements in each range
 * scratch for each of `parts` tiles its elements' places within their ranges of `span` bins, in 16 bits, by range; then
 *         for each tile where its ranges begin
 * local   sorting: two words for each range, and the places of a tile; COUNTING: `span` counts, two words for each range
 * launch  any number of groups of BLOCK, at least as many as there are ranges; first to sort, then with `counting`
 * host    gp_load_whole_tile, gp_guess_bin and gp_settle_bin (binning.h), MAP
 * order   counts are the same in any order
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
#define BEGINS(tile) (scratch + parts * (TILE / 2) + (tile) * (ranges + 1))
#define IN_RANGE(range) ((GLOBAL u32 *)(histograms + width) + (range))

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
                         const i64 parts, const i64 span, const i64 counting LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, numbers);
    const i64 width = bins + 2;
    const i32 ranges = (i32)((width + span - 1) / span);
    const int tid = get_local_id(0);

    if (!counting) {
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
            for (int item = 0; item < ITEMS; item++)
                if (COUNTED(places[item], b))
                    sorted[begins[places[item] / (i32)span] + ranks[item]] = (u16)(places[item] % (i32)span);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (u32 pair = tid; pair < (counted + 1) / 2; pair += BLOCK)
                ((GLOBAL u32 *)SORTED(tile))[pair] = ((LOCAL u32 *)sorted)[pair];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        return;
    }

    /* 4. Give each range a share of the groups, by its elements; `first` is the first share of each. */
    LOCAL u32 *first = numbers + span, *own = numbers;
    for (i32 range = tid; range < ranges; range += BLOCK)
        first[range] = 1 + (u32)((u64)*IN_RANGE(range) * (u64)get_num_groups(0) / (u64)n);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 shares = sums_before(first, ranges, tid);

    for (u32 task = get_group_id(0); task < shares; task += get_num_groups(0)) {
        i32 range = 0;
        for (i32 stride = ranges; stride > 0; stride /= 2)
            while (range + stride < ranges && first[range + stride] <= task) range += stride;
        const u32 share = task - first[range], own_shares = (range + 1 < ranges ? first[range + 1] : shares) - first[range];

        /* 5. Count the range's elements of every tile of the share. */
        for (i32 place = tid; place < span; place += BLOCK) own[place] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (i64 tile = share + (i64)(tid / LANES) * own_shares; tile < parts; tile += (i64)own_shares * (BLOCK / LANES)) {
            const u32 end = BEGINS(tile)[range + 1];
#pragma unroll 4
            for (u32 k = BEGINS(tile)[range] + tid % LANES; k < end; k += LANES) gp_increment(own + SORTED(tile)[k]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 6. Add them. */
        for (i64 place = tid; place < span && range * span + place < width; place += BLOCK)
            if (own[place]) gp_add_integer(histograms + range * span + place, (i64)own[place]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

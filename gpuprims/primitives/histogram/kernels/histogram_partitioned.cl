/* histogram/partitioned: sort each tile's elements by ranges of bins; then each group counts those of one range in local
 * memory.
 *
 * in      INPUTS: n elements; the table (binning.h)
 * out     histograms: results of `stored` places
 * scratch `parts`: for each tile the vectors of each range, where they begin and how many there are; sums of groups that share
 *         a range; the places of sorted elements within their range, and their weights. `counters`: the elements of each range;
 *         how many groups are done, of all and of each share
 * local   PARTITIONS: a tile's sorted places and weights, and counts. Else DIGITS * (span + 1) sums, and BLOCK vectors
 * launch  any number of groups of BLOCK, in two launches. PARTITIONS: each takes one of `writers` parts, every
 *         `writers`-th tile, until none are left. Else each takes a share of a range until none are left; a range of many
 *         elements has several shares, each with one of so many tiles in turn
 * host    gp_load_whole_tile (binning.h); gp_guess_place, gp_settle_item (places.h); gp_scaled, gp_plane, gp_carry (sums.h);
 *         gp_write_entry, gp_last_done, MAP
 * order   elements in any order: sums of integers are the same. Float sums are rounded once for each share of a range, and
 *         then added in the order of the shares
 *
 * Two launches read each element once, and its place within the range once more, for counts 8 bytes of float32 instead of 4
 * for each eighth of the bins:
 *
 *     bins of a tile        9 2 5 1 8 3 9 0        span = 4
 *     sorted by ranges      2 1 3 0 | 5 . | 9 8 9 .
 *     stored places         2 1 3 0 | 1 4 | 1 0 1 4        whole vectors; of those behind, place `span`
 */
#define EACH_ITEM _Pragma("unroll") for (int item = 0; item < ITEMS; item++)
#define EACH_NEAR _Pragma("unroll") for (int near = 0; near < NEAR; near++)

/* The memory of `parts`. Sections begin at whole rows of ROUND bytes, as `section` of core/memory.py has them. */
#define ROUND 128
#define WHOLE(nbytes) (((nbytes) + ROUND - 1) / ROUND * ROUND)
#define SLICES(parts) ((GLOBAL u32 *)(parts))
#define LEFT(parts) ((GLOBAL u64 *)((parts) + WHOLE(tiles * ranges * 4)))
#define LEFT_PITCH (WHOLE((i64)span * 8) / 8)
#define SORTED(parts) ((GLOBAL u16 *)((GLOBAL u8 *)LEFT(parts) + most_shares * LEFT_PITCH * 8))
#define SORTED_WEIGHTS(parts) ((GLOBAL STORED *)((GLOBAL u8 *)SORTED(parts) + WHOLE(tiles * pitch * 2)))

/* Leave the running totals of the work-items' numbers in `totals`, which has room for ROOM_OF_TOTALS words. */
#define ROOM_OF_TOTALS (BLOCK + 64)
#if WARP && BLOCK <= WARP * WARP
DEVICE void gp_run_totals(LOCAL u32 *totals, u32 number, const int tid)
{
    const int lane = tid % WARP, warp = tid / WARP;
    for (int stride = 1; stride < WARP; stride *= 2) {
        const u32 lower = gp_shuffle_word_up(number, stride);
        if (lane >= stride) number += lower;
    }
    if (lane == WARP - 1) totals[BLOCK + warp] = number;
    barrier(CLK_LOCAL_MEM_FENCE);
    u32 before = lane < warp ? totals[BLOCK + lane] : 0; /* of the warps before */
    for (int stride = 1; stride < WARP; stride *= 2) before += gp_shuffle_word_from(before, lane ^ stride);
    totals[tid] = number + before;
    barrier(CLK_LOCAL_MEM_FENCE);
}
#else
DEVICE void gp_run_totals(LOCAL u32 *totals, u32 number, const int tid)
{
    totals[tid] = number;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        const u32 before = tid >= stride ? totals[tid - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        totals[tid] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif

#if PARTITIONS
__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_EACH) WHOLE_WARPS
void histogram_partitioned(INPUTS, HISTOGRAMS, const layout_t layout, const i64 n, const i64 bins, const i64 stored,
                           const i64 size, const i64 ranges, const i64 divider, const i64 tiles, const i64 pitch,
                           const i64 writers, const i64 share, const i64 most_shares, const i64 copies LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    const int tid = get_local_id(0);
    const i32 span = (i32)size, nowhere = (i32)ranges * span;
    const i32 row = ((i32)ranges + 1) | 1; /* odd: counts of one range lie in different banks */
    LOCAL u32 *ends = counts + copies * row, *own = counts + tid % copies * row;
    LOCAL STORED *weights = (LOCAL STORED *)(ends + (copies * row + ROOM_OF_TOTALS + 3) / 4 * 4 - copies * row);
    LOCAL u16 *sorted = (LOCAL u16 *)(weights + HAS_WEIGHTS * pitch);
    const bins_t b = gp_read_bins(table, bins);
#if COPIES_EDGES
    gp_copy_edges(table, edges, tid);
#endif

    for (i64 writer = get_group_id(0); writer < writers; writer += get_num_groups(0)) {
        u32 found = 0; /* elements of a range */
        for (i64 tile = writer; tile < tiles; tile += writers) {
            const i64 base = tile * BLOCK * ITEMS;
            for (i32 at = tid; at < copies * row; at += BLOCK) counts[at] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 1. Load and find bins; then those of elements in doubt. */
            value_t values[ITEMS];
            i32 places[ITEMS];
            u32 left = 0;
            if (base + BLOCK * ITEMS <= n) {
                gp_load_whole_tile(INPUT_NAMES, layout, 0, base, tid, values);
            } else {
                EACH_ITEM values[item] = MAP(0, min(ITEM_INDEX(base, item, tid), n - 1));
            }
            EACH_ITEM
            {
                int doubt;
                const int live = base + BLOCK * ITEMS <= n || ITEM_INDEX(base, item, tid) < n;
                const i32 place = gp_guess_place(values[item], b, &doubt);
                places[item] = live && COUNTED(place, b) ? place : nowhere;
                left |= (u32)(live && doubt) << item;
            }
            while (left) {
                value_t value;
                const int settled = gp_count_bits(~left & (left - 1));
                const i32 place = gp_settle_item(INPUT_NAMES, layout, 0, base, tid, b, &left, &value);
                EACH_ITEM if (item == settled) places[item] = place;
            }

            /* 2. Count the elements of each range; each element has the number of those before it. */
            u32 words[ITEMS]; /* the place within the range, and in the upper half that number */
            EACH_ITEM
            {
                const i32 range = (i32)gp_divided((u32)places[item], divider);
                words[item] = (u32)(places[item] - range * span) | gp_add_count(own + range, 1) << 16;
                places[item] = range;
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 3. Find where ranges begin, in whole vectors, and fill their last ones. Elements in no bin come last. */
            u32 all = 0;
            if (tid <= ranges)
                for (i32 copy = 0; copy < copies; copy++) {
                    const u32 count = counts[copy * row + tid];
                    counts[copy * row + tid] = all;
                    all += count;
                }
            const u32 vectors = (all + NEAR - 1) / NEAR;
            found += all;
            gp_run_totals(ends, vectors, tid);
            if (tid <= ranges) {
                const u32 begin = ends[tid] - vectors;
                for (i32 copy = 0; copy < copies; copy++) counts[copy * row + tid] += begin * NEAR;
                if (tid < ranges) {
                    SLICES(parts)[tile * ranges + tid] = begin | vectors << 16;
#pragma unroll 1
                    for (u32 behind = all; behind < vectors * NEAR; behind++) {
                        sorted[begin * NEAR + behind] = (u16)span;
#if HAS_WEIGHTS
                        weights[begin * NEAR + behind] = 0; /* nobody adds it, but it is stored */
#endif
                    }
                } else { /* places are stored by eights; elements in no bin come here, if there are any */
#pragma unroll 1
                    for (u32 behind = begin * NEAR; behind % 8; behind++) sorted[behind] = (u16)span;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Sort by ranges. */
            EACH_ITEM
            {
                const u32 to = own[places[item]] + (words[item] >> 16);
                sorted[to] = (u16)words[item];
#if HAS_WEIGHTS
                weights[to] = WEIGHT(values[item]);
#endif
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 5. Store in vectors. */
            const i32 kept = (i32)ends[ranges - 1] * NEAR;
            for (i32 at = tid * 8; at < kept; at += BLOCK * 8) {
                u16 eight[8];
                READ_LOCAL(u16, 4, sorted + at, eight); /* dynamic local memory is aligned to 8 bytes */
                READ_LOCAL(u16, 4, sorted + at + 4, eight + 4);
                WRITE_VECTOR(u16, 8, SORTED(parts) + tile * pitch + at, eight);
            }
#if HAS_WEIGHTS
            for (i32 at = tid * NEAR; at < kept; at += BLOCK * NEAR) {
                STORED some[NEAR];
#if NEAR > 2
                READ_LOCAL(STORED, 2, weights + at, some);
                READ_LOCAL(STORED, 2, weights + at + 2, some + 2);
#else
                EACH_NEAR some[near] = weights[at + near];
#endif
                WRITE_VECTOR(STORED, NEAR, SORTED_WEIGHTS(parts) + tile * pitch + at, some);
            }
#endif
        }
        if (tid < ranges && found) gp_add_count(counters + tid, found);
    }
}
#else

/* Vectors that a work-item loads before it counts, and neighbouring work-items that load neighbouring vectors. Fewer of these
 * take sorted elements with weights apart, so that they add to different bins. */
#define AHEAD (HAS_WEIGHTS ? 8 / NEAR : 4)
#define TEAM (HAS_WEIGHTS ? 4 : 32)
#define TOGETHER 8 /* shares of a range that a group adds up */

#if SUMS_RELATIVE || SUMS_EXACT
typedef f64 sum_t;
#define SUM_BITS(sum) gp_bits_f64(sum)
#define SUM_FROM_BITS(bits) gp_from_bits_f64(bits)
#else
typedef i64 sum_t;
#define SUM_BITS(sum) ((u64)(sum))
#define SUM_FROM_BITS(bits) ((i64)(bits))
#endif

/* A place's sum in local memory. Of counts there are several copies, to which warps add by turns: additions of one count
 * wait for each other. */
#define COPIES (SUMS_COUNTS ? (i32)copies : 1)
#if SUMS_COUNTS
DEVICE sum_t gp_sum_at(LOCAL const u32 *own, const i32 place, const i32 stride, const i32 copies)
{
    sum_t sum = 0;
    for (i32 copy = 0; copy < copies; copy++) sum += own[copy * stride + place];
    return sum;
}
#elif SUMS_EXACT
DEVICE sum_t gp_sum_at(LOCAL const u32 *own, const i32 place, const i32 stride, const i32 copies)
{
    joined_t joined = {0};
    for (int plane = 0; plane < PLANES; plane++) gp_join_plane(&joined, plane, gp_plane(own, place, stride, plane));
    return gp_joined(joined);
}
#else
#define gp_sum_at(own, place, stride, copies) gp_plane(own, place, stride, 0)
#endif

/* Weights that a work-item adds up while they have one place, and for SUMS_EXACT one digit: else those of sorted or equal
 * elements would wait for each other. */
#if HAS_WEIGHTS
typedef struct {
    i32 at;   /* the place, or for SUMS_EXACT its digit of the weights' last bits */
    i32 left; /* SUMS_EXACT: digits from that one on */
    u32 peak; /* SUMS_RELATIVE: the place's largest exponent */
    u64 low;  /* the sum of the weights' lower words */
    i64 high; /* and of their upper ones */
} run_t;

/* Add a run's sum, or in the first pass its exponent. */
DEVICE void gp_end_run(LOCAL u32 *own, const i32 stride, const run_t run, const int pass)
{
    LOCAL u32 *digits = own + run.at;
#if SUMS_RELATIVE
    if (pass == 0) {
        const u32 wanted = run.peak << CARRY_BITS | CARRY_START;
        if (gp_read_count(digits + 2 * stride) < wanted) gp_raise(digits + 2 * stride, wanted);
        return;
    }
#endif
    i64 high = run.high + (i64)(run.low >> 32);
    const u32 low = (u32)run.low;
#if SUMS_EXACT
    if (low && gp_add_count(digits, low) + low < low) high++;
    if (high) gp_add_pair(digits + stride, stride, (u32)high, (u32)(high >> 32), run.left - 1);
#else
    if (low && gp_add_count(digits, low) + low < low) high++;
    const u32 middle = (u32)high;
    const i32 over = (i32)(high >> 32) + (middle ? gp_add_count(digits + stride, middle) + middle < middle : 0);
    if (SUMS_RELATIVE && over) gp_add_count(digits + 2 * stride, (u32)over);
#endif
}

/* Add a weight to a run, or end the run and begin another. */
DEVICE void gp_add_to_run(LOCAL u32 *own, const i32 stride, run_t *run, const i32 place, const STORED weight, const int pass)
{
    i32 at = place, left = 0;
#if SUMS_EXACT
    const u32 exponent = gp_exponent(weight);
    if (!exponent) return;
    if (exponent == EXPONENT_MASK) {
        gp_set_bits(own + place + (DIGITS - 1) * stride, gp_not_finite(weight));
        return;
    }
    const i32 digit = (i32)(exponent - 1) >> 5, up = (i32)(exponent - 1) & 31;
    const i64 mantissa = weight < 0 ? -gp_mantissa(weight) : gp_mantissa(weight);
    at += digit * stride;
    left = DIGITS - 1 - digit;
#endif
    if (at != run->at) {
        gp_end_run(own, stride, *run, pass);
        run->at = at;
        run->left = left;
        run->low = 0;
        run->high = 0;
#if SUMS_RELATIVE
        run->peak = pass ? gp_read_count(own + place + 2 * stride) >> CARRY_BITS : 0;
#endif
    }
#if SUMS_EXACT
    run->low += (u32)((u64)mantissa << up);
    run->high += mantissa >> (32 - up);
#else
#if SUMS_RELATIVE
    if (pass == 0) {
        run->peak = max(run->peak, gp_exponent(weight));
        return;
    }
    const i64 number = gp_scaled(weight, run->peak);
#else
    const i64 number = weight;
#endif
    run->low += (u32)number;
    run->high += number >> 32;
#endif
}
#endif

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void histogram_partitioned(INPUTS, HISTOGRAMS, const layout_t layout, const i64 n, const i64 bins, const i64 stored,
                           const i64 size, const i64 ranges, const i64 divider, const i64 tiles, const i64 pitch,
                           const i64 writers, const i64 share, const i64 most_shares, const i64 copies LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, own);
    __local i32 taken[4];
    const int tid = get_local_id(0), team = tid / TEAM, teams = BLOCK / TEAM;
    const i32 span = (i32)size, stride = span + 1;
#if SUMS_COUNTS
    LOCAL u32 *counts = own + tid / TEAM % COPIES * stride;
#endif
    LOCAL u32 *shares = own + DIGITS * COPIES * stride, *ends = shares + ROOM_OF_TOTALS, *moves = ends + ROOM_OF_TOTALS;

    /* 1. Share each range out among so many groups. */
    gp_run_totals(shares, tid < ranges ? max((counters[tid] + (u32)share / 2) / (u32)share, 1u) : 0, tid);
    const i32 tasks = (i32)shares[ranges - 1];

    for (i32 task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
        /* 2. Find the range and the share of it, and clear the sums. */
        if (tid < ranges && task < (i32)shares[tid] && task >= (tid ? (i32)shares[tid - 1] : 0)) {
            taken[0] = tid;
            taken[1] = tid ? (i32)shares[tid - 1] : 0;
            taken[2] = (i32)shares[tid];
        }
        for (i32 at = tid; at < DIGITS * COPIES * stride; at += BLOCK) own[at] = BEGIN_SUM(at, stride);
        barrier(CLK_LOCAL_MEM_FENCE);
        const i32 range = taken[0], first = taken[1], sharing = taken[2] - first;

        for (int pass = 0; pass < PASSES; pass++) {
#if HAS_WEIGHTS
            run_t run = {span, 0, 0, 0, 0};
#endif
            for (i64 tile = task - first; tile < tiles; tile += (i64)BLOCK * sharing) {
                /* 3. Number the vectors of the next tiles. */
                const i64 mine = tile + (i64)tid * sharing;
                const i32 listed = min(((i32)(tiles - tile) + sharing - 1) / sharing, BLOCK);
                const u32 slice = mine < tiles ? SLICES(parts)[mine * ranges + range] : 0;
                gp_run_totals(ends, slice >> 16, tid);
                moves[tid] = (u32)(mine * (pitch / NEAR)) + (slice & 0xffff) - (ends[tid] - (slice >> 16));
                barrier(CLK_LOCAL_MEM_FENCE);

                /* 4. Load a team's vectors and count. */
                const u32 vectors = ends[listed - 1], each = (vectors + teams - 1) / teams;
                const u32 end = min((team + 1) * each, vectors);
                u32 vector = team * each + tid % TEAM;
                i32 at = 0, after = listed - 1;
                while (at < after) { /* the first tile that ends behind the vector */
                    const i32 middle = (at + after) / 2;
                    if (ends[middle] <= vector) {
                        at = middle + 1;
                    } else {
                        after = middle;
                    }
                }
                for (; vector < end; vector += AHEAD * TEAM) {
                    u16 places[AHEAD][NEAR];
#if HAS_WEIGHTS
                    STORED weights[AHEAD][NEAR];
#endif
#pragma unroll
                    for (int k = 0; k < AHEAD; k++) {
                        const u32 next = vector + k * TEAM;
                        if (next < end) {
                            while (ends[at] <= next) at++;
                            const i64 from = (i64)(moves[at] + next) * NEAR;
                            READ_VECTOR(u16, NEAR, SORTED(parts) + from, places[k]);
#if HAS_WEIGHTS
                            READ_VECTOR(STORED, NEAR, SORTED_WEIGHTS(parts) + from, weights[k]);
#endif
                        } else {
                            EACH_NEAR places[k][near] = (u16)span;
                        }
                    }
#pragma unroll
                    for (int k = 0; k < AHEAD; k++) {
                        EACH_NEAR
                        {
#if HAS_WEIGHTS
                            if (places[k][near] < span)
                                gp_add_to_run(own, stride, &run, places[k][near], weights[k][near], pass);
#else
                            gp_increment(counts + places[k][near]);
#endif
                        }
                    }
#if SUMS_EXACT && FRACTION_BITS > 32
                    gp_end_run(own, stride, run, pass); /* 64 bits hold a few more */
                    run.low = 0;
                    run.high = 0;
#endif
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
#if HAS_WEIGHTS
            gp_end_run(own, stride, run, pass);
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
        }

        /* 5. Store. Of a range with several shares, the last group of every TOGETHER leaves their sum, and so on. */
        const i64 low = (i64)range * span;
        const i32 width = (i32)min((i64)span, stored - low);
        GLOBAL u64 *shared = LEFT(parts) + first * LEFT_PITCH;
        i32 mine = task - first;
        for (i32 place = tid; place < width; place += BLOCK) {
            const sum_t sum = gp_sum_at(own, place, stride, COPIES);
            if (sharing == 1) {
                histograms[low + place] = (total_t)sum;
            } else {
                gp_write_entry(shared + mine * LEFT_PITCH + place, SUM_BITS(sum));
            }
        }
        i32 level = 0;
        for (i32 apart = 1; apart < sharing; apart *= TOGETHER) {
            const i32 leader = mine / (apart * TOGETHER) * (apart * TOGETHER);
            const i32 members = min((sharing - leader + apart - 1) / apart, TOGETHER);
            gp_fence();
            barrier(CLK_LOCAL_MEM_FENCE);
            if (tid == 0) taken[3] = gp_last_done(counters + ranges + 1 + first + leader + level, members);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (!taken[3]) break;
            for (i32 place = tid; place < width; place += BLOCK) {
                sum_t sum = 0;
#pragma unroll
                for (i32 k = 0; k < TOGETHER; k++)
                    if (k < members) sum += SUM_FROM_BITS(gp_read_entry(shared + (leader + k * apart) * LEFT_PITCH + place));
                if (apart * TOGETHER >= sharing) {
                    histograms[low + place] = (total_t)sum;
                } else {
                    gp_write_entry(shared + leader * LEFT_PITCH + place, SUM_BITS(sum));
                }
            }
            mine = leader;
            level++; /* a counter of its own: that of the level below may still count */
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* 6. The last group clears the elements of each range. */
    if (tid == 0) taken[3] = gp_last_done(counters + ranges, get_num_groups(0));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (taken[3] && tid < ranges) counters[tid] = 0;
}
#endif

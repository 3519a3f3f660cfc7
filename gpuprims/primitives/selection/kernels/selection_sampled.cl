/* selection/sampled: find elements of given ranks in long rows by a sample, one pass over the row, and a radix selection among
 * few candidates.
 *
 * in      INPUTS: x0 n elements of each of `outputs` rows; x1 their ranks, counted from 0 for the smallest element. Rows o,
 *         o + brackets, o + 2 * brackets, ... are the same, and their ranks lie close together
 * out     OUTPUTS: the element of that rank of each row
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes (row, part) pairs until none are left.
 *         `step` CLEAR: begin; SAMPLE: find the digit at `at` of both ends of each bracket in a sample; FILTER: read the
 *         rows, count the elements before each bracket, and keep those within; DIGIT: find the digit at `at` of an element
 *         among these, or among all where the sample misled; STORE_ALL: write the elements
 * host    two row_state_t for each end of a bracket and for each row, a tally_t and `room` candidates for each bracket, BINS
 *         counts for each end of a bracket or row, whichever are more; gp_choose_digit (radix.h), gp_sampled_place,
 *         gp_begin_rank (sampling.h); gp_rank_order, GP_FOUND (ranks.h); MAP, MAP_VECTOR and RANK
 * order   integers: the same in every run
 *
 * With NAN_WINS, a row with a NaN has the result NaN.
 *
 * Elements equal to an end are counted, not kept, so that repeated elements do not fill the room. For rank 5:
 *
 *     sorted      1 1 2 3 3 4 4 5 7 7 9
 *     bracket         [         ]            2 to 5: two before, one equal to 2, four within, one equal to 5
 */
#define CLEAR 0
#define SAMPLE 1
#define FILTER 2
#define DIGIT 3
#define STORE_ALL 4

/* Vectors that a work-item loads before it compares their elements, elements of a digit that it loads before it counts them, and
 * candidates that a group gathers in local memory; elements close to a bracket that are left to be seen one by one. */
#if BLOCK == 1
#define LOADS 16
#define IS_LEFT(value) (!((value) <= low) & !((value) >= high))
#else
#define LOADS 4
#define IS_LEFT(value) (!((value) < low) & !((value) > high))
#endif
#define AT_ONCE (LOADS * VECTOR)
#define COUNTED 4
#define STAGED (16384 / (int)sizeof(order_t))

/* What a work-item has counted of a part: elements before a bracket and at its ends, and whether there is a NaN. */
typedef struct {
    u32 before, first, last, nan;
} seen_t;

/* Compare an element with a bracket by its order: count it, or keep it as a candidate. */
#define GP_SEE(value)                                                                                                  \
    do {                                                                                                               \
        const order_t order = gp_rank_order(value);                                                                    \
        seen.before += order > first;                                                                                  \
        seen.first += order == first;                                                                                  \
        seen.last += (order == last) & (first > last);                                                                 \
        seen.nan |= GP_IS_NAN(order);                                                                           \
        if ((order < first) & (order > last)) {                                                                        \
            const u32 place = gp_increment(&held);                                                                     \
            if (place < STAGED) {                                                                                      \
                staged[place] = order;                                                                                 \
            } else {                                                                                                   \
                const i64 far = (i64)TAKE_PLACE(&tally->within);                                                       \
                if (far < room) among[far] = order;                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

__kernel WORK_GROUP(BLOCK)
void selection_sampled(INPUTS, OUTPUTS, GLOBAL u64 *partials, GLOBAL u32 *counters, const layout_t layout,
                       const i64 outputs, const i64 n, const i64 brackets, const i64 parts, const i64 room,
                       const i64 sampled, const i64 stretch, const i64 reach, const i64 step, const i64 at, const i64 turn)
{
    __local u32 bins[BINS];
    __local u64 sums[BLOCK];
    __local order_t staged[STAGED];
    __local u32 held, before, at_first, at_last, nan;
    __local i64 place_of_staged;
    __local int is_last;
    const int tid = get_local_id(0);
    const i64 first_item = get_group_id(0) * (i64)BLOCK + tid, every = get_num_groups(0) * (i64)BLOCK;
    const i64 ends = 2 * brackets, most = max(outputs, ends);
    GLOBAL row_state_t *states = (GLOBAL row_state_t *)partials + turn * (ends + outputs);
    GLOBAL row_state_t *next = (GLOBAL row_state_t *)partials + (1 - turn) * (ends + outputs);
    GLOBAL tally_t *tallies = (GLOBAL tally_t *)((GLOBAL row_state_t *)partials + 2 * (ends + outputs));
    GLOBAL count_t *counts = (GLOBAL count_t *)(tallies + brackets);
    GLOBAL order_t *candidates = (GLOBAL order_t *)(counts + most * BINS);

    /* 1. Clear counts, and begin to look for the ends of each bracket, `reach` from the ranks in the sample. */
    if (step == CLEAR) {
        for (i64 place = first_item; place < most * BINS; place += every) counts[place] = 0;
        for (i64 k = first_item; k < brackets; k += every) {
            i64 least = n, greatest = 0;
            for (i64 o = k; o < outputs; o += brackets) {
                least = min(least, (i64)RANK(o));
                greatest = max(greatest, (i64)RANK(o));
            }
            gp_begin_end(next + 2 * k, least * sampled / n - reach, sampled);
            gp_begin_end(next + 2 * k + 1, greatest * sampled / n + reach, sampled);
            tallies[k].before = tallies[k].first = tallies[k].within = tallies[k].last = tallies[k].nan = 0;
        }
    }

    /* 2. Count the next digit of the elements that have the leading ones: of a sample for both ends of a bracket, of candidates
     * or of all elements for a rank; the last group chooses. */
    if (step == SAMPLE || step == DIGIT) {
        const i64 begin = step == SAMPLE ? 0 : ends, count = step == SAMPLE ? ends : outputs;
        for (i64 task = get_group_id(0); task < count * parts; task += get_num_groups(0)) {
            const i64 o = task / parts, part = task % parts, k = step == SAMPLE ? o / 2 : o % brackets;
            const row_state_t state = states[begin + o];
            const i64 size = step == SAMPLE ? sampled : state.behind ? (i64)state.behind : n;
            const i64 used = gp_parts_for(size, parts, (step == SAMPLE ? COUNTED : ITEMS) * BLOCK);
            const i64 share = gp_part_size(size, used);
            GLOBAL const order_t *among = candidates + k * room;
            if (state.found == DECIDED && part == 0 && tid == 0) next[begin + o] = state;
            if (state.found != DECIDED && part < used) {
                const i64 end = min((part + 1) * share, size);
                gp_clear_bins(bins, tid);
                for (i64 base = part * share + tid; base < end; base += COUNTED * BLOCK) {
                    order_t orders[COUNTED];
#pragma unroll
                    for (int item = 0; item < COUNTED; item++) {
                        const i64 i = min(base + item * BLOCK, end - 1);
                        const i64 j = step == SAMPLE ? gp_sampled_place(i, stretch) : i;
                        orders[item] = state.behind ? among[i] : gp_rank_order(MAP(k, j));
                    }
#pragma unroll
                    for (int item = 0; item < COUNTED; item++) {
                        u32 digit;
                        const int counts_it = gp_next_digit(state, at, orders[item], 0, &digit);
                        if (counts_it && base + item * BLOCK < end) COUNT_DIGIT(bins + digit);
                    }
                }
                gp_choose_digit(at, used, counts + o * BINS, state, next + begin + o, counters + o, bins, sums, &is_last,
                                tid);
            }
        }
    }

    /* 3. Read the rows: count the elements before each bracket and at its ends, and keep those within. */
    if (step == FILTER) {
        /* Neighbours may all be candidates, so parts are tiles at equal distances. */
        const i64 tile = AT_ONCE * BLOCK, tiles = n / tile;
        for (i64 task = get_group_id(0); task < brackets * parts; task += get_num_groups(0)) {
            const i64 k = task / parts, part = task % parts;
            const order_t first = (order_t)states[2 * k].order, last = (order_t)states[2 * k + 1].order;
            const value_t low = GP_VALUE_OF_RANK_ORDER(first), high = GP_VALUE_OF_RANK_ORDER(last);
            GLOBAL order_t *among = candidates + k * room;
            GLOBAL tally_t *tally = tallies + k;
            seen_t seen;
            seen.before = seen.first = seen.last = seen.nan = 0;
            if (tid == 0) held = before = at_first = at_last = nan = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (i64 base = part * tile; base < tiles * tile; base += parts * tile) {
                value_t values[AT_ONCE];
                u32 close = 0, less = 0;
#pragma unroll
                for (int load = 0; load < LOADS; load++)
                    MAP_VECTOR(k, base + (load * BLOCK + tid) * VECTOR, values + load * VECTOR);
                /* Few elements are close to the bracket, and NaN always is. */
#pragma unroll
                for (int item = 0; item < AT_ONCE; item++) {
                    less += values[item] < low;
                    close |= !(values[item] < low) & !(values[item] > high);
                }
                seen.before += less;
                if (NAN_WINS && seen.nan) continue;
                if (!close) continue;
#if BLOCK == 1
                /* Frequent elements are its ends, and branches on them are mispredicted.  rows: sampled-equal */
                u32 firsts = 0, lasts = 0, within = 0;
#pragma unroll
                for (int item = 0; item < AT_ONCE; item++) {
                    firsts += values[item] == low;
                    lasts += values[item] == high;
                    within |= !(values[item] <= low) & !(values[item] >= high);
                }
                seen.first += firsts;
                seen.last += first > last ? lasts : 0;
                if (!within) continue;
#endif
#pragma unroll
                for (int item = 0; item < AT_ONCE; item++)
                    if (IS_LEFT(values[item])) GP_SEE(values[item]);
            }
            if (part == tiles % parts)
                for (i64 j = tiles * tile + tid; j < n; j += BLOCK) GP_SEE(MAP(k, j));
            gp_add_count(&before, seen.before);
            gp_add_count(&at_first, seen.first);
            gp_add_count(&at_last, seen.last);
            if (seen.nan) gp_set_bits(&nan, 1);
            barrier(CLK_LOCAL_MEM_FENCE);
            const i64 gathered = min(held, (u32)STAGED);
            if (tid == 0) {
                ADD_COUNT(&tally->before, before);
                ADD_COUNT(&tally->first, at_first);
                ADD_COUNT(&tally->last, at_last);
                ADD_COUNT(&tally->nan, nan);
                place_of_staged = (i64)ADD_COUNT(&tally->within, (count_t)gathered);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (i64 i = tid; i < gathered && place_of_staged + i < room; i += BLOCK)
                among[place_of_staged + i] = staged[i];
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (tid == 0 && gp_last_done(counters + k, parts))
                for (i64 o = k; o < outputs; o += brackets)
                    gp_begin_rank(next + ends + o, (u64)RANK(o), tally, first, last, (u64)room);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    /* 4. Store. */
    if (step == STORE_ALL) {
        for (i64 o = first_item; o < outputs; o += every) y0[gp_at_y0(layout, o, 0)] = GP_FOUND(states[ends + o].order);
    }
}

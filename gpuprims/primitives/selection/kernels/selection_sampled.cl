/* selection/sampled: find elements of given ranks in long rows by a sample, one reading of the row, and a radix selection among
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
 * With NAN_WINS, a NaN in a row is its result.
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
 * candidates that a group gathers in local memory. */
#if BLOCK == 1
#define LOADS 16
#else
#define LOADS 4
#endif
#define AT_ONCE (LOADS * VECTOR)
#define COUNTED 4
#define STAGED (16384 / (int)sizeof(order_t) / SETS) /* of each bracket */

/* What a work-item has counted of a part: elements before each bracket and at its ends. */
typedef struct {
    u32 before[SETS], first[SETS], last[SETS];
} seen_t;

/* Compare an element with bracket number `set` by its order: count it, or keep it as a candidate. */
#define GP_SEE(value, set)                                                                                             \
    do {                                                                                                               \
        const order_t order = gp_rank_order(value);                                                                    \
        seen.before[set] += order > first[set];                                                                        \
        seen.first[set] += order == first[set];                                                                        \
        seen.last[set] += (order == last[set]) & (first[set] > last[set]);                                             \
        seen_nan |= GP_IS_NAN(order);                                                                                  \
        if ((order < first[set]) & (order > last[set])) {                                                              \
            const u32 place = gp_increment(held + (set));                                                              \
            if (place < STAGED) {                                                                                      \
                staged[set][place] = order;                                                                            \
            } else {                                                                                                   \
                const i64 far = (i64)TAKE_PLACE(&tallies[BRACKET(set)].within);                                        \
                if (far < room) candidates[BRACKET(set) * room + far] = order;                                         \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* The bracket of a set; a batch that has fewer takes its last one again, and keeps nothing of it. */
#define BRACKET(set) ((batch * SETS + min(set, sets_here - 1)) * rows + row)

__kernel WORK_GROUP(BLOCK)
void selection_sampled(INPUTS, OUTPUTS, GLOBAL u64 *partials, GLOBAL u32 *counters, const layout_t layout,
                       const i64 outputs, const i64 n, const i64 brackets, const i64 rows, const i64 parts, const i64 room,
                       const i64 sampled, const i64 stretch, const i64 reach, const i64 step, const i64 at, const i64 turn)
{
    __local u32 bins[BINS];
    __local u64 sums[BLOCK];
    __local order_t staged[SETS][STAGED];
    __local u32 held[SETS], before[SETS], at_first[SETS], at_last[SETS], nan;
    __local i64 places[SETS];
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

    /* 2. Count the next digit of the elements that have the first ones: of a sample for both ends of a bracket, of candidates
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

    /* 3. Read the rows, for SETS brackets of a row at once: count the elements before each and at its ends, and keep those
     * within. */
    if (step == FILTER) {
        /* Neighbours may all be candidates, so parts are tiles at equal distances. */
        const i64 tile = AT_ONCE * BLOCK, tiles = n / tile, sets = brackets / rows, batches = (sets + SETS - 1) / SETS;
        for (i64 task = get_group_id(0); task < rows * batches * parts; task += get_num_groups(0)) {
            const i64 part = task % parts, row = task / parts % rows, batch = task / parts / rows;
            const int sets_here = (int)min((i64)SETS, sets - batch * SETS);
            order_t first[SETS], last[SETS];
            value_t low[SETS], high[SETS];
            seen_t seen;
            u32 seen_nan = 0;
#pragma unroll
            for (int set = 0; set < SETS; set++) {
                first[set] = (order_t)states[2 * BRACKET(set)].order;
                last[set] = (order_t)states[2 * BRACKET(set) + 1].order;
                low[set] = GP_VALUE_OF_RANK_ORDER(first[set]);
                high[set] = GP_VALUE_OF_RANK_ORDER(last[set]);
                seen.before[set] = seen.first[set] = seen.last[set] = 0;
                if (tid == 0) held[set] = before[set] = at_first[set] = at_last[set] = nan = 0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (i64 base = part * tile; base < tiles * tile; base += parts * tile) {
                value_t values[AT_ONCE];
                u32 close = 0;
#pragma unroll
                for (int load = 0; load < LOADS; load++)
                    MAP_VECTOR(BRACKET(0), base + (load * BLOCK + tid) * VECTOR, values + load * VECTOR);
                /* Few elements are close to a bracket, and NaN always is. */
#pragma unroll
                for (int set = 0; set < SETS; set++) {
                    u32 less = 0;
#pragma unroll
                    for (int item = 0; item < AT_ONCE; item++) {
                        less += values[item] < low[set];
                        close |= (u32)(!(values[item] < low[set]) & !(values[item] > high[set])) << set;
                    }
                    seen.before[set] += less;
                }
                if (NAN_WINS && seen_nan) continue;
                if (!close) continue;
#pragma unroll
                for (int set = 0; set < SETS; set++) {
                    if (!(close >> set & 1) || set >= sets_here) continue;
#pragma unroll
                    for (int item = 0; item < AT_ONCE; item++)
                        if (!(values[item] < low[set]) & !(values[item] > high[set])) GP_SEE(values[item], set);
                }
            }
            if (part == tiles % parts)
                for (i64 j = tiles * tile + tid; j < n; j += BLOCK) {
#pragma unroll
                    for (int set = 0; set < SETS; set++)
                        if (set < sets_here) GP_SEE(MAP(BRACKET(0), j), set);
                }
            if (seen_nan) gp_set_bits(&nan, 1);
#pragma unroll
            for (int set = 0; set < SETS; set++) {
                gp_add_count(before + set, seen.before[set]);
                gp_add_count(at_first + set, seen.first[set]);
                gp_add_count(at_last + set, seen.last[set]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int set = tid; set < sets_here; set += BLOCK) {
                GLOBAL tally_t *tally = tallies + BRACKET(set);
                ADD_COUNT(&tally->before, before[set]);
                ADD_COUNT(&tally->first, at_first[set]);
                ADD_COUNT(&tally->last, at_last[set]);
                ADD_COUNT(&tally->nan, nan);
                places[set] = (i64)ADD_COUNT(&tally->within, (count_t)min(held[set], (u32)STAGED));
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int set = 0; set < sets_here; set++) {
                GLOBAL order_t *among = candidates + BRACKET(set) * room;
                const i64 gathered = min(held[set], (u32)STAGED);
                for (i64 i = tid; i < gathered && places[set] + i < room; i += BLOCK) among[places[set] + i] = staged[set][i];
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            if (tid == 0 && gp_last_done(counters + BRACKET(0), parts))
                for (int set = 0; set < sets_here; set++)
                    for (i64 o = BRACKET(set); o < outputs; o += brackets)
                        gp_begin_rank(next + ends + o, (u64)RANK(o), tallies + BRACKET(set), (u64)states[2 * BRACKET(set)].order,
                                      (u64)states[2 * BRACKET(set) + 1].order, (u64)room);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    /* 4. Store. */
    if (step == STORE_ALL) {
        for (i64 o = first_item; o < outputs; o += every) y0[gp_at_y0(layout, o, 0)] = GP_FOUND(states[ends + o].order);
    }
}

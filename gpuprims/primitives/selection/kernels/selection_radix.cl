/* selection/radix: launches find the element of a given rank in each row, digit by digit of its order.
 *
 * in      INPUTS: x0 n elements of each of `outputs` rows, some of which may be the same; x1 their ranks, counted from 0
 *         for the smallest element
 * out     OUTPUTS: the element of that rank of each row
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes (row, part) pairs until none are left.
 *         `step` CLEAR: begin; DIGIT: find the digit at `at`; STORE_ALL: write the elements
 * host    a row_state_t, BINS counts and a flag for each row; gp_rank_order (ordering.h), GP_FOUND (ranks.h), gp_choose_digit
 *         (radix.h); MAP and RANK
 * order   integers: the same in every run
 *
 * With NAN_WINS, a row with a NaN has the result NaN.
 */
#define CLEAR 0
#define DIGIT 1
#define STORE_ALL 2

__kernel WORK_GROUP(BLOCK)
void selection_radix(INPUTS, OUTPUTS, GLOBAL u64 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                  const i64 n, const i64 parts, const i64 step, const i64 at, const i64 turn)
{
    __local u32 bins[BINS];
    __local u64 sums[BLOCK];
    __local int is_last;
    const int tid = get_local_id(0);
    const i64 first_item = get_group_id(0) * (i64)BLOCK + tid, every = get_num_groups(0) * (i64)BLOCK;
    GLOBAL row_state_t *states = (GLOBAL row_state_t *)partials + turn * outputs;
    GLOBAL row_state_t *next = (GLOBAL row_state_t *)partials + (1 - turn) * outputs;
    GLOBAL count_t *counts = (GLOBAL count_t *)((GLOBAL row_state_t *)partials + 2 * outputs);
    GLOBAL u32 *nans = (GLOBAL u32 *)(counts + outputs * BINS);

    /* 1. Clear counts and states. */
    if (step == CLEAR) {
#pragma unroll 1
        for (i64 place = first_item; place < outputs * BINS; place += every) counts[place] = 0;
#pragma unroll 1
        for (i64 o = first_item; o < outputs; o += every) {
            gp_begin_row(next + o, (u64)RANK(o) + 1);
            nans[o] = 0;
        }
    }

    /* 2. Count the next digit of the elements that have the leading ones; the last group chooses. */
    if (step == DIGIT) {
        const i64 share = gp_part_size(n, parts);
        const int sees_nan = NAN_WINS && at + DIGIT_BITS >= ORDER_BITS; /* with the first digit */
        for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
            const i64 o = task / parts, begin = task % parts * share;
            const i64 end = min(begin + share, n);
            const row_state_t state = states[o];
            int nan = 0;
            gp_clear_bins(bins, tid);
            for (i64 j = begin + tid; j < end; j += BLOCK) {
                u32 digit;
                const order_t order = gp_rank_order(MAP(o, j));
                if (sees_nan) nan |= GP_IS_NAN(order);
                if (gp_next_digit(state, at, order, 0, &digit)) COUNT_DIGIT(bins + digit);
            }
            if (nan) gp_set_bits(nans + o, 1);
            gp_choose_digit(at, parts, counts + o * BINS, state, next + o, counters + o, bins, sums, &is_last, tid);
        }
    }

    /* 3. Store. */
    if (step == STORE_ALL) {
#pragma unroll 1
        for (i64 o = first_item; o < outputs; o += every)
            y0[gp_at_y0(layout, o, 0)] = GP_FOUND(NAN_WINS && nans[o] ? 0 : (order_t)states[o].order);
    }
}

/* selection/rows: each group finds the elements of given ranks in whole rows, digit by digit of their order, in one launch.
 *
 * in      INPUTS: x0 n elements of each of `outputs` rows, some of which may be the same; x1 their ranks, counted from 0
 *         for the smallest element
 * out     OUTPUTS: the element of that rank of each row
 * launch  any number of groups of BLOCK (a power of two, at most BINS); each takes rows until none are left
 * host    gp_order, ORDER_BACK (ordering.h), gp_clear_bins, gp_count_before (radix.h); MAP and RANK
 * order   integers: the same in every run
 *
 * With NAN_WINS, a row with a NaN has the result NaN.
 */
#define FIRST_DIGIT ((ORDER_BITS - 1) / DIGIT_BITS * DIGIT_BITS)

__kernel WORK_GROUP(BLOCK)
void selection_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    __local u32 bins[BINS];
    __local u64 sums[BLOCK];
    __local u32 chosen, before_chosen, nans;
    const int tid = get_local_id(0);

    for (i64 o = get_group_id(0); o < outputs; o += get_num_groups(0)) {
        u64 known = 0;
        u32 rank = (u32)RANK(o);
        if (tid == 0) nans = 0;

        for (int at = FIRST_DIGIT; at >= 0; at -= DIGIT_BITS) {
            /* 1. Count the next digit of the elements that have the leading ones. */
            gp_clear_bins(bins, tid);
            int nan = 0;
            for (i64 j = tid; j < n; j += BLOCK) {
                const order_t order = gp_order(MAP(o, j));
                const u64 digits = (u64)order >> at;
                if (NAN_WINS && at == FIRST_DIGIT) nan |= order == ORDER_MASK;
                if (digits >> DIGIT_BITS == known) COUNT_DIGIT(bins + (digits & (BINS - 1)));
            }
            if (nan) gp_increment(&nans);
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 2. Find the digit of the element of that rank among them. */
            u64 sum = 0;
            for (int bin = 0; bin < BINS / BLOCK; bin++) sum += bins[tid * (BINS / BLOCK) + bin];
            u64 before = gp_count_before(sum, sums, tid);
            for (int bin = tid * (BINS / BLOCK); bin < (tid + 1) * (BINS / BLOCK); bin++) {
                const u32 here = bins[bin];
                if (before <= rank && rank < before + here) {
                    chosen = (u32)bin;
                    before_chosen = (u32)before;
                }
                before += here;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            known = known << DIGIT_BITS | chosen;
            rank -= before_chosen;
        }

        /* 3. Store it. */
        if (tid == 0) {
            const order_t order = NAN_WINS && nans ? ORDER_MASK : (order_t)known;
            y0[gp_at_y0(layout, o, 0)] = ORDER_BACK(gp_raw_of_order(order));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

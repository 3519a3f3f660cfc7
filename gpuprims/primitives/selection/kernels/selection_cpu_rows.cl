/* selection/cpu_rows: each work-item finds the elements of given ranks in whole rows, digit by digit among ever fewer elements,
 * for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 n elements of each of `outputs` rows, some of which may be the same; x1 their ranks, counted from 0
 *         for the smallest element
 * out     OUTPUTS: the element of that rank of each row
 * scratch partials: for each group, n orders
 * launch  any number of groups of one work-item; each takes rows until none are left
 * host    gp_order, ORDER_BACK (ordering.h); MAP and RANK
 * order   integers: the same in every run
 *
 * With NAN_WINS, a row with a NaN has the result NaN.
 */
#define DIGITS 256

__kernel WORK_GROUP(1)
void selection_cpu_rows(INPUTS, OUTPUTS, GLOBAL u64 *partials, const layout_t layout, const i64 outputs, const i64 n)
{
    GLOBAL order_t *orders = (GLOBAL order_t *)partials + get_group_id(0) * n;

    for (i64 o = get_group_id(0); o < outputs; o += get_num_groups(0)) {
        /* 1. Begin with all elements of a row. */
        int nan = 0;
        for (i64 j = 0; j < n; j++) {
            const order_t order = gp_order(MAP(o, j));
            if (NAN_WINS) nan |= order == ORDER_MASK;
            orders[j] = order;
        }
        i64 left = nan ? 0 : n, rank = (i64)RANK(o);
        if (nan) orders[0] = ORDER_MASK;

        for (int at = (ORDER_BITS - 1) / 8 * 8; at >= 0 && left > 1; at -= 8) {
            /* 2. Find the digit of the element of that rank among the remaining ones. */
            u32 counts[DIGITS];
            for (int digit = 0; digit < DIGITS; digit++) counts[digit] = 0;
            for (i64 j = 0; j < left; j++) counts[orders[j] >> at & (DIGITS - 1)]++;
            u32 sought = 0;
            while (rank >= (i64)counts[sought]) rank -= counts[sought++];

            /* 3. Keep the elements that have it. */
            i64 kept = 0;
            for (i64 j = 0; j < left; j++) {
                const order_t order = orders[j];
                orders[kept] = order;
                kept += (order >> at & (DIGITS - 1)) == sought;
            }
            left = kept;
        }

        /* 4. Store the element; if several remain, they have the same order. */
        y0[gp_at_y0(layout, o, 0)] = ORDER_BACK(gp_raw_of_order(orders[0]));
    }
}

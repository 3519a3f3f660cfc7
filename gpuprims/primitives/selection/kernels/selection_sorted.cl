/* selection/sorted: a sort puts all rows in order; each work-item then reads the element of a given rank.
 *
 * in      INPUTS: x0 n elements of each of `outputs` rows, in order, and rows may be the same; x1 their ranks,
 *         counted from 0 for the smallest element
 * out     OUTPUTS: the element of that rank of each row
 * launch  any number of groups of BLOCK, whose work-items take rows until none are left
 * host    gp_order, ORDER_BACK (ordering.h); MAP and RANK
 * order   integers: the same in every run
 *
 * With NAN_WINS, a row with a NaN has the result NaN.
 */
__kernel WORK_GROUP(BLOCK)
void selection_sorted(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 o = get_group_id(0) * (i64)BLOCK + tid; o < outputs; o += get_num_groups(0) * (i64)BLOCK) {
        /* 1. Load the element of the rank, or a NaN, which a sort puts last. */
        order_t order = gp_order(MAP(o, (i64)RANK(o)));
        if (NAN_WINS && gp_order(MAP(o, n - 1)) == ORDER_MASK) order = ORDER_MASK;

        /* 2. Store. */
        y0[gp_at_y0(layout, o, 0)] = ORDER_BACK(gp_raw_of_order(order));
    }
}

/* selection/lanes: each work-item puts a short row in order in registers, by a network of exchanges.
 *
 * in      INPUTS: x0 LENGTH elements of each of `outputs` rows, and rows may be the same; x1 their ranks, counted
 *         from 0 for the smallest element
 * out     OUTPUTS: the element of that rank of each row
 * launch  any number of groups of BLOCK, whose work-items take rows until none are left
 * host    gp_order, ORDER_BACK (ordering.h); MAP and RANK; NETWORK, which puts `orders` in order by EXCHANGE(a, b)
 * order   integers: the same in every run
 * source  K. Batcher, Sorting networks and their applications, 1968
 *
 * With NAN_WINS, a row with a NaN has the result NaN.
 */
#define EXCHANGE(a, b)                                                                                                 \
    {                                                                                                                  \
        const order_t first = min(orders[a], orders[b]);                                                               \
        orders[b] = max(orders[a], orders[b]);                                                                         \
        orders[a] = first;                                                                                             \
    }

__kernel WORK_GROUP(BLOCK)
void selection_lanes(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    const int tid = get_local_id(0);

    for (i64 o = get_group_id(0) * (i64)BLOCK + tid; o < outputs; o += get_num_groups(0) * (i64)BLOCK) {
        /* 1. Load a row. */
        order_t orders[LENGTH];
#pragma unroll
        for (int j = 0; j < LENGTH; j++) orders[j] = gp_order(MAP(o, j));

        /* 2. Sort it. */
        NETWORK

        /* 3. Store the element of its rank. */
        const int rank = (int)RANK(o);
        order_t order = orders[0];
#pragma unroll
        for (int j = 1; j < LENGTH; j++) order = j == rank ? orders[j] : order;
        if (NAN_WINS && orders[LENGTH - 1] == ORDER_MASK) order = ORDER_MASK;
        y0[gp_at_y0(layout, o, 0)] = ORDER_BACK(gp_raw_of_order(order));
    }
}

/* Selections by rank: orders fall from the smallest element to the largest, so that of NaN is 0. */
#define GP_IS_NAN(order) (ORDER_FLOATS && (order) == 0)

/* The bits of the element of a rank order, and the element. */
#define GP_RANK_BITS(order) gp_raw_of_order(~(order_t)(order) & ORDER_MASK)
#define GP_FOUND(order) ORDER_BACK(GP_RANK_BITS(order))
#define GP_VALUE_OF_RANK_ORDER(order) ORDER_VALUE(GP_RANK_BITS(order))

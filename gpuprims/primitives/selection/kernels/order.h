/* Elements as unsigned integers that compare as NumPy sorts the elements. Zeros of both signs have the same integer, and so
 * have all NaN. An order_t has ORDER_BITS bits, as many as an element.
 */
#define ORDER_MASK ((order_t)~(order_t)0 >> (8 * sizeof(order_t) - ORDER_BITS))
#define ORDER_SIGN ((order_t)1 << (ORDER_BITS - 1))

DEVICE order_t gp_order_of_raw(const order_t raw)
{
#if ORDER_FLOATS
    /* Without branches, which a CPU would mispredict. */
    const order_t size = raw & (ORDER_SIGN - 1), infinity = (ORDER_SIGN - 1) >> ORDER_FLOATS << ORDER_FLOATS;
    const order_t negative = ((order_t)0 - (order_t)(raw >> (ORDER_BITS - 1))) & ORDER_MASK;
    const order_t apart = (order_t)((raw ^ (negative | ORDER_SIGN)) + (order_t)(raw == ORDER_SIGN));
    return apart | ((order_t)((order_t)0 - (order_t)(size > infinity)) & ORDER_MASK);
#elif ORDER_SIGNED
    return raw ^ ORDER_SIGN;
#else
    return raw;
#endif
}

/* The bits of the element of an order: 0.0 for zeros, a quiet NaN for NaN. */
DEVICE order_t gp_raw_of_order(const order_t order)
{
#if ORDER_FLOATS
    return order & ORDER_SIGN ? order ^ ORDER_SIGN : ~order & ORDER_MASK;
#elif ORDER_SIGNED
    return order ^ ORDER_SIGN;
#else
    return order;
#endif
}

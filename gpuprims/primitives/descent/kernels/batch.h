/* Operands of batch gradient descent: the part of a coefficient that an iteration takes off, and the rate. */
#if WEIGHTED
#define RATES(number) x4[gp_at_x4(layout, 0, 0) + (number)]
#else
#define RATES(number) x3[gp_at_x3(layout, 0, 0) + (number)]
#endif
#define DECAY RATES(0)
#define RATE RATES(1)
#define STORE_WEIGHT(feature, value) y0[gp_at_y0(layout, 0, 0) + (feature)] = value

/* Add to a weight a change that may be smaller than its rounding; `rest` keeps what is rounded off. */
DEVICE void gp_change_weight(value_t *weight, value_t *rest, const value_t change)
{
    const value_t all = *rest + change, changed = *weight + all;
    *rest = (*weight - changed) + all;
    *weight = changed;
}

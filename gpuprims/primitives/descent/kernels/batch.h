/* Operands of batch gradient descent: the part of a coefficient that an iteration takes off, and the rate. */
#if WEIGHTED
#define RATES(number) x4[gp_at_x4(layout, 0, 0) + (number)]
#else
#define RATES(number) x3[gp_at_x3(layout, 0, 0) + (number)]
#endif
#define DECAY RATES(0)
#define RATE RATES(1)
#define MOVED(column) y0[gp_at_y0(layout, 0, 0) + (column)]

/* Weights: one of each feature, and the intercept. */
#define COLUMNS (FEATURES + INTERCEPT)
#if INTERCEPT
#define PRESENT_INTERCEPT MOVED(FEATURES)
#else
#define PRESENT_INTERCEPT 0
#endif

/* Work-items of a group read the weights in global memory that one of them writes. */
#define BOTH_FENCES (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Add to a weight a change that may be smaller than its rounding; `rest` keeps what is rounded off. */
DEVICE void gp_change_weight(value_t *weight, value_t *rest, const value_t change)
{
    const value_t all = *rest + change, changed = *weight + all;
    *rest = (*weight - changed) + all;
    *weight = changed;
}

/* Change the weight of a column in global memory by an iteration's gradient. */
#define DESCEND(column, gradient)                                                                                      \
    {                                                                                                                  \
        value_t weight = MOVED(column);                                                                                \
        const value_t shrunk = (column) < FEATURES ? DECAY * weight : 0;                                               \
        gp_change_weight(&weight, &rests[column], -(RATE * (gradient) + shrunk));                                          \
        MOVED(column) = weight;                                                                                        \
    }

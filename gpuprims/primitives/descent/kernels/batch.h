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

/* Copy the weights to where iterations change them. */
DEVICE void gp_copy_weights(INPUTS, OUTPUTS, const layout_t layout, value_t *rests, const int tid)
{
    for (int c = 0; c < COLUMNS; c++) {
        if (tid == 0) MOVED(c) = WEIGHT(c);
        rests[c] = 0;
    }
}

/* Return a row's residual by the present weights. */
DEVICE value_t gp_present_residual(INPUTS, OUTPUTS, const layout_t layout, const i64 row)
{
    value_t score = PRESENT_INTERCEPT;
    for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * MOVED(feature);
    return SAMPLE_WEIGHT(row) * (SIGMOID(score) - LABEL(row));
}

/* Add the rows of a run to a work-item's gradient. */
DEVICE void gp_add_run(INPUTS, OUTPUTS, const layout_t layout, const i64 first, const i64 last, LOCAL value_t *gradient)
{
    for (int c = 0; c < COLUMNS; c++) gradient[c] = 0;
    for (i64 row = first; row < last; row++) {
        const value_t residual = gp_present_residual(INPUT_NAMES, OUTPUT_NAMES, layout, row);
        for (int feature = 0; feature < FEATURES; feature++) gradient[feature] += SAMPLES(row)[feature] * residual;
        if (INTERCEPT) gradient[COLUMNS - 1] += residual;
    }
}

/* Change the weight of a column in global memory by an iteration's gradient. */
#define DESCEND(column, gradient)                                                                                      \
    {                                                                                                                  \
        value_t weight = MOVED(column);                                                                                \
        const value_t shrunk = (column) < FEATURES ? DECAY * weight : 0;                                               \
        gp_change_weight(&weight, &rests[column], -(RATE * (gradient) + shrunk));                                          \
        MOVED(column) = weight;                                                                                        \
    }

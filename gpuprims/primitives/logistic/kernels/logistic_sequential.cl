/* logistic/sequential: one work-item scores all rows, then adds one feature after the other; the articles' first
 * kernel.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row; counters: not touched
 * launch  one group of one work-item
 * host    SAMPLES, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM(sum, value) (logistic.h)
 * order   rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_sequential(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                         const i64 parts)
{
    const int tid = get_local_id(0);
    if (tid > 0) return;
    GLOBAL value_t *residuals = (GLOBAL value_t *)partials;

    /* 1. Compute each row's score, loss and residual. */
    value_t loss = 0, bias = 0;
    for (i64 row = 0; row < n; row++) {
        value_t score = INITIAL_SCORE, lost, residual;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);
        residuals[row] = residual;
        bias += residual;
        loss += lost;
    }

    /* 2. Add each feature of all rows, and store. */
    for (int feature = 0; feature < FEATURES; feature++) {
        value_t sum = 0;
        for (i64 row = 0; row < n; row++) sum += SAMPLES(row)[feature] * residuals[row];
        STORE_SUM(feature, sum);
    }
    STORE_SUM(BIAS, bias);
    STORE_SUM(LOSS, loss);
}

/* logistic/sequential: one work-item scores all rows, then adds up one feature after the other, as the article's first kernel.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 what rows count
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row; tickets: not touched
 * launch  one group of one work-item
 * host    SAMPLES, LOSS_AND_RESIDUAL(score, label, weight, loss, residual), STORE_SUM(sum, value) (logistic.h)
 * order   that of the rows
 */
__kernel WORK_GROUP(BLOCK)
void logistic_sequential(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *tickets, const layout_t layout, const i64 n,
                         const i64 parts)
{
    const int tid = get_local_id(0);
    if (tid > 0) return;
    GLOBAL value_t *residuals = (GLOBAL value_t *)partials;

    /* 1. Compute the score, loss and residual of each row. */
    value_t loss = 0, bias = 0;
    for (i64 row = 0; row < n; row++) {
        value_t score = INITIAL_SCORE, lost, residual;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);
        residuals[row] = residual;
        bias += residual;
        loss += lost;
    }

    /* 2. Add up each feature of all rows, and store. */
    for (int feature = 0; feature < FEATURES; feature++) {
        value_t sum = 0;
        for (i64 row = 0; row < n; row++) sum += SAMPLES(row)[feature] * residuals[row];
        STORE_SUM(feature, sum);
    }
    STORE_SUM(BIAS, bias);
    STORE_SUM(LOSS, loss);
}

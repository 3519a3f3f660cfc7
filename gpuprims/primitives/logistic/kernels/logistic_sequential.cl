/* logistic/sequential: one work-item scores all rows, then adds up one feature after the other, as the article's first kernel.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 what rows count
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the error of each row; counters: not touched
 * launch  one group of one work-item
 * host    SAMPLES, JUDGE(z, y, s, loss, error), STORE_SUM(sum, value) (logistic.h)
 * order   that of the rows
 */
__kernel WORK_GROUP(BLOCK)
void logistic_sequential(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                         const i64 parts)
{
    const int tid = get_local_id(0);
    if (tid > 0) return;
    GLOBAL value_t *errors = (GLOBAL value_t *)partials;

    /* 1. Score and judge each row. */
    value_t loss = 0, bias = 0;
    for (i64 row = 0; row < n; row++) {
        value_t score = START, lost, error;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        JUDGE(score, LABEL(row), SHARE(row), &lost, &error);
        errors[row] = error;
        bias += error;
        loss += lost;
    }

    /* 2. Add up each feature of all rows, and store. */
    for (int feature = 0; feature < FEATURES; feature++) {
        value_t sum = 0;
        for (i64 row = 0; row < n; row++) sum += SAMPLES(row)[feature] * errors[row];
        STORE_SUM(feature, sum);
    }
    STORE_SUM(BIAS, bias);
    STORE_SUM(LOSS, loss);
}

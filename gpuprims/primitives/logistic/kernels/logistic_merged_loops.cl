/* logistic/merged_loops: one work-item scores each row and adds it to the gradient at once, so that it reads each row
 * once.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch none: partials and counters are not touched
 * launch  one group of one work-item
 * host    SAMPLES, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM(sum, value) (logistic.h)
 * order   rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_merged_loops(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                           const i64 parts)
{
    const int tid = get_local_id(0);
    if (tid > 0) return;
    value_t sums[SUMS];
    for (int sum = 0; sum < SUMS; sum++) sums[sum] = 0;

    for (i64 row = 0; row < n; row++) {
        /* 1. Compute the row's score, loss and residual. */
        value_t score = INITIAL_SCORE, lost, residual;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);

        /* 2. Add it to the sums. */
        for (int feature = 0; feature < FEATURES; feature++) sums[feature] += SAMPLES(row)[feature] * residual;
        sums[BIAS] += residual;
        sums[LOSS] += lost;
    }

    /* 3. Store. */
    for (int sum = 0; sum < SUMS; sum++) STORE_SUM(sum, sums[sum]);
}

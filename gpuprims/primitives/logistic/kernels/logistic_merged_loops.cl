/* logistic/merged_loops: one work-item scores each row and adds it to the gradient at once, so that it reads what lies together.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 what rows count
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch none: partials and counters are not touched
 * launch  one group of one work-item
 * host    SAMPLES, JUDGE(z, y, s, loss, error), STORE_SUM(sum, value) (logistic.h)
 * order   that of the rows
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
        /* 1. Score and judge the row. */
        value_t score = START, lost, error;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        JUDGE(score, LABEL(row), SHARE(row), &lost, &error);

        /* 2. Add it to the sums. */
        for (int feature = 0; feature < FEATURES; feature++) sums[feature] += SAMPLES(row)[feature] * error;
        sums[BIAS] += error;
        sums[LOSS] += lost;
    }

    /* 3. Store. */
    for (int sum = 0; sum < SUMS; sum++) STORE_SUM(sum, sums[sum]);
}

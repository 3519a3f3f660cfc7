/* Runs of rows of work-items that are a CPU's threads: a few rows at a time stay in a core's cache from score to gradient. */
#define LOAD_ROWS(from) GP_JOINED(vload, VECTOR_ROWS)(0, from)
#define STORE_ROWS(vector, to) GP_JOINED(vstore, VECTOR_ROWS)(vector, 0, to)
/* ROWS, rounded up to whole vectors of VECTOR_ROWS. */
#define PLACES ((ROWS + VECTOR_ROWS - 1) / VECTOR_ROWS * VECTOR_ROWS)

/* Add some rows to the gradient of `count` neighbouring features. */
#define ADD_ROWS(count)                                                                                                \
    {                                                                                                                  \
        WIDE(count) sum = 0;                                                                                           \
        for (int k = 0; k < rows; k++) sum += residuals[k] * SAMPLES_FROM(count, from + k * FEATURES + feature);       \
        vstore##count(vload##count(0, gradient + feature) + sum, 0, gradient + feature);                               \
        feature += count;                                                                                              \
    }

DEVICE void gp_add_some_rows(GLOBAL const SAMPLE_TYPE *from, const int rows, const value_t *residuals, value_t *gradient)
{
    int feature = 0;
    while (feature + 16 <= FEATURES) ADD_ROWS(16)
#if FEATURES & 8
    ADD_ROWS(8)
#endif
#if FEATURES & 4
    ADD_ROWS(4)
#endif
#if FEATURES & 2
    ADD_ROWS(2)
#endif
#if FEATURES & 1
    for (int k = 0; k < rows; k++) gradient[feature] += residuals[k] * from[k * FEATURES + feature];
#endif
}

/* Turn the scores of a few rows into residuals, in vectors, and add their losses and residuals; missing rows have a sample
 * weight of 0. Arrays have PLACES numbers. */
DEVICE void gp_residuals_of_some(INPUTS, const layout_t layout, const i64 row, const int rows, value_t *scores,
                                 value_t *residuals, rows_t *losses, rows_t *biases)
{
    value_t labels[PLACES], sample_weights[PLACES];
    rows_t lost = 0, residual_sum = 0;
    for (int k = 0; k < rows; k++) labels[k] = LABEL(row + k);
    for (int k = 0; k < rows; k++) sample_weights[k] = SAMPLE_WEIGHT(row + k);
    for (int k = rows; k < PLACES; k++) scores[k] = labels[k] = sample_weights[k] = 0;
    for (int k = 0; k < PLACES; k += VECTOR_ROWS) {
        rows_t one, residual;
        LOSS_AND_RESIDUAL(LOAD_ROWS(scores + k), LOAD_ROWS(labels + k), LOAD_ROWS(sample_weights + k), &one, &residual);
        STORE_ROWS(residual, residuals + k);
        lost += one;
        residual_sum += residual;
    }
    *losses += lost;
    *biases += residual_sum;
}

/* Leave the sums of a run; the last work-item folds and stores all of them. */
DEVICE void gp_leave_run(OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 part,
                         const i64 parts, const value_t *gradient, const rows_t biases, const rows_t losses,
                         LOCAL value_t *partial)
{
    value_t bias = 0, loss = 0, each[2][VECTOR_ROWS];
    STORE_ROWS(biases, each[0]);
    STORE_ROWS(losses, each[1]);
    for (int k = 0; k < VECTOR_ROWS; k++) bias += each[0][k], loss += each[1][k];
    for (int feature = 0; feature < FEATURES; feature++) gp_leave(partials, part * SUMS + feature, gradient[feature]);
    gp_leave(partials, part * SUMS + BIAS, bias);
    gp_leave(partials, part * SUMS + LOSS, loss);
    if (gp_last_done(counters, parts)) gp_fold_groups(OUTPUT_NAMES, partials, layout, parts, partial, 0);
}

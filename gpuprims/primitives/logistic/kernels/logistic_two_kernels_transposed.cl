/* logistic/two_kernels_transposed: as two_kernels, after a copy by columns, in which neighbouring work-items read
 * neighbouring samples.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, the loss of each, then the samples by columns; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: the copy, rows, then sums
 * host    SAMPLES, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM(sum, value) (logistic.h)
 * order   rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_two_kernels_transposed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                                     const i64 n, const i64 step)
{
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;
    GLOBAL value_t *residuals = (GLOBAL value_t *)partials, *losses = residuals + n, *columns = losses + n;

    if (step == 0) {
        for (i64 at = worker; at < n * FEATURES; at += workers)
            columns[at % FEATURES * n + at / FEATURES] = SAMPLES(0)[at];
    } else if (step == 1) {
        /* 1. Compute a row's score, loss and residual each. */
        for (i64 row = worker; row < n; row += workers) {
            value_t score = INITIAL_SCORE, lost, residual;
            for (int feature = 0; feature < FEATURES; feature++) score += columns[feature * n + row] * WEIGHT(feature);
            LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);
            residuals[row] = residual;
            losses[row] = lost;
        }
    } else {
        /* 2. Add all rows, a sum each, and store. */
        for (i64 sum = worker; sum < SUMS; sum += workers) {
            GLOBAL const value_t *factors = sum == LOSS ? losses : residuals;
            value_t whole = 0;
            for (i64 row = 0; row < n; row++) whole += sum < FEATURES ? SAMPLES(row)[sum] * factors[row] : factors[row];
            STORE_SUM((int)sum, whole);
        }
    }
}

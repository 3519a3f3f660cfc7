/* descent/sequential: one work-item runs all iterations by three loops; the second loop reads the samples by
 * columns.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * scratch copied: the residual of each row
 * launch  one group of one work-item
 * host    gp_copy_weights, gp_present_residual, DESCEND(column, gradient) (batch.h)
 * order   the rows in order
 */
__kernel WORK_GROUP(1)
void descent_sequential(INPUTS, OUTPUTS, GLOBAL u32 *copied, const layout_t layout, const i64 n, const i64 steps)
{
    const int tid = get_local_id(0);
    if (tid > 0) return;
    GLOBAL value_t *residuals = (GLOBAL value_t *)copied;
    value_t gradient[COLUMNS], rests[COLUMNS];

    /* 1. Copy the weights. */
    gp_copy_weights(INPUT_NAMES, OUTPUT_NAMES, layout, rests, 0);

    for (i64 step = 0; step < steps; step++) {
        /* 2. Compute each row's residual. */
        for (i64 row = 0; row < n; row++)
            residuals[row] = gp_present_residual(INPUT_NAMES, OUTPUT_NAMES, layout, row);

        /* 3. Add all rows, one column after the other. */
        for (int c = 0; c < COLUMNS; c++) {
            gradient[c] = 0;
            for (i64 row = 0; row < n; row++) gradient[c] += (c < FEATURES ? SAMPLES(row)[c] : 1) * residuals[row];
        }

        /* 4. Change the weights. */
        for (int c = 0; c < COLUMNS; c++) DESCEND(c, gradient[c])
    }
}

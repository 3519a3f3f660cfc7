/* descent/merged_loops: as sequential, with one loop over the rows, which reads them in the order of memory.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * launch  one group of one work-item
 * host    gp_copy_weights, gp_present_residual, DESCEND(column, gradient) (batch.h)
 * order   the rows in order
 */
__kernel WORK_GROUP(1)
void descent_merged_loops(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 steps)
{
    const int tid = get_local_id(0);
    if (tid > 0) return;
    value_t gradient[COLUMNS], rests[COLUMNS];

    /* 1. Copy the weights. */
    gp_copy_weights(INPUT_NAMES, OUTPUT_NAMES, layout, rests, 0);

    for (i64 step = 0; step < steps; step++) {
        /* 2. Compute each row's residual, and add the row to the gradient. */
        for (int c = 0; c < COLUMNS; c++) gradient[c] = 0;
        for (i64 row = 0; row < n; row++) {
            const value_t residual = gp_present_residual(INPUT_NAMES, OUTPUT_NAMES, layout, row);
            for (int feature = 0; feature < FEATURES; feature++) gradient[feature] += SAMPLES(row)[feature] * residual;
            if (INTERCEPT) gradient[COLUMNS - 1] += residual;
        }

        /* 3. Change the weights. */
        for (int c = 0; c < COLUMNS; c++) DESCEND(c, gradient[c])
    }
}

/* descent/work_items: the work-items of one group take a run of rows each, and the first one adds their gradients.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * launch  one group of BLOCK; each work-item takes a run of rows
 * host    gp_copy_weights, gp_add_run, DESCEND(column, gradient) (batch.h)
 * order   the rows of a run in order, then the runs in order
 */
__kernel WORK_GROUP(BLOCK)
void descent_work_items(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 steps)
{
    __local value_t partial[BLOCK * COLUMNS];
    const int tid = get_local_id(0);
    const i64 run = (n + BLOCK - 1) / BLOCK, last = min((tid + 1) * run, n);
    LOCAL value_t *gradient = partial + tid * COLUMNS;
    value_t rests[COLUMNS];

    /* 1. Copy the weights. */
    gp_copy_weights(INPUT_NAMES, OUTPUT_NAMES, layout, rests, tid);
    barrier(BOTH_FENCES);

    for (i64 step = 0; step < steps; step++) {
        /* 2. Compute the residual of each row of the run, and add the row to the work-item's gradient. */
        gp_add_run(INPUT_NAMES, OUTPUT_NAMES, layout, tid * run, last, gradient);
        barrier(BOTH_FENCES);

        /* 3. Add the work-items' gradients, and change the weights. */
        if (tid == 0) {
            for (int c = 0; c < COLUMNS; c++) {
                for (int other = 1; other < BLOCK; other++) partial[c] += partial[other * COLUMNS + c];
                DESCEND(c, partial[c])
            }
        }
        barrier(BOTH_FENCES);
    }
}

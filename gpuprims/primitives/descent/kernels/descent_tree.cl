/* descent/tree: as work_items, with a tree in local memory that adds the gradients.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * launch  one group of BLOCK (a power of two); each work-item takes a run of rows
 * host    gp_copy_weights, gp_add_run, DESCEND(column, gradient) (batch.h)
 * order   the rows of a run in order, then the runs by a tree
 */
__kernel WORK_GROUP(BLOCK)
void descent_tree(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 steps)
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

        /* 3. Fold the group by a tree. */
        for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
            if (tid < stride)
                for (int c = 0; c < COLUMNS; c++) gradient[c] += gradient[stride * COLUMNS + c];
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 4. Change the weights. */
        if (tid == 0)
            for (int c = 0; c < COLUMNS; c++) DESCEND(c, partial[c])
        barrier(BOTH_FENCES);
    }
}

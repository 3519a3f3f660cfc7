/* logistic/two_kernels_local: as two_kernels, but a group shares the rows of a feature and adds them in local memory.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, then the loss of each; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: rows, then sums
 * host    SAMPLES, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM(sum, value) (logistic.h)
 * order   rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_two_kernels_local(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                                const i64 step)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;
    GLOBAL value_t *residuals = (GLOBAL value_t *)partials, *losses = residuals + n;

    if (step == 0) {
        /* 1. Compute a row's score, loss and residual each. */
        for (i64 row = worker; row < n; row += workers) {
            value_t score = INITIAL_SCORE, lost, residual;
            for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
            LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);
            residuals[row] = residual;
            losses[row] = lost;
        }
    } else {
        for (i64 sum = get_group_id(0); sum < SUMS; sum += get_num_groups(0)) {
            /* 2. Add every BLOCK-th row. */
            GLOBAL const value_t *factors = sum == LOSS ? losses : residuals;
            value_t whole = 0;
            for (i64 row = tid; row < n; row += BLOCK)
                whole += sum < FEATURES ? SAMPLES(row)[sum] * factors[row] : factors[row];
            partial[tid] = whole;
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 3. Add the group's sums, and store. */
            if (tid == 0) {
                for (int item = 1; item < BLOCK; item++) whole += partial[item];
                STORE_SUM((int)sum, whole);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

/* logistic/two_kernels_local: as two_kernels, but a group shares the rows of a feature and adds them in local memory.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, then the loss of each; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: rows, then sums
 * host    gp_grad1, RESIDUALS, LOSSES (grads.h), STORE_SUM(sum, value) (logistic.h)
 * order   rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_two_kernels_local(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                                const i64 step)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;

    if (step == 0) {
        /* 1. Compute a row's score, loss and residual each. */
        gp_grad1(INPUT_NAMES, GRAD_ARGUMENTS);
    } else {
        for (i64 sum = get_group_id(0); sum < SUMS; sum += get_num_groups(0)) {
            /* 2. Add every BLOCK-th row. */
            GLOBAL const value_t *factors = sum == LOSS ? LOSSES : RESIDUALS;
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

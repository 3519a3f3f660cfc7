/* logistic/two_kernels: work-items score a row each; in a second launch they add a feature of all rows each.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, then the loss of each; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: rows, then sums
 * host    gp_grad1, RESIDUALS, LOSSES (grads.h), SAMPLES, STORE_SUM(sum, value) (logistic.h)
 * order   rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_two_kernels(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                          const i64 step)
{
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;

    if (step == 0) {
        /* 1. Compute a row's score, loss and residual each. */
        gp_grad1(INPUT_NAMES, GRAD_ARGUMENTS);
    } else {
        /* 2. Add all rows, a sum each, and store. */
        for (i64 sum = worker; sum < SUMS; sum += workers) {
            GLOBAL const value_t *factors = sum == LOSS ? LOSSES : RESIDUALS;
            value_t whole = 0;
            for (i64 row = 0; row < n; row++) whole += sum < FEATURES ? SAMPLES(row)[sum] * factors[row] : factors[row];
            STORE_SUM((int)sum, whole);
        }
    }
}

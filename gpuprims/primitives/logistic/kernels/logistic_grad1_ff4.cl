/* logistic/grad1_ff4: as two_kernels, with VECTOR features of a row in a load.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, the loss of each; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: rows, then sums
 * host    gp_grad1_ff4, gp_grad2 (grads.h)
 * order   every VECTOR-th feature, then these parts; rows in order
 */
__kernel WORK_GROUP(BLOCK)
void logistic_grad1_ff4(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 step)
{
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;

    if (step == 0) {
        /* 1. Compute residuals and losses. */
        gp_grad1_ff4(INPUT_NAMES, GRAD_ARGUMENTS);
    } else {
        /* 2. Add all rows, and store. */
        gp_grad2(INPUT_NAMES, OUTPUT_NAMES, GRAD_ARGUMENTS);
    }
}

/* logistic/grad1_ns4: as grad2_tf4, but a work-item scores VECTOR rows at once from the samples by columns.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; where
 *         BY_COLUMNS also the samples by columns
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, the loss of each,
 *         then unless BY_COLUMNS the samples by columns; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: unless BY_COLUMNS the copy, then rows, then sums
 * host    gp_copy_columns, gp_grad1_ns4, gp_grad2_tf4 (grads.h)
 * order   features in order; every VECTOR-th row, then these parts
 */
__kernel WORK_GROUP(BLOCK)
void logistic_grad1_ns4(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 step)
{
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;

    if (step == 0) {
        /* 1. Copy the samples by columns. */
        gp_copy_columns(INPUT_NAMES, GRAD_ARGUMENTS);
    } else if (step == 1) {
        /* 2. Compute residuals and losses. */
        gp_grad1_ns4(INPUT_NAMES, GRAD_ARGUMENTS);
    } else {
        /* 3. Add all rows, and store. */
        gp_grad2_tf4(INPUT_NAMES, OUTPUT_NAMES, GRAD_ARGUMENTS);
    }
}

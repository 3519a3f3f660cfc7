/* logistic/grad2_ns_loc: as grad2_ns, but a group shares the rows of VECTOR features and adds them in local memory.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; where
 *         BY_COLUMNS also the samples by columns
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: the residual of each row, the loss of each,
 *         then unless BY_COLUMNS the samples by columns; counters: not touched
 * launch  any number of groups of BLOCK, once for each `step`: unless BY_COLUMNS the copy, then rows, then sums
 * host    gp_copy_columns, gp_grad1_ns4, gp_add_turn (grads.h)
 * order   features in order; every BLOCK-th row, then these parts
 */
__kernel WORK_GROUP(BLOCK)
void logistic_grad2_ns_loc(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                           const i64 step)
{
    __local value_t partial[BLOCK * VECTOR];
    const int tid = get_local_id(0);
    const i64 worker = get_group_id(0) * (i64)BLOCK + tid, workers = get_num_groups(0) * (i64)BLOCK;

    if (step == 0) {
        /* 1. Copy the samples by columns. */
        gp_copy_columns(INPUT_NAMES, GRAD_ARGUMENTS);
    } else if (step == 1) {
        /* 2. Compute residuals and losses. */
        gp_grad1_ns4(INPUT_NAMES, GRAD_ARGUMENTS);
    } else {
        for (i64 turn = get_group_id(0); turn < TURNS; turn += get_num_groups(0)) {
            /* 3. Add every BLOCK-th row. */
            value_t sums[VECTOR];
            const int sum = SUM_OF(turn);
            gp_add_turn(INPUT_NAMES, partials, layout, n, sum, tid, BLOCK, sums);
            for (int item = 0; item < VECTOR; item++) partial[item * BLOCK + tid] = sums[item];
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Add the group's sums, and store. */
            if (tid < VECTOR && (tid == 0 || sum < FEATURES)) {
                value_t whole = 0;
                for (int other = 0; other < BLOCK; other++) whole += partial[tid * BLOCK + other];
                STORE_SUM(sum + tid, whole);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

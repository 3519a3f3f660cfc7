/* logistic/tree: the work-items of one group take a run of rows each, and a tree in local memory adds their sums.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch none: partials and counters are not touched
 * launch  one group of BLOCK; each work-item takes a run of rows
 * host    SAMPLES, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM(sum, value) (logistic.h)
 * order   the rows of a run in order, then the runs by a tree
 */
__kernel WORK_GROUP(BLOCK)
void logistic_tree(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                   const i64 parts)
{
    __local value_t partial[BLOCK * SUMS];
    const int tid = get_local_id(0);
    const i64 run = (n + BLOCK - 1) / BLOCK, last = min((tid + 1) * run, n);
    LOCAL value_t *sums = partial + tid * SUMS;
    for (int sum = 0; sum < SUMS; sum++) sums[sum] = 0;

    for (i64 row = tid * run; row < last; row++) {
        /* 1. Compute a row's score, loss and residual. */
        value_t score = INITIAL_SCORE, lost, residual;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);

        /* 2. Add it to the work-item's sums. */
        for (int feature = 0; feature < FEATURES; feature++) sums[feature] += SAMPLES(row)[feature] * residual;
        sums[BIAS] += residual;
        sums[LOSS] += lost;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 3. Fold the group by a tree. */
    for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
        if (tid < stride)
            for (int sum = 0; sum < SUMS; sum++) sums[sum] += sums[stride * SUMS + sum];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* 4. Store. */
    if (tid == 0)
        for (int sum = 0; sum < SUMS; sum++) STORE_SUM(sum, partial[sum]);
}

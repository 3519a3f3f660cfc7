/* logistic/cpu_fixed: each work-item adds the rows of parts by a tree that is the same on every device, for devices whose
 * work-items are CPU threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: for each of SUMS, a number for each part
 * launch  two, by `step`: groups of one work-item add the rows of each part, then one adds the parts
 * host    LANES, CHUNKS and TREE_VECTOR; PRODUCT_OF, gp_settled, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM
 *         (logistic.h)
 * order   that of logistic/fixed, whose work-items are the lanes and slots here
 */
#define SLOTS (TREE_BLOCK / LANES)
#define WIDTH (CHUNKS * LANES * TREE_VECTOR)
#define PARTIAL(sum, part) ((GLOBAL value_t *)partials)[(i64)(sum)*parts + (part)]

/* Fold `count` rows of `width` sums by halves. */
DEVICE void fold_halves(value_t *sums, const int count, const int width)
{
    for (int stride = count / 2; stride > 0; stride /= 2)
        for (int k = 0; k < stride * width; k++) sums[k] += sums[stride * width + k];
}

/* The score of a row, without the intercept. */
DEVICE value_t score_of(const value_t *products)
{
    value_t lanes[LANES];
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = 0;
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        for (int lane = 0; lane < LANES; lane++)
#pragma unroll
            for (int item = 0; item < TREE_VECTOR; item++)
                lanes[lane] += products[(chunk * LANES + lane) * TREE_VECTOR + item];
    fold_halves(lanes, LANES, 1);
    return lanes[0];
}

__kernel WORK_GROUP(1)
void logistic_cpu_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 parts, const i64 rows, const i64 step)
{
    if (step == 1) {
        /* 4. Add the parts of each sum. */
        for (int sum = get_group_id(0); sum < SUMS; sum += get_num_groups(0)) {
            value_t folded[TREE_BLOCK];
            for (int k = 0; k < TREE_BLOCK; k++) folded[k] = 0;
            for (i64 part = 0; part < parts; part++) folded[part % TREE_BLOCK] += PARTIAL(sum, part);
            fold_halves(folded, TREE_BLOCK, 1);
            STORE_SUM(sum, gp_settled(folded[0]));
        }
        return;
    }
    const value_t start = INITIAL_SCORE;
    value_t products[WIDTH], weights[FEATURES];
    for (int k = 0; k < FEATURES; k++) weights[k] = WEIGHT(k);
    for (int k = FEATURES; k < WIDTH; k++) products[k] = 0;

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        const i64 first = part * rows, end = min(first + rows, n);
        value_t gradients[SLOTS * SUMS];
        for (int k = 0; k < SLOTS * SUMS; k++) gradients[k] = 0;

        for (i64 row = first; row < end; row++) {
            /* 1. Compute the score of a row, its loss and its residual. */
            GLOBAL const NUMBER *from = SAMPLES(row);
            value_t *sums = gradients + (row - first) % SLOTS * SUMS, lost, residual;
            for (int k = 0; k < FEATURES; k++) products[k] = PRODUCT_OF(from[k], weights[k]);
            LOSS_AND_RESIDUAL(score_of(products) + start, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);

            /* 2. Add the row to the sums of its slot. */
            for (int k = 0; k < FEATURES; k++) sums[k] += PRODUCT_OF(from[k], residual);
            sums[BIAS] += residual;
            sums[LOSS] += lost;
        }

        /* 3. Fold the slots, and leave the sums of the part. */
        fold_halves(gradients, SLOTS, SUMS);
        for (int sum = 0; sum < SUMS; sum++) PARTIAL(sum, part) = gradients[sum];
    }
}

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
#define BATCH 64 /* rows whose losses are computed together */
#define WIDTH (CHUNKS * LANES * TREE_VECTOR)
#if TREE_VECTOR == 4
#define TAKEN 16
#else
#define TAKEN 8
#endif
typedef WIDE(TAKEN) vectors_t;
#define LOAD_VECTORS GP_JOINED(vload, TAKEN)
#define STORE_VECTORS GP_JOINED(vstore, TAKEN)
/* Element `item` of four lanes; by shuffle(), because Oclgrind reports .s048c as uninitialised. */
#define OF_LANES(given, item)                                                                                          \
    shuffle(given, (VECTOR_OF(INDEX, 4))(item, (item) + TREE_VECTOR, (item) + 2 * TREE_VECTOR, (item) + 3 * TREE_VECTOR))
typedef WIDE(4) four_t;
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
#if LANES < 4
    value_t lanes[LANES];
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = 0;
    for (int k = 0; k < WIDTH; k++) lanes[k / TREE_VECTOR % LANES] += products[k];
    return LANES == 1 ? lanes[0] : lanes[0] + lanes[LANES - 1];
#else
    /* Four lanes at a time, by their first elements and so on. */
    four_t lanes[LANES / 4];
#pragma unroll
    for (int four = 0; four < LANES / 4; four++) lanes[four] = 0;
    for (int chunk = 0; chunk < CHUNKS; chunk++)
#pragma unroll
        for (int four = 0; four < LANES / 4; four++) {
            const vectors_t given = LOAD_VECTORS(chunk * (LANES / 4) + four, products);
#pragma unroll
            for (int item = 0; item < TREE_VECTOR; item++) lanes[four] += OF_LANES(given, item);
        }
#pragma unroll
    for (int stride = LANES / 8; stride > 0; stride /= 2)
#pragma unroll
        for (int four = 0; four < stride; four++) lanes[four] += lanes[four + stride];
    return (lanes[0].s0 + lanes[0].s2) + (lanes[0].s1 + lanes[0].s3);
#endif
}

/* Compute the losses and residuals of some rows. Within the loops over rows, compilers would make no vectors of them. */
__attribute__((noinline)) static void compute_losses(const value_t *scores, const value_t *labels, const value_t *counts,
                                                     value_t *lost, value_t *residuals, const int some)
{
    for (int k = 0; k < some; k++) LOSS_AND_RESIDUAL(scores[k], labels[k], counts[k], lost + k, residuals + k);
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

        for (i64 base = first; base < end; base += BATCH) {
            /* 1. Compute the scores of some rows, and then their losses and residuals, in vectors. */
            const int some = (int)min((i64)BATCH, end - base);
            value_t scores[BATCH], labels[BATCH], counts[BATCH], lost[BATCH], residuals[BATCH];
            for (int k = 0; k < some; k++) {
                GLOBAL const NUMBER *from = SAMPLES(base + k);
                int feature = 0;
                for (; feature + TAKEN <= FEATURES; feature += TAKEN)
                    STORE_VECTORS(LOAD_VECTORS(0, from + feature) * LOAD_VECTORS(0, weights + feature), 0, products + feature);
                for (; feature < FEATURES; feature++) products[feature] = PRODUCT_OF(from[feature], weights[feature]);
                scores[k] = score_of(products) + start;
            }
            for (int k = 0; k < some; k++) labels[k] = LABEL(base + k);
            for (int k = 0; k < some; k++) counts[k] = SAMPLE_WEIGHT(base + k);
            compute_losses(scores, labels, counts, lost, residuals, some);

            /* 2. Add the rows to the sums of their slots. */
            for (int k = 0; k < some; k++) {
                GLOBAL const NUMBER *from = SAMPLES(base + k);
                value_t *sums = gradients + (base + k - first) % SLOTS * SUMS;
                const value_t residual = residuals[k];
                int feature = 0;
                for (; feature + TAKEN <= FEATURES; feature += TAKEN)
                    STORE_VECTORS(LOAD_VECTORS(0, sums + feature) + LOAD_VECTORS(0, from + feature) * residual, 0, sums + feature);
                for (; feature < FEATURES; feature++) sums[feature] += PRODUCT_OF(from[feature], residual);
                sums[BIAS] += residual;
                sums[LOSS] += lost[k];
            }
        }

        /* 3. Fold the slots, and leave the sums of the part. */
        fold_halves(gradients, SLOTS, SUMS);
        for (int sum = 0; sum < SUMS; sum++) PARTIAL(sum, part) = gradients[sum];
    }
}

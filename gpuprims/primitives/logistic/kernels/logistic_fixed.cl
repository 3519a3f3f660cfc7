/* logistic/fixed: neighbouring work-items hold rows in registers, and add scores and gradients by a tree that is the same
 * on every device.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: for each of SUMS, a number for each part
 * launch  two, by `step`: groups of BLOCK = TREE_BLOCK add the rows of each part, then groups add the parts of each sum
 * host    LANES work-items for a row, which hold CHUNKS vectors of TREE_VECTOR; ROWS rows at once; PRODUCT_OF, gp_settled,
 *         LOSS_AND_RESIDUAL(z, y, s, loss, residual), gp_fold_rows and gp_from_lane (rows.h), STORE_SUM (logistic.h),
 *         gp_butterfly (shuffling.h)
 * order   of fixed.py: a lane's products in order and then the lanes by halves; the rows of a slot in order, and then the
 *         slots by halves; every TREE_BLOCK-th part, and then these sums by halves
 */
#define SLOTS (BLOCK / LANES)
#define TILE (ROWS * SLOTS)
#define HELD (CHUNKS * TREE_VECTOR)
#define FEATURE(k) (((k) / TREE_VECTOR * LANES + lane) * TREE_VECTOR + (k) % TREE_VECTOR)
#define PARTIAL(sum, part) ((GLOBAL value_t *)partials)[(i64)(sum)*parts + (part)]

/* Load a lane's vectors of a row, and zeros past the end. */
DEVICE void load_lane(GLOBAL const NUMBER *from, const int live, const int lane, value_t *held)
{
#pragma unroll
    for (int k = 0; k < HELD; k += VECTOR) {
        const int first = FEATURE(k);
        if (live && first < FEATURES) {
            READ_SAMPLES(from + first, held + k);
        } else {
#pragma unroll
            for (int item = 0; item < VECTOR; item++) held[k + item] = 0;
        }
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void logistic_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                    const i64 parts, const i64 rows, const i64 step)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0), lane = tid % LANES, slot = tid / LANES;

    if (step == 1) {
        /* 6. Add the parts of each sum. */
        for (int sum = get_group_id(0); sum < SUMS; sum += get_num_groups(0)) {
            value_t folded = 0;
            for (i64 part = tid; part < parts; part += BLOCK) folded += PARTIAL(sum, part);
            for (int stride = BLOCK / 2; stride > 0; stride /= 2) folded += gp_butterfly(folded, stride, partial, tid);
            if (tid == 0) STORE_SUM(sum, gp_settled(folded));
        }
        return;
    }

    /* 1. Load the weights. */
    const value_t start = INITIAL_SCORE;
    value_t weights[HELD];
#pragma unroll
    for (int k = 0; k < HELD; k++) weights[k] = FEATURE(k) < FEATURES ? WEIGHT(FEATURE(k)) : 0;

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        const i64 end = min((part + 1) * rows, n);
        value_t gradient[HELD], bias = 0, loss = 0;
#pragma unroll
        for (int k = 0; k < HELD; k++) gradient[k] = 0;

        for (i64 base = part * rows; base < end; base += TILE) {
            value_t held[ROWS][HELD], losses[OWNED], labels[OWNED], sample_weights[OWNED], sums[ROWS];

            /* 2. Load rows, and the labels and sample weights of the lane's own rows; compute the lane's part of the
             * scores, and add the lanes' parts (logistic/fused has a drawing). */
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const i64 row = base + k * SLOTS + slot;
                load_lane(SAMPLES(row), row < end, lane, held[k]);
            }
#pragma unroll
            for (int k = 0; k < OWNED; k++) {
                const i64 row = base + (lane / SHARING * OWNED + k) * SLOTS + slot;
                labels[k] = row < end ? LABEL(row) : 0;
                sample_weights[k] = row < end ? SAMPLE_WEIGHT(row) : 0;
            }
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                sums[k] = 0;
#pragma unroll
                for (int item = 0; item < HELD; item++) sums[k] += PRODUCT_OF(held[k][item], weights[item]);
            }
            gp_fold_rows(sums, partial, tid);

            /* 3. Compute the losses of the lane's own rows, and their residuals in place of the scores. */
#pragma unroll
            for (int k = 0; k < OWNED; k++) {
                const i64 row = base + (lane / SHARING * OWNED + k) * SLOTS + slot;
                value_t residual = 0;
                losses[k] = 0;
                if (row < end) LOSS_AND_RESIDUAL(sums[k] + start, labels[k], sample_weights[k], &losses[k], &residual);
                sums[k] = residual;
            }

            /* 4. Pass these to all lanes, and add each row. */
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const value_t residual = gp_from_lane(sums[k % OWNED], k / OWNED * SHARING, partial, tid);
                loss += gp_from_lane(losses[k % OWNED], k / OWNED * SHARING, partial, tid);
                bias += residual;
#pragma unroll
                for (int item = 0; item < HELD; item++) gradient[item] += PRODUCT_OF(held[k][item], residual);
            }
        }

        /* 5. Fold the slots, and leave the sums of the part. */
        for (int stride = BLOCK / 2; stride >= LANES; stride /= 2) {
#pragma unroll
            for (int k = 0; k < HELD; k++) gradient[k] += gp_butterfly(gradient[k], stride, partial, tid);
            bias += gp_butterfly(bias, stride, partial, tid);
            loss += gp_butterfly(loss, stride, partial, tid);
        }
        if (slot > 0) continue;
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (FEATURE(k) < FEATURES) PARTIAL(FEATURE(k), part) = gradient[k];
        if (lane == 0) {
            PARTIAL(BIAS, part) = bias;
            PARTIAL(LOSS, part) = loss;
        }
    }
}

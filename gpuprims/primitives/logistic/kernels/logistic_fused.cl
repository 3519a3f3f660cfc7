/* logistic/fused: neighbouring work-items hold rows in registers, from their scores to the gradient.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, numbers or integers (INTEGERS), x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: SUMS for each group; counters: one, zero before and after
 * launch  `parts` groups of BLOCK (a power of two); each takes tiles of TILE rows until none are left
 * host    LANES work-items for a row, which hold CHUNKS vectors of it each; ROWS rows at once; LOSS_AND_RESIDUAL(z, y, s, loss,
 *         residual), gp_fold_rows and gp_from_lane (rows.h), gp_fold_groups (logistic.h), held.h, gp_butterfly (shuffling.h)
 * order   only the number of groups decides in which order sums are added
 *
 * A row of 12 samples by LANES = 4 for VECTOR = 4; the other lanes of the warp have the next rows:
 *
 *     lane    0         1         2         3         4
 *     holds   0..3      4..7      8..11     -         the next row's 0..3
 *
 * Each lane has part of the scores of ROWS rows. In each round it keeps half of them and passes the other half to a
 * lane that does the reverse. It ends with the whole scores of OWNED rows, or SHARING lanes end with the same row's.
 * For ROWS = 4:
 *
 *     lane    0         1         2         3
 *     before  0 1 2 3   0 1 2 3   0 1 2 3   0 1 2 3
 *     by 2    0 1       0 1       2 3       2 3
 *     by 1    0         1         2         3
 */
/* Load a lane's vectors of a row, and zeros past the end. */
DEVICE void load_samples(GLOBAL const SAMPLE_TYPE *from, const int live, const int lane, value_t *held)
{
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const int first = (chunk * LANES + lane) * VECTOR;
        if (live && first < FEATURES) {
            READ_SAMPLES(from + first, held + chunk * VECTOR);
        } else {
#pragma unroll
            for (int item = 0; item < VECTOR; item++) held[chunk * VECTOR + item] = 0;
        }
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void logistic_fused(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                    const i64 parts)
{
    __local value_t partial[BLOCK];
    __local int last;
    const int tid = get_local_id(0), lane = tid % LANES, slot = tid / LANES;
    const value_t start = INITIAL_SCORE;
    value_t weights[HELD], gradient[HELD], bias = 0, loss = 0;

    /* 1. Load the weights. */
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        const int feature = HELD_FEATURE(k, lane);
        weights[k] = feature < FEATURES ? WEIGHT(feature) : 0;
        gradient[k] = 0;
    }

    for (i64 base = get_group_id(0) * (i64)TILE; base < n; base += parts * TILE) {
        value_t held[ROWS][HELD], labels[OWNED], sample_weights[OWNED], sums[ROWS];

        /* 2. Load rows, and the labels and sample weights of the lane's own rows; compute the lane's part of the
         * scores. */
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const i64 row = base + k * SLOTS + slot;
            load_samples(SAMPLES(row), row < n, lane, held[k]);
        }
        gp_load_own(INPUT_NAMES, layout, base, n, lane, slot, labels, sample_weights);
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            sums[k] = 0;
#pragma unroll
            for (int item = 0; item < HELD; item++) sums[k] += held[k][item] * weights[item];
        }

        /* 3. Add the lanes' parts; see above. */
        gp_fold_rows(sums, partial, tid);

        /* 4. Compute the losses of the lane's own rows, and their residuals in place of the scores. */
        gp_residuals_of_own(sums, start, labels, sample_weights, base, n, lane, slot, &loss, &bias);

        /* 5. Pass the residuals to all lanes, and add each row to the gradient. */
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const value_t residual = gp_from_lane(sums[k % OWNED], k / OWNED * SHARING, partial, tid);
#pragma unroll
            for (int item = 0; item < HELD; item++) gradient[item] += held[k][item] * residual;
        }
    }

    /* 6. Fold the group: the gradient over lanes at the same place of their rows, loss and intercept over all lanes. */
    gp_fold_held(gradient, &bias, &loss, partial, tid);

    /* 7. Leave the sums; the last group folds and stores all of them. */
    gp_leave_held(partials, gradient, bias, loss, tid);
    gp_fence();
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) last = gp_last_done(counters, parts);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last) gp_fold_groups(OUTPUT_NAMES, partials, layout, parts, partial, tid);
}

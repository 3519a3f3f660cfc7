/* Functions of kernels whose lanes hold rows from their scores to the gradient: LANES work-items share a row, and each
 * has CHUNKS vectors of it. A group takes ROWS rows for each of its SLOTS places at once. */
#define SLOTS (BLOCK / LANES)
#define TILE (ROWS * SLOTS)
#define HELD (CHUNKS * VECTOR)
/* The feature of number k that a lane holds, and the row of number k of those whose whole score it has. */
#define HELD_FEATURE(k, lane) (((k) / VECTOR * LANES + (lane)) * VECTOR + (k) % VECTOR)
#define OWN_ROW(base, k, lane, slot) ((base) + ((lane) / SHARING * OWNED + (k)) * SLOTS + (slot))

/* Load the labels and sample weights of the lane's own rows. */
DEVICE void gp_load_own(INPUTS, const layout_t layout, const i64 base, const i64 n, const int lane, const int slot,
                        value_t *labels, value_t *sample_weights)
{
#pragma unroll
    for (int k = 0; k < OWNED; k++) {
        const i64 row = OWN_ROW(base, k, lane, slot);
        labels[k] = row < n ? LABEL(row) : 0;
        sample_weights[k] = row < n ? SAMPLE_WEIGHT(row) : 0;
    }
}

/* Add the losses of the lane's own rows, and put their residuals in place of the scores without `start`. */
DEVICE void gp_residuals_of_own(value_t *sums, const value_t start, const value_t *labels, const value_t *sample_weights,
                                const i64 base, const i64 n, const int lane, const int slot, value_t *loss, value_t *bias)
{
#pragma unroll
    for (int k = 0; k < OWNED; k++) {
        value_t lost = 0, residual = 0;
        if (OWN_ROW(base, k, lane, slot) < n)
            LOSS_AND_RESIDUAL(sums[k] + start, labels[k], sample_weights[k], &lost, &residual);
        if (lane % SHARING == 0) {
            *loss += lost;
            *bias += residual;
        }
        sums[k] = residual;
    }
}

/* Fold the group: the gradient over lanes at the same place of their rows, loss and intercept over all lanes. */
DEVICE void gp_fold_held(value_t *gradient, value_t *bias, value_t *loss, LOCAL value_t *partial, const int tid)
{
    for (int stride = LANES; stride < BLOCK; stride *= 2) {
#pragma unroll
        for (int k = 0; k < HELD; k++) gradient[k] += gp_butterfly(gradient[k], stride, partial, tid);
    }
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        *bias += gp_butterfly(*bias, stride, partial, tid);
        *loss += gp_butterfly(*loss, stride, partial, tid);
    }
}

/* Leave the sums of a group. */
DEVICE void gp_leave_held(GLOBAL u32 *partials, const value_t *gradient, const value_t bias, const value_t loss, const int tid)
{
    const i64 at = get_group_id(0) * (i64)SUMS;
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        const int feature = HELD_FEATURE(k, tid % LANES);
        if (tid / LANES == 0 && feature < FEATURES) gp_leave(partials, at + feature, gradient[k]);
    }
    if (tid == 0) {
        gp_leave(partials, at + BIAS, bias);
        gp_leave(partials, at + LOSS, loss);
    }
}

/* The steps that kernels of the logistic loss share, the same in both dialects.
 *
 * They are after sums over the rows, which are numbered: one for each feature, behind these the intercept's, last the loss.
 */
#define BIAS FEATURES
#define LOSS (FEATURES + 1)
#define SUMS (FEATURES + 2)

#define SAMPLES(row) (x0 + gp_at_x0(layout, 0, 0) + (row) * FEATURES)
#define LABEL(row) x1[gp_at_x1(layout, 0, 0) + (row)]
#define WEIGHT(feature) x2[gp_at_x2(layout, 0, 0) + (feature)]
#if INTERCEPT
#define START WEIGHT(FEATURES)
#else
#define START 0
#endif
#if WEIGHTED
#define SHARE(row) x3[gp_at_x3(layout, 0, 0) + (row)]
#else
#define SHARE(row) 1
#endif

/* VECTOR neighbours of a row, in one load. */
#if VECTOR > 1
#define READ_SAMPLES(from, to) READ_VECTOR(NUMBER, VECTOR, from, to)
#else
#define READ_SAMPLES(from, to) (to)[0] = *(from)
#endif

#define STORE_SUM(sum, value) store_sum(OUTPUT_NAMES, layout, sum, value)
DEVICE void store_sum(OUTPUTS, const layout_t layout, const int sum, const value_t value)
{
    if (sum == LOSS) {
        y0[gp_at_y0(layout, 0, 0)] = value;
    } else if (sum < FEATURES + INTERCEPT) {
        y1[gp_at_y1(layout, 0, 0) + sum] = value;
    }
}

/* The value of one of the LANES work-items that share a row, for all of them. */
DEVICE value_t from_lane(const value_t value, const int lane, LOCAL value_t *partial, const int tid)
{
#if LANES == 1
    return value;
#elif LANES <= WARP
    return gp_shuffle_from(value, tid % WARP / LANES * LANES + lane);
#else
    partial[tid] = value;
    BARRIER();
    const value_t taken = partial[tid / LANES * LANES + lane];
    BARRIER();
    return taken;
#endif
}

/* Add up what all groups left and store it, in an order that does not depend on which comes last: `wide` sums side by side, of
 * each of which BLOCK / wide work-items take every so-manieth part, with FLYING loads under way. */
#define FLYING 8
DEVICE void fold_groups(OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 parts, LOCAL value_t *partial,
                        const int tid)
{
    const int wide = BLOCK < 32 ? BLOCK : 32, slices = BLOCK / wide;
    for (int first = 0; first < SUMS; first += wide) {
        const int sum = first + tid % wide;
        value_t folded = 0;
        for (i64 part = tid / wide; part < parts && sum < SUMS; part += FLYING * slices) {
            value_t taken[FLYING];
#pragma unroll
            for (int k = 0; k < FLYING; k++)
                taken[k] = part + k * slices < parts ? gp_collect(partials, (part + k * slices) * SUMS + sum) : 0;
#pragma unroll
            for (int k = 0; k < FLYING; k++) folded += taken[k];
        }
        for (int stride = wide; stride < BLOCK; stride *= 2) folded += swapped(folded, stride, partial, tid);
        if (tid < wide && sum < SUMS) STORE_SUM(sum, folded);
    }
}

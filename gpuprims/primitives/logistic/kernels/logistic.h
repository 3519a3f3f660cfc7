/* Sums over the rows, by number: one for each feature, then the intercept's, then the loss. */
#define BIAS FEATURES
#define LOSS (FEATURES + 1)
#define SUMS (FEATURES + 2)

#define STORE_SUM(sum, value) gp_store_sum(OUTPUT_NAMES, layout, sum, value)
DEVICE void gp_store_sum(OUTPUTS, const layout_t layout, const int sum, const value_t value)
{
    if (sum == LOSS) {
        y0[gp_at_y0(layout, 0, 0)] = value;
    } else if (sum < FEATURES + INTERCEPT) {
        y1[gp_at_y1(layout, 0, 0) + sum] = value;
    }
}

/* Add the sums of all groups and store them, in an order that does not depend on which group is last. A work-item adds
 * one sum; if there are few sums, several work-items share one, each with a part of the groups. Each has FLYING loads
 * in flight, because no other group works. */
#define FLYING 32
DEVICE void gp_fold_groups(OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 parts, LOCAL value_t *partial,
                        const int tid)
{
    int wide = BLOCK;
    while (wide / 2 >= SUMS) wide /= 2;
    const int slices = BLOCK / wide;
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
        for (int stride = wide; stride < BLOCK; stride *= 2) folded += gp_butterfly(folded, stride, partial, tid);
        if (tid < wide && sum < SUMS) STORE_SUM(sum, folded);
    }
}

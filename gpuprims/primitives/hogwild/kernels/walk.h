/* Steps by samples that several workers take at once; each of LANES neighbouring work-items has every LANES-th feature.
 * Weights are read and changed by gp_now and gp_add_now (prelude) if `atomic`, else by plain loads and stores, between
 * which another worker's change is lost. */
#define SLOTS (BLOCK / LANES)
/* Loads of a work-item in flight. */
#define FLYING 8

/* The present weight. A volatile load goes past a core's own cache, as an atomic one does. */
DEVICE value_t gp_present(GLOBAL value_t *weight, const int atomic)
{
    return atomic ? gp_now(weight) : *(GLOBAL volatile value_t *)weight;
}

DEVICE void gp_change(GLOBAL value_t *weight, const value_t change, const int atomic)
{
    if (atomic) {
        gp_add_now(weight, change);
    } else {
        *(GLOBAL volatile value_t *)weight = *(GLOBAL volatile value_t *)weight + change;
    }
}

/* Load every LANES-th feature of a row from `first` on, and their present weights if `wanted`; zeros past the end. */
DEVICE void gp_read_some(GLOBAL const NUMBER *row, GLOBAL value_t *weights, const int wanted, const int first, value_t *held,
                         value_t *seen, const int atomic)
{
#pragma unroll
    for (int k = 0; k < FLYING; k++) {
        const int feature = first + k * LANES;
        held[k] = feature < FEATURES ? row[feature] : 0;
        seen[k] = wanted && feature < FEATURES ? gp_present(weights + feature, atomic) : 0;
    }
}

DEVICE void gp_walk(INPUTS, OUTPUTS, const layout_t layout, const i64 steps, const i64 stretch, const i64 workers,
                    const i64 part, LOCAL value_t *partial, const int tid, const int atomic)
{
    const int lane = tid % LANES;
    const i64 worker = get_group_id(0) * (i64)SLOTS + tid / LANES;
    GLOBAL value_t *weights = &MOVED(0);

    if (part == 0) {
        /* 1. Copy the weights. */
        for (i64 k = get_group_id(0) * (i64)BLOCK + tid; k < FEATURES + INTERCEPT; k += get_num_groups(0) * (i64)BLOCK)
            weights[k] = WEIGHT(k);
    } else {
        for (i64 base = 0; base < steps; base += workers) {
            const i64 at = base + worker;
            const int live = worker < workers && at < steps;
            const i64 number = live ? SAMPLE(at) : 0, pace = live ? at / stretch : 0;
            const value_t keep = KEEP(pace);

            /* 2. Compute the sample's score from the present weights. */
            value_t score = INTERCEPT && live && lane == 0 ? gp_present(weights + FEATURES, atomic) : 0;
            for (int first = lane; first < FEATURES && live; first += FLYING * LANES) {
                value_t held[FLYING], seen[FLYING];
                gp_read_some(SAMPLES(number), weights, 1, first, held, seen, atomic);
#pragma unroll
                for (int k = 0; k < FLYING; k++) score += held[k] * seen[k];
            }
            for (int stride = LANES / 2; stride > 0; stride /= 2) score += gp_butterfly(score, stride, partial, tid);

            /* 3. Add its change to the weights. */
            const value_t move = live ? RATE(pace) * SAMPLE_WEIGHT(number) * (SIGMOID(score) - LABEL(number)) : 0;
            for (int first = lane; first < FEATURES && live; first += FLYING * LANES) {
                value_t held[FLYING], seen[FLYING];
                gp_read_some(SAMPLES(number), weights, keep != 1, first, held, seen, atomic);
#pragma unroll
                for (int k = 0; k < FLYING; k++) {
                    const value_t change = -move * held[k] - (1 - keep) * seen[k];
                    if (first + k * LANES < FEATURES && change != 0) gp_change(weights + first + k * LANES, change, atomic);
                }
            }
            if (INTERCEPT && live && lane == 0) gp_change(weights + FEATURES, -move, atomic);
        }
    }
}

/* hogwild/lock_free: LANES neighbouring work-items take a sample at a time and change weights that all others change,
 * too, without locks.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights
 * scratch partials, counters: not touched
 * launch  for each `part`: any number of groups of BLOCK (a power of two), which copy the weights, then enough for all
 *         workers
 * host    `steps` samples in order, in stretches; each of `workers` takes every workers-th sample; gp_now, gp_add_now
 *         (prelude), gp_butterfly (shuffling.h)
 * order   a work-item reads and changes the same features of all its samples, so a single worker keeps the order;
 *         several workers read weights between others' additions, and results differ from run to run
 */
#define SLOTS (BLOCK / LANES)
/* Loads of a work-item in flight. */
#define FLYING 8

/* Load every LANES-th feature of a row from `first` on, and their present weights if `wanted`; zeros past the end. */
DEVICE void read_some(GLOBAL const NUMBER *row, GLOBAL value_t *weights, const int wanted, const int first, value_t *held,
                      value_t *seen)
{
#pragma unroll
    for (int k = 0; k < FLYING; k++) {
        const int feature = first + k * LANES;
        held[k] = feature < FEATURES ? row[feature] : 0;
        seen[k] = wanted && feature < FEATURES ? gp_now(weights + feature) : 0;
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void hogwild_lock_free(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 steps,
                       const i64 stretch, const i64 workers, const i64 part)
{
    __local value_t partial[BLOCK];
    const int tid = get_local_id(0), lane = tid % LANES;
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
            value_t score = INTERCEPT && live && lane == 0 ? gp_now(weights + FEATURES) : 0;
            for (int first = lane; first < FEATURES && live; first += FLYING * LANES) {
                value_t held[FLYING], seen[FLYING];
                read_some(SAMPLES(number), weights, 1, first, held, seen);
#pragma unroll
                for (int k = 0; k < FLYING; k++) score += held[k] * seen[k];
            }
            for (int stride = LANES / 2; stride > 0; stride /= 2) score += gp_butterfly(score, stride, partial, tid);

            /* 3. Add its change to the weights. */
            const value_t move = live ? RATE(pace) * SAMPLE_WEIGHT(number) * (SIGMOID(score) - LABEL(number)) : 0;
            for (int first = lane; first < FEATURES && live; first += FLYING * LANES) {
                value_t held[FLYING], seen[FLYING];
                read_some(SAMPLES(number), weights, keep != 1, first, held, seen);
#pragma unroll
                for (int k = 0; k < FLYING; k++) {
                    const value_t change = -move * held[k] - (1 - keep) * seen[k];
                    if (first + k * LANES < FEATURES && change != 0) gp_add_now(weights + first + k * LANES, change);
                }
            }
            if (INTERCEPT && live && lane == 0) gp_add_now(weights + FEATURES, -move);
        }
    }
}

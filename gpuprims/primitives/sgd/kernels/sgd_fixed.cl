/* sgd/fixed: a group takes a step by each sample, by operations that are the same on every device.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights
 * scratch none: partials and counters are not touched
 * launch  one group of BLOCK, which divides TREE_LANES
 * host    `steps` samples in order, in stretches; PRODUCT_OF, gp_settled, gp_sigmoid
 * order   samples in order; lane k of TREE_LANES adds every TREE_LANES-th product of a score, from product k on, to zero;
 *         then the lanes by halves
 */
__kernel WORK_GROUP(BLOCK)
void sgd_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 steps,
               const i64 stretch)
{
    __local value_t partial[TREE_LANES];
    const int tid = get_local_id(0);
    GLOBAL NUMBER *weights = &MOVED(0); /* a work-item reads and writes every BLOCK-th */
    value_t bias = INITIAL_SCORE;

    /* 1. Copy the weights. */
    for (int feature = tid; feature < FEATURES; feature += BLOCK) weights[feature] = WEIGHT(feature);

    for (i64 step = 0; step < steps; step++) {
        const i64 number = SAMPLE(step), pace = step / stretch;
        GLOBAL const NUMBER *row = SAMPLES(number);

        /* 2. Multiply the sample with the weights, and fold the lanes. */
        for (int lane = tid; lane < TREE_LANES; lane += BLOCK) {
            value_t sum = 0;
            for (int feature = lane; feature < FEATURES; feature += TREE_LANES)
                sum += PRODUCT_OF(row[feature], weights[feature]);
            partial[lane] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int stride = TREE_LANES / 2; stride > 0; stride /= 2) {
            for (int lane = tid; lane < stride; lane += BLOCK) partial[lane] += partial[lane + stride];
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 3. Change the weights. */
        const value_t weight = SAMPLE_WEIGHT(number), rate = PRODUCT_OF(RATE(pace), weight), keep = KEEP(pace);
        const value_t move = PRODUCT_OF(rate, gp_sigmoid(partial[0] + bias) - LABEL(number));
        for (int feature = tid; feature < FEATURES; feature += BLOCK)
            weights[feature] = PRODUCT_OF(keep, weights[feature]) - PRODUCT_OF(move, row[feature]);
        if (INTERCEPT) bias -= move;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* 4. Give NaN its bits, and store the intercept. */
    for (int feature = tid; feature < FEATURES; feature += BLOCK) weights[feature] = gp_settled(weights[feature]);
    if (INTERCEPT && tid == 0) MOVED(FEATURES) = gp_settled(bias);
}

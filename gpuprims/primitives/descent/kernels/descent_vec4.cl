/* descent/vec4: as tree, with VECTOR samples and sums in a load.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * launch  one group of BLOCK (a power of two); each work-item takes a run of rows
 * host    READ_SAMPLES, SIGMOID(z) (rows.h), gp_copy_weights, DESCEND(column, gradient) (batch.h)
 * order   the rows of a run in order, then the runs by a tree
 *
 * A vector has four float32 or two float64, and one number if the rows do not begin at whole vectors. The sums of the
 * intercept lie behind those of the features, so that each vector is aligned.
 */
#if VECTOR > 1
#define READ_SUMS(from, to) READ_LOCAL(NUMBER, VECTOR, from, to)
#define WRITE_SUMS(to, from) WRITE_LOCAL(NUMBER, VECTOR, to, from)
#else
#define READ_SUMS(from, to) (to)[0] = *(from)
#define WRITE_SUMS(to, from) *(to) = (from)[0]
#endif

__kernel WORK_GROUP(BLOCK)
void descent_vec4(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 steps)
{
    __local ALIGNED value_t partial[BLOCK * FEATURES];
    __local value_t biases[BLOCK];
    const int tid = get_local_id(0);
    const i64 run = (n + BLOCK - 1) / BLOCK, last = min((tid + 1) * run, n);
    LOCAL value_t *gradient = partial + tid * FEATURES;
    value_t rests[COLUMNS];

    /* 1. Copy the weights. */
    gp_copy_weights(INPUT_NAMES, OUTPUT_NAMES, layout, rests, tid);
    barrier(BOTH_FENCES);

    for (i64 step = 0; step < steps; step++) {
        value_t taken[VECTOR], sums[VECTOR];

        /* 2. Compute the residual of each row of the run, and add the row to the work-item's gradient. */
        for (int feature = 0; feature < FEATURES; feature++) gradient[feature] = 0;
        biases[tid] = 0;
        for (i64 row = tid * run; row < last; row++) {
            value_t score = PRESENT_INTERCEPT;
            for (int feature = 0; feature < FEATURES; feature += VECTOR) {
                READ_SAMPLES(SAMPLES(row) + feature, taken);
#pragma unroll
                for (int item = 0; item < VECTOR; item++) score += taken[item] * MOVED(feature + item);
            }
            const value_t residual = SAMPLE_WEIGHT(row) * (SIGMOID(score) - LABEL(row));
            for (int feature = 0; feature < FEATURES; feature += VECTOR) {
                READ_SAMPLES(SAMPLES(row) + feature, taken);
                READ_SUMS(gradient + feature, sums);
#pragma unroll
                for (int item = 0; item < VECTOR; item++) sums[item] += taken[item] * residual;
                WRITE_SUMS(gradient + feature, sums);
            }
            biases[tid] += residual;
        }
        barrier(BOTH_FENCES);

        /* 3. Fold the group by a tree. */
        for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
            if (tid < stride) {
                for (int feature = 0; feature < FEATURES; feature += VECTOR) {
                    READ_SUMS(gradient + feature, sums);
                    READ_SUMS(gradient + stride * FEATURES + feature, taken);
#pragma unroll
                    for (int item = 0; item < VECTOR; item++) sums[item] += taken[item];
                    WRITE_SUMS(gradient + feature, sums);
                }
                biases[tid] += biases[tid + stride];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 4. Change the weights. */
        if (tid == 0) {
            for (int feature = 0; feature < FEATURES; feature++) DESCEND(feature, partial[feature])
            if (INTERCEPT) DESCEND(COLUMNS - 1, biases[0])
        }
        barrier(BOTH_FENCES);
    }
}

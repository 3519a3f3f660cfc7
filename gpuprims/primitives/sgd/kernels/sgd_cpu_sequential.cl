/* sgd/cpu_sequential: one work-item takes one sample after the other, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights
 * scratch none: partials and counters are not touched
 * launch  one group of one work-item
 * host    `steps` samples in order, in stretches; HALVES (rows.h)
 * order   samples in order; a score's features 64 side by side, then by halves
 *
 * One pass over the weights, which are in the core's first cache, changes them by a sample and computes the next
 * sample's score. The next row is fetched while the present one is added.
 */

/* Change `count` weights by a row, and add their part of the next row's score. */
#define ADVANCE(count, sum)                                                                                            \
    {                                                                                                                  \
        const WIDE(count) changed = keep * vload##count(0, weights + at) - move * vload##count(0, row + at);           \
        vstore##count(changed, 0, weights + at);                                                                       \
        sum += changed * vload##count(0, next + at);                                                                   \
        at += count;                                                                                                   \
    }

DEVICE value_t advance(GLOBAL NUMBER *weights, GLOBAL const NUMBER *row, GLOBAL const NUMBER *next, const value_t keep,
                       const value_t move)
{
    int at = 0;
    WIDE(16) sum16 = 0;
#if FEATURES >= 64
    WIDE(16) beside1 = 0, beside2 = 0, beside3 = 0;
    while (at + 64 <= FEATURES) {
        ADVANCE(16, sum16)
        ADVANCE(16, beside1)
        ADVANCE(16, beside2)
        ADVANCE(16, beside3)
    }
    sum16 = (sum16 + beside1) + (beside2 + beside3);
#endif
    while (at + 16 <= FEATURES) ADVANCE(16, sum16)
    WIDE(8) sum8 = HALVES(sum16, 8, (0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 14, 15));
#if FEATURES & 8
    ADVANCE(8, sum8)
#endif
    WIDE(4) sum4 = HALVES(sum8, 4, (0, 1, 2, 3), (4, 5, 6, 7));
#if FEATURES & 4
    ADVANCE(4, sum4)
#endif
    WIDE(2) sum2 = HALVES(sum4, 2, (0, 1), (2, 3));
#if FEATURES & 2
    ADVANCE(2, sum2)
#endif
    value_t sum = sum2.x + sum2.y;
#if FEATURES & 1
    weights[at] = keep * weights[at] - move * row[at];
    sum += weights[at] * next[at];
#endif
    return sum;
}

__kernel WORK_GROUP(1)
void sgd_cpu_sequential(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 steps,
                        const i64 stretch)
{
    GLOBAL NUMBER *weights = &MOVED(0);
    value_t bias = INITIAL_SCORE, score = 0;

    /* 1. Copy the weights, and compute the first sample's score. */
    for (int feature = 0; feature < FEATURES; feature++) weights[feature] = WEIGHT(feature);
    i64 number = SAMPLE(0);
    for (int feature = 0; feature < FEATURES; feature++) score += weights[feature] * SAMPLES(number)[feature];

    i64 step = 0;
    for (i64 base = 0; base < steps; base += stretch) {
        const value_t rate = RATE(base / stretch), keep = KEEP(base / stretch);
        for (; step < base + stretch; step++) {
            /* 2. Change the weights by a sample, and compute the next sample's score; after the last, its own again. */
            const i64 next = step + 1 < steps ? SAMPLE(step + 1) : number;
            const value_t move = rate * SAMPLE_WEIGHT(number) * (SIGMOID(score + bias) - LABEL(number));
            score = advance(weights, SAMPLES(number), SAMPLES(next), keep, move);
            if (INTERCEPT) bias -= move;
            number = next;
        }
    }

    /* 3. Store the intercept; the weights are in place. */
    if (INTERCEPT) MOVED(FEATURES) = bias;
}

/* logistic/cpu_fused: each work-item takes runs of rows, a few at a time, which stay in its core's cache from their scores to their
 * shares of the gradient, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 what rows count
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: SUMS for each group; counters: one, zero before and after
 * launch  `parts` groups of one work-item, each for a run of rows
 * host    ROWS at once; JUDGE(z, y, s, loss, error), gp_fold_groups (logistic.h)
 * order   a row's features 16 side by side, then folded in halves; ROWS rows, then those of a run, then the runs
 */
#define LOAD_JUDGED(from) GP_JOINED(vload, JUDGED)(0, from)
#define STORE_JUDGED(vector, to) GP_JOINED(vstore, JUDGED)(vector, 0, to)
/* Places for ROWS, whole vectors of JUDGED. */
#define PLACES ((ROWS + JUDGED - 1) / JUDGED * JUDGED)

/* The score of a row: features in vectors of 16, what is left of them in halves of that. */
DEVICE value_t score(GLOBAL const NUMBER *row, GLOBAL const NUMBER *weights)
{
    int feature = 0;
    WIDE(16) sum16 = 0;
    for (; feature + 16 <= FEATURES; feature += 16) sum16 += vload16(0, row + feature) * vload16(0, weights + feature);
    WIDE(8) sum8 = HALVES(sum16, 8, (0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 14, 15));
#if FEATURES & 8
    sum8 += vload8(0, row + feature) * vload8(0, weights + feature);
    feature += 8;
#endif
    WIDE(4) sum4 = HALVES(sum8, 4, (0, 1, 2, 3), (4, 5, 6, 7));
#if FEATURES & 4
    sum4 += vload4(0, row + feature) * vload4(0, weights + feature);
    feature += 4;
#endif
    WIDE(2) sum2 = HALVES(sum4, 2, (0, 1), (2, 3));
#if FEATURES & 2
    sum2 += vload2(0, row + feature) * vload2(0, weights + feature);
    feature += 2;
#endif
    value_t sum = sum2.x + sum2.y;
#if FEATURES & 1
    sum += row[feature] * weights[feature];
#endif
    return sum;
}

/* Add to the gradient of so many features, side by side, that of some rows. */
#define ADD_ROWS(count)                                                                                                \
    {                                                                                                                  \
        WIDE(count) sum = 0;                                                                                           \
        for (int k = 0; k < rows; k++) sum += errors[k] * vload##count(0, from + k * FEATURES + feature);              \
        vstore##count(vload##count(0, gradient + feature) + sum, 0, gradient + feature);                               \
        feature += count;                                                                                              \
    }

DEVICE void add_rows(GLOBAL const NUMBER *from, const int rows, const value_t *errors, value_t *gradient)
{
    int feature = 0;
    while (feature + 16 <= FEATURES) ADD_ROWS(16)
#if FEATURES & 8
    ADD_ROWS(8)
#endif
#if FEATURES & 4
    ADD_ROWS(4)
#endif
#if FEATURES & 2
    ADD_ROWS(2)
#endif
#if FEATURES & 1
    for (int k = 0; k < rows; k++) gradient[feature] += errors[k] * from[k * FEATURES + feature];
#endif
}

__kernel WORK_GROUP(1)
void logistic_cpu_fused(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 parts)
{
    __local value_t partial[BLOCK];
    const i64 part = get_group_id(0), run = (n + parts - 1) / parts, last = min((part + 1) * run, n);
    value_t gradient[FEATURES], bias = 0, loss = 0, each[2][JUDGED];
    judged_t biases = 0, losses = 0;
    for (int feature = 0; feature < FEATURES; feature++) gradient[feature] = 0;

    for (i64 row = part * run; row < last; row += ROWS) {
        const int rows = (int)min((i64)ROWS, last - row);
        value_t scores[PLACES], labels[PLACES], sample_weights[PLACES], errors[PLACES];

        /* 1. Score the rows. */
        for (int k = 0; k < rows; k++) scores[k] = score(SAMPLES(row + k), x2 + gp_at_x2(layout, 0, 0)) + START;
        for (int k = 0; k < rows; k++) labels[k] = LABEL(row + k);
        for (int k = 0; k < rows; k++) sample_weights[k] = SHARE(row + k);
        for (int k = rows; k < PLACES; k++) scores[k] = labels[k] = sample_weights[k] = 0;

        /* 2. Judge them, side by side; those that are none have no share. */
        judged_t lost = 0, erred = 0;
        for (int k = 0; k < PLACES; k += JUDGED) {
            judged_t one, error;
            JUDGE(LOAD_JUDGED(scores + k), LOAD_JUDGED(labels + k), LOAD_JUDGED(sample_weights + k), &one, &error);
            STORE_JUDGED(error, errors + k);
            lost += one;
            erred += error;
        }
        losses += lost;
        biases += erred;

        /* 3. Add them to the gradient. */
        add_rows(SAMPLES(row), rows, errors, gradient);
    }

    STORE_JUDGED(biases, each[0]);
    STORE_JUDGED(losses, each[1]);
    for (int k = 0; k < JUDGED; k++) bias += each[0][k], loss += each[1][k];

    /* 4. Leave the sums; the last work-item to do so folds them all and stores. */
    for (int feature = 0; feature < FEATURES; feature++) gp_leave(partials, part * SUMS + feature, gradient[feature]);
    gp_leave(partials, part * SUMS + BIAS, bias);
    gp_leave(partials, part * SUMS + LOSS, loss);
    if (gp_last_done(counters, parts)) gp_fold_groups(OUTPUT_NAMES, partials, layout, parts, partial, 0);
}

/* logistic/cpu_fused: each work-item takes a run of rows, a few at a time, which stay in its core's cache from score
 * to gradient, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, numbers or integers (INTEGERS), x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: SUMS for each group; counters: one, zero before and after
 * launch  `parts` groups of one work-item, each for a run of rows
 * host    ROWS at once; LOSS_AND_RESIDUAL(z, y, s, loss, residual), gp_fold_groups (logistic.h)
 * order   a row's features 16 side by side, then by halves; ROWS rows, then the rows of a run, then the runs
 */
#define LOAD_ROWS(from) GP_JOINED(vload, VECTOR_ROWS)(0, from)
#define STORE_ROWS(vector, to) GP_JOINED(vstore, VECTOR_ROWS)(vector, 0, to)
/* ROWS, rounded up to whole vectors of VECTOR_ROWS. */
#define PLACES ((ROWS + VECTOR_ROWS - 1) / VECTOR_ROWS * VECTOR_ROWS)

/* The score of a row: features in vectors of 16, then of 8, 4, 2 and 1. */
DEVICE value_t score(GLOBAL const SAMPLE_TYPE *row, GLOBAL const NUMBER *weights)
{
    int feature = 0;
    WIDE(16) sum16 = 0;
    for (; feature + 16 <= FEATURES; feature += 16) sum16 += SAMPLES_FROM(16, row + feature) * vload16(0, weights + feature);
    WIDE(8) sum8 = HALVES(sum16, 8, (0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11, 12, 13, 14, 15));
#if FEATURES & 8
    sum8 += SAMPLES_FROM(8, row + feature) * vload8(0, weights + feature);
    feature += 8;
#endif
    WIDE(4) sum4 = HALVES(sum8, 4, (0, 1, 2, 3), (4, 5, 6, 7));
#if FEATURES & 4
    sum4 += SAMPLES_FROM(4, row + feature) * vload4(0, weights + feature);
    feature += 4;
#endif
    WIDE(2) sum2 = HALVES(sum4, 2, (0, 1), (2, 3));
#if FEATURES & 2
    sum2 += SAMPLES_FROM(2, row + feature) * vload2(0, weights + feature);
    feature += 2;
#endif
    value_t sum = sum2.x + sum2.y;
#if FEATURES & 1
    sum += row[feature] * weights[feature];
#endif
    return sum;
}

/* Add some rows to the gradient of `count` neighbouring features. */
#define ADD_ROWS(count)                                                                                                \
    {                                                                                                                  \
        WIDE(count) sum = 0;                                                                                           \
        for (int k = 0; k < rows; k++) sum += residuals[k] * SAMPLES_FROM(count, from + k * FEATURES + feature);       \
        vstore##count(vload##count(0, gradient + feature) + sum, 0, gradient + feature);                               \
        feature += count;                                                                                              \
    }

DEVICE void add_rows(GLOBAL const SAMPLE_TYPE *from, const int rows, const value_t *residuals, value_t *gradient)
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
    for (int k = 0; k < rows; k++) gradient[feature] += residuals[k] * from[k * FEATURES + feature];
#endif
}

__kernel WORK_GROUP(1)
void logistic_cpu_fused(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 parts)
{
    __local value_t partial[BLOCK];
    const i64 part = get_group_id(0), run = (n + parts - 1) / parts, last = min((part + 1) * run, n);
    value_t gradient[FEATURES], bias = 0, loss = 0, each[2][VECTOR_ROWS];
    rows_t biases = 0, losses = 0;
    for (int feature = 0; feature < FEATURES; feature++) gradient[feature] = 0;

    for (i64 row = part * run; row < last; row += ROWS) {
        const int rows = (int)min((i64)ROWS, last - row);
        value_t scores[PLACES], labels[PLACES], sample_weights[PLACES], residuals[PLACES];

        /* 1. Score the rows. */
        for (int k = 0; k < rows; k++) scores[k] = score(SAMPLES(row + k), x2 + gp_at_x2(layout, 0, 0)) + INITIAL_SCORE;
        for (int k = 0; k < rows; k++) labels[k] = LABEL(row + k);
        for (int k = 0; k < rows; k++) sample_weights[k] = SAMPLE_WEIGHT(row + k);
        for (int k = rows; k < PLACES; k++) scores[k] = labels[k] = sample_weights[k] = 0;

        /* 2. Compute their losses and residuals in vectors; missing rows have a sample weight of 0. */
        rows_t lost = 0, residual_sum = 0;
        for (int k = 0; k < PLACES; k += VECTOR_ROWS) {
            rows_t one, residual;
            LOSS_AND_RESIDUAL(LOAD_ROWS(scores + k), LOAD_ROWS(labels + k), LOAD_ROWS(sample_weights + k), &one, &residual);
            STORE_ROWS(residual, residuals + k);
            lost += one;
            residual_sum += residual;
        }
        losses += lost;
        biases += residual_sum;

        /* 3. Add them to the gradient. */
        add_rows(SAMPLES(row), rows, residuals, gradient);
    }

    STORE_ROWS(biases, each[0]);
    STORE_ROWS(losses, each[1]);
    for (int k = 0; k < VECTOR_ROWS; k++) bias += each[0][k], loss += each[1][k];

    /* 4. Leave the sums; the last work-item folds and stores all of them. */
    for (int feature = 0; feature < FEATURES; feature++) gp_leave(partials, part * SUMS + feature, gradient[feature]);
    gp_leave(partials, part * SUMS + BIAS, bias);
    gp_leave(partials, part * SUMS + LOSS, loss);
    if (gp_last_done(counters, parts)) gp_fold_groups(OUTPUT_NAMES, partials, layout, parts, partial, 0);
}

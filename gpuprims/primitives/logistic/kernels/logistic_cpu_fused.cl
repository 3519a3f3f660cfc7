/* logistic/cpu_fused: each work-item takes a run of rows, a few at a time, which stay in its core's cache from score
 * to gradient, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, numbers or integers (INTEGERS), x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: SUMS for each group; counters: one, zero before and after
 * launch  `parts` groups of one work-item, each for a run of rows
 * host    ROWS at once; gp_residuals_of_some, gp_add_some_rows, gp_leave_run (runs.h)
 * order   a row's features 16 side by side, then by halves; ROWS rows, then the rows of a run, then the runs
 */
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

__kernel WORK_GROUP(1)
void logistic_cpu_fused(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 parts)
{
    __local value_t partial[BLOCK];
    const i64 part = get_group_id(0), run = (n + parts - 1) / parts, last = min((part + 1) * run, n);
    GLOBAL const NUMBER *weights = x2 + gp_at_x2(layout, 0, 0);
    value_t gradient[FEATURES];
    rows_t biases = 0, losses = 0;
    for (int feature = 0; feature < FEATURES; feature++) gradient[feature] = 0;

    for (i64 row = part * run; row < last; row += ROWS) {
        const int rows = (int)min((i64)ROWS, last - row);
        value_t scores[PLACES], residuals[PLACES];

        /* 1. Score the rows. */
        for (int k = 0; k < rows; k++) scores[k] = score(SAMPLES(row + k), weights) + INITIAL_SCORE;

        /* 2. Compute their losses and residuals. */
        gp_residuals_of_some(INPUT_NAMES, layout, row, rows, scores, residuals, &losses, &biases);

        /* 3. Add them to the gradient. */
        gp_add_some_rows(SAMPLES(row), rows, residuals, gradient);
    }

    /* 4. Leave the sums; the last work-item folds and stores all of them. */
    gp_leave_run(OUTPUT_NAMES, partials, counters, layout, part, parts, gradient, biases, losses, partial);
}

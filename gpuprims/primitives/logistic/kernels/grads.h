/* The kernels of the articles for .NET, by the articles' names: grad1 computes residuals, grad2 sums. A kernel runs one
 * of each in turn. VECTOR is 1 unless rows and columns of samples begin at whole vectors.
 *
 * Samples by columns: an operand, or a copy in scratch memory, behind a residual and a loss for each row. Kernels whose
 * rows_t is a vector do without. */
#if VECTOR_ROWS == 1
#if BY_COLUMNS && WEIGHTED
#define SAMPLE_COLUMNS (x4 + gp_at_x4(layout, 0, 0))
#elif BY_COLUMNS
#define SAMPLE_COLUMNS (x3 + gp_at_x3(layout, 0, 0))
#else
#define SAMPLE_COLUMNS ((GLOBAL const NUMBER *)partials + 2 * n)
#endif
#define GRAD_PARAMETERS GLOBAL u32 *partials, const layout_t layout, const i64 n, const i64 worker, const i64 workers
#define GRAD_ARGUMENTS partials, layout, n, worker, workers
#define RESIDUALS ((GLOBAL value_t *)partials)
#define LOSSES (RESIDUALS + n)

DEVICE void gp_copy_columns(INPUTS, GRAD_PARAMETERS)
{
    GLOBAL value_t *columns = LOSSES + n;
    for (i64 at = worker; at < n * FEATURES; at += workers) columns[at % FEATURES * n + at / FEATURES] = SAMPLES(0)[at];
}

/* Store the residual and the loss of a row. */
DEVICE void gp_store_sample(INPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 n, const i64 row,
                         const value_t score)
{
    value_t lost, residual;
    LOSS_AND_RESIDUAL(score, LABEL(row), SAMPLE_WEIGHT(row), &lost, &residual);
    RESIDUALS[row] = residual;
    LOSSES[row] = lost;
}

/* A work-item takes a row, feature after feature. */
DEVICE void gp_grad1(INPUTS, GRAD_PARAMETERS)
{
    for (i64 row = worker; row < n; row += workers) {
        value_t score = INITIAL_SCORE;
        for (int feature = 0; feature < FEATURES; feature++) score += SAMPLES(row)[feature] * WEIGHT(feature);
        gp_store_sample(INPUT_NAMES, partials, layout, n, row, score);
    }
}

/* The same, VECTOR features at once. */
DEVICE void gp_grad1_ff4(INPUTS, GRAD_PARAMETERS)
{
    for (i64 row = worker; row < n; row += workers) {
        value_t taken[VECTOR], parts[VECTOR], score = INITIAL_SCORE;
        for (int item = 0; item < VECTOR; item++) parts[item] = 0;
        for (int feature = 0; feature < FEATURES; feature += VECTOR) {
            READ_SAMPLES(SAMPLES(row) + feature, taken);
#pragma unroll
            for (int item = 0; item < VECTOR; item++) parts[item] += taken[item] * WEIGHT(feature + item);
        }
        for (int item = 0; item < VECTOR; item++) score += parts[item];
        gp_store_sample(INPUT_NAMES, partials, layout, n, row, score);
    }
}

/* A work-item takes VECTOR rows at once; neighbours read neighbouring samples. */
DEVICE void gp_grad1_ns4(INPUTS, GRAD_PARAMETERS)
{
    GLOBAL const NUMBER *columns = SAMPLE_COLUMNS;
    for (i64 row = worker * VECTOR; row < n; row += workers * VECTOR) {
        value_t taken[VECTOR], scores[VECTOR];
        for (int item = 0; item < VECTOR; item++) scores[item] = INITIAL_SCORE;
        for (int feature = 0; feature < FEATURES; feature++) {
            READ_SAMPLES(columns + feature * n + row, taken);
#pragma unroll
            for (int item = 0; item < VECTOR; item++) scores[item] += taken[item] * WEIGHT(feature);
        }
        for (int item = 0; item < VECTOR; item++) gp_store_sample(INPUT_NAMES, partials, layout, n, row + item, scores[item]);
    }
}

/* The sum of all residuals or losses. */
DEVICE value_t gp_sum_rows(GLOBAL u32 *partials, const i64 n, const int sum)
{
    GLOBAL const value_t *factors = sum == LOSS ? LOSSES : RESIDUALS;
    value_t whole = 0;
    for (i64 row = 0; row < n; row++) whole += factors[row];
    return whole;
}

/* A work-item adds a feature, row after row. */
DEVICE void gp_grad2(INPUTS, OUTPUTS, GRAD_PARAMETERS)
{
    for (i64 sum = worker; sum < SUMS; sum += workers) {
        value_t whole = sum < FEATURES ? 0 : gp_sum_rows(partials, n, (int)sum);
        for (i64 row = 0; row < n && sum < FEATURES; row++) whole += SAMPLES(row)[sum] * RESIDUALS[row];
        STORE_SUM((int)sum, whole);
    }
}

/* The same, VECTOR rows at once. */
DEVICE void gp_grad2_tf4(INPUTS, OUTPUTS, GRAD_PARAMETERS)
{
    GLOBAL const NUMBER *columns = SAMPLE_COLUMNS;
    for (i64 sum = worker; sum < SUMS; sum += workers) {
        value_t taken[VECTOR], residuals[VECTOR], parts[VECTOR];
        value_t whole = sum < FEATURES ? 0 : gp_sum_rows(partials, n, (int)sum);
        for (int item = 0; item < VECTOR; item++) parts[item] = 0;
        for (i64 row = 0; row < n && sum < FEATURES; row += VECTOR) {
            READ_SAMPLES(columns + sum * n + row, taken);
            READ_SAMPLES(RESIDUALS + row, residuals);
#pragma unroll
            for (int item = 0; item < VECTOR; item++) parts[item] += taken[item] * residuals[item];
        }
        for (int item = 0; item < VECTOR; item++) whole += parts[item];
        STORE_SUM((int)sum, whole);
    }
}

/* Sums that take a turn together: VECTOR features, the intercept's, or the loss. */
#define TURNS (FEATURES / VECTOR + 2)
#define SUM_OF(turn) ((int)((turn) < FEATURES / VECTOR ? (turn)*VECTOR : FEATURES + (turn)-FEATURES / VECTOR))

/* Add VECTOR features, or one other sum, of every `apart`-th row from `first` on. */
DEVICE void gp_add_turn(INPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 n, const int sum, const i64 first,
                        const i64 apart, value_t *sums)
{
    value_t taken[VECTOR];
    GLOBAL const value_t *factors = sum == LOSS ? LOSSES : RESIDUALS;
    for (int item = 0; item < VECTOR; item++) sums[item] = 0;
    for (i64 row = first; row < n; row += apart) {
        for (int item = 0; item < VECTOR; item++) taken[item] = 1;
        if (sum < FEATURES) READ_SAMPLES(SAMPLES(row) + sum, taken);
#pragma unroll
        for (int item = 0; item < VECTOR; item++) sums[item] += taken[item] * factors[row];
    }
}

/* A work-item adds VECTOR features at once; neighbours read neighbouring samples. */
DEVICE void gp_grad2_ns(INPUTS, OUTPUTS, GRAD_PARAMETERS)
{
    for (i64 turn = worker; turn < TURNS; turn += workers) {
        value_t sums[VECTOR];
        const int sum = SUM_OF(turn);
        gp_add_turn(INPUT_NAMES, partials, layout, n, sum, 0, 1, sums);
        STORE_SUM(sum, sums[0]);
        for (int item = 1; item < VECTOR && sum < FEATURES; item++) STORE_SUM(sum + item, sums[item]);
    }
}
#endif

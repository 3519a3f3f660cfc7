/* descent/cpu_persistent: one work-item runs all iterations of batch gradient descent, for small data and devices
 * whose work-items are CPU threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * scratch copied: COLUMNS for each row, and its sample weight, for whole vectors of VECTOR_ROWS rows
 * launch  one group of one work-item
 * host    VECTOR_ROWS rows in a vector
 * order   every VECTOR_ROWS-th row, then these sums
 *
 * Rows of class 1 are held negated, and the intercept is the weight of one more column of 1 or -1, as in
 * descent/persistent. The copy has VECTOR_ROWS rows side by side for each column, so scores and gradient need no sum
 * across a vector until the end of an iteration:
 *
 *     column 0 of rows 0..15   column 1 of rows 0..15   ...   sample weights     column 0 of rows 16..31   ...
 */
#define PLACES (COLUMNS + WEIGHTED)
#define LOAD_ROWS(from) GP_JOINED(vload, VECTOR_ROWS)(0, from)
#define STORE_ROWS(vector, to) GP_JOINED(vstore, VECTOR_ROWS)(vector, 0, to)

__kernel WORK_GROUP(1)
void descent_cpu_persistent(INPUTS, OUTPUTS, GLOBAL u32 *copied, const layout_t layout, const i64 n, const i64 steps)
{
    GLOBAL value_t *held = (GLOBAL value_t *)copied;
    const i64 vectors = (n + VECTOR_ROWS - 1) / VECTOR_ROWS;
    value_t weights[COLUMNS], rests[COLUMNS];

    /* 1. Copy rows, and zeros past the last, and load the weights. */
    for (i64 row = 0; row < vectors * VECTOR_ROWS; row++) {
        const i64 at = row / VECTOR_ROWS * PLACES * VECTOR_ROWS + row % VECTOR_ROWS;
        const value_t sign = row < n ? 1 - 2 * LABEL(row) : 0;
        for (int c = 0; c < FEATURES; c++) held[at + c * VECTOR_ROWS] = row < n ? sign * SAMPLES(row)[c] : 0;
#if INTERCEPT
        held[at + FEATURES * VECTOR_ROWS] = sign;
#endif
#if WEIGHTED
        held[at + COLUMNS * VECTOR_ROWS] = row < n ? SAMPLE_WEIGHT(row) : 0;
#endif
    }
    for (int c = 0; c < COLUMNS; c++) {
        weights[c] = WEIGHT(c);
        rests[c] = 0;
    }

    for (i64 step = 0; step < steps; step++) {
        rows_t gradient[COLUMNS];

        /* 2. Compute a vector of rows' residuals, and add the rows to the gradient. */
        for (int c = 0; c < COLUMNS; c++) gradient[c] = 0;
        for (i64 vector = 0; vector < vectors; vector++) {
            GLOBAL const value_t *rows = held + vector * PLACES * VECTOR_ROWS;
            rows_t score = 0;
            for (int c = 0; c < COLUMNS; c++) score += LOAD_ROWS(rows + c * VECTOR_ROWS) * weights[c];
            rows_t residual = 1 / (1 + exp(-score));
#if WEIGHTED
            residual *= LOAD_ROWS(rows + COLUMNS * VECTOR_ROWS);
#endif
            for (int c = 0; c < COLUMNS; c++) gradient[c] += LOAD_ROWS(rows + c * VECTOR_ROWS) * residual;
        }

        /* 3. Fold the vectors, and change the weights. */
        for (int c = 0; c < COLUMNS; c++) {
            value_t each[VECTOR_ROWS], sum = 0;
            STORE_ROWS(gradient[c], each);
            for (int k = 0; k < VECTOR_ROWS; k++) sum += each[k];
            gp_change_weight(&weights[c], &rests[c], -RATE * sum - (c < FEATURES ? DECAY * weights[c] : 0));
        }
    }

    /* 4. Store. */
    for (int c = 0; c < COLUMNS; c++) MOVED(c) = weights[c];
}

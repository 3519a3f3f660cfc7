/* descent/cpu_persistent: one work-item takes all steps of batch gradient descent, for small data and devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 what rows count; last the RATES
 * out     OUTPUTS: y0 the weights after `steps` steps
 * scratch copied: COLUMNS for each row, and what rows count, for whole vectors of JUDGED rows
 * launch  one group of one work-item
 * host    JUDGED rows in a vector
 * order   every JUDGED-th row, then these
 *
 * Rows of class 1 are held negated, and the intercept is the weight of one more column, of 1 or -1, as in descent/persistent. The
 * copy has JUDGED rows side by side for each column, so that scores and gradient need no sum across a vector until a step's end:
 *
 *     column 0 of rows 0..15   column 1 of rows 0..15   ...   what they count   column 0 of rows 16..31   ...
 */
#define COLUMNS (FEATURES + INTERCEPT)
#define PLACES (COLUMNS + WEIGHTED)
#define LOAD_JUDGED(from) GP_JOINED(vload, JUDGED)(0, from)
#define STORE_JUDGED(vector, to) GP_JOINED(vstore, JUDGED)(vector, 0, to)

__kernel WORK_GROUP(1)
void descent_cpu_persistent(INPUTS, OUTPUTS, GLOBAL u32 *copied, const layout_t layout, const i64 n, const i64 steps)
{
    GLOBAL value_t *held = (GLOBAL value_t *)copied;
    const i64 vectors = (n + JUDGED - 1) / JUDGED;
    value_t weights[COLUMNS], rests[COLUMNS];

    /* 1. Copy rows, zeros where there are none, and load the weights. */
    for (i64 row = 0; row < vectors * JUDGED; row++) {
        const i64 at = row / JUDGED * PLACES * JUDGED + row % JUDGED;
        const value_t sign = row < n ? 1 - 2 * LABEL(row) : 0;
        for (int c = 0; c < FEATURES; c++) held[at + c * JUDGED] = row < n ? sign * SAMPLES(row)[c] : 0;
#if INTERCEPT
        held[at + FEATURES * JUDGED] = sign;
#endif
#if WEIGHTED
        held[at + COLUMNS * JUDGED] = row < n ? SHARE(row) : 0;
#endif
    }
    for (int c = 0; c < COLUMNS; c++) {
        weights[c] = WEIGHT(c);
        rests[c] = 0;
    }

    for (i64 step = 0; step < steps; step++) {
        judged_t gradient[COLUMNS];

        /* 2. Score a vector of rows, and add them to the gradient by their errors. */
        for (int c = 0; c < COLUMNS; c++) gradient[c] = 0;
        for (i64 vector = 0; vector < vectors; vector++) {
            GLOBAL const value_t *rows = held + vector * PLACES * JUDGED;
            judged_t score = 0;
            for (int c = 0; c < COLUMNS; c++) score += LOAD_JUDGED(rows + c * JUDGED) * weights[c];
            judged_t error = 1 / (1 + exp(-score));
#if WEIGHTED
            error *= LOAD_JUDGED(rows + COLUMNS * JUDGED);
#endif
            for (int c = 0; c < COLUMNS; c++) gradient[c] += LOAD_JUDGED(rows + c * JUDGED) * error;
        }

        /* 3. Fold the vectors, and step. */
        for (int c = 0; c < COLUMNS; c++) {
            value_t each[JUDGED], sum = 0;
            STORE_JUDGED(gradient[c], each);
            for (int k = 0; k < JUDGED; k++) sum += each[k];
            gp_change_weight(&weights[c], &rests[c], -RATE * sum - (c < FEATURES ? DECAY * weights[c] : 0));
        }
    }

    /* 4. Store. */
    for (int c = 0; c < COLUMNS; c++) STORE_WEIGHT(c, weights[c]);
}

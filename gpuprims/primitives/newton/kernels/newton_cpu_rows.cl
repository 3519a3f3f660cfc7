/* newton/cpu_rows: a work-item fits a problem by Newton's method, with vectors of rows, for devices whose work-items are
 * CPU threads.
 *
 * in      INPUTS: x0 samples, x1 labels, x2 the tolerance and the penalties, where WEIGHTED x3 sample weights; where
 *         RAGGED last the first row of each problem, and the end
 * out     OUTPUTS: y0 weights and standard errors of each problem, y1 losses, y2 ends and iterations
 * launch  any number of groups of one work-item; each takes problems until none are left
 * host    VECTOR_ROWS rows in a vector
 * order   every VECTOR_ROWS-th row of ITEMS tiles, then the lanes of a vector, then these sums
 *
 * A tile of HELD vectors is copied by columns, so that neighbouring lanes have neighbouring rows.
 */
#define HELD 4
#define TILE (HELD * VECTOR_ROWS)
#define LOAD_ROWS(from) GP_JOINED(vload, VECTOR_ROWS)(0, from)
#define STORE_ROWS(vector, to) GP_JOINED(vstore, VECTOR_ROWS)(vector, 0, to)

/* The sum of a vector's lanes. */
DEVICE wide_t gp_sum_lanes(const rows_t vector)
{
    value_t each[VECTOR_ROWS];
    wide_t sum = 0;
    STORE_ROWS(vector, each);
    for (int k = 0; k < VECTOR_ROWS; k++) sum += each[k];
    return sum;
}

__kernel WORK_GROUP(1)
void newton_cpu_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 problems, const i64 n, const i64 samples_apart,
                     const i64 labels_apart, const i64 weights_apart, const i64 penalties_apart, const i64 most)
{
    __local problem_t shared;

    for (i64 problem = get_group_id(0); problem < problems; problem += get_num_groups(0)) {
        const rows_of_t rows = ROWS_OF(problem);
        newton_t state;
        state.penalty = PENALTY(problem);
        state.tolerated = TOLERATED;

        /* 1. Add the distances of features from the first row's, and count labels. */
        for (int k = 0; k < FIRST_SUMS; k++) shared.sums[k] = 0;
        for (i64 begin = 0; begin < rows.count; begin += TILE * ITEMS) {
            const i64 end = min(begin + TILE * ITEMS, rows.count);
            value_t sums[FEATURES], sizes[FEATURES];
            for (int c = 0; c < FEATURES; c++) sums[c] = sizes[c] = 0;
            for (i64 row = begin; row < end; row++) {
                for (int c = 0; c < FEATURES; c++) {
                    const value_t apart = rows.samples[row * FEATURES + c] - SHIFT(rows, c);
                    sums[c] += apart;
                    sizes[c] += apart < 0 ? -apart : apart;
                }
                const value_t weight = WEIGHT_OF(rows, row);
                shared.sums[ONES] += rows.labels[row] != 0 ? weight : 0;
                shared.sums[ZEROS] += rows.labels[row] != 0 ? 0 : weight;
                shared.sums[BAD_LABELS] += IS_BAD_LABEL(rows.labels[row]);
                shared.sums[BAD_WEIGHTS] += IS_BAD_WEIGHT(weight);
            }
            for (int c = 0; c < FEATURES; c++) {
                shared.sums[c] += sums[c];
                shared.sums[FEATURES + c] += sizes[c];
            }
        }
        gp_begin(&shared, &state, rows, 0);

        while (state.end >= RUNNING) {
            for (int k = 0; k < SUMS; k++) shared.sums[k] = 0;
            for (i64 begin = 0; begin < rows.count; begin += TILE * ITEMS) {
                const i64 end = min(begin + TILE * ITEMS, rows.count);
                rows_t sums[SUMS];
                for (int k = 0; k < SUMS; k++) sums[k] = 0;
                for (i64 base = begin; base < end; base += TILE) {
                    value_t columns[FEATURES * TILE], signs[TILE], weights[TILE];
                    rows_t x[COLUMNS * HELD], slopes[HELD], curved[HELD];

                    /* 2. Copy a tile by columns; rows past the last weigh nothing. */
                    const int count = (int)min((i64)TILE, end - base);
                    for (int row = 0; row < count; row++) {
                        for (int c = 0; c < FEATURES; c++) columns[c * TILE + row] = rows.samples[(base + row) * FEATURES + c];
                        signs[row] = SIGN_OF(rows, base + row);
                        weights[row] = WEIGHT_OF(rows, base + row);
                    }
                    for (int row = count; row < TILE; row++) {
                        for (int c = 0; c < FEATURES; c++) columns[c * TILE + row] = shared.mean[c];
                        signs[row] = 1;
                        weights[row] = 0;
                    }

                    /* 3. Compute loss, slope and curvature. No exponential is above 1. */
                    rows_t bent[HELD];
                    for (int k = 0; k < HELD; k++) {
                        rows_t score = 0;
                        for (int c = 0; c < FEATURES; c++) {
                            x[c * HELD + k] = (LOAD_ROWS(columns + c * TILE + k * VECTOR_ROWS) - shared.mean[c]) * shared.scale[c];
                            score += x[c * HELD + k] * shared.tried[c];
                        }
#if INTERCEPT
                        x[FEATURES * HELD + k] = 1;
                        score += shared.tried[FEATURES];
#endif
                        const rows_t sign = LOAD_ROWS(signs + k * VECTOR_ROWS), weight = LOAD_ROWS(weights + k * VECTOR_ROWS);
                        const rows_t against = sign * score, small = exp(-fabs(against)), share = 1 / (1 + small);
                        const rows_t zero = 0;
                        sums[LOSS] += weight * (fmax(against, zero) + log1p(small));
                        sums[WRONG] += select(zero, zero + 1, (against >= 0) & (weight > 0));
                        slopes[k] = sign * weight * select(small * share, share, against >= 0);
                        bent[k] = weight * small * share * share;
                    }

                    /* 4. Add gradient and Hessian. */
                    for (int i = 0; i < COLUMNS; i++) {
                        rows_t slope = sums[GRADIENT + i];
                        for (int k = 0; k < HELD; k++) {
                            curved[k] = bent[k] * x[i * HELD + k];
                            slope += slopes[k] * x[i * HELD + k];
                        }
                        sums[GRADIENT + i] = slope;
                        for (int j = 0; j <= i; j++) {
                            rows_t sum = sums[PLACE(i, j)];
                            for (int k = 0; k < HELD; k++) sum += curved[k] * x[j * HELD + k];
                            sums[PLACE(i, j)] = sum;
                        }
                    }
                }
                for (int k = 0; k < SUMS; k++) shared.sums[k] += gp_sum_lanes(sums[k]);
            }

            /* 5. Step. */
            gp_advance(&shared, &state, most, 0);
        }

        /* 6. Store. */
        STORE_PROBLEM(&shared, &state, problem, 0);
    }
}

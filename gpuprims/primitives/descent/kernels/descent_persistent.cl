/* descent/persistent: one group holds all rows in registers and runs all iterations of batch gradient descent in one
 * launch.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights; last the
 *         RATES
 * out     OUTPUTS: y0 the weights after `steps` iterations
 * launch  one group of BLOCK (a multiple of TEAM)
 * host    ROWS for each work-item; POWER(x) = 2^x, INVERSE(x) = 1/x, gp_butterfly (shuffling.h)
 * order   a work-item's rows, then those of a team by halves, then the teams
 *
 * Rows of class 1 are held negated. Then a row's loss falls with its score in either class, its residual is the sigmoid
 * of the score, and labels are no longer needed. The intercept is the weight of one more column of 1 or -1. Weights are
 * held times -log2(e), so a sigmoid is one power of two and one inverse. Each work-item has all weights and changes
 * them alike.
 *
 * A lane has sums of all columns over its rows. In each round it keeps half of them and passes the other half to a lane
 * that does the reverse; sums past COLUMNS are zero. For COLUMNS = 5, the first lanes of a team of 32:
 *
 *     lane    0           8           16          24
 *     before  0 1 2 3 4   0 1 2 3 4   0 1 2 3 4   0 1 2 3 4
 *     by 16   0 1 2       0 1 2       3 4 -       3 4 -
 *     by 8    0 1         2 -         3 4         - -
 *     by 4    0           2           3           -            and lanes 4, 12, 20, 28 have 1, -, 4, -
 *
 * At the end, a lane holds the sum of one column over the team, or SHARING lanes have parts of it.
 */
#define TEAM 32
#define TEAMS (BLOCK / TEAM)
#define PLACES (COLUMNS * TEAMS)
#define LOG2_E ((value_t)GP_CONSTANT(1.4426950408889634))
#define LN_2 ((value_t)GP_CONSTANT(0.6931471805599453))

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void descent_persistent(INPUTS, OUTPUTS, const layout_t layout, const i64 n, const i64 steps)
{
    __local value_t partial[WARP >= TEAM ? 1 : BLOCK];
    __local ALIGNED value_t sums[2 * PLACES];
    const int tid = get_local_id(0), lane = tid % TEAM, team = tid / TEAM;
    const value_t decay = DECAY, rate = RATE * LOG2_E;
    value_t held[ROWS][COLUMNS], weights[COLUMNS], rests[COLUMNS];
#if WEIGHTED
    value_t sample_weights[ROWS];
#endif

    /* 1. Load rows, and zeros past the last, and the weights. */
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const i64 row = k * BLOCK + tid;
        const value_t sign = row < n ? 1 - 2 * LABEL(row) : 0;
#pragma unroll
        for (int c = 0; c < FEATURES; c++) held[k][c] = row < n ? sign * SAMPLES(row)[c] : 0;
#if INTERCEPT
        held[k][FEATURES] = sign;
#endif
#if WEIGHTED
        sample_weights[k] = row < n ? SAMPLE_WEIGHT(row) : 0;
#endif
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        weights[c] = -LOG2_E * WEIGHT(c);
        rests[c] = 0;
    }

    /* 2. Find the column whose sum this lane ends with, if any. */
    int kept = COLUMNS, column = 0, own = COLUMNS, sharing = TEAM;
#pragma unroll
    for (int stride = TEAM / 2; stride > 0; stride /= 2) {
        const int upper = (lane & stride) != 0, middle = (kept + 1) / 2;
        if (kept > 1) {
            column += upper ? middle : 0;
            own = upper ? own - middle : (own < middle ? own : middle);
            kept = middle;
            sharing = stride;
        }
    }
    const int leaves = lane % sharing == 0 && own > 0;
    const int place = column * TEAMS + team;
    int turn = 0;

    for (i64 step = 0; step < steps; step++) {
        value_t gradient[COLUMNS];

        /* 3. Take off the penalty; compute each row's residual, and add the row to the gradient. */
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            gradient[c] = 0;
            rests[c] -= c < FEATURES ? decay * weights[c] : 0;
        }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            value_t score = held[k][0] * weights[0];
#pragma unroll
            for (int c = 1; c < COLUMNS; c++) score += held[k][c] * weights[c];
            value_t residual = INVERSE(1 + POWER(score));
#if WEIGHTED
            residual *= sample_weights[k];
#endif
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) gradient[c] += held[k][c] * residual;
        }

        /* 4. Fold the team; see above. */
        int kept = COLUMNS;
#pragma unroll
        for (int stride = TEAM / 2; stride > 0; stride /= 2) {
            const int upper = (lane & stride) != 0, middle = (kept + 1) / 2;
            if (kept > 1) {
#pragma unroll
                for (int c = 0; c < (COLUMNS + 1) / 2; c++) {
                    if (c < middle) {
                        const value_t beyond = c + middle < kept ? gradient[c + middle < COLUMNS ? c + middle : 0] : 0;
                        const value_t mine = upper ? beyond : gradient[c], given = upper ? gradient[c] : beyond;
                        gradient[c] = mine + gp_butterfly(given, stride, partial, tid);
                    }
                }
                kept = middle;
            } else {
                gradient[0] += gp_butterfly(gradient[0], stride, partial, tid);
            }
        }
        if (leaves) sums[turn + place] = gradient[0];

        /* 5. Fold the teams, and change the weights. The next iteration uses the other half of `sums`, so no
         * work-item overtakes the slowest reader. */
        barrier(CLK_LOCAL_MEM_FENCE);
        value_t read[COLUMNS][TEAMS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (int t = 0; t < TEAMS; t += LOCAL_VECTOR) READ_LOCAL(NUMBER, LOCAL_VECTOR, &sums[turn + c * TEAMS + t], &read[c][t]);
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (int apart = TEAMS / 2; apart > 0; apart /= 2) {
#pragma unroll
                for (int t = 0; t < apart; t++) read[c][t] += read[c][t + apart];
            }
            gp_change_weight(&weights[c], &rests[c], rate * read[c][0]);
        }
        turn = PLACES - turn;
    }

    /* 6. Store. */
    if (tid == 0) {
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) MOVED(c) = -LN_2 * weights[c];
    }
}

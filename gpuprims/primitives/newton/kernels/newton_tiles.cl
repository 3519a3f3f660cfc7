/* newton/tiles: a group fits a problem by Newton's method; rows lie in local memory, and each work-item has the sums of
 * blocks of the Hessian.
 *
 * in      INPUTS: x0 samples, x1 labels, x2 the tolerance and the penalties, where WEIGHTED x3 sample weights; where
 *         RAGGED last the first row of each problem, and the end
 * out     OUTPUTS: y0 weights and standard errors of each problem, y1 losses, y2 ends and iterations
 * launch  any number of groups of BLOCK (a multiple of ROWS); each takes problems until none are left
 * host    gp_butterfly (shuffling.h), ROWS of a tile
 * order   every TEAMS-th row of ITEMS tiles, then the teams, then these sums
 *
 * A tile has a column of 1 for the intercept and one for the gradient, so the gradient is one more row of the triangle.
 * Work-items of a team share the blocks of SIDE x SIDE places of that triangle:
 *
 *     0
 *     1 2
 *     3 4 5       teams take rows of the tile in turn
 */
#define SIDE 4
#define SIDES ((COLUMNS + SIDE) / SIDE)
#define PITCH (SIDES * SIDE)
#define BLOCKS (SIDES * (SIDES + 1) / 2)
#define EACH ((BLOCKS + BLOCK - 1) / BLOCK)
#define TEAMS (EACH > 1 ? 1 : BLOCK / BLOCKS)
#define SHARING (BLOCK / ROWS)

/* Columns that a group reads at once, work-items of each, and rows that they read ahead. */
#define WIDTH (FEATURES < BLOCK ? FEATURES : BLOCK)
#define READERS (BLOCK / WIDTH)
#define AHEAD 8

/* Copy a tile, standardised, and zeros past the last row. */
DEVICE void gp_stage_rows(LOCAL value_t *tile, LOCAL const problem_t *p, const rows_of_t rows, const i64 base,
                       const int tid)
{
    for (int k = tid; k < ROWS * FEATURES; k += BLOCK) {
        const int row = k / FEATURES, c = k % FEATURES;
        const value_t x = base + row < rows.count ? rows.samples[base * FEATURES + k] : p->mean[c];
        tile[row * PITCH + c] = (x - p->mean[c]) * p->scale[c];
    }
    for (int k = tid; k < ROWS * (PITCH - FEATURES); k += BLOCK) {
        const int row = k / (PITCH - FEATURES), c = FEATURES + k % (PITCH - FEATURES);
        tile[row * PITCH + c] = c <= COLUMNS;
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void newton_tiles(INPUTS, OUTPUTS, const layout_t layout, const i64 problems, const i64 n, const i64 samples_apart,
                  const i64 labels_apart, const i64 weights_apart, const i64 penalties_apart, const i64 most)
{
    __local problem_t shared;
    __local ALIGNED value_t tile[ROWS * PITCH];
    __local value_t curvatures[ROWS], slopes[ROWS], partial[BLOCK];
    const int tid = get_local_id(0), team = tid / BLOCKS;

    /* 1. Find the blocks of this work-item; a row and a column past the last for none. */
    int above[EACH], beside[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int left = EACH > 1 ? k * BLOCK + tid : tid % BLOCKS;
        above[k] = 0;
        while (left > above[k]) left -= ++above[k];
        beside[k] = left;
        if (above[k] >= SIDES || team >= TEAMS) above[k] = SIDES;
    }

    for (i64 problem = get_group_id(0); problem < problems; problem += get_num_groups(0)) {
        const rows_of_t rows = ROWS_OF(problem);
        newton_t state;
        state.penalty = PENALTY(problem);
        state.tolerated = TOLERATED;

        /* 2. Add the distances of features from the first row's, and count labels. READERS work-items share a column;
         * they read AHEAD rows before they add them. */
        for (int c = tid % WIDTH; c < FEATURES; c += WIDTH) {
            const int reader = tid / WIDTH;
            wide_t sum = 0, size = 0;
            for (i64 first = reader; first < rows.count && reader < READERS; first += READERS * AHEAD) {
                value_t apart[AHEAD];
#pragma unroll
                for (int k = 0; k < AHEAD; k++) {
                    const i64 row = first + k * READERS;
                    apart[k] = row < rows.count ? rows.samples[row * FEATURES + c] - SHIFT(rows, c) : 0;
                }
#pragma unroll
                for (int k = 0; k < AHEAD; k++) {
                    sum += apart[k];
                    size += apart[k] < 0 ? -apart[k] : apart[k];
                }
            }
            for (int turn = 0; turn < READERS; turn++) {
                if (turn == reader) {
                    shared.sums[c] = turn ? shared.sums[c] + sum : sum;
                    shared.sums[FEATURES + c] = turn ? shared.sums[FEATURES + c] + size : size;
                }
                if (READERS > 1) MEET();
            }
        }
        value_t counts[4] = {0, 0, 0, 0};
        for (i64 row = tid; row < rows.count; row += BLOCK) {
            const value_t weight = WEIGHT_OF(rows, row);
            counts[0] += rows.labels[row] != 0 ? weight : 0;
            counts[1] += rows.labels[row] != 0 ? 0 : weight;
            counts[2] += IS_BAD_LABEL(rows.labels[row]);
            counts[3] += IS_BAD_WEIGHT(weight);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            for (int stride = BLOCK / 2; stride > 0; stride /= 2) counts[k] += gp_butterfly(counts[k], stride, partial, tid);
            if (tid == 0) shared.sums[ONES + k] = counts[k];
        }
        MEET();
        gp_begin(&shared, &state, rows, tid);

        while (state.end >= RUNNING) {
            wide_t losses = 0, wrong = 0;
            for (i64 begin = 0; begin < rows.count; begin += ROWS * ITEMS) {
                value_t sums[EACH][SIDE][SIDE], lost = 0, missed = 0;
#pragma unroll
                for (int k = 0; k < EACH * SIDE * SIDE; k++) sums[k / (SIDE * SIDE)][k / SIDE % SIDE][k % SIDE] = 0;
                for (i64 base = begin; base < min(begin + ROWS * ITEMS, rows.count); base += ROWS) {
                    gp_stage_rows(tile, &shared, rows, base, tid);
                    MEET();

                    /* 3. Compute loss, slope and curvature; SHARING work-items share a row. */
                    const int row = tid / SHARING, part = tid % SHARING;
                    value_t score = 0, loss, slope, curvature;
                    for (int c = part; c < COLUMNS; c += SHARING) score += tile[row * PITCH + c] * shared.tried[c];
#pragma unroll
                    for (int stride = SHARING / 2; stride > 0; stride /= 2) score += gp_butterfly(score, stride, partial, tid);
                    const int live = base + row < rows.count;
                    const value_t sign = live ? SIGN_OF(rows, base + row) : 1, weight = live ? WEIGHT_OF(rows, base + row) : 0;
                    gp_row_terms(sign * score, &loss, &slope, &curvature);
                    if (part == 0) {
                        lost += weight * loss;
                        missed += sign * score >= 0 && weight > 0;
                        slopes[row] = sign * slope * weight;
                        curvatures[row] = curvature * weight;
                    }
                    MEET();

                    /* 4. Add rows to the blocks. */
#pragma unroll
                    for (int k = 0; k < EACH; k++) {
                        if (above[k] == SIDES) continue;
                        for (int row = team; row < ROWS; row += TEAMS) {
                            value_t lefts[SIDE], rights[SIDE];
#pragma unroll
                            for (int i = 0; i < SIDE; i += LOCAL_VECTOR) {
                                READ_LOCAL(NUMBER, LOCAL_VECTOR, &tile[row * PITCH + above[k] * SIDE + i], lefts + i);
                                READ_LOCAL(NUMBER, LOCAL_VECTOR, &tile[row * PITCH + beside[k] * SIDE + i], rights + i);
                            }
#pragma unroll
                            for (int i = 0; i < SIDE; i++) {
                                const value_t left = lefts[i] * (above[k] * SIDE + i == COLUMNS ? slopes : curvatures)[row];
#pragma unroll
                                for (int j = 0; j < SIDE; j++) sums[k][i][j] += left * rights[j];
                            }
                        }
                    }
                    MEET();
                }

                /* 5. Add the sums of teams, one after the other, to those of the problem. */
                for (int turn = 0; turn < TEAMS; turn++) {
#pragma unroll
                    for (int k = 0; k < EACH; k++) {
                        if (above[k] == SIDES || turn != team) continue;
#pragma unroll
                        for (int place = 0; place < SIDE * SIDE; place++) {
                            const int i = above[k] * SIDE + place / SIDE, j = beside[k] * SIDE + place % SIDE;
                            if (i > COLUMNS || j > i || j == COLUMNS) continue;
                            const wide_t before = begin == 0 && turn == 0 ? 0 : shared.sums[PLACE(i, j)];
                            shared.sums[PLACE(i, j)] = before + sums[k][place / SIDE][place % SIDE];
                        }
                    }
                    MEET();
                }
                for (int stride = BLOCK / 2; stride > 0; stride /= 2) {
                    lost += gp_butterfly(lost, stride, partial, tid);
                    missed += gp_butterfly(missed, stride, partial, tid);
                }
                losses += lost;
                wrong += missed;
            }
            if (tid == 0) {
                shared.sums[LOSS] = losses;
                shared.sums[WRONG] = wrong;
            }
            MEET();

            /* 6. Step. */
            gp_advance(&shared, &state, most, tid);
        }

        /* 7. Store. */
        STORE_PROBLEM(&shared, &state, problem, tid);
    }
}

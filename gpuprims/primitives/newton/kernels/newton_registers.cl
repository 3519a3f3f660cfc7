/* newton/registers: a group fits a problem by Newton's method; each work-item has all sums of its rows in registers.
 *
 * in      INPUTS: x0 samples, x1 labels, x2 the tolerance and the penalties, where WEIGHTED x3 sample weights; where
 *         RAGGED last the first row of each problem, and the end
 * out     OUTPUTS: y0 weights and standard errors of each problem, y1 losses, y2 ends and iterations
 * launch  any number of groups of BLOCK (a multiple of TEAM); each takes problems until none are left
 * host    gp_butterfly (shuffling.h)
 * order   a work-item's rows, ITEMS at a time; then those of a team by halves, then the teams, then these sums
 *
 * A pass computes loss, gradient and Hessian at once. All work-items of a group then factor and solve (newton.h). A
 * lane passes half of its sums to another lane in each round, as in descent/persistent.
 */
#define TEAM (WARP >= 32 ? 32 : 16)
#define TEAMS (BLOCK / TEAM)
#define KEPT ((PLACES + TEAM - 1) / TEAM)

/* Load the features of a row. */
DEVICE void gp_load_features(GLOBAL const value_t *from, value_t *to)
{
#if VECTOR > 1
#pragma unroll
    for (int c = 0; c < FEATURES; c += VECTOR) READ_VECTOR(NUMBER, VECTOR, from + c, to + c);
#else
#pragma unroll
    for (int c = 0; c < FEATURES; c++) to[c] = from[c];
#endif
}

/* Add the sums of each team, by halves in registers, or TEAM sums at a time in local memory. */
DEVICE void gp_fold_team(value_t *sums, LOCAL value_t *folds, LOCAL value_t *partial, const int tid)
{
#if WARP >= 16
    int kept = PLACES, first = 0, own = PLACES, sharing = TEAM;
#pragma unroll
    for (int stride = TEAM / 2; stride > 0; stride /= 2) {
        const int upper = (tid & stride) != 0, middle = (kept + 1) / 2;
        if (kept > 1) {
#pragma unroll
            for (int k = 0; k < (PLACES + 1) / 2; k++) {
                if (k < middle) {
                    const value_t beyond = k + middle < kept ? sums[k + middle < PLACES ? k + middle : 0] : 0;
                    const value_t mine = upper ? beyond : sums[k], given = upper ? sums[k] : beyond;
                    sums[k] = mine + gp_butterfly(given, stride, partial, tid);
                }
            }
            first += upper ? middle : 0;
            own = upper ? own - middle : (own < middle ? own : middle);
            kept = middle;
            sharing = stride;
        } else {
            sums[0] += gp_butterfly(sums[0], stride, partial, tid);
        }
    }
    if (tid % sharing == 0) {
#pragma unroll
        for (int k = 0; k < KEPT; k++)
            if (k < own) folds[(first + k) * TEAMS + tid / TEAM] = sums[k];
    }
#else
    for (int first = 0; first < PLACES; first += TEAM) {
        for (int k = 0; k < TEAM && first + k < PLACES; k++) partial[k * BLOCK + tid] = sums[first + k];
        MEET();
        value_t sum = 0;
        const int own = tid % TEAM;
        for (int k = 0; k < TEAM && first + own < PLACES; k++) sum += partial[own * BLOCK + tid / TEAM * TEAM + k];
        if (first + own < PLACES) folds[(first + own) * TEAMS + tid / TEAM] = sum;
        MEET();
    }
#endif
}

/* Add the sums of all work-items to those of the problem, or replace these. */
DEVICE void gp_fold_passes(value_t *sums, LOCAL problem_t *p, LOCAL value_t *folds, LOCAL value_t *partial,
                        const int replaces, const int tid)
{
    gp_fold_team(sums, folds, partial, tid);
    MEET();
    for (int place = tid; place < PLACES; place += BLOCK) {
        wide_t sum = replaces ? 0 : p->sums[place];
        for (int team = 0; team < TEAMS; team++) sum += folds[place * TEAMS + team];
        p->sums[place] = sum;
    }
    MEET();
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void newton_registers(INPUTS, OUTPUTS, const layout_t layout, const i64 problems, const i64 n, const i64 samples_apart,
                      const i64 labels_apart, const i64 weights_apart, const i64 penalties_apart, const i64 most)
{
    __local problem_t shared;
    __local value_t folds[PLACES * TEAMS], partial[WARP >= 16 ? 1 : TEAM * BLOCK];
    const int tid = get_local_id(0);
    newton_t state;
    value_t sums[PLACES], weights[COLUMNS];

    for (i64 problem = get_group_id(0); problem < problems; problem += get_num_groups(0)) {
        const rows_of_t rows = ROWS_OF(problem);
        state.penalty = PENALTY(problem);
        state.tolerated = TOLERATED;

        /* 1. Add the distances of features from the first row's, and count labels. */
        const i64 last = max(rows.count, (i64)1);
        for (i64 begin = 0; begin < last; begin += BLOCK * ITEMS) {
            const i64 end = min(begin + BLOCK * ITEMS, rows.count);
#pragma unroll
            for (int k = 0; k < PLACES; k++) sums[k] = 0;
            for (i64 row = begin + tid; row < end; row += BLOCK) {
                value_t x[FEATURES];
                gp_load_features(rows.samples + row * FEATURES, x);
#pragma unroll
                for (int c = 0; c < FEATURES; c++) {
                    const value_t apart = x[c] - SHIFT(rows, c);
                    sums[c] += apart;
                    sums[FEATURES + c] += apart < 0 ? -apart : apart;
                }
                const value_t weight = WEIGHT_OF(rows, row);
                sums[ONES] += rows.labels[row] != 0 ? weight : 0;
                sums[ZEROS] += rows.labels[row] != 0 ? 0 : weight;
                sums[BAD_LABELS] += IS_BAD_LABEL(rows.labels[row]);
                sums[BAD_WEIGHTS] += IS_BAD_WEIGHT(weight);
            }
            gp_fold_passes(sums, &shared, folds, partial, begin == 0, tid);
        }
        gp_begin(&shared, &state, rows, tid);

        while (state.end >= RUNNING) {
            /* 2. Add loss, gradient and Hessian of all rows. */
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) weights[c] = shared.tried[c];
            for (i64 begin = 0; begin < last; begin += BLOCK * ITEMS) {
                const i64 end = min(begin + BLOCK * ITEMS, rows.count);
#pragma unroll
                for (int k = 0; k < PLACES; k++) sums[k] = 0;
                for (i64 row = begin + tid; row < end; row += BLOCK) {
                    value_t x[COLUMNS], score = 0, loss, slope, curvature;
                    gp_load_features(rows.samples + row * FEATURES, x);
#pragma unroll
                    for (int c = 0; c < COLUMNS; c++) {
                        x[c] = c < FEATURES ? (x[c] - shared.mean[c < FEATURES ? c : 0]) * shared.scale[c < FEATURES ? c : 0] : 1;
                        score += x[c] * weights[c];
                    }
                    const value_t sign = SIGN_OF(rows, row), weight = WEIGHT_OF(rows, row);
                    gp_row_terms(sign * score, &loss, &slope, &curvature);
                    slope *= sign * weight;
                    curvature *= weight;
                    sums[LOSS] += weight * loss;
                    sums[WRONG] += weight > 0 ? sign * score >= 0 : 0; /* not &&: a weight may be the constant 1 */
#pragma unroll
                    for (int i = 0; i < COLUMNS; i++) {
                        const value_t curved = curvature * x[i];
#pragma unroll
                        for (int j = 0; j <= i; j++) sums[PLACE(i, j)] += curved * x[j];
                        sums[GRADIENT + i] += slope * x[i];
                    }
                }
                gp_fold_passes(sums, &shared, folds, partial, begin == 0, tid);
            }

            /* 3. Step. */
            gp_advance(&shared, &state, most, tid);
        }

        /* 4. Store. */
        STORE_PROBLEM(&shared, &state, problem, tid);
    }
}

/* Newton's method of one logistic regression per group: the sums that a pass over the rows gives, the step, the end.
 *
 * Features are standardised: column c of a row is (x - mean) * scale, with an intercept, else x * scale. Its coefficient
 * is that of the feature divided by `scale`. The sums of a pass are the lower triangle of a matrix, row after row:
 *
 *     rows 0 to COLUMNS - 1   the Hessian
 *     row COLUMNS             the gradient, then the loss
 *     WRONG                   the rows on the wrong side
 */
#define COLUMNS (FEATURES + INTERCEPT)
#define PLACE(row, column) ((row) * ((row) + 1) / 2 + (column))
#define GRADIENT PLACE(COLUMNS, 0)
#define LOSS PLACE(COLUMNS, COLUMNS)
#define WRONG (LOSS + 1)
#define SUMS (LOSS + 2)

/* The sums of the first pass: distances from the first row, their magnitudes, and these. */
#define ONES (2 * FEATURES)
#define ZEROS (2 * FEATURES + 1)
#define BAD_LABELS (2 * FEATURES + 2)
#define BAD_WEIGHTS (2 * FEATURES + 3)
#define FIRST_SUMS (2 * FEATURES + 4)
#define PLACES (SUMS > FIRST_SUMS ? SUMS : FIRST_SUMS)

/* Why a problem ends; newton/ends.py has the same numbers. */
#define TOLERANCE 0
#define ROUNDING 1
#define SEPARABLE 2
#define MAX_ITER 3
#define STALLED 4
#define ONE_CLASS 5
#define BAD_FEATURE 6
#define BAD_LABEL 7
#define BAD_WEIGHT 8
#define RUNNING 9
#define FINISHING 10 /* the last step failed, so a pass computes the Hessian before it again */

#define HALVINGS 30
#define IDLE_PASSES 3

/* Wait for the other work-items of the group. */
#if BLOCK > 1
#define MEET() barrier(CLK_LOCAL_MEM_FENCE)
#else
#define MEET()
#endif

/* Operands. TOLERATED is the length of a step, in standard errors, at which a problem ends. */
#define TOLERATED x2[gp_at_x2(layout, 0, 0)]
#define PENALTY(problem) x2[gp_at_x2(layout, 0, 0) + 1 + (problem) * penalties_apart]
#if WEIGHTED
#define SAMPLE_WEIGHTS x3 + gp_at_x3(layout, 0, 0)
#define OFFSET(problem) x4[gp_at_x4(layout, 0, 0) + (problem)]
#else
#define SAMPLE_WEIGHTS x0
#define OFFSET(problem) x3[gp_at_x3(layout, 0, 0) + (problem)]
#endif

/* The rows of a problem. */
typedef struct {
    GLOBAL const value_t *samples;
    GLOBAL const label_t *labels;
    GLOBAL const value_t *weights;
    i64 count;
} rows_of_t;

#if RAGGED
#define ROWS_OF(problem)                                                                                               \
    {x0 + gp_at_x0(layout, 0, 0) + OFFSET(problem) * FEATURES, x1 + gp_at_x1(layout, 0, 0) + OFFSET(problem),          \
     SAMPLE_WEIGHTS + OFFSET(problem) * WEIGHTED, OFFSET((problem) + 1) - OFFSET(problem)}
#else
#define ROWS_OF(problem)                                                                                               \
    {x0 + gp_at_x0(layout, 0, 0) + (problem) * samples_apart, x1 + gp_at_x1(layout, 0, 0) + (problem) * labels_apart,  \
     SAMPLE_WEIGHTS + (problem) * weights_apart, n}
#endif

/* A row's feature before it is standardised; without an intercept it keeps its zero. */
#if INTERCEPT
#define SHIFT(rows, feature) (rows).samples[feature]
#else
#define SHIFT(rows, feature) 0
#endif

/* What a group shares of its problem. */
typedef struct {
    wide_t sums[PLACES], weights[COLUMNS], step[COLUMNS], inverses[COLUMNS], diagonal[COLUMNS];
    value_t tried[COLUMNS], mean[FEATURES], scale[FEATURES];
} problem_t;

/* What each work-item knows of it. */
typedef struct {
    wide_t penalty, tolerated, total; /* total: the sum of the sample weights */
    wide_t loss, squared, part;       /* the loss, the squared length of the step from there, and the part that is tried */
    i32 end, iterations, halvings, idle;
} newton_t;

/* True for NaN and infinity. */
#define gp_unbounded(number) ((number) - (number) != 0)

/* The weight of row `row`, its label's sign (-1 for class 1), and whether either is invalid. */
#if WEIGHTED
#define WEIGHT_OF(rows, row) (rows).weights[row]
#else
#define WEIGHT_OF(rows, row) 1
#endif
#define SIGN_OF(rows, row) ((rows).labels[row] != 0 ? -1 : 1)
#define IS_BAD_LABEL(label) ((label) != 0 && (label) != 1)
#define IS_BAD_WEIGHT(weight) (!((weight) >= 0) || gp_unbounded(weight))

/* Loss, slope and curvature of a row, by its score times its sign. No exponential is above 1, and none of the three
 * loses digits where it is small. */
DEVICE void gp_row_terms(const value_t against, value_t *loss, value_t *slope, value_t *curvature)
{
    const value_t small = exp(against < 0 ? against : -against), share = 1 / (1 + small);
    *loss = (against > 0 ? against : 0) + log1p(small);
    *slope = against >= 0 ? share : small * share;
    *curvature = small * share * share;
}

/* Set the mean and scale of each feature from the first sums, and weights of zero. */
DEVICE void gp_begin(LOCAL problem_t *p, newton_t *state, const rows_of_t rows, const int tid)
{
    state->total = p->sums[ONES] + p->sums[ZEROS];
    state->end = p->sums[BAD_WEIGHTS] > 0                           ? BAD_WEIGHT
                 : p->sums[BAD_LABELS] > 0                          ? BAD_LABEL
                 : !(p->sums[ONES] > 0) || !(p->sums[ZEROS] > 0)    ? ONE_CLASS
                                                                    : RUNNING;
    for (int c = 0; c < FEATURES; c++)
        if (rows.count && gp_unbounded(p->sums[FEATURES + c])) state->end = BAD_FEATURE;
    state->loss = state->squared = state->part = 0;
    state->iterations = state->halvings = state->idle = 0;
    for (int c = tid; c < COLUMNS; c += BLOCK) {
        p->tried[c] = 0;
        p->weights[c] = p->step[c] = 0;
        if (c < FEATURES && rows.count) {
            const value_t inverse = (value_t)((wide_t)rows.count / p->sums[FEATURES + c]);
            p->mean[c] = INTERCEPT ? (value_t)(SHIFT(rows, c) + p->sums[c] / (wide_t)rows.count) : 0;
            p->scale[c] = gp_unbounded(inverse) ? 1 : inverse;
        }
    }
    MEET();
}

/* The penalty's factor of the square of a standardised coefficient, twice. */
DEVICE wide_t gp_penalty(LOCAL const problem_t *p, const newton_t *state, const int c)
{
    return c < FEATURES ? state->penalty * p->scale[c] * p->scale[c] : 0;
}

/* Add the penalty to the Hessian, and replace its triangle by the factors of L D L': below the diagonal L D. The
 * gradient is a further row, which becomes that of L^-1. A pivot that rounding may have made is replaced by a larger one,
 * which shortens the step; without a penalty its weight stays as it is. */
DEVICE void gp_factor(LOCAL problem_t *p, const newton_t *state, const int tid)
{
    for (int c = tid; c < COLUMNS; c += BLOCK) {
        const wide_t penalty = gp_penalty(p, state, c);
        p->sums[GRADIENT + c] += penalty * p->tried[c];
        p->sums[PLACE(c, c)] += penalty;
        p->diagonal[c] = p->sums[PLACE(c, c)];
    }
    MEET();
    for (int j = 0; j < COLUMNS; j++) {
        const wide_t least = 64 * WIDE_EPSILON * p->diagonal[j], pivot = p->sums[PLACE(j, j)];
        const wide_t inverse = pivot > least ? 1 / pivot : least > 0 && state->penalty > 0 ? 1 / least : 0;
        const int left = COLUMNS - j;
        for (int k = tid; k < left * left; k += BLOCK) {
            const int row = j + 1 + k / left, column = j + 1 + k % left;
            if (column <= row && column < COLUMNS)
                p->sums[PLACE(row, column)] -= p->sums[PLACE(row, j)] * p->sums[PLACE(column, j)] * inverse;
        }
        if (tid == 0) p->inverses[j] = inverse;
        MEET();
    }
}

/* Solve for the step, and store it if it is `wanted`; return its squared length in standard errors. */
DEVICE wide_t gp_solve(LOCAL problem_t *p, const int wanted, const int tid)
{
    wide_t squared = 0;
    for (int j = 0; j < COLUMNS; j++) squared += p->sums[GRADIENT + j] * p->sums[GRADIENT + j] * p->inverses[j];
    MEET();
    for (int j = COLUMNS - 1; j >= 0; j--) {
        const wide_t solved = p->sums[GRADIENT + j] * p->inverses[j];
        for (int k = tid; k < j; k += BLOCK) p->sums[GRADIENT + k] -= p->sums[PLACE(j, k)] * solved;
        if (tid == 0 && wanted) p->step[j] = -solved;
        MEET();
    }
    return squared;
}

/* The loss with the penalty, after a pass. */
DEVICE wide_t gp_whole_loss(LOCAL const problem_t *p, const newton_t *state)
{
    wide_t loss = p->sums[LOSS];
    for (int c = 0; c < FEATURES; c++) loss += gp_penalty(p, state, c) * p->tried[c] * p->tried[c] / 2;
    return loss;
}

/* Take the sums of a pass at `tried`: halve a step that raises the loss, else take the next one, or end. A failed step is
 * factored as well, so that all work-items meet at the same barriers. */
DEVICE void gp_advance(LOCAL problem_t *p, newton_t *state, const i64 most, const int tid)
{
    /* 1. Compare the loss with that before the step. */
    const wide_t loss = gp_whole_loss(p, state), before = state->loss, rounding = state->halvings ? 0 : 16 * EPSILON * before;
    const int first = state->part == 0, separated = p->sums[WRONG] == 0 && loss <= state->total / 1000000;
    const int failed = !first && !(loss <= before - state->part * state->squared / 10000 + rounding);
    MEET();

    /* 2. Factor the Hessian, and solve. */
    gp_factor(p, state, tid);
    const wide_t squared = gp_solve(p, !failed && state->end != FINISHING, tid);

    /* 3. Take the next step, end, or halve the step. A loss below 1 asks for a shorter last step: rows that are nearly
     * separable have tiny losses. */
    if (state->end == FINISHING) {
        state->end = state->squared <= 2 * before / 1000000 ? ROUNDING : STALLED;
    } else if (failed) {
        state->halvings++;
        state->part /= 2;
        if (state->halvings > HALVINGS) {
            state->end = FINISHING;
            state->part = 0;
        }
    } else {
        state->iterations += !first;
        state->idle = first || loss < before - EPSILON * before ? 0 : state->idle + 1;
        state->loss = loss;
        state->squared = squared;
        state->halvings = 0;
        state->part = 1;
        if (squared <= state->tolerated * state->tolerated * (loss < 1 ? loss : 1)) {
            state->end = TOLERANCE;
        } else if (state->penalty == 0 && separated) {
            state->end = SEPARABLE;
        } else if (state->idle >= IDLE_PASSES) {
            state->end = squared <= 2 * loss / 1000000 ? ROUNDING : STALLED;
        } else if (state->iterations >= most) {
            state->end = MAX_ITER;
        }
    }
    for (int c = tid; c < COLUMNS; c += BLOCK) {
        const wide_t from = failed ? p->weights[c] : (wide_t)p->tried[c], moved = from + state->part * p->step[c];
        p->weights[c] = state->end == TOLERANCE ? moved : from;
        p->tried[c] = (value_t)moved;
    }
    MEET();
}

/* Store the weights and standard errors of the features as they came, the loss, the end and the iterations. */
#define STORE_PROBLEM(p, state, problem, tid) gp_store_problem(OUTPUT_NAMES, layout, p, state, problem, tid)
DEVICE void gp_store_problem(OUTPUTS, const layout_t layout, LOCAL const problem_t *p, const newton_t *state,
                          const i64 problem, const int tid)
{
    const int found = state->end < ONE_CLASS;
    const wide_t nothing = state->total - state->total, none = nothing / nothing;
    for (int own = tid; own < COLUMNS; own += BLOCK) {
        wide_t solved[COLUMNS], variance = 0, weight = p->weights[own] * (own < FEATURES ? (wide_t)p->scale[own] : 1);
        for (int j = 0; j < COLUMNS && found; j++) {
            wide_t sum = own < FEATURES ? (j == own ? (wide_t)p->scale[j] : 0) : j == own ? 1 : 0;
            if (own == FEATURES && j < FEATURES) {
                sum = -(wide_t)p->mean[j] * p->scale[j];
                weight += sum * p->weights[j];
            }
            for (int k = 0; k < j; k++) sum -= p->sums[PLACE(j, k)] * p->inverses[k] * solved[k];
            solved[j] = sum;
            variance += sum * sum * p->inverses[j];
        }
        const int known = found && p->inverses[own] != 0;
        y0[gp_at_y0(layout, 0, 0) + 2 * problem * COLUMNS + own] = found ? weight : none;
        y0[gp_at_y0(layout, 0, 0) + (2 * problem + 1) * COLUMNS + own] = known ? sqrt(variance) : none;
    }
    if (tid == 0) {
        y1[gp_at_y1(layout, 0, 0) + problem] = found ? state->loss : none;
        y2[gp_at_y2(layout, 0, 0) + 2 * problem] = state->end;
        y2[gp_at_y2(layout, 0, 0) + 2 * problem + 1] = state->iterations;
    }
    MEET();
}

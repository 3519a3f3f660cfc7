/* logistic/cpu_fixed: each work-item adds the rows of parts by a tree that is the same on every device, for devices whose
 * work-items are CPU threads.
 *
 * in      INPUTS: x0 n rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: for each part, SUMS numbers
 * launch  two, by `step`: groups of one work-item add the rows of each part, then groups add the parts of some sums
 * host    LANES, CHUNKS and TREE_VECTOR; gp_settled, LOSS_AND_RESIDUAL(z, y, s, loss, residual), STORE_SUM (logistic.h)
 * order   that of logistic/fixed, whose work-items are the lanes and slots here
 */
#define SLOTS (TREE_BLOCK / LANES)
/* Vectors of four lanes, of TREE_VECTOR features each, and as many rows at once as a lane has features. */
#if TREE_VECTOR == 4
#define TAKEN 16
#define HALF 8
#define FIRST_LANE ((VECTOR_OF(INDEX, 4))(0, 1, 2, 3))
#define SECOND_LANE (TOGETHER(4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7))
#define EACH(P) P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9), P(10), P(11), P(12), P(13), P(14), P(15)
#define UPPER_HALF (TOGETHER(8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15))
/* Of each four elements of two vectors: the lower two in turn, the upper two, the lower two of each, the upper two. */
#define LOWER_MIXED TOGETHER(0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define UPPER_MIXED TOGETHER(2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define LOWER_PAIRS TOGETHER(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define UPPER_PAIRS TOGETHER(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#else
#define TAKEN 8
#define HALF 4
#define FIRST_LANE ((VECTOR_OF(INDEX, 2))(0, 1))
#define LOWER_MIXED TOGETHER(0, 8, 2, 10, 4, 12, 6, 14)
#define UPPER_MIXED TOGETHER(1, 9, 3, 11, 5, 13, 7, 15)
#define SECOND_LANE (TOGETHER(2, 3, 2, 3, 2, 3, 2, 3))
#define EACH(P) P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7)
#define UPPER_HALF (TOGETHER(4, 5, 6, 7, 4, 5, 6, 7))
#endif
#define TOGETHER (VECTOR_OF(INDEX, TAKEN))
typedef WIDE(TAKEN) vector_t;
#define LOAD_VECTOR(from) GP_JOINED(vload, TAKEN)(0, from)
#define LOAD_HALF(from) GP_JOINED(vload, HALF)(0, from)
#define STORE_VECTOR(vector, to) GP_JOINED(vstore, TAKEN)(vector, 0, to)
#define VECTORS ((FEATURES + TAKEN - 1) / TAKEN)
#define ENDS (FEATURES % TAKEN) /* features of a row's last vector, 0 if that is whole */
#define QUARTERS (LANES > 4 ? LANES / 4 : 1)
/* Rows whose losses are computed together, which stay in the first level of cache. */
#define BATCH (VECTORS <= 16 ? 64 : 16)
#define SIDE 8 /* slots whose sums stay in registers */
#define PARTIAL(part, sum) ((GLOBAL value_t *)partials)[(i64)(part)*SUMS + (sum)]

/* Load the last features of a row, with zeros past the end: if a row has as many, by a vector or a half that ends there, whose
 * elements then move (rows: cpu_fixed-ends). Oclgrind fails on vectors of two halves that are not shuffled. */
#define MOVED(k) ((k) < ENDS ? (k) + TAKEN - ENDS : TAKEN)
#define OWN_PLACE(k) (k)
#define MOVED_HALF(k) ((k) < HALF ? (k) : MOVED(k))
DEVICE vector_t load_ends(GLOBAL const NUMBER *from)
{
#if FEATURES > TAKEN
    const vector_t zeros = 0;
    const vector_t last = LOAD_VECTOR(from + ENDS - TAKEN);
    return shuffle2(last, zeros, TOGETHER(EACH(MOVED)));
#elif FEATURES >= HALF
    const vector_t zeros = 0;
    const vector_t halves = shuffle2(LOAD_HALF(from), LOAD_HALF(from + ENDS - HALF), TOGETHER(EACH(OWN_PLACE)));
    return shuffle2(halves, zeros, TOGETHER(EACH(MOVED_HALF)));
#else
    value_t held[TAKEN];
#pragma unroll
    for (int k = 0; k < TAKEN; k++) held[k] = k < ENDS ? from[k] : 0;
    return LOAD_VECTOR(held);
#endif
}
#define LOAD_FEATURES(from, vector)                                                                                    \
    (ENDS && (vector) == VECTORS - 1 ? load_ends((from) + (vector)*TAKEN) : LOAD_VECTOR((from) + (vector)*TAKEN))

/* Add to four lanes of TREE_VECTOR rows their products, by the first features and so on: lanes[k * TREE_VECTOR + r] is
 * lane k of row r. */
DEVICE vector_t add_products(const vector_t lanes, const vector_t *products)
{
#if TREE_VECTOR == 4
    const vector_t a = shuffle2(products[0], products[1], LOWER_MIXED);
    const vector_t b = shuffle2(products[2], products[3], LOWER_MIXED);
    const vector_t c = shuffle2(products[0], products[1], UPPER_MIXED);
    const vector_t d = shuffle2(products[2], products[3], UPPER_MIXED);
    vector_t sum = lanes + shuffle2(a, b, LOWER_PAIRS);
    sum += shuffle2(a, b, UPPER_PAIRS);
    sum += shuffle2(c, d, LOWER_PAIRS);
    return sum + shuffle2(c, d, UPPER_PAIRS);
#else
    const vector_t sum = lanes + shuffle2(products[0], products[1], LOWER_MIXED);
    return sum + shuffle2(products[0], products[1], UPPER_MIXED);
#endif
}

/* Compute the scores of TREE_VECTOR rows, up to row `last`. */
DEVICE void compute_scores(GLOBAL const NUMBER *from, const int last, const value_t *weights, const value_t start,
                           value_t *scores)
{
    vector_t lanes[QUARTERS];
#pragma unroll
    for (int quarter = 0; quarter < QUARTERS; quarter++) lanes[quarter] = 0;
#pragma unroll
    for (int vector = 0; vector < VECTORS; vector++) {
        const vector_t factors = LOAD_VECTOR(weights + vector * TAKEN);
        vector_t products[TREE_VECTOR];
#pragma unroll
        for (int r = 0; r < TREE_VECTOR; r++) products[r] = LOAD_FEATURES(from + min(r, last) * FEATURES, vector) * factors;
        lanes[vector % QUARTERS] = add_products(lanes[vector % QUARTERS], products);
    }
#pragma unroll
    for (int stride = QUARTERS / 2; stride > 0; stride /= 2)
#pragma unroll
        for (int quarter = 0; quarter < stride; quarter++) lanes[quarter] += lanes[quarter + stride];
    vector_t folded = lanes[0];
    if (LANES > 2) folded += shuffle(folded, UPPER_HALF);
    if (LANES > 1) folded += shuffle(folded, SECOND_LANE);
    GP_JOINED(vstore, TREE_VECTOR)(shuffle(folded, FIRST_LANE) + start, 0, scores);
}

/* Compute the losses and residuals of some rows. Within the loops over rows, compilers would make no vectors of them. */
__attribute__((noinline)) static void compute_losses(const value_t *scores, const value_t *labels, const value_t *counts,
                                                     value_t *lost, value_t *residuals, const int some)
{
    for (int k = 0; k < some; k++) LOSS_AND_RESIDUAL(scores[k], labels[k], counts[k], lost + k, residuals + k);
}

/* Add a vector of features of some rows to the sums of their slots, SIDE slots at a time. */
#define ADD_ROW(k, vector, LOAD) held[k] += LOAD(from + (row + (k)) * FEATURES + (vector)*TAKEN) * residuals[row + (k)]
#define ADD_ROWS(vector, LOAD)                                                                                         \
    for (int slot = 0; slot < min(SLOTS, BATCH); slot += SIDE) {                                                       \
        vector_t held[SIDE];                                                                                           \
        for (int k = 0; k < SIDE; k++) held[k] = LOAD_VECTOR(sums + ((slot + k) * VECTORS + (vector)) * TAKEN);        \
        int row = slot;                                                                                                \
        for (; row + SIDE <= some; row += SLOTS)                                                                       \
            for (int k = 0; k < SIDE; k++) ADD_ROW(k, vector, LOAD);                                                   \
        for (int k = 0; k < SIDE; k++)                                                                                 \
            if (row + k < some) ADD_ROW(k, vector, LOAD);                                                              \
        for (int k = 0; k < SIDE; k++) STORE_VECTOR(held[k], sums + ((slot + k) * VECTORS + (vector)) * TAKEN);        \
    }
DEVICE void add_rows(GLOBAL const NUMBER *from, const int some, const value_t *residuals, value_t *sums)
{
    for (int vector = 0; vector < FEATURES / TAKEN; vector++) ADD_ROWS(vector, LOAD_VECTOR)
#if ENDS
    ADD_ROWS(VECTORS - 1, load_ends)
#endif
}

/* Fold `count` rows of `width` sums by halves. */
DEVICE void fold_halves(value_t *sums, const int count, const int width)
{
    for (int stride = count / 2; stride > 0; stride /= 2)
        for (int k = 0; k < stride * width; k++) sums[k] += sums[stride * width + k];
}

/* Add the parts of TAKEN sums, from `first` on. */
DEVICE void add_parts(OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 parts, const int first)
{
    const int some = min(TAKEN, SUMS - first);
    int width = TREE_BLOCK;
    while (width / 2 >= parts) width /= 2; /* the others are zero, and no sum is the zero with a sign */
    value_t folded[TREE_BLOCK * TAKEN];
    for (int k = 0; k < width * TAKEN; k++) folded[k] = 0;
    for (i64 part = 0; part < parts; part++)
        for (int k = 0; k < some; k++) folded[part % TREE_BLOCK * TAKEN + k] += PARTIAL(part, first + k);
    fold_halves(folded, width, TAKEN);
    for (int k = 0; k < some; k++) STORE_SUM(first + k, gp_settled(folded[k]));
}

__kernel WORK_GROUP(1)
void logistic_cpu_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                        const i64 parts, const i64 rows, const i64 step)
{
    if (step == 1) {
        /* 4. Add the parts of each sum. */
        for (int first = TAKEN * get_group_id(0); first < SUMS; first += TAKEN * get_num_groups(0))
            add_parts(OUTPUT_NAMES, partials, layout, parts, first);
        return;
    }
    const value_t start = INITIAL_SCORE;
    value_t weights[VECTORS * TAKEN];
    for (int k = 0; k < VECTORS * TAKEN; k++) weights[k] = k < FEATURES ? WEIGHT(k) : 0;

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        const i64 first = part * rows, end = min(first + rows, n);
        value_t gradients[SLOTS * VECTORS * TAKEN], biases[SLOTS], losses[SLOTS];
        for (int k = 0; k < SLOTS * VECTORS * TAKEN; k++) gradients[k] = 0;
        for (int k = 0; k < SLOTS; k++) biases[k] = losses[k] = 0;

        for (i64 base = first; base < end; base += BATCH) {
            /* 1. Compute the scores of some rows, and then their losses and residuals, in vectors. */
            const int some = (int)min((i64)BATCH, end - base), slot = (int)((base - first) % SLOTS);
            value_t scores[BATCH], labels[BATCH], counts[BATCH], lost[BATCH], residuals[BATCH];
            for (int k = 0; k < some; k += TREE_VECTOR)
                compute_scores(SAMPLES(base + k), some - 1 - k, weights, start, scores + k);
            for (int k = 0; k < some; k++) labels[k] = LABEL(base + k);
            for (int k = 0; k < some; k++) counts[k] = SAMPLE_WEIGHT(base + k);
            compute_losses(scores, labels, counts, lost, residuals, some);

            /* 2. Add the rows to the sums of their slots. */
            add_rows(SAMPLES(base), some, residuals, gradients + slot * VECTORS * TAKEN);
            for (int row = 0; row < some; row += SLOTS) {
                const int live = min(SLOTS, some - row);
                for (int k = 0; k < live; k++) biases[slot + k] += residuals[row + k];
                for (int k = 0; k < live; k++) losses[slot + k] += lost[row + k];
            }
        }

        /* 3. Fold the slots, and leave the sums of the part. */
        fold_halves(gradients, SLOTS, VECTORS * TAKEN);
        fold_halves(biases, SLOTS, 1);
        fold_halves(losses, SLOTS, 1);
        for (int k = 0; k < FEATURES; k++) PARTIAL(part, k) = gradients[k];
        PARTIAL(part, BIAS) = biases[0];
        PARTIAL(part, LOSS) = losses[0];
    }
}

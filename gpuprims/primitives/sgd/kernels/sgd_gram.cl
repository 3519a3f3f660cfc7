/* sgd/gram: one group takes runs of samples in order; an earlier launch of all groups computed the products of each
 * run's samples.
 *
 * in      INPUTS: x0 rows of FEATURES samples, x1 labels, x2 weights, where WEIGHTED x3 sample weights, then the order
 *         of rows and the rates of stretches (single.h)
 * out     OUTPUTS: y0 the weights, from which later launches go on
 * scratch partials: the Gram matrix of each of `runs` runs; counters: not touched
 * launch  for each `step`: any number of groups of BLOCK (a power of two), then one; runs are counted from `first` on
 * host    ROWS samples in a run (a power of two, up to LANES = 32), fewer in the last of a stretch; gp_fold_rows,
 *         gp_from_lane (rows.h)
 * order   samples in order; only the launch decides in which order a score is added
 *
 * A work-item has some columns of all rows of a run, and their weights, in registers. One fold of the group computes
 * the scores at the begin of a run. From there each warp works alone: its lane j has the score of sample j. As sample t
 * changes the weights by -c x_t, it changes that score by -c (x_t . x_j), an element of the Gram matrix. So no lane
 * waits for a whole score, and a run has one barrier. Once a row has been added to the weights, the next run's row
 * takes its registers:
 *
 *     sample    0                         1                         2
 *     lane 0    c = residual of score 0   from lane 1 ...           ...
 *     lane j    c from lane 0             c from lane 1
 *               score j -= c G[0][j]      score j -= c G[1][j]
 *     all       weights -= c x_0          weights -= c x_1
 *               load next run's x_0       load next run's x_1
 */
#define TEAMS (BLOCK / LANES)
#define PARTS ((FEATURES + BLOCK * VECTOR - 1) / (BLOCK * VECTOR))
#define HELD (PARTS * VECTOR)
#define PRODUCTS (ROWS * ROWS)
/* Products of a work-item, and the distance between their rows. */
#define SHARES (PRODUCTS > BLOCK ? PRODUCTS / BLOCK : 1)
#define APART (BLOCK / ROWS)
/* Columns of a tile of rows, and one more, so that the elements of a column lie in different banks. */
#define WIDTH (LANES + 1)

/* The stretch of a run, its first sample, and its number of samples. */
#define RUNS(stretch) (((stretch) + ROWS - 1) / ROWS)
#define STRETCH(run, stretch) ((u32)(run) / (u32)RUNS(stretch))
DEVICE i64 first_of(const i64 run, const i64 stretch)
{
    const u32 whole = STRETCH(run, stretch);
    return whole * stretch + (run - whole * RUNS(stretch)) * ROWS;
}

DEVICE int count_of(const i64 run, const i64 stretch)
{
    const i64 left = stretch - (run - STRETCH(run, stretch) * RUNS(stretch)) * ROWS;
    return left < ROWS ? (int)left : ROWS;
}

/* Load a work-item's columns of a row, and zeros past the end. */
DEVICE void load_columns(GLOBAL const NUMBER *from, const int live, const int tid, value_t *held)
{
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int first = (part * BLOCK + tid) * VECTOR;
        if (live && first < FEATURES) {
            READ_SAMPLES(from + first, held + part * VECTOR);
        } else {
#pragma unroll
            for (int item = 0; item < VECTOR; item++) held[part * VECTOR + item] = 0;
        }
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sgd_gram(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 stretch,
              const i64 first, const i64 runs, const i64 step)
{
    __local value_t grams[2][PRODUCTS], sums[2][TEAMS * ROWS], partial[BLOCK], tile[ROWS * WIDTH];
    __local int numbers[2][ROWS];
    const int tid = get_local_id(0), own = tid % ROWS;
    GLOBAL value_t *products = (GLOBAL value_t *)partials;

    if (step == 0) {
        for (i64 run = get_group_id(0); run < runs; run += get_num_groups(0)) {
            const i64 base = first_of(first + run, stretch);
            const int count = count_of(first + run, stretch);
            value_t product[SHARES];
#pragma unroll
            for (int k = 0; k < SHARES; k++) product[k] = INTERCEPT;

            /* 1. Multiply all rows with each other, LANES columns at a time. */
            for (int column = 0; column < FEATURES; column += LANES) {
                for (int k = tid; k < ROWS * LANES; k += BLOCK) {
                    const int row = k / LANES, at = column + k % LANES;
                    const int live = row < count && at < FEATURES;
                    tile[row * WIDTH + k % LANES] = live ? SAMPLES((i64)SAMPLE(base + row))[at] : 0;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int item = 0; item < LANES; item++) {
                    const value_t mine = tile[own * WIDTH + item];
#pragma unroll
                    for (int k = 0; k < SHARES; k++)
                        product[k] += mine * tile[(tid / ROWS + k * APART) % ROWS * WIDTH + item];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
#pragma unroll
            for (int k = 0; k < SHARES; k++)
                if (tid < PRODUCTS) products[run * PRODUCTS + k * BLOCK + tid] = product[k];
        }
    } else {
        value_t weights[HELD], held[ROWS][HELD], coming[SHARES], bias = 0, wanted = 0, rated = 0;
        int ahead = 0, count = count_of(first, stretch);

        /* 2. Load the weights and the first run. */
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            const int feature = (k / VECTOR * BLOCK + tid) * VECTOR + k % VECTOR;
            weights[k] = feature >= FEATURES ? 0 : first > 0 ? MOVED(feature) : WEIGHT(feature);
        }
        if (INTERCEPT) bias = first > 0 ? MOVED(FEATURES) : WEIGHT(FEATURES);
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const i64 number = k < count ? SAMPLE(first_of(first, stretch) + k) : 0;
            load_columns(SAMPLES(number), k < count, tid, held[k]);
        }
        if (own < count) {
            const int number = SAMPLE(first_of(first, stretch) + own);
            rated = SAMPLE_WEIGHT(number) * RATE(STRETCH(first, stretch));
            wanted = rated * LABEL(number);
        }
#pragma unroll
        for (int k = 0; k < SHARES; k++)
            coming[k] = tid < PRODUCTS ? products[k * BLOCK + tid] : 0;
        if (runs > 1 && own < count_of(first + 1, stretch)) ahead = SAMPLE(first_of(first + 1, stretch) + own);

        for (i64 run = 0; run < runs; run++) {
            const int parity = run % 2, next = run + 1 < runs ? count_of(first + run + 1, stretch) : 0;
            const value_t keep = KEEP(STRETCH(first + run, stretch));
            LOCAL const value_t *gram = grams[parity];

            /* 3. Write to local memory the teams' parts of the scores, the Gram matrix, and the samples of the next
             * run. */
            value_t parts[ROWS];
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                parts[k] = 0;
#pragma unroll
                for (int item = 0; item < HELD; item++) parts[k] += held[k][item] * weights[item];
            }
            gp_fold_rows(parts, partial, tid);
            if (tid % SHARING == 0) sums[parity][tid / LANES * ROWS + tid % LANES / SHARING] = parts[0];
#pragma unroll
            for (int k = 0; k < SHARES; k++)
                if (tid < PRODUCTS) grams[parity][k * BLOCK + tid] = coming[k];
            if (tid < ROWS) numbers[parity][tid] = ahead;
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Add the score of the lane's own sample, and load the next run's labels, weights and products. */
            value_t score = bias, next_wanted = 0, next_rated = 0;
#pragma unroll
            for (int team = 0; team < TEAMS; team++) score += sums[parity][team * ROWS + own];
            if (own < next) {
                next_rated = SAMPLE_WEIGHT(numbers[parity][own]) * RATE(STRETCH(first + run + 1, stretch));
                next_wanted = next_rated * LABEL(numbers[parity][own]);
            }
#pragma unroll
            for (int k = 0; k < SHARES; k++)
                if (next > 0 && tid < PRODUCTS) coming[k] = products[(run + 1) * PRODUCTS + k * BLOCK + tid];
            if (run + 2 < runs && own < count_of(first + run + 2, stretch))
                ahead = SAMPLE(first_of(first + run + 2, stretch) + own);

            /* 5. Take one sample after the other; missing samples have a rate of 0. */
#pragma unroll
            for (int k = 0; k < ROWS; k++) {
                const value_t kept = k < count ? keep : 1;
                const value_t moved = gp_from_lane(rated * SIGMOID(score) - wanted, k, partial, tid);
                score = kept * (score - bias) + bias - moved * gram[k * ROWS + own];
                if (INTERCEPT) bias -= moved;
#pragma unroll
                for (int item = 0; item < HELD; item++) weights[item] = kept * weights[item] - moved * held[k][item];
                load_columns(SAMPLES((i64)numbers[parity][k]), k < next, tid, held[k]);
            }
            rated = next_rated;
            wanted = next_wanted;
            count = next;
        }

        /* 6. Store. */
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            const int feature = (k / VECTOR * BLOCK + tid) * VECTOR + k % VECTOR;
            if (feature < FEATURES) MOVED(feature) = weights[k];
        }
        if (INTERCEPT && tid == 0) MOVED(FEATURES) = bias;
    }
}

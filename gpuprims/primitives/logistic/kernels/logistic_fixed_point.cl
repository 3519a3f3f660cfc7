/* logistic/fixed_point: products of 8-bit integers, four at a time, added in 32-bit integers.
 *
 * in      INPUTS: x0 n rows of FEATURES samples of int8, x1 labels, x2 weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: SUMS for each group; counters: one, zero before and after
 * launch  `parts` groups of BLOCK (a power of two); each takes tiles of TILE rows until none are left
 * host    LANES, CHUNKS, ROWS as logistic/fused; VECTOR is a multiple of 4, and WHOLE is 1 if rows begin at whole vectors;
 *         gp_dot4 (fixed_point.h), held.h, gp_fold_rows and gp_from_lane (rows.h), gp_fold_groups (logistic.h)
 * order   only the number of groups decides in which order floats are added; sums of integers are exact
 *
 * Weights and residuals become integers of 14 bits in units of a part of the largest weight, and of 1. A weight has two
 * digits of base 128, each an 8-bit integer, so a score is two sums of products. Sums of 2048 residuals times samples
 * stay below 2^31; then they are added to floats.
 */
#define PACKS (HELD / 4)
/* Words of a vector of samples. */
#if VECTOR == 16
#define WORDS_EACH 4
#elif VECTOR == 8
#define WORDS_EACH 2
#endif
#define MOST 8191
#define ROUNDS (2048 / ROWS)
#define BYTE_OF(pack, k) ((int)((pack) << (24 - 8 * (k))) >> 24)

/* Load a lane's samples of a row, four in a word, and zeros past the end. */
DEVICE void load_packs(GLOBAL const SAMPLE_TYPE *from, const int live, const int lane, u32 *held)
{
#pragma unroll
    for (int pack = 0; pack < PACKS; pack++) held[pack] = 0;
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        const int first = (chunk * LANES + lane) * VECTOR;
        if (!live || first >= FEATURES) continue;
#if WHOLE && VECTOR > 4
        READ_VECTOR(u32, WORDS_EACH, (GLOBAL const u32 *)(from + first), held + chunk * WORDS_EACH);
#elif WHOLE
        held[chunk] = *(GLOBAL const u32 *)(from + first);
#else
#pragma unroll
        for (int k = 0; k < VECTOR; k++)
            if (first + k < FEATURES)
                held[(chunk * VECTOR + k) / 4] |= (u32)(from[first + k] & 255) << 8 * (k % 4);
#endif
    }
}

__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void logistic_fixed_point(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 n,
                    const i64 parts)
{
    __local value_t partial[BLOCK];
    __local int last;
    const int tid = get_local_id(0), lane = tid % LANES, slot = tid / LANES;
    value_t gradient[HELD], bias = 0, loss = 0, largest = 0, none = 0;
    u32 high[PACKS], low[PACKS];
    int sums_of_tiles[HELD], round = 0;

    /* 1. Find the largest weight. Products with zero are NaN if a weight is not finite. */
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        const int feature = HELD_FEATURE(k, lane);
        const value_t weight = feature < FEATURES ? WEIGHT(feature) : 0, size = weight < 0 ? -weight : weight;
        if (size > largest) largest = size;
        none += weight * 0;
        gradient[k] = 0;
        sums_of_tiles[k] = 0;
    }
    for (int stride = 1; stride < LANES; stride *= 2) {
        const value_t there = gp_butterfly(largest, stride, partial, tid);
        if (there > largest) largest = there;
        none += gp_butterfly(none, stride, partial, tid);
    }
    const value_t unit = largest > 0 && none == 0 ? largest / MOST : 1, start = INITIAL_SCORE + none;

    /* 2. Pack the digits of the weights. */
#pragma unroll
    for (int pack = 0; pack < PACKS; pack++) {
        high[pack] = low[pack] = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int feature = HELD_FEATURE(4 * pack + k, lane);
            const value_t weight = feature < FEATURES && none == 0 ? WEIGHT(feature) / unit : 0;
            const int whole = (int)(weight < 0 ? weight - (value_t)0.5f : weight + (value_t)0.5f);
            high[pack] |= (u32)(whole >> 7 & 255) << 8 * k;
            low[pack] |= (u32)(whole & 127) << 8 * k;
        }
    }

    for (i64 base = get_group_id(0) * (i64)TILE; base < n; base += parts * TILE) {
        value_t labels[OWNED], sample_weights[OWNED], sums[ROWS];
        u32 held[ROWS][PACKS];

        /* 3. Load rows, and compute the lane's part of the scores. */
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const i64 row = base + k * SLOTS + slot;
            load_packs(SAMPLES(row), row < n, lane, held[k]);
        }
        gp_load_own(INPUT_NAMES, layout, base, n, lane, slot, labels, sample_weights);
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            int by_high = 0, by_low = 0;
#pragma unroll
            for (int pack = 0; pack < PACKS; pack++) {
                by_high = gp_dot4(held[k][pack], high[pack], by_high);
                by_low = gp_dot4(held[k][pack], low[pack], by_low);
            }
            sums[k] = unit * (128 * (value_t)by_high + (value_t)by_low);
        }

        /* 4. Add the lanes' parts. */
        gp_fold_rows(sums, partial, tid);

        /* 5. Compute the losses of the lane's own rows, and their residuals in place of the scores. */
        gp_residuals_of_own(sums, start, labels, sample_weights, base, n, lane, slot, &loss, &bias);

        /* 6. Pass the residuals to all lanes as integers, and add each row to the gradient's integers. */
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            const value_t residual = MOST * gp_from_lane(sums[k % OWNED], k / OWNED * SHARING, partial, tid);
            const int whole = none == 0 ? (int)(residual < 0 ? residual - (value_t)0.5f : residual + (value_t)0.5f) : 0;
#pragma unroll
            for (int item = 0; item < HELD; item++)
                sums_of_tiles[item] += whole * BYTE_OF(held[k][item / 4], item % 4);
        }

        /* 7. Add the integers to floats before they can overflow. */
        if (++round == ROUNDS || base + parts * TILE >= n) {
            round = 0;
#pragma unroll
            for (int k = 0; k < HELD; k++) {
                gradient[k] += (value_t)sums_of_tiles[k] * (1 / (value_t)MOST);
                sums_of_tiles[k] = 0;
            }
        }
    }

    /* 8. Fold the group. */
#pragma unroll
    for (int k = 0; k < HELD; k++) gradient[k] += none;
    gp_fold_held(gradient, &bias, &loss, partial, tid);

    /* 9. Leave the sums; the last group folds and stores all of them. */
    gp_leave_held(partials, gradient, bias, loss, tid);
    gp_fence();
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) last = gp_last_done(counters, parts);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last) gp_fold_groups(OUTPUT_NAMES, partials, layout, parts, partial, tid);
}

/* logistic/cpu_fixed_point: scores by products of integers of 8 and 16 bits, added in 32 bits, for devices whose
 * work-items are CPU threads. Compilers add pairs of products at once, by pmaddwd or VNNI's vpdpwssd (measurements.md: pairs).
 *
 * in      INPUTS: x0 n rows of FEATURES samples of int8, x1 labels, x2 weights
 * out     OUTPUTS: y0 the loss, y1 the gradient
 * scratch partials: SUMS for each group; counters: one, zero before and after
 * launch  `parts` groups of one work-item, each for a run of rows
 * host    ROWS at once; gp_residuals_of_some, gp_add_some_rows, gp_leave_run (runs.h)
 * order   sums of integers are exact; else as logistic/cpu_fused
 *
 * Weights become integers of 14 bits in units of a part of the largest one, as in logistic/fixed_point. A lane adds at most
 * FEATURES / 8 products, each below 2^20. Residuals stay floats: sums of their products have no instruction.
 */
#define MOST 8191
#define ODD (ushort8)(1, 3, 5, 7, 9, 11, 13, 15) /* the simulator that watches takes `.odd` for unwritten */
/* Weights from `feature` on. A volatile load stays in the loop over rows: outside of it, compilers make weights 32-bit
 * integers, whose products they cannot add in pairs. */
#define WHOLE_WEIGHTS(count) (*(const volatile GP_JOINED(short, count) *)(whole + feature))

/* The score of a row in units of a weight's unit. */
DEVICE value_t whole_score(GLOBAL const SAMPLE_TYPE *row, const i16 *whole)
{
    int feature = 0;
    int8 sum8 = 0;
    for (; feature + 16 <= FEATURES; feature += 16) {
        const short16 own = convert_short16(vload16(0, row + feature)), beside = WHOLE_WEIGHTS(16);
        sum8 += convert_int8(own.even) * convert_int8(beside.even) +
                convert_int8(shuffle(own, ODD)) * convert_int8(shuffle(beside, ODD));
    }
    int4 sum4 = sum8.lo + sum8.hi;
#if FEATURES & 8
    const short8 own8 = convert_short8(vload8(0, row + feature)), beside8 = WHOLE_WEIGHTS(8);
    sum4 += convert_int4(own8.even) * convert_int4(beside8.even) +
            convert_int4(shuffle(own8, ODD.lo)) * convert_int4(shuffle(beside8, ODD.lo));
    feature += 8;
#endif
#if FEATURES & 4
    sum4 += convert_int4(vload4(0, row + feature)) * convert_int4(WHOLE_WEIGHTS(4));
    feature += 4;
#endif
    value_t sum = (value_t)sum4.x + (value_t)sum4.y + (value_t)sum4.z + (value_t)sum4.w;
    for (; feature < FEATURES; feature++) sum += (value_t)(row[feature] * whole[feature]);
    return sum;
}

__kernel WORK_GROUP(1)
void logistic_cpu_fixed_point(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                              const i64 n, const i64 parts)
{
    __local value_t partial[BLOCK];
    const i64 part = get_group_id(0), run = (n + parts - 1) / parts, last = min((part + 1) * run, n);
    GLOBAL const NUMBER *weights = x2 + gp_at_x2(layout, 0, 0);
    i16 whole[FEATURES] __attribute__((aligned(32)));
    value_t gradient[FEATURES], largest = 0, none = 0;
    rows_t biases = 0, losses = 0;

    /* 1. Find the largest weight. Products with zero are NaN if a weight is not finite. */
    for (int feature = 0; feature < FEATURES; feature++) {
        const value_t size = fabs(weights[feature]);
        if (size > largest) largest = size;
        none += size * 0;
        gradient[feature] = 0;
    }
    const value_t unit = none == 0 ? (largest > 0 ? largest / MOST : 1) : none;

    /* 2. Round the weights to integers; a unit of NaN makes all scores NaN. */
    for (int feature = 0; feature < FEATURES; feature++)
        whole[feature] = none == 0 ? (i16)rint(weights[feature] / unit) : 0;

    for (i64 row = part * run; row < last; row += ROWS) {
        const int rows = (int)min((i64)ROWS, last - row);
        value_t scores[PLACES], residuals[PLACES];

        /* 3. Score the rows. */
        for (int k = 0; k < rows; k++) scores[k] = unit * whole_score(SAMPLES(row + k), whole) + INITIAL_SCORE;

        /* 4. Compute their losses and residuals. */
        gp_residuals_of_some(INPUT_NAMES, layout, row, rows, scores, residuals, &losses, &biases);

        /* 5. Add them to the gradient. */
        gp_add_some_rows(SAMPLES(row), rows, residuals, gradient);
    }

    /* 6. Leave the sums; the last work-item folds and stores all of them. */
    gp_leave_run(OUTPUT_NAMES, partials, counters, layout, part, parts, gradient, biases, losses, partial);
}

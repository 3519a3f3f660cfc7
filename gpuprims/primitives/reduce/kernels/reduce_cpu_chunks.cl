/* reduce/cpu_chunks: each work-item folds one contiguous chunk in registers, for devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left; if outputs have
 *         few elements, a contiguous range of outputs
 * host    ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE
 * order   LANES accumulators side by side, in vector registers, fold a chunk; one accumulator if order matters; outputs
 *         of few elements are folded in order
 *
 * Each lane folds runs of RUN elements, and the runs pairwise like a binary counter: level k holds the fold of 2^k
 * runs. The rounding error of a sum grows with the logarithm of its length, as in NumPy's pairwise sum:
 *
 *     runs        1    2       3       4           5
 *     level 0     a    -       c       -           e
 *     level 1          a+b     a+b     -           -
 *     level 2                          a+b+c+d     a+b+c+d
 */
#if COMMUTATIVE
#define LANES ((int)(sizeof(value_t) < 4 ? 128 / sizeof(value_t) : 32))
#else
#define LANES 1
#endif
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < LANES; lane++)
#define RUN 16
#define LEVELS 48
#define FEW 128 /* rows: cpu_chunks */

__kernel WORK_GROUP(1)
void reduce_cpu_chunks(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                       const i64 outputs, const i64 n, const i64 parts)
{
    const i64 chunk = (n + parts - 1) / parts;
    VALUES(levels, [LEVELS][LANES]);
    VALUES(run, [LANES]);

    /* 0. Fold outputs of few elements in order; neighbouring outputs do not depend on each other. */
    if (n <= FEW) {
        const i64 share = (outputs + get_num_groups(0) - 1) / get_num_groups(0);
        const i64 first = get_group_id(0) * share, end = min(first + share, outputs);
        for (i64 o = first; o < end; o++) {
            value_t folded = IDENTITY;
            for (i64 j = 0; j < n;) {
                const row_t row = ROW(o, j);
                for (const i64 stop = ROW_END(j, n); j < stop; j++) folded = OP(folded, MAP_ROW(row, j));
            }
            STORE(o, 0, folded);
        }
        return;
    }

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts;
        i64 j = min((task % parts) * chunk, n), runs = 0, left = RUN * LANES; /* of the run, elements to come */
        const i64 last = min(j + chunk, n);

        /* 1. Load and fold, LANES elements of a row at a time. Loops over lanes stay rolled: Intel's compiler does not
         * vectorise unrolled ones. */
        EACH_LANE SET_VALUE(run, [lane], IDENTITY);
        while (j < last) {
            const row_t row = ROW(o, j);
            const i64 end = ROW_END(j, last);
            while (j < end) {
                const i64 stop = min(end, j + left);
                left -= stop - j;
                for (; j + LANES <= stop; j += LANES)
                    EACH_LANE SET_VALUE(run, [lane], OP(VALUE(run, [lane]), MAP_ROW(row, j + lane)));
                const int rest = (int)(stop - j);
                for (int lane = 0; lane < rest; lane++) SET_VALUE(run, [lane], OP(VALUE(run, [lane]), MAP_ROW(row, j + lane)));
                j = stop;
                if (left > 0) continue;
                int level = 0;
                for (; runs >> level & 1; level++)
                    EACH_LANE SET_VALUE(run, [lane], OP(VALUE(levels, [level][lane]), VALUE(run, [lane])));
                EACH_LANE SET_VALUE(levels, [level][lane], VALUE(run, [lane]));
                EACH_LANE SET_VALUE(run, [lane], IDENTITY);
                left = RUN * LANES;
                runs++;
            }
        }

        /* 2. Fold the levels, then the lanes pairwise. */
        for (int level = 0; runs >> level; level++)
            if (runs >> level & 1)
                EACH_LANE SET_VALUE(run, [lane], OP(VALUE(levels, [level][lane]), VALUE(run, [lane])));
        for (int half_of = LANES / 2; half_of > 0; half_of /= 2)
            for (int lane = 0; lane < half_of; lane++) SET_VALUE(run, [lane], OP(VALUE(run, [lane]), VALUE(run, [lane + half_of])));

        /* 3. Store; or leave the value, and the last part folds all of them in order, pairwise too. */
        if (parts == 1) {
            STORE(o, 0, VALUE(run, [0]));
        } else {
            gp_leave(partials, task, VALUE(run, [0]));
            if (gp_last_done(counters + o, parts)) {
                value_t whole = IDENTITY;
                for (i64 part = 0; part < parts; part++) {
                    value_t joined = gp_collect(partials, o * parts + part);
                    int level = 0;
                    for (; part >> level & 1; level++) joined = OP(VALUE(levels, [level][0]), joined);
                    SET_VALUE(levels, [level][0], joined);
                }
                for (int level = 0; parts >> level; level++)
                    if (parts >> level & 1) whole = OP(VALUE(levels, [level][0]), whole);
                STORE(o, 0, whole);
            }
        }
    }
}

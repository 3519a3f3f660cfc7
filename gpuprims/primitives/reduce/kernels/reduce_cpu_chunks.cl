/* reduce/cpu_chunks: each group folds one contiguous chunk in registers, for devices whose groups are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups; each takes (output, part) pairs until none are left; if outputs have few elements, a
 *         contiguous range of outputs. A group is one work-item, or BLOCK that the compiler joins in a vector
 * host    ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE, APART,
 *         SEVERAL, HALVED
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
#if COMMUTATIVE /* As many as Intel's compiler keeps in registers, two vectors of each component (rows: cpu_chunks-four). */
#define LANES                                                                                                          \
    ((int)(sizeof(value_t) < 4 && sizeof(*x0) < 4 ? 128 / sizeof(value_t) : sizeof(value_t) >= 8 ? 16 : 32) >>         \
     (BLOCK > 1 && HALVED > 1 ? 1 : HALVED)) /* rows: cpu_chunks-narrow, cpu_chunks-wide */
#else
#define LANES 1
#endif
#define HELD (LANES / BLOCK) /* lanes of a work-item */
#if BLOCK > 1
#define LANE (held * BLOCK + tid)
#define EACH_HELD _Pragma("unroll") for (int held = 0; held < HELD; held++)
#define MEET() barrier(CLK_LOCAL_MEM_FENCE)
#define TAKE(lane) partial[lane]
#define GIVE(lane, value) partial[lane] = value
#else /* Loops stay rolled: Intel's compiler does not vectorise unrolled ones. A barrier would keep values out of registers. */
#define LANE held
#if APART /* one element after the other, as they lie (rows: cpu_chunks-apart) */
#define EACH_HELD _Pragma("clang loop unroll(disable) vectorize(disable)") for (int held = 0; held < HELD; held++)
#else
#define EACH_HELD _Pragma("clang loop unroll(disable)") for (int held = 0; held < HELD; held++)
#endif
#define MEET()
#define TAKE(lane) VALUE(run, [lane])
#define GIVE(lane, value) SET_VALUE(run, [lane], value)
#endif
#define TAKEN (SEVERAL ? 2 : 4) /* more loads of several arrays leave the loop without vectors (rows: cpu_chunks-several) */
/* The index of a lane's element of TAKEN times LANES. Where it is j and an offset of 32 bits, Intel's compiler gathers
 * the elements of a vector one by one (rows: cpu_chunks-several). */
#define ELEMENT(k) (APART ? j + TAKEN * LANE + (k) : j + (i64)(k) * LANES + LANE)
#define EACH_OF(lanes) _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < lanes; lane++)
#define RUN 64
#define LEVELS 48
#define FEW 128 /* rows: cpu_chunks */

__kernel WORK_GROUP(BLOCK)
void reduce_cpu_chunks(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                       const i64 outputs, const i64 n, const i64 parts)
{
#if BLOCK > 1
    __local value_t partial[LANES];
    const int tid = get_local_id(0);
#else
    const int tid = 0;
#endif
    const i64 chunk = (n + parts - 1) / parts;
    VALUES(levels, [LEVELS][HELD]);
    VALUES(run, [HELD]);

    /* 0. Fold outputs of few elements in order; neighbouring outputs do not depend on each other. */
    if (n <= FEW) {
        const i64 share = (outputs + get_num_groups(0) - 1) / get_num_groups(0);
        const i64 first = get_group_id(0) * share, end = min(first + share, outputs);
        for (i64 o = first + tid; o < end; o += BLOCK) {
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

        /* 1. Load and fold, TAKEN x LANES elements of a row at a time (rows: cpu_rows, cpu_chunks-four): a lane waits for one
         * operation of four or two, and fresh elements fold in fewer instructions than folded values, such as those of var. */
        EACH_HELD SET_VALUE(run, [held], IDENTITY);
        while (j < last) {
            const row_t row = ROW(o, j);
            const i64 end = ROW_END(j, last);
            while (j < end) {
                const i64 stop = min(end, j + left);
                left -= stop - j;
                for (; j + TAKEN * LANES <= stop; j += TAKEN * LANES)
                    EACH_HELD
                    {
                        value_t fresh = OP(MAP_ROW(row, ELEMENT(0)), MAP_ROW(row, ELEMENT(1)));
#if !SEVERAL
                        fresh = OP(fresh, OP(MAP_ROW(row, ELEMENT(2)), MAP_ROW(row, ELEMENT(3))));
#endif
                        SET_VALUE(run, [held], OP(VALUE(run, [held]), fresh));
                    }
                for (; j + LANES <= stop; j += LANES)
                    EACH_HELD SET_VALUE(run, [held], OP(VALUE(run, [held]), MAP_ROW(row, j + LANE)));
                const int rest = (int)(stop - j);
                for (int held = 0; LANE < rest; held++)
                    SET_VALUE(run, [held], OP(VALUE(run, [held]), MAP_ROW(row, j + LANE)));
                j = stop;
                if (left > 0) continue;
                int level = 0;
                for (; runs >> level & 1; level++)
                    EACH_HELD SET_VALUE(run, [held], OP(VALUE(levels, [level][held]), VALUE(run, [held])));
                EACH_HELD SET_VALUE(levels, [level][held], VALUE(run, [held]));
                EACH_HELD SET_VALUE(run, [held], IDENTITY);
                left = RUN * LANES;
                runs++;
            }
        }

        /* 2. Fold the levels, then the lanes pairwise. */
        for (int level = 0; runs >> level; level++)
            if (runs >> level & 1)
                EACH_HELD SET_VALUE(run, [held], OP(VALUE(levels, [level][held]), VALUE(run, [held])));
#if BLOCK > 1
        EACH_HELD partial[LANE] = VALUE(run, [held]);
#endif
        MEET();
        if (tid == 0) {
#pragma unroll
            for (int half_of = LANES / 2; half_of > 0; half_of /= 2)
                EACH_OF(half_of) GIVE(lane, OP(TAKE(lane), TAKE(lane + half_of)));

            /* 3. Store; or leave the value, and the last part folds all of them in order, pairwise too. */
            if (parts == 1) {
                STORE(o, 0, TAKE(0));
            } else {
                gp_leave(partials, task, TAKE(0));
                if (gp_last_done(counters + o, parts)) {
                    value_t joins[LEVELS], folded = IDENTITY;
                    for (i64 part = 0; part < parts; part++) {
                        value_t joined = gp_collect(partials, o * parts + part);
                        int level = 0;
                        for (; part >> level & 1; level++) joined = OP(joins[level], joined);
                        joins[level] = joined;
                    }
                    for (int level = 0; parts >> level; level++)
                        if (parts >> level & 1) folded = OP(joins[level], folded);
                    STORE(o, 0, folded);
                }
            }
        }
        MEET();
    }
}

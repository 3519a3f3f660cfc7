/* reduce/cpu_chunks: each work-item folds one contiguous chunk in registers, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; tickets: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left
 * host    MAP(o, j), OP(a, b), IDENTITY, STORE(at, value), COMMUTATIVE
 * order   a chunk is folded by LANES accumulators side by side, which the compiler keeps in vector registers; where
 *         order matters there is one
 */
#if COMMUTATIVE
#define LANES 32
#else
#define LANES 1
#endif
#define RUN 64

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void reduce_cpu_chunks(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *tickets, const layout_t layout,
                       const i64 outputs, const i64 n, const i64 parts)
{
    const i64 chunk = (n + parts - 1) / parts;

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts;
        i64 j = min((task % parts) * chunk, n);
        const i64 last = min(j + chunk, n);

        /* 1. Load and fold, LANES elements a step. The inner loop stays rolled: unrolled, Intel's compiler makes no vectors
         *    of it, and a core sums 20 GB/s from its cache instead of 43 (runtime 2026.2, AMD EPYC Genoa, 2026-11-21;
         *    with 16 lanes 38, with 64 lanes 34). */
        value_t folded[LANES];
        for (int lane = 0; lane < LANES; lane++) folded[lane] = IDENTITY;
        for (; j + LANES <= last; j += LANES)
#pragma clang loop unroll(disable)
            for (int lane = 0; lane < LANES; lane++) folded[lane] = OP(folded[lane], MAP(o, j + lane));
        for (; j < last; j++) folded[0] = OP(folded[0], MAP(o, j));

        /* 2. Fold the lanes pairwise. */
        for (int half_of = LANES / 2; half_of > 0; half_of /= 2)
            for (int lane = 0; lane < half_of; lane++) folded[lane] = OP(folded[lane], folded[lane + half_of]);

        /* 3. Store; where the output has more parts, leave the value, and the last to do so folds them all in order. */
        if (parts == 1) {
            STORE(o, folded[0]);
        } else {
            gp_leave(partials, task, folded[0]);
            if (gp_last_done(tickets + o, parts)) {
                value_t whole = IDENTITY;
                for (i64 first = 0; first < parts; first += RUN) {
                    value_t run = IDENTITY; /* a sum of sums, whose rounding grows with their number's root alone */
                    for (i64 part = first; part < min(first + RUN, parts); part++)
                        run = OP(run, gp_collect(partials, o * parts + part));
                    whole = OP(whole, run);
                }
                STORE(o, whole);
            }
        }
    }
}

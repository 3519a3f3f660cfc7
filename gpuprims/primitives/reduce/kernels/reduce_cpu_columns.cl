/* reduce/cpu_columns: each work-item folds LANES outputs side by side, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes LANES outputs and one part of their elements until none are
 *         left
 * host    BESIDE(o, j), BESIDE_LENGTH(outputs), MAP_BESIDE(row, o), OP(a, b), IDENTITY, STORE(o, j, value), VALUES, VALUE, SET_VALUE
 * order   operands in index order
 */
#define LANES 512 /* outputs_per_group: their values stay in the first cache, and reads are long stretches */
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < live; lane++)

__kernel WORK_GROUP(1)
void reduce_cpu_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                        const i64 outputs, const i64 n, const i64 parts)
{
    const i64 length = BESIDE_LENGTH(outputs), across = (length + LANES - 1) / LANES;
    const i64 blocks = outputs / length * across, run = (n + parts - 1) / parts;
    VALUES(folded, [LANES]);

    for (i64 task = get_group_id(0); task < blocks * parts; task += get_num_groups(0)) {
        const i64 block = task / parts, part = task % parts, o = block / across * length + block % across * LANES;
        const i64 first = min(part * run, n), last = min(first + run, n);
        const int live = (int)min((i64)LANES, length - block % across * LANES);

        /* 1. Load and fold, four rows of LANES elements at a time (rows: cpu_columns): four streams from memory, and a
         * quarter of the traffic of the values. */
        EACH_LANE SET_VALUE(folded, [lane], IDENTITY);
        i64 j = first;
        for (; j + 4 <= last; j += 4) {
            const row_t row0 = BESIDE(o, j), row1 = BESIDE(o, j + 1), row2 = BESIDE(o, j + 2), row3 = BESIDE(o, j + 3);
            EACH_LANE
            {
                const value_t two = OP(OP(VALUE(folded, [lane]), MAP_BESIDE(row0, o + lane)), MAP_BESIDE(row1, o + lane));
                SET_VALUE(folded, [lane], OP(OP(two, MAP_BESIDE(row2, o + lane)), MAP_BESIDE(row3, o + lane)));
            }
        }
        for (; j < last; j++) {
            const row_t row = BESIDE(o, j);
            EACH_LANE SET_VALUE(folded, [lane], OP(VALUE(folded, [lane]), MAP_BESIDE(row, o + lane)));
        }

        /* 2. If there are several parts, leave the values; the last part folds all of them in order. */
        if (parts > 1) {
            for (int lane = 0; lane < live; lane++) gp_leave(partials, (o + lane) * parts + part, VALUE(folded, [lane]));
            if (!gp_last_done(counters + o, parts)) continue;
            for (int lane = 0; lane < live; lane++) {
                value_t whole = IDENTITY;
                for (i64 left = 0; left < parts; left++) whole = OP(whole, gp_collect(partials, (o + lane) * parts + left));
                SET_VALUE(folded, [lane], whole);
            }
        }

        /* 3. Store, the last lane first: in the other direction Intel's compiler (2026.2) vectorises the loop, and
         * with a single output it stores a lane that is not live. */
        for (int lane = live - 1; lane >= 0; lane--) STORE(o + lane, 0, VALUE(folded, [lane]));
    }
}

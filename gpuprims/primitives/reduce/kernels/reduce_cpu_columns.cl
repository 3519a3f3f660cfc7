/* reduce/cpu_columns: each work-item folds outputs side by side, for devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes neighbouring outputs and one part of their elements until none
 *         are left
 * host    BESIDE(o, j), BESIDE_LENGTH(outputs), MAP_BESIDE(row, o), STORE(o, j, value), STORE_BESIDE(row, o, value), OP(a, b),
 *         IDENTITY, VALUES, VALUE, SET_VALUE
 * order   operands in index order
 */
#define LANES 512 /* outputs_per_group: their values stay in the first cache, and reads are long stretches */
#define AT_ONCE 4 /* rows */
#define LANES_AT_ONCE 4096 /* outputs that keep no values, in longer stretches (rows: cpu_columns-few) */
#define LINE 64 /* outputs that share a cache line at least */
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < live; lane++)
#define PAIR(one, two) OP(MAP_BESIDE(one, o + lane), MAP_BESIDE(two, o + lane))

__kernel WORK_GROUP(1)
void reduce_cpu_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                        const i64 outputs, const i64 n, const i64 parts)
{
    const i64 length = BESIDE_LENGTH(outputs), groups = get_num_groups(0);
    const int at_once = parts == 1 && length > 1 && n > 1 && n <= AT_ONCE;
    const i64 lanes = at_once ? LANES_AT_ONCE : LANES, most = (length + lanes - 1) / lanes;
    const i64 even = parts == 1 ? (most + groups - 1) / groups * groups : most; /* as many blocks for each group */
    const i64 width = ((length + even - 1) / even + LINE - 1) / LINE * LINE, across = (length + width - 1) / width;
    const i64 blocks = outputs / length * across, run = (n + parts - 1) / parts;
    VALUES(folded, [LANES]);

    for (i64 task = get_group_id(0); task < blocks * parts; task += get_num_groups(0)) {
        const i64 block = task / parts, part = task % parts, o = block / across * length + block % across * width;
        const i64 first = min(part * run, n), last = min(first + run, n);
        const int live = (int)min(width, length - block % across * width);

        /* 1. Fold few rows in one pass, which stores the results: elements come from memory in long stretches. */
        const row_t there = BESIDE(o, 0);
        if (at_once) {
            const row_t row0 = BESIDE(o, 0), row1 = BESIDE(o, 1), row2 = BESIDE(o, min(n - 1, (i64)2)), row3 = BESIDE(o, n - 1);
            if (n == 2) {
                EACH_LANE STORE_BESIDE(there, o + lane, PAIR(row0, row1));
            } else if (n == 3) {
                EACH_LANE STORE_BESIDE(there, o + lane, OP(PAIR(row0, row1), MAP_BESIDE(row2, o + lane)));
            } else {
                EACH_LANE STORE_BESIDE(there, o + lane, OP(PAIR(row0, row1), PAIR(row2, row3)));
            }
            continue;
        }

        /* 2. Load and fold, four rows of LANES elements at a time (rows: cpu_columns): four streams from memory, and a
         * quarter of the traffic of the values. Fresh elements fold in fewer instructions than folded values. */
        EACH_LANE SET_VALUE(folded, [lane], IDENTITY);
        i64 j = first;
        for (; j + 4 <= last; j += 4) {
            const row_t row0 = BESIDE(o, j), row1 = BESIDE(o, j + 1), row2 = BESIDE(o, j + 2), row3 = BESIDE(o, j + 3);
            EACH_LANE SET_VALUE(folded, [lane], OP(VALUE(folded, [lane]), OP(PAIR(row0, row1), PAIR(row2, row3))));
        }
        for (; j + 2 <= last; j += 2) {
            const row_t row0 = BESIDE(o, j), row1 = BESIDE(o, j + 1);
            EACH_LANE SET_VALUE(folded, [lane], OP(VALUE(folded, [lane]), PAIR(row0, row1)));
        }
        for (; j < last; j++) {
            const row_t row = BESIDE(o, j);
            EACH_LANE SET_VALUE(folded, [lane], OP(VALUE(folded, [lane]), MAP_BESIDE(row, o + lane)));
        }

        /* 3. If there are several parts, leave the values; the last part folds all of them in order. */
        if (parts > 1) {
            for (int lane = 0; lane < live; lane++) gp_leave(partials, (o + lane) * parts + part, VALUE(folded, [lane]));
            if (!gp_last_done(counters + o, parts)) continue;
            for (int lane = 0; lane < live; lane++) {
                value_t whole = IDENTITY;
                for (i64 left = 0; left < parts; left++) whole = OP(whole, gp_collect(partials, (o + lane) * parts + left));
                SET_VALUE(folded, [lane], whole);
            }
        }

        /* 4. Store. Of a single output, which is at no stride, Intel's compiler (2026.2) would store a lane that is not live. */
        if (live == 1) STORE(o, 0, VALUE(folded, [0]));
        else EACH_LANE STORE_BESIDE(there, o + lane, VALUE(folded, [lane]));
    }
}

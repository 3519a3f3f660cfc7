/* scan/cpu_columns: each work-item scans LANES_OF_ROW outputs side by side, for devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS, neighbouring outputs next to each other in memory, or kept values of an earlier launch: n elements
 *         for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each part's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of one work-item; each takes LANES_OF_ROW outputs and PART of their elements until none
 *         are left
 * host    gp_recall and gp_keep (scanning.h), BESIDE(o, j), BESIDE_LENGTH(outputs), MAP_BESIDE(row, o),
 *         STORE_BESIDE(row, o, value), OP(a, b), IDENTITY, INCLUSIVE
 * order   operands in index order
 */
#define LANES_OF_ROW 2048 /* outputs_per_group: their values stay in the core's own cache, and reads are long stretches */
#define PART (ITEMS / LANES_OF_ROW)
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < live; lane++)

__kernel WORK_GROUP(1)
void scan_cpu_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                      const i64 level, const i64 totals, const i64 folds)
{
    const i64 length = BESIDE_LENGTH(outputs), across = (length + LANES_OF_ROW - 1) / LANES_OF_ROW;
    const i64 parts = (n + PART - 1) / PART, blocks = outputs / length * across;
    VALUES(before, [LANES_OF_ROW]);
    VALUES(stored, [LANES_OF_ROW]);

    for (i64 task = get_group_id(0); task < blocks * parts; task += get_num_groups(0)) {
        const i64 block = task % blocks, part = task / blocks, o = block / across * length + block % across * LANES_OF_ROW;
        const i64 first = part * PART, last = min(first + PART, n);
        const int live = (int)min((i64)LANES_OF_ROW, length - block % across * LANES_OF_ROW);

        /* 1. Begin with the part's prefix. */
        if (folds || totals < 0) {
            EACH_LANE SET_VALUE(before, [lane], IDENTITY);
        } else {
            EACH_LANE SET_VALUE(before, [lane], gp_recall(partials, totals + (o + lane) * parts + part));
        }

        /* 2. Load, fold and store, a row at a time; to fold alone, four rows. */
        if (level >= 0) {
            for (int lane = 0; lane < live; lane++) {
                value_t folded = VALUE(before, [lane]);
                for (i64 j = first; j < last; j++) {
                    const value_t element = gp_recall(partials, level + (o + lane) * n + j);
                    if (!folds) gp_keep(partials, level + (o + lane) * n + j, folded);
                    folded = OP(folded, element);
                }
                SET_VALUE(before, [lane], folded);
            }
        } else if (folds) {
            i64 j = first;
            for (; j + 4 <= last; j += 4) {
                const row_t row0 = BESIDE(o, j), row1 = BESIDE(o, j + 1), row2 = BESIDE(o, j + 2), row3 = BESIDE(o, j + 3);
                EACH_LANE
                {
                    const value_t two = OP(OP(VALUE(before, [lane]), MAP_BESIDE(row0, o + lane)), MAP_BESIDE(row1, o + lane));
                    SET_VALUE(before, [lane], OP(OP(two, MAP_BESIDE(row2, o + lane)), MAP_BESIDE(row3, o + lane)));
                }
            }
            for (; j < last; j++) {
                const row_t row = BESIDE(o, j);
                EACH_LANE SET_VALUE(before, [lane], OP(VALUE(before, [lane]), MAP_BESIDE(row, o + lane)));
            }
        } else {
            for (i64 j = first; j < last; j++) {
                const row_t row = BESIDE(o, j);
                EACH_LANE
                {
                    const value_t earlier = VALUE(before, [lane]), after = OP(earlier, MAP_BESIDE(row, o + lane));
                    SET_VALUE(stored, [lane], INCLUSIVE ? after : earlier);
                    SET_VALUE(before, [lane], after);
                }
                EACH_LANE STORE_BESIDE(row, o + lane, VALUE(stored, [lane]));
            }
        }

        /* 3. Keep the part's aggregates. */
        if (folds)
            for (int lane = 0; lane < live; lane++)
                gp_keep(partials, totals + (o + lane) * parts + part, VALUE(before, [lane]));
    }
}

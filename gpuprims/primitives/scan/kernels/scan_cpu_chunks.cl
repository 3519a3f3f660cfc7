/* scan/cpu_chunks: each work-item scans contiguous chunks, several runs of each at a time, for devices whose work-
 * items are CPU threads.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each chunk's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of one work-item; each takes neighbouring chunks of ITEMS elements of the outputs
 * host    gp_keep and gp_recall (scanning.h), ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), OP(a, b), IDENTITY,
 *         STORE_ROW(row, j, value), INCLUSIVE, COMMUTATIVE; PACKED, with ELEMENT_ROW(row, j), WRITE_STAGED(o, place, element) and WRITE_NUMBER(number)
 * order   operands in index order; with a commutative operator LANES_OF_FOLD accumulators side by side fold a chunk
 *
 * A running fold waits for each operation before it begins the next. So RUNS neighbouring runs are scanned at the same
 * time, each from the identity, and then their prefixes are folded in, many elements at once. For RUNS = 2, RUN = 4 and
 * the prefix z:
 *
 *     elements    a    b     c      d       e     f      g       h
 *     scanned     a    a+b   a..c   a..d    e     e+f    e..g    e..h      first a and e, then a+b and e+f, and so on
 *     stored      z+a  z+..b z+..c  z+..d   y+e   y+..f  y+..g   y+..h     where y is z and a..d
 */
#define LANES_OF_FOLD 32
#define EACH_LANE _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < LANES_OF_FOLD; lane++)
#define RUNS 8 /* rows: cpu_chunks */
#define RUN 8
#define EACH_OF_RUN _Pragma("clang loop unroll(disable)") for (int k = 0; k < RUN; k++)
#define EACH_RUN _Pragma("unroll") for (int run = 0; run < RUNS; run++)

#if PACKED
#define STRETCH 64 /* elements, a bit of a word for each; rows: packed, packed-bits */

/* Write the kept elements before `last` side by side from `place` on; return the next free place. A stretch's bits are
 * found in vectors, without a branch for each element; then only the kept ones are visited. */
DEVICE value_t pack_row(INPUTS, OUTPUTS, const layout_t layout, const row_t row, i64 j, const i64 last, value_t place)
{
    for (; j < last; j += STRETCH) {
        const int length = (int)min((i64)STRETCH, last - j);
        u64 kept = 0;
        int any = 0;
        for (int k = 0; k < length; k++) any |= MAP_ROW(row, j + k) != 0;
        if (!any) continue;
        for (int k = 0; k < length; k++) kept |= (u64)(MAP_ROW(row, j + k) != 0) << k;
        if (kept == ~(u64)0) {
            for (int k = 0; k < STRETCH; k++) WRITE_STAGED(row.o, place + k, ELEMENT_ROW(row, j + k));
            place += STRETCH;
        } else {
            for (; kept; kept &= kept - 1)
                WRITE_STAGED(row.o, place++, ELEMENT_ROW(row, j + (i64)gp_count_bits((kept & -kept) - 1)));
        }
    }
    return place;
}
#endif

__kernel WORK_GROUP(1)
void scan_cpu_chunks(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                     const i64 level, const i64 totals, const i64 folds)
{
    const i64 chunks = (n + ITEMS - 1) / ITEMS;
    const i64 share = (outputs * chunks + get_num_groups(0) - 1) / get_num_groups(0);
    const i64 end = min((i64)(get_group_id(0) + 1) * share, outputs * chunks);
    const task_t step = {1, 0, 1};
    VALUES(folded, [LANES_OF_FOLD]);
    VALUES(scanned, [RUNS * RUN]);

    for (task_t task = gp_task_at(get_group_id(0) * share, chunks); task.at < end; task = gp_task_after(task, step, chunks)) {
        const i64 o = task.o, last = min((task.tile + 1) * ITEMS, n);
        i64 j = task.tile * ITEMS;
        value_t before = folds || totals < 0 ? IDENTITY : gp_recall(partials, totals + task.at);

        EACH_LANE SET_VALUE(folded, [lane], IDENTITY);
        /* 1. Take the chunk's rows (rows: cpu_rows). A chunk of one row is no loop to the compiler, which then makes twice as
         * fast code of the runs. */
        do {
            const row_t row = ROW(o, j);
            const i64 end = ROW_END(j, last);
            if (level < 0 && folds) {
                /* 1. Load and fold. Loops over lanes stay rolled: Intel's compiler does not vectorise unrolled ones. */
#if COMMUTATIVE
                for (; j + LANES_OF_FOLD <= end; j += LANES_OF_FOLD)
                    EACH_LANE SET_VALUE(folded, [lane], OP(VALUE(folded, [lane]), MAP_ROW(row, j + lane)));
                const int rest = (int)(end - j);
                for (int lane = 0; lane < rest; lane++)
                    SET_VALUE(folded, [lane], OP(VALUE(folded, [lane]), MAP_ROW(row, j + lane)));
                j = end;
#else
                for (; j + RUNS * RUN <= end; j += RUNS * RUN) {
                    EACH_RUN SET_VALUE(folded, [run], IDENTITY);
                    for (int k = 0; k < RUN; k++)
                        EACH_RUN SET_VALUE(folded, [run], OP(VALUE(folded, [run]), MAP_ROW(row, j + run * RUN + k)));
                    for (int run = 0; run < RUNS; run++) before = OP(before, VALUE(folded, [run]));
                }
#endif
#if PACKED
            } else if (level < 0) {
                before = pack_row(INPUT_NAMES, OUTPUT_NAMES, layout, row, j, end, before);
                j = end;
                if (j == n) WRITE_NUMBER(before);
#else
            } else if (level < 0) {
                for (; j + RUNS * RUN <= end; j += RUNS * RUN) {
                    /* 2. Load and scan runs, one element of each at a time. */
                    EACH_RUN SET_VALUE(folded, [run], IDENTITY);
                    for (int k = 0; k < RUN; k++)
                        EACH_RUN
                        {
                            const value_t earlier = VALUE(folded, [run]), after = OP(earlier, MAP_ROW(row, j + run * RUN + k));
                            SET_VALUE(scanned, [run * RUN + k], INCLUSIVE ? after : earlier);
                            SET_VALUE(folded, [run], after);
                        }

                    /* 3. Fold in each run's prefix, and store. */
                    for (int run = 0; run < RUNS; run++) {
                        EACH_OF_RUN STORE_ROW(row, j + run * RUN + k, OP(before, VALUE(scanned, [run * RUN + k])));
                        before = OP(before, VALUE(folded, [run]));
                    }
                }
#endif
            }

            /* 4. Take the other elements, and values of a level above the inputs, one by one. */
            for (; j < end; j++) {
                const value_t element = level < 0 ? MAP_ROW(row, j) : gp_recall(partials, level + o * n + j);
                const value_t after = OP(before, element);
                if (!folds && level >= 0) gp_keep(partials, level + o * n + j, before);
#if !PACKED
                if (!folds && level < 0) STORE_ROW(row, j, INCLUSIVE ? after : before);
#endif
                before = after;
            }
        } while (MANY_ROWS && j < last);
#if COMMUTATIVE
        if (folds && level < 0)
            for (int lane = 0; lane < LANES_OF_FOLD; lane++) before = OP(before, VALUE(folded, [lane]));
#endif

        /* 5. Keep the chunk's aggregate. */
        if (folds) gp_keep(partials, totals + task.at, before);
    }
}

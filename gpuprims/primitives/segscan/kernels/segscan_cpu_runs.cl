/* segscan/cpu_runs: each work-item scans a run of segments, one after the other, for devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch partials: a value of WORDS for each part
 * launch  twice, any number of groups of one work-item; each takes parts until none are left
 * host    ROW(o, j), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE_ROW(row, j, value), BEGIN(o), INCLUSIVE; functions of path.h
 *         and runs.h
 * order   operands in index order; a commutative operator folds the end of a part by lanes. Only the number of parts
 *         decides how values are associated
 *
 * The parts share the path (path.h) evenly, however long the segments are. The first launch folds the end of each part,
 * what it has of the segment that goes on after it. If segments are short, that is next to nothing; a segment of several
 * parts is read twice.
 *
 * A running fold waits for each operation before it begins the next. So RUNS neighbouring runs are scanned at the same
 * time, each from the identity, and then their prefixes are folded in, as in scan/cpu_chunks.
 */
#define TAKEN (RUNS * RUN) /* elements, a bit of a word for each */
#define EACH_OF_RUN _Pragma("clang loop unroll(disable)") for (int k = 0; k < RUN; k++)

/* Scan whole multiples of TAKEN elements of one segment, given the fold of those before; return the fold of all. */
DEVICE value_t scan_within(INPUTS, OUTPUTS, const layout_t layout, const row_t row, i64 j, const i64 end, value_t before)
{
    VALUES(scanned, [RUNS][RUN]);
    VALUES(folded, [RUNS]);
    for (; j < end; j += TAKEN) {
        EACH_RUN SET_VALUE(folded, [run], IDENTITY);
        for (int k = 0; k < RUN; k++)
            EACH_RUN
            {
                const value_t earlier = VALUE(folded, [run]), after = OP(earlier, MAP_ROW(row, j + run * RUN + k));
                SET_VALUE(scanned, [run][k], INCLUSIVE ? after : earlier);
                SET_VALUE(folded, [run], after);
            }
        for (int run = 0; run < RUNS; run++) {
            EACH_OF_RUN STORE_ROW(row, j + run * RUN + k, OP(before, VALUE(scanned, [run][k])));
            before = OP(before, VALUE(folded, [run]));
        }
    }
    return before;
}

/* Scan TAKEN elements, given the fold of those before in the first one's segment; bit k of `begins` is set where element
 * k begins a segment. Return the fold of the last one's segment. */
DEVICE value_t scan_across(INPUTS, OUTPUTS, const layout_t layout, const row_t row, const i64 j, const u64 begins, value_t before)
{
    VALUES(scanned, [RUNS][RUN]);
    VALUES(folded, [RUNS]);
    EACH_RUN SET_VALUE(folded, [run], IDENTITY);
    for (int k = 0; k < RUN; k++)
        EACH_RUN
        {
            const value_t earlier = begins >> (run * RUN + k) & 1 ? IDENTITY : VALUE(folded, [run]);
            const value_t after = OP(earlier, MAP_ROW(row, j + run * RUN + k));
            SET_VALUE(scanned, [run][k], INCLUSIVE ? after : earlier);
            SET_VALUE(folded, [run], after);
        }
    for (int run = 0; run < RUNS; run++) {
        const u64 own = begins >> run * RUN & (((u64)1 << RUN) - 1);
        const int open = own ? gp_count_bits((own & -own) - 1) : RUN; /* elements of the segment before */
        EACH_OF_RUN
        {
            const value_t late = VALUE(scanned, [run][k]), whole = OP(before, late);
            STORE_ROW(row, j + run * RUN + k, k < open ? whole : late);
        }
        before = own ? VALUE(folded, [run]) : OP(before, VALUE(folded, [run]));
    }
    return before;
}

__kernel WORK_GROUP(1)
void segscan_cpu_runs(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 segments, const i64 n,
                      const i64 parts, const i64 step)
{
    const i64 steps = n + END_STEPS * segments, share = (steps + parts - 1) / parts;
    const row_t row = ROW(0, 0);

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        /* 1. Find the part's begin and end on the path. */
        const i64 from = min(part * share, steps), to = min(from + share, steps);
        const run_t own = gp_run_of(INPUT_NAMES, layout, segments, from, to);
        const i64 ended = own.ended, last = own.last;
        i64 o = own.o, j = own.j;

        /* 2. In the first launch, fold the part's tail. */
        if (step == 0) {
            gp_leave(partials, part, gp_fold_row(INPUT_NAMES, layout, row, o < ended ? BEGIN(ended) : j, last));
            continue;
        }

        /* 3. Fold what earlier parts have of the first segment. */
        value_t before = IDENTITY;
        for (i64 left = (BEGIN(o) + END_STEPS * o) / share; left < part; left++)
            before = OP(before, gp_collect(partials, left));

        /* 4. Scan: first what is whole of a segment, then the elements around segment ends. */
        while (j < last) {
            const i64 next = o < ended ? BEGIN(o + 1) : last, whole = (next - j) / TAKEN * TAKEN;
            before = scan_within(INPUT_NAMES, OUTPUT_NAMES, layout, row, j, j + whole, before);
            j += whole;
            const i64 end = min(j + TAKEN, last);
            u64 begins = 0;
            for (; o < ended && BEGIN(o + 1) < end; o++) begins |= (u64)1 << (BEGIN(o + 1) - j);
            if (end == j + TAKEN) {
                before = scan_across(INPUT_NAMES, OUTPUT_NAMES, layout, row, j, begins, before);
                j = end;
            }
            for (; j < end; j++, begins >>= 1) {
                if (begins & 1) before = IDENTITY;
                const value_t after = OP(before, MAP_ROW(row, j));
                STORE_ROW(row, j, INCLUSIVE ? after : before);
                before = after;
            }
        }
    }
}

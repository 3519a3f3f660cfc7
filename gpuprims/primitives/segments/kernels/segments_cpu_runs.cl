/* segments/cpu_runs: each work-item folds a run of segments, one after the other, for devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: one value for each segment
 * scratch partials: two values of WORDS for each part; counters: one, zero before and after
 * launch  any number of groups of one work-item; each takes parts until none are left
 * host    ROW(o, j), OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o); functions of path.h and runs.h
 * order   operands in index order; a commutative operator folds a span by 4 x LANES lanes. Only the number of parts
 *         decides how values are associated
 *
 * The parts share the path (path.h) evenly, however long the segments are. A part leaves its fold of the first segment and
 * of a segment that ends in a later part; the last part joins them. For 3 steps a part, one of them for an end:
 *
 *     steps      a   b   |     c   |   d   e   |     f   g     | ends a segment
 *     parts      0   0   0     1   1   1   2   2     2   3
 *     leaves     head a..b     head c, tail d  head e, tail f  tail g
 */

__kernel WORK_GROUP(1)
void segments_cpu_runs(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 segments,
                       const i64 n, const i64 parts)
{
    const i64 steps = n + END_STEPS * segments, share = (steps + parts - 1) / parts;
    const row_t row = ROW(0, 0);

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        /* 1. Find the part's begin and end on the path. */
        const i64 from = min(part * share, steps), to = min(from + share, steps);
        const run_t own = gp_run_of(INPUT_NAMES, layout, segments, from, to);
        const i64 ended = own.ended, last = own.last;

        /* 2. Fold the segments that end here, and the rest. Earlier parts may have some of the first segment. One place calls
         *    the fold, because compilers copy it to each. */
        value_t head = IDENTITY, tail = IDENTITY;
        for (i64 o = own.o, j = own.j; o <= ended; o++) {
            const i64 end = o < ended ? BEGIN(o + 1) : last;
            const value_t folded = gp_fold_row(INPUT_NAMES, layout, row, j, end);
            if (o == ended)
                tail = folded;
            else if (o == own.o)
                head = folded;
            else
                STORE(o, end - j, folded);
            j = end;
        }
        gp_leave(partials, 2 * part, head);
        gp_leave(partials, 2 * part + 1, tail);

        /* 3. The last part joins what all parts left, in order. */
        if (gp_last_done(counters, parts)) {
            value_t before = IDENTITY;
            i64 open = 0;
            for (i64 left = 0; left < parts; left++) {
                const value_t tail = gp_collect(partials, 2 * left + 1);
                const i64 ends = gp_ended_by(INPUT_NAMES, layout, segments, min((left + 1) * share, steps));
                if (open < ends) {
                    STORE(open, BEGIN(open + 1) - BEGIN(open), OP(before, gp_collect(partials, 2 * left)));
                    before = tail;
                } else {
                    before = OP(before, tail);
                }
                open = ends;
            }
        }
    }
}

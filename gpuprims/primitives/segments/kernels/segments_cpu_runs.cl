/* segments/cpu_runs: each work-item folds a run of segments, one after the other, for devices whose work-items are CPU
 * threads.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: one value for each segment
 * scratch partials: two values of WORDS for each part; counters: one, zero before and after
 * launch  any number of groups of one work-item; each takes parts until none are left
 * host    ROW(o, j), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o), COMMUTATIVE
 * order   LANES accumulators side by side fold a span of a segment, or one if order matters; spans are folded pairwise
 *         as in reduce/cpu_chunks
 *
 * The parts share the path (path.h) evenly, however long the segments are. A part leaves its fold of the
 * first segment and of a segment that ends in a later part; the last part joins them. For 3 steps a part:
 *
 *     steps      a   b   |     c   |   d   e   |     f   g     | ends a segment
 *     parts      0   0   0     1   1   1   2   2     2   3
 *     leaves     head a..b     head c, tail d  head e, tail f  tail g
 */
/* Lanes of a vector. Loops over lanes stay rolled: Intel's compiler does not vectorise unrolled ones, and it keeps an
 * array in registers if it is one vector. */
#define LANES ((int)(sizeof(value_t) < 8 ? 64 / sizeof(value_t) : 8)) /* rows: cpu_runs */
#define EACH_OF(lanes) _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < lanes; lane++)
#define FEW 8
#define SPAN (COMMUTATIVE ? 32 * 4 * LANES : 256)
#define LEVELS 48

#if COMMUTATIVE
/* Fold elements into an array of so many values, side by side. */
#define FOLD_ROW(array, lanes, first) \
    EACH_OF(lanes) SET_VALUE(array, [lane], OP(VALUE(array, [lane]), MAP_ROW(row, (first) + lane)))
/* The same for fewer elements: vectors are masked, which costs less than a loop that ends somewhere. */
#define FOLD_REST(array, lanes, first, last)                             \
    EACH_OF(lanes)                                                       \
    {                                                                    \
        value_t value = VALUE(array, [lane]);                            \
        if (lane < (last) - (first)) value = OP(value, MAP_ROW(row, (first) + lane)); \
        SET_VALUE(array, [lane], value);                                 \
    }
#define FOLD_LANES(array, lanes)                                         \
    _Pragma("unroll") for (int half_of = (lanes) / 2; half_of > 0; half_of /= 2) \
        EACH_OF(half_of) SET_VALUE(array, [lane], OP(VALUE(array, [lane]), VALUE(array, [lane + half_of])))

/* Fold up to SPAN elements. */
DEVICE value_t fold_span(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
    if (last - j <= FEW) {
        VALUES(few, [FEW]);
        EACH_OF(FEW) SET_VALUE(few, [lane], IDENTITY);
        FOLD_REST(few, FEW, j, last);
        FOLD_LANES(few, FEW);
        return VALUE(few, [0]);
    }
    VALUES(a, [LANES]);
    EACH_OF(LANES) SET_VALUE(a, [lane], IDENTITY);
    if (j + 4 * LANES <= last) {
        VALUES(b, [LANES]);
        VALUES(c, [LANES]);
        VALUES(d, [LANES]);
        EACH_OF(LANES) SET_VALUE(b, [lane], IDENTITY);
        EACH_OF(LANES) SET_VALUE(c, [lane], IDENTITY);
        EACH_OF(LANES) SET_VALUE(d, [lane], IDENTITY);
        for (; j + 4 * LANES <= last; j += 4 * LANES) {
            FOLD_ROW(a, LANES, j);
            FOLD_ROW(b, LANES, j + LANES);
            FOLD_ROW(c, LANES, j + 2 * LANES);
            FOLD_ROW(d, LANES, j + 3 * LANES);
        }
        EACH_OF(LANES) SET_VALUE(a, [lane], OP(VALUE(a, [lane]), VALUE(b, [lane])));
        EACH_OF(LANES) SET_VALUE(c, [lane], OP(VALUE(c, [lane]), VALUE(d, [lane])));
        EACH_OF(LANES) SET_VALUE(a, [lane], OP(VALUE(a, [lane]), VALUE(c, [lane])));
    }
    for (; j + LANES <= last; j += LANES) FOLD_ROW(a, LANES, j);
    FOLD_REST(a, LANES, j, last);
    FOLD_LANES(a, LANES);
    return VALUE(a, [0]);
}
#else
DEVICE value_t fold_span(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
    value_t folded = IDENTITY;
    for (; j < last; j++) folded = OP(folded, MAP_ROW(row, j));
    return folded;
}
#endif

/* Fold any number of elements. */
DEVICE value_t fold_segment(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
    if (last - j <= SPAN) return fold_span(INPUT_NAMES, layout, row, j, last);
    value_t levels[LEVELS], folded = IDENTITY;
    i64 spans = 0;
    for (; j < last; j += SPAN, spans++) {
        value_t joined = fold_span(INPUT_NAMES, layout, row, j, min(j + SPAN, last));
        int level = 0;
        for (; spans >> level & 1; level++) joined = OP(levels[level], joined);
        levels[level] = joined;
    }
    for (int level = 0; spans >> level; level++)
        if (spans >> level & 1) folded = OP(levels[level], folded);
    return folded;
}

__kernel WORK_GROUP(1)
void segments_cpu_runs(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 segments,
                       const i64 n, const i64 parts)
{
    const i64 steps = n + segments, share = (steps + parts - 1) / parts;
    const row_t row = ROW(0, 0);

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        /* 1. Find the part's begin and end on the path. */
        const i64 from = min(part * share, steps), to = min(from + share, steps);
        i64 o = gp_ended_by(INPUT_NAMES, layout, segments, from), j = from - o;
        const i64 ended = gp_ended_by(INPUT_NAMES, layout, segments, to);

        /* 2. Fold the segments that end here, and the rest. Earlier parts may have some of the first segment. */
        value_t head = IDENTITY;
        if (o < ended) {
            head = fold_segment(INPUT_NAMES, layout, row, j, BEGIN(o + 1));
            j = BEGIN(++o);
        }
        for (; o < ended; o++) {
            const i64 end = BEGIN(o + 1);
            STORE(o, end - j, fold_segment(INPUT_NAMES, layout, row, j, end));
            j = end;
        }
        gp_leave(partials, 2 * part, head);
        gp_leave(partials, 2 * part + 1, fold_segment(INPUT_NAMES, layout, row, j, to - o));

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

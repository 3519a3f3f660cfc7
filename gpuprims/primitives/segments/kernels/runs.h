/* Folds of neighbours of a row by one work-item, for devices whose work-items are CPU threads. */

/* Steps of the path (path.h) that a segment's end takes. */
#define END_STEPS 16 /* rows: cpu_runs */

/* Values in a vector of 64 bytes, which Intel's compiler keeps in a register if loops over its lanes stay rolled. */
#define LANES ((int)(sizeof(value_t) < 8 ? 64 / sizeof(value_t) : 8)) /* rows: cpu_runs */
#define FEW 8
#define EACH_OF(lanes) _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < (lanes); lane++)

/* Neighbouring runs that are folded in order at the same time, because a fold waits for each operation before it begins
 * the next. */
#define RUNS 8 /* rows: cpu_runs of segscan */
#define RUN 8
#define EACH_RUN _Pragma("unroll") for (int run = 0; run < RUNS; run++)

#define SPAN (COMMUTATIVE ? 128 * LANES : 256)
#define LEVELS 48

/* Fold neighbours into the lanes of a vector. */
#define FOLD_NEXT(vector, lanes, j) \
    EACH_OF(lanes) SET_VALUE(vector, [lane], OP(VALUE(vector, [lane]), MAP_ROW(row, (j) + lane)))

/* The same for `rest` neighbours, fewer than lanes: a masked load, where a loop over the rest would end anywhere. */
#define FOLD_REST(vector, lanes, j, rest)                                \
    EACH_OF(lanes)                                                       \
    {                                                                    \
        value_t folded = VALUE(vector, [lane]);                          \
        if (lane < (rest)) folded = OP(folded, MAP_ROW(row, (j) + lane)); \
        SET_VALUE(vector, [lane], folded);                               \
    }

/* Fold the lanes of a vector into the first. */
#define FOLD_LANES(vector, lanes)                                                \
    _Pragma("unroll") for (int half_of = (lanes) / 2; half_of > 0; half_of /= 2) \
        EACH_OF(half_of) SET_VALUE(vector, [lane], OP(VALUE(vector, [lane]), VALUE(vector, [lane + half_of])))

/* Fold up to SPAN elements. */
DEVICE value_t gp_fold_span(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
#if COMMUTATIVE && ROW_DENSE
#if LOADS_MASKED
    if (last - j <= FEW) {
        VALUES(few, [FEW]);
        EACH_OF(FEW) SET_VALUE(few, [lane], IDENTITY);
        FOLD_REST(few, FEW, j, (int)(last - j));
        FOLD_LANES(few, FEW);
        return VALUE(few, [0]);
    }
#endif
    value_t folded = IDENTITY;
    if (LOADS_MASKED || last - j >= LANES) {
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
                FOLD_NEXT(a, LANES, j);
                FOLD_NEXT(b, LANES, j + LANES);
                FOLD_NEXT(c, LANES, j + 2 * LANES);
                FOLD_NEXT(d, LANES, j + 3 * LANES);
            }
            EACH_OF(LANES) SET_VALUE(a, [lane], OP(VALUE(a, [lane]), VALUE(b, [lane])));
            EACH_OF(LANES) SET_VALUE(c, [lane], OP(VALUE(c, [lane]), VALUE(d, [lane])));
            EACH_OF(LANES) SET_VALUE(a, [lane], OP(VALUE(a, [lane]), VALUE(c, [lane])));
        }
        for (; j + LANES <= last; j += LANES) FOLD_NEXT(a, LANES, j);
#if LOADS_MASKED
        FOLD_REST(a, LANES, j, (int)(last - j));
        j = last;
#endif
        FOLD_LANES(a, LANES);
        folded = VALUE(a, [0]);
    }
    for (; j < last; j++) folded = OP(folded, MAP_ROW(row, j));
    return folded;
#else
    value_t before = IDENTITY;
    VALUES(folded, [RUNS]);
    for (; j + RUNS * RUN <= last; j += RUNS * RUN) {
        EACH_RUN SET_VALUE(folded, [run], IDENTITY);
        for (int k = 0; k < RUN; k++)
            EACH_RUN SET_VALUE(folded, [run], OP(VALUE(folded, [run]), MAP_ROW(row, j + run * RUN + k)));
        for (int run = 0; run < RUNS; run++) before = OP(before, VALUE(folded, [run]));
    }
    for (; j < last; j++) before = OP(before, MAP_ROW(row, j));
    return before;
#endif
}

#if SEARCHES_SPANS
/* Return 1 if one of `span` elements from j on is better than `best`: one comparison, where a fold of floats takes two. */
DEVICE int gp_has_better(INPUTS, const layout_t layout, const row_t row, const i64 j, const int span, const value_t best)
{
    i32 found = 0;
    for (int k = 0; k < span; k++) found |= BETTER(MAP_ROW(row, j + k), best);
    return found;
}
#endif

/* Fold any number of elements: spans, pairwise as in reduce/cpu_chunks. To pick one of them, fold the spans that have a better
 * one than those before, as reduce/cpu_best does (rows: cpu_runs-searched). */
DEVICE value_t gp_fold_row(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
#if SEARCHES_SPANS
    if (last - j <= SPAN) return gp_fold_span(INPUT_NAMES, layout, row, j, last);
    value_t best = gp_fold_span(INPUT_NAMES, layout, row, j, j + SPAN);
    while ((j += SPAN) < last && !BETTER(best, best)) { /* NaN compares better than itself, and stays */
        const i64 end = min(j + SPAN, last);
        if (gp_has_better(INPUT_NAMES, layout, row, j, (int)(end - j), best))
            best = OP(best, gp_fold_span(INPUT_NAMES, layout, row, j, end));
    }
    return best;
#else
    value_t levels[LEVELS], folded = IDENTITY;
    i64 spans = 0;
    for (; j < last; j += SPAN, spans++) {
        value_t joined = gp_fold_span(INPUT_NAMES, layout, row, j, min(j + SPAN, last));
        if (spans == 0 && j + SPAN >= last) return joined;
        int level = 0;
        for (; spans >> level & 1; level++) joined = OP(levels[level], joined);
        levels[level] = joined;
    }
    for (int level = 0; spans >> level; level++)
        if (spans >> level & 1) folded = OP(levels[level], folded);
    return folded;
#endif
}

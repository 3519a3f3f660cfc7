/* Folds of a row's elements by one work-item, for devices whose work-items are CPU threads. */

#define END_STEPS 16 /* rows: cpu_runs */

/* Lanes of a vector. Loops over lanes stay rolled: Intel's compiler does not vectorise unrolled ones, and it keeps an
 * array in registers if it is one vector. */
#define LANES ((int)(sizeof(value_t) < 8 ? 64 / sizeof(value_t) : 8)) /* rows: cpu_runs */
#define EACH_OF(lanes) _Pragma("clang loop unroll(disable)") for (int lane = 0; lane < lanes; lane++)
#define FEW 8
#define SPAN (COMMUTATIVE ? 32 * 4 * LANES : 256)
#define LEVELS 48
#define RUNS 8 /* rows: cpu_runs of segscan */
#define RUN 8
#define EACH_RUN _Pragma("unroll") for (int run = 0; run < RUNS; run++)

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
DEVICE value_t gp_fold_span(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
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
/* Fold up to SPAN elements in order, RUNS neighbouring runs of RUN at the same time: a fold waits for each operation before
 * it begins the next. */
DEVICE value_t gp_fold_span(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
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
}
#endif

/* Fold any number of elements. */
DEVICE value_t gp_fold_row(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last)
{
    if (last - j <= SPAN) return gp_fold_span(INPUT_NAMES, layout, row, j, last);
    value_t levels[LEVELS], folded = IDENTITY;
    i64 spans = 0;
    for (; j < last; j += SPAN, spans++) {
        value_t joined = gp_fold_span(INPUT_NAMES, layout, row, j, min(j + SPAN, last));
        int level = 0;
        for (; spans >> level & 1; level++) joined = OP(levels[level], joined);
        levels[level] = joined;
    }
    for (int level = 0; spans >> level; level++)
        if (spans >> level & 1) folded = OP(levels[level], folded);
    return folded;
}

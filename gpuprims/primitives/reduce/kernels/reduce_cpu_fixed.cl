/* reduce/cpu_fixed: each work-item folds blocks by a tree that is the same on every device, for devices whose work-items
 * are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left. A part has 2^shift
 *         blocks
 * host    ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE, TREE_LANES, TREE_RUN
 * order   of fixed_trees.py, whatever `parts` is
 */
/* Loops stay rolled: Intel's compiler does not vectorise unrolled ones. */
#define EACH_LANE(from, to) _Pragma("clang loop unroll(disable)") for (int lane = from; lane < (to); lane++)
/* Intel's compiler would fold every other four of a loop by itself. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")
/* Outputs of at most FEW elements are folded ABREAST at a time (rows: cpu_fixed-short). */
#define FEW 64
#define ABREAST 16
#define EACH_ABREAST _Pragma("clang loop unroll(disable)") for (int k = 0; k < count; k++)
/* Element k of a lane's four, in a row that has them all, or in any rows. */
#define IN_ROW(k) MAP_ROW(row, at + (k)*TREE_LANES + lane)
#define ANYWHERE(k) MAP(o, at + (k)*TREE_LANES + lane)
/* The largest power of two below a number of lanes. */
#define HALF_BELOW(have) ((have) > 1 ? 1 << (31 - clz((have) - 1)) : 0)
/* Fold the first ones of four of some lanes: the lanes' first ones, or further ones. */
#define FOLD_FIRST(from, to, first)                                                                                    \
    if (at == base)                                                                                                    \
        EACH_LANE(from, to) SET_VALUE(lanes, [lane], first);                                                           \
    else                                                                                                               \
        EACH_LANE(from, to) SET_VALUE(lanes, [lane], OP(VALUE(lanes, [lane]), first));
#define FOLD_FEW(from, to, count, E)                                                                                   \
    if ((count) == 4) {                                                                                                \
        FOLD_FIRST(from, to, FIRST_4(E))                                                                               \
    } else if ((count) == 3) {                                                                                         \
        FOLD_FIRST(from, to, FIRST_3(E))                                                                               \
    } else if ((count) == 2) {                                                                                         \
        FOLD_FIRST(from, to, FIRST_2(E))                                                                               \
    } else if ((count) == 1) {                                                                                         \
        FOLD_FIRST(from, to, FIRST_1(E))                                                                               \
    }

#if COMMUTATIVE
/* Fold `count` outputs of n elements each, FEW at most, and store: each lane has one of each output. Loops over a constant number
 * of outputs have no rest (rows: cpu_fixed-short). */
DEVICE void gp_fold_few(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const int n, const int count)
{
    VALUES(few, [FEW * ABREAST]);
    for (int lane = 0; lane < n; lane++) EACH_ABREAST SET_VALUE(few, [lane * ABREAST + k], MAP(o + k, lane));
    for (int half_of = HALF_BELOW(n), left = n; half_of > 0; left = half_of, half_of /= 2)
        for (int lane = half_of; lane < left; lane++)
            EACH_ABREAST
            SET_VALUE(few, [(lane - half_of) * ABREAST + k],
                      OP(VALUE(few, [(lane - half_of) * ABREAST + k]), VALUE(few, [lane * ABREAST + k])));
    EACH_ABREAST STORE(o + k, 0, n ? VALUE(few, [k]) : IDENTITY);
}

/* True for a number of neighbours that gp_fold_short_rows folds. */
#define IS_ROW(n) ((n) == 8 || (n) == 16 || (n) == 32 || (n) == 64)
#define FOLD_ROWS(to, half)                                                                                            \
    for (int k = 0; k < ABREAST; k++) {                                                                                \
        const row_t row = ROW(o + k, 0);                                                                               \
        EACH_LANE(0, half)                                                                                             \
            SET_VALUE(to, [k * (half) + lane], OP(MAP_ROW(row, lane), MAP_ROW(row, (half) + lane)));                   \
    }
#define FOLD_HALVES(to, from, half)                                                                                    \
    for (int k = 0; k < ABREAST; k++)                                                                                  \
        EACH_LANE(0, half)                                                                                             \
            SET_VALUE(to, [k * (half) + lane],                                                                         \
                      OP(VALUE(from, [2 * k * (half) + lane]), VALUE(from, [(2 * k + 1) * (half) + lane])));
#define OF_EIGHT(lane) OP(VALUE(eight, [8 * k + (lane)]), VALUE(eight, [8 * k + (lane) + 4]))

/* Fold ABREAST outputs of neighbours, and store: lanes by halves in vectors of neighbours, of constant lengths, until eight
 * are left of each output; then in vectors of outputs (rows: cpu_fixed-short). */
DEVICE void gp_fold_short_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const int n)
{
    VALUES(many, [32 * ABREAST]);
    VALUES(some, [16 * ABREAST]);
    VALUES(eight, [8 * ABREAST]);
    if (n == 64) {
        FOLD_ROWS(many, 32)
        FOLD_HALVES(some, many, 16)
        FOLD_HALVES(eight, some, 8)
    } else if (n == 32) {
        FOLD_ROWS(some, 16)
        FOLD_HALVES(eight, some, 8)
    } else if (n == 16) {
        FOLD_ROWS(eight, 8)
    } else {
        for (int k = 0; k < ABREAST; k++) {
            const row_t row = ROW(o + k, 0);
            EACH_LANE(0, 8) SET_VALUE(eight, [8 * k + lane], MAP_ROW(row, lane));
        }
    }
    for (int k = 0; k < ABREAST; k++) {
        const value_t a = OF_EIGHT(0), b = OF_EIGHT(1), c = OF_EIGHT(2), d = OF_EIGHT(3), e = OP(a, c), f = OP(b, d);
        STORE(o + k, 0, OP(e, f));
    }
}
#endif

__kernel WORK_GROUP(1)
void reduce_cpu_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                      const i64 n, const i64 parts, const i64 shift)
{
    value_t levels[FIXED_LEVELS];
#if COMMUTATIVE
    VALUES(lanes, [TREE_LANES]);

    /* 0. Fold outputs of few elements, several at a time. */
    if (n <= FEW) {
        const i64 share = (outputs + get_num_groups(0) - 1) / get_num_groups(0);
        const i64 end = min((i64)(get_group_id(0) + 1) * share, outputs);
        i64 o = get_group_id(0) * share;
        if (IS_ROW(n) && ROW_END(0, n) >= n)
            for (; o + ABREAST <= end; o += ABREAST) gp_fold_short_rows(INPUT_NAMES, OUTPUT_NAMES, layout, o, (int)n);
        for (; o + ABREAST <= end; o += ABREAST) gp_fold_few(INPUT_NAMES, OUTPUT_NAMES, layout, o, (int)n, ABREAST);
        if (o < end) gp_fold_few(INPUT_NAMES, OUTPUT_NAMES, layout, o, (int)n, (int)(end - o));
        return;
    }
#endif

    for (i64 task = get_group_id(0); task < outputs * parts; task += get_num_groups(0)) {
        const i64 o = task / parts, first = (task % parts << shift) * FIXED_BLOCK;
        const i64 end = min(first + (FIXED_BLOCK << shift), n);
        i64 nodes = 0;

#if COMMUTATIVE
        for (i64 base = first; base < end; base += FIXED_BLOCK) {
            const i64 stop = min(base + FIXED_BLOCK, end);

            /* 1. Fold the elements of each lane, by fours; at the end, the first lanes have one more than the others. */
            for (i64 at = base; at < stop; at += 4 * TREE_LANES) {
                const int most = (int)min(stop - at, (i64)4 * TREE_LANES), rows = most / TREE_LANES, more = most % TREE_LANES;
                const row_t row = ROW(o, at);
                if (ROW_END(at, stop) >= at + most) {
                    FOLD_FEW(0, more, rows + 1, IN_ROW)
                    FOLD_FEW(more, TREE_LANES, rows, IN_ROW)
                } else {
                    FOLD_FEW(0, more, rows + 1, ANYWHERE)
                    FOLD_FEW(more, TREE_LANES, rows, ANYWHERE)
                }
            }

            /* 2. Fold the lanes by halves. */
            const int have = (int)min(stop - base, (i64)TREE_LANES);
            for (int half_of = HALF_BELOW(have); half_of > 0; half_of /= 2) {
                const int folds = min(half_of, have - half_of);
                EACH_LANE(0, folds) SET_VALUE(lanes, [lane], OP(VALUE(lanes, [lane]), VALUE(lanes, [lane + half_of])));
            }
            gp_push(levels, nodes++, VALUE(lanes, [0]));
        }
#else
        /* 1. Fold runs of elements in order, and the runs as a binary counter; blocks have a power of two of them. */
        for (i64 base = first; base < end; base += TREE_RUN) {
            const i64 stop = min(base + TREE_RUN, end);
            value_t folded = IDENTITY;
            IN_ORDER for (i64 at = base; at < stop; at += 4) {
                value_t four = MAP(o, at);
                if (at + 1 < stop) four = OP(four, MAP(o, at + 1));
                if (at + 2 < stop) {
                    value_t later = MAP(o, at + 2);
                    if (at + 3 < stop) later = OP(later, MAP(o, at + 3));
                    four = OP(four, later);
                }
                folded = at == base ? four : OP(folded, four);
            }
            gp_push(levels, nodes++, folded);
        }
#endif

        /* 3. Store; or leave the value, and the last part folds all of them. */
        const value_t folded = nodes ? gp_fold_levels(levels, nodes) : IDENTITY;
        if (parts == 1) {
            STORE(o, 0, folded);
        } else {
            gp_leave(partials, task, folded);
            if (gp_last_done(counters + o, parts)) {
                for (i64 part = 0; part < parts; part++) gp_push(levels, part, gp_collect(partials, o * parts + part));
                STORE(o, 0, gp_fold_levels(levels, parts));
            }
        }
    }
}

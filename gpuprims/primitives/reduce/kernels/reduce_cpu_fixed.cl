/* reduce/cpu_fixed: each work-item folds blocks by a tree that is the same on every device, for devices whose work-items
 * are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes (output, part) pairs until none are left. A part has 2^shift
 *         blocks
 * host    ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value), COMMUTATIVE, TREE_LANES,
 *         TREE_RUN; FEW, ROW_APART, ROW_AT_ONCE, ROW_WHOLE; HALVES_1(E) and others (fixed_halves.h)
 * order   of fixed_trees.py, whatever `parts` is
 */
/* Loops stay rolled: Intel's compiler does not vectorise unrolled ones. */
#define EACH_LANE(from, to) _Pragma("clang loop unroll(disable)") for (int lane = from; lane < (to); lane++)
/* Intel's compiler would fold every other four of a loop by itself. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")
/* Outputs of few elements are folded ABREAST at a time (rows: cpu_fixed-short). */
#define MOST_FEW 64
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

#if FEW
/* Fold `count` outputs of n elements each, MOST_FEW at most, and store: each lane has one of each output. Loops over a constant
 * number of outputs have no rest (rows: cpu_fixed-short). */
DEVICE void gp_fold_few(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const int n, const int count)
{
    VALUES(few, [MOST_FEW * ABREAST]);
    for (int lane = 0; lane < n; lane++) EACH_ABREAST SET_VALUE(few, [lane * ABREAST + k], MAP(o + k, lane));
    for (int half_of = HALF_BELOW(n), left = n; half_of > 0; left = half_of, half_of /= 2)
        for (int lane = half_of; lane < left; lane++)
            EACH_ABREAST
            SET_VALUE(few, [(lane - half_of) * ABREAST + k],
                      OP(VALUE(few, [(lane - half_of) * ABREAST + k]), VALUE(few, [lane * ABREAST + k])));
    EACH_ABREAST STORE(o + k, 0, n ? VALUE(few, [k]) : IDENTITY);
}
#endif

#if ROW_APART
/* Lanes that fold lie ROW_APART from each other. */
#define IN_LANE(k) MAP_ROW(row, lane + (k)*ROW_APART)
#define NODE(lane) VALUE(nodes, [k * ROW_APART + (lane)])
#define SET_NODE(value) SET_VALUE(nodes, [k * ROW_APART + lane], value)
#define EACH_ROW IN_ORDER for (int k = 0; k < rows; k++)
/* Of lanes that are not even, the first ones have a last element, which folds with the one that is half a row before it. */
#define BEFORE_LAST (ROW_AT_ONCE - 1 - (ROW_AT_ONCE > 4 ? 4 : ROW_AT_ONCE > 2 ? 2 : 1))
#define WITH_LAST(k) ((k) == BEFORE_LAST && lane < more ? OP(IN_LANE(k), VALUE(lasts, [lane])) : IN_LANE(k))
#define FOLD_WHOLE GP_JOINED(HALVES_, ROW_WHOLE)

/* Fold neighbours, one for each lane, and store. Each step is taken for several outputs, because a whole vector of what was
 * stored in parts cannot be loaded at once (rows: cpu_fixed-rows). */
DEVICE void gp_fold_neighbours(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const int n, const int rows)
{
    VALUES(nodes, [ABREAST * ROW_APART]);
#if ROW_WHOLE == ROW_AT_ONCE
    EACH_ROW
    {
        const row_t row = ROW(o + k, 0);
        EACH_LANE(0, ROW_APART) SET_NODE(FOLD_WHOLE(IN_LANE));
    }
#else
    VALUES(lasts, [ROW_APART]);
    const int more = n - (ROW_AT_ONCE - 1) * ROW_APART;
    EACH_ROW
    {
        const row_t row = ROW(o + k, 0);
        EACH_LANE(0, more) SET_VALUE(lasts, [lane], IN_LANE(ROW_AT_ONCE - 1));
        EACH_LANE(0, ROW_APART) SET_NODE(FOLD_WHOLE(WITH_LAST));
    }
#endif
    for (int half_of = ROW_APART / 2; half_of >= 8; half_of /= 2)
        EACH_ROW EACH_LANE(0, half_of) SET_NODE(OP(NODE(lane), NODE(lane + half_of)));
    EACH_ROW STORE(o + k, 0, HALVES_8(NODE));
}
#endif

__kernel WORK_GROUP(1)
void reduce_cpu_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 outputs,
                      const i64 n, const i64 parts, const i64 shift)
{
#if FEW || ROW_APART
    /* 0. Fold outputs of few elements, several at a time. */
    const i64 share = (outputs + get_num_groups(0) - 1) / get_num_groups(0), from = get_group_id(0) * share;
    const i64 past = min(from + share, outputs);
    for (i64 o = from; o < past; o += ABREAST) {
        const int count = (int)min(past - o, (i64)ABREAST);
#if ROW_APART
        gp_fold_neighbours(INPUT_NAMES, OUTPUT_NAMES, layout, o, (int)n, count);
#else
        if (count == ABREAST) gp_fold_few(INPUT_NAMES, OUTPUT_NAMES, layout, o, (int)n, ABREAST);
        else gp_fold_few(INPUT_NAMES, OUTPUT_NAMES, layout, o, (int)n, count);
#endif
    }
#else
    value_t levels[FIXED_LEVELS];
#if COMMUTATIVE
    VALUES(lanes, [TREE_LANES]);
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
#endif
}

/* reduce/cpu_fixed_columns: each work-item folds outputs side by side by a tree that is the same on every device, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes neighbouring outputs and a part of 2^shift blocks of their
 *         elements until none are left
 * host    BESIDE(o, j), BESIDE_LENGTH(outputs), BESIDE_JOINS(length), MAP_BESIDE(row, o), STORE(o, j, value),
 *         STORE_BESIDE(row, o, value), OP(a, b), IDENTITY, VALUES, VALUE, SET_VALUE, COMMUTATIVE, TREE_LANES, TREE_RUN, LANE_HAS
 * order   of fixed_trees.py, whatever `parts` is
 *
 * Lanes i, i + apart, i + 2 apart, ... fold first, to a node of the tree: AT_ONCE if they have one element each, fewer if they have
 * more. Nodes stay in the cache, and then fold by halves, side by side; strips are narrower where there are more nodes. Elements
 * of all lanes of a node are read in one loop where possible, and rows in their order: that takes a third of the time of lanes
 * one after the other (rows: cpu_fixed_columns-nodes). In order, and of blocks, nodes wait in a slot for each level, until the neighbour
 * that they fold with is there.
 */
#define WIDTH 256  /* outputs_per_group */
#define WIDER 1024 /* outputs, if lanes have an element each */
#define LINE 64    /* outputs that share a cache line at least (rows: cpu_fixed_columns-nodes) */
#define AT_ONCE 8
#if COMMUTATIVE
#define ROOM (TREE_LANES / 2 * (WORDS == 1 ? 256 : 128)) /* for nodes (rows: cpu_fixed_columns) */
#else
#define ROOM 0
#endif
#define EACH(count) _Pragma("clang loop unroll(disable)") for (int column = 0; column < (count); column++)
/* Slots of nodes, which are blocks or, in order, runs; and of lanes. */
#define SLOTS 40
#define LEVEL(level) (ROOM + (level)*WIDTH)
#define OWN LEVEL(SLOTS)
#define LANE(k) LEVEL(SLOTS + 1 + (k))
#define SLOT(slot) VALUE(nodes, [(slot) + column])
#define SET_SLOT(slot, value) SET_VALUE(nodes, [(slot) + column], value)
#define SET_NODE(value) SET_VALUE(nodes, [lane * live + column], value)
#define ELEMENT(k) MAP_BESIDE(row##k, o + column)

/* Fold elements of a lane, `apart` rows from each other, by fours. */
#define FOLD_FIRST(first)                                                                                              \
    if (at == start)                                                                                                   \
        EACH(span) SET_SLOT(to, first);                                                                                \
    else                                                                                                               \
        EACH(span) SET_SLOT(to, OP(SLOT(to), first));
#define FOLD_LANE(slot, from, stop, apart)                                                                             \
    do {                                                                                                               \
        const int to = slot;                                                                                           \
        const i64 start = from, most = (stop)-1;                                                                       \
        for (i64 at = start; at < (stop); at += 4 * (apart)) {                                                         \
            const row_t row0 = BESIDE(o, at), row1 = BESIDE(o, min(at + (apart), most));                               \
            const row_t row2 = BESIDE(o, min(at + 2 * (apart), most)), row3 = BESIDE(o, min(at + 3 * (apart), most));  \
            if (at + 3 * (apart) < (stop)) {                                                                           \
                FOLD_FIRST(FIRST_4(ELEMENT))                                                                           \
            } else if (at + 2 * (apart) < (stop)) {                                                                    \
                FOLD_FIRST(FIRST_3(ELEMENT))                                                                           \
            } else if (at + (apart) < (stop)) {                                                                        \
                FOLD_FIRST(FIRST_2(ELEMENT))                                                                           \
            } else {                                                                                                   \
                FOLD_FIRST(FIRST_1(ELEMENT))                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* Fold `count` lanes, AT_ONCE at most. */
#define FOLD_SOME(count)                                                                                               \
    case count: EACH(span) SET_NODE(HALVES_##count(ELEMENT)); break;
#if LANE_HAS == 1
#define FOLD_LANES(count)                                                                                              \
    switch (count) {                                                                                                   \
        FOLD_SOME(1) FOLD_SOME(2) FOLD_SOME(3) FOLD_SOME(4) FOLD_SOME(5) FOLD_SOME(6) FOLD_SOME(7) FOLD_SOME(8)        \
    }
#elif LANE_HAS == 2
#define FOLD_LANES(count) EACH(span) SET_NODE(HALVES_4(ELEMENT));
#else
#define FOLD_LANES(count)                                                                                              \
    switch (count) {                                                                                                   \
        FOLD_SOME(1) FOLD_SOME(2)                                                                                      \
    }
#endif

/* Fold four lanes of one or two elements. */
#define FURTHER(k) GP_JOINED(FURTHER_, k)
#define FURTHER_0 ELEMENT(4)
#define FURTHER_1 ELEMENT(5)
#define FURTHER_2 ELEMENT(6)
#define FURTHER_3 ELEMENT(7)
#define BOTH(k) OP(ELEMENT(k), FURTHER(k))
#define FOLD_FOUR(a, b, c, d) EACH(span) SET_NODE(OP(OP(a(0), c(2)), OP(b(1), d(3))))

/* Fold fours of two lanes to slots, and the last ones to a node: `left` elements, but the second lane may lack one. */
#define NEAR(value) OP(SLOT(LANE(0)), value)
#define FAR(value) OP(SLOT(LANE(1)), value)
#define SET_FOURS(first, second)                                                                                       \
    EACH(span)                                                                                                         \
    {                                                                                                                  \
        const value_t four = FIRST_4(ELEMENT), other = FIRST_4(FURTHER);                                               \
        SET_SLOT(LANE(0), first);                                                                                      \
        SET_SLOT(LANE(1), second);                                                                                     \
    }
#define FOLD_ENDS(first, second)                                                                                       \
    if (row)                                                                                                           \
        EACH(span) SET_NODE(OP(NEAR(first(ELEMENT)), FAR(second(FURTHER))));                                           \
    else                                                                                                               \
        EACH(span) SET_NODE(OP(first(ELEMENT), second(FURTHER)));                                                      \
    break
#define FOLD_PAIR(left, lacks)                                                                                         \
    switch (left > 4 ? 9 : 2 * left - lacks) {                                                                         \
    case 1: EACH(span) SET_NODE(OP(NEAR(ELEMENT(0)), SLOT(LANE(1)))); break;                                           \
    case 2: FOLD_ENDS(FIRST_1, FIRST_1);                                                                               \
    case 3: FOLD_ENDS(FIRST_2, FIRST_1);                                                                               \
    case 4: FOLD_ENDS(FIRST_2, FIRST_2);                                                                               \
    case 5: FOLD_ENDS(FIRST_3, FIRST_2);                                                                               \
    case 6: FOLD_ENDS(FIRST_3, FIRST_3);                                                                               \
    case 7: FOLD_ENDS(FIRST_4, FIRST_3);                                                                               \
    case 8: FOLD_ENDS(FIRST_4, FIRST_4);                                                                               \
    default:                                                                                                           \
        if (row)                                                                                                       \
            SET_FOURS(NEAR(four), FAR(other))                                                                          \
        else                                                                                                           \
            SET_FOURS(four, other)                                                                                     \
    }

/* Four rows from `at` on and four from `from` on; those past the end stand for the last one, and are not read. */
#define EIGHT_ROWS(at, apart, from, next)                                                                              \
    const row_t row0 = BESIDE(o, at), row1 = BESIDE(o, min((at) + (apart), last));                                     \
    const row_t row2 = BESIDE(o, min((at) + 2 * (apart), last)), row3 = BESIDE(o, min((at) + 3 * (apart), last));      \
    const row_t row4 = BESIDE(o, min(from, last)), row5 = BESIDE(o, min((from) + (next), last));                       \
    const row_t row6 = BESIDE(o, min((from) + 2 * (next), last)), row7 = BESIDE(o, min((from) + 3 * (next), last))

/* Fold the node in slot OWN, number `count` of its level, with those that wait. */
#define PUSH(count)                                                                                                    \
    do {                                                                                                               \
        int level = 0;                                                                                                 \
        for (; (count) >> level & 1; level++) EACH(live) SET_SLOT(OWN, OP(SLOT(LEVEL(level)), SLOT(OWN)));             \
        EACH(live) SET_SLOT(LEVEL(level), SLOT(OWN));                                                                  \
    } while (0)

__kernel WORK_GROUP(1)
void reduce_cpu_fixed_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                              const i64 outputs, const i64 n, const i64 parts, const i64 shift)
{
    const i64 length = BESIDE_LENGTH(outputs), groups = get_num_groups(0);
#if COMMUTATIVE
    const int at_once = LANE_HAS == 1 ? AT_ONCE : LANE_HAS == 2 ? AT_ONCE / 2 : AT_ONCE / 4;
    int lanes = at_once;
    while (lanes < TREE_LANES && lanes < n) lanes *= 2;
    const i64 widest = min(ROOM / (lanes / at_once), LANE_HAS <= 2 ? WIDER : WIDTH);
#else
    const i64 widest = WIDTH;
#endif
    const i64 most = (length + widest - 1) / widest;
    const i64 even = parts == 1 ? (most + groups - 1) / groups * groups : most; /* as many strips for each group */
    const i64 width = min(((length + even - 1) / even + LINE - 1) / LINE * LINE, widest);
    const i64 across = (length + width - 1) / width, strips = outputs / length * across;
    VALUES(nodes, [LANE(2)]);

    for (i64 task = get_group_id(0); task < strips * parts; task += groups) {
        const i64 strip = task / parts, part = task % parts, o = strip / across * length + strip % across * width;
        const i64 first = (part << shift) * FIXED_BLOCK, end = min(first + (FIXED_BLOCK << shift), n);
        const int live = (int)min(width, length - strip % across * width);
        int folded = OWN; /* place of the fold of all */
        i64 count = 0;

#if COMMUTATIVE
        int joined = 1; /* rows that are folded as one */
        if (live == outputs && BESIDE_JOINS(live))
            while (2 * joined * live <= WIDTH) joined *= 2;

        for (i64 base = first; base < end; base += FIXED_BLOCK) {
            /* 1. Fold lanes to nodes: their elements, or what these fold to in slots. The first lanes have one more each. */
            const i64 stop = min(base + FIXED_BLOCK, end);
            const int have = (int)min(stop - base, (i64)TREE_LANES), more = (int)((stop - base) % TREE_LANES);
            const int each = (int)((stop - base) / TREE_LANES); /* elements of lanes, but for the first ones */
            int apart = lanes / at_once;
            while (apart > 1 && at_once / 2 * apart >= have) apart /= 2;
            const int changes = more % apart; /* the first lane whose number of elements, or of lanes, is another one */
            for (int lane = 0, taken; lane < apart; lane += taken) {
                taken = lane % joined || lane + joined > apart || (lane < changes && changes < lane + joined) ? 1 : joined;
                const int span = taken * live, some = min((have - lane + apart - 1) / apart, at_once);
                const i64 at = base + lane, last = stop - 1;
                if (LANE_HAS == 1 || at + TREE_LANES >= stop) { /* one element each */
                    EIGHT_ROWS(at, apart, at + 4 * apart, apart);
                    FOLD_LANES(some)
                    continue;
                }
#if LANE_HAS == 2
                EIGHT_ROWS(at, apart, at + TREE_LANES, apart);
                const int two = (more - lane + apart - 1) / apart; /* lanes of two elements */
                if (two == 1) FOLD_FOUR(BOTH, ELEMENT, ELEMENT, ELEMENT);
                else if (two == 2) FOLD_FOUR(BOTH, BOTH, ELEMENT, ELEMENT);
                else if (two == 3) FOLD_FOUR(BOTH, BOTH, BOTH, ELEMENT);
                else FOLD_FOUR(BOTH, BOTH, BOTH, BOTH);
#elif LANE_HAS > 2
                if (joined > 1) {
                    for (int k = 0; k < 2; k++) FOLD_LANE(LANE(k), at + k * apart, stop, TREE_LANES);
                    EACH(span) SET_NODE(OP(SLOT(LANE(0)), SLOT(LANE(1))));
                    continue;
                }
                const int elements = each + (lane < more), lacks = lane < more && lane + apart >= more;
                for (int row = 0; row < elements; row += 4) {
                    const i64 near = at + (i64)row * TREE_LANES, left = elements - row;
                    EIGHT_ROWS(near, TREE_LANES, near + apart, TREE_LANES);
                    FOLD_PAIR(left, lacks)
                }
#endif
            }

            /* 2. Fold these by halves, and then neighbouring blocks. */
            for (int left = apart / 2 * live; left >= live; left = left / live / 2 * live)
                EACH(left) SET_VALUE(nodes, [column], OP(VALUE(nodes, [column]), VALUE(nodes, [left + column])));
            folded = 0;
            if (LANE_HAS > 2 && (stop < end || count)) {
                folded = OWN;
                EACH(live) SET_SLOT(OWN, VALUE(nodes, [column]));
                PUSH(count);
            }
            count++;
        }
#else
        /* 1. Fold runs of elements in order, and the runs as a binary counter; blocks have a power of two of them. */
        const int span = live;
        for (i64 base = first; base < end; base += TREE_RUN) {
            const i64 stop = min(base + TREE_RUN, end);
            FOLD_LANE(OWN, base, stop, 1);
            PUSH(count);
            count++;
        }
#endif

        /* 3. Fold the nodes that still wait, the last ones first. */
        if (count && folded == OWN) {
            int level = 0;
            while (!(count >> level & 1)) level++;
            EACH(live) SET_SLOT(OWN, SLOT(LEVEL(level)));
            for (level++; count >> level; level++)
                if (count >> level & 1) EACH(live) SET_SLOT(OWN, OP(SLOT(LEVEL(level)), SLOT(OWN)));
        } else if (!count) {
            EACH(live) SET_SLOT(OWN, IDENTITY);
        }

        /* 4. If there are several parts, leave the values; the last part folds all of them. */
        if (parts > 1) {
            EACH(live) gp_leave(partials, (o + column) * parts + part, VALUE(nodes, [folded + column]));
            if (!gp_last_done(counters + o, parts)) continue;
            for (int column = 0; column < live; column++) {
                value_t levels[FIXED_LEVELS];
                for (i64 left = 0; left < parts; left++) gp_push(levels, left, gp_collect(partials, (o + column) * parts + left));
                SET_VALUE(nodes, [folded + column], gp_fold_levels(levels, parts));
            }
        }

        /* 5. Store. Of a single output, which is at no stride, Intel's compiler (2026.2) would store a lane that is not live. */
        const row_t there = BESIDE(o, 0);
        if (live == 1) STORE(o, 0, VALUE(nodes, [folded]));
        else EACH(live) STORE_BESIDE(there, o + column, VALUE(nodes, [folded + column]));
    }
}

/* reduce/cpu_fixed_columns: each work-item folds outputs side by side by a tree that is the same on every device, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, neighbouring outputs next to each other in memory
 * out     OUTPUTS: one value for each
 * scratch partials: WORDS for each part of each output; counters: one for each output, zero before and after
 * launch  any number of groups of one work-item; each takes neighbouring outputs and a part of 2^shift blocks of their
 *         elements until none are left
 * host    BESIDE(o, j), BESIDE_LENGTH(outputs), MAP_BESIDE(row, o), STORE(o, j, value), STORE_BESIDE(row, o, value), OP(a, b),
 *         IDENTITY, VALUES, VALUE, SET_VALUE, COMMUTATIVE, TREE_LANES, TREE_RUN
 * order   of fixed_trees.py, whatever `parts` is
 *
 * Lane i folds with lane i + lanes / 2 first. Lanes come in their order, so memory is read in its own; the folds of all pairs of
 * lanes stay in the cache, and then fold by halves, side by side. Strips are narrower where there are more lanes. In order, and
 * of blocks, nodes wait in a slot for each level, until the neighbour that they fold with is there.
 */
#define WIDTH 256 /* outputs_per_group */
#define LINE 64   /* outputs that share a cache line at least */
#if COMMUTATIVE
#define ROOM (TREE_LANES / 2 * (WORDS == 1 ? 256 : 128)) /* for the folds of pairs of lanes (rows: cpu_fixed_columns) */
#else
#define ROOM 0
#endif
#define EACH_COLUMN _Pragma("clang loop unroll(disable)") for (int column = 0; column < live; column++)
/* Slots of nodes, which are blocks or, in order, runs. */
#define SLOTS 40
#define SLOT(slot) VALUE(nodes, [ROOM + (slot)*WIDTH + column])
#define SET_SLOT(slot, value) SET_VALUE(nodes, [ROOM + (slot)*WIDTH + column], value)
#define ELEMENT(k) MAP_BESIDE(row##k, o + column)
#define ELEMENT_FURTHER(k) GP_JOINED(FURTHER_, k)
#define FURTHER_0 ELEMENT(4)
#define FURTHER_1 ELEMENT(5)
#define FURTHER_2 ELEMENT(6)
#define FURTHER_3 ELEMENT(7)
#define SET_PAIR(value) SET_VALUE(nodes, [pair * live + column], value)

/* Fold elements of a lane, `apart` rows from each other, by fours, which come to another slot before they fold with earlier ones. */
#define FOLD_LANE(to, start, stop, apart)                                                                              \
    for (i64 at = start; at < (stop); at += 4 * (apart)) {                                                             \
        const i64 most = (stop)-1;                                                                                     \
        const int into = at == (start) ? (to) : four;                                                                  \
        const row_t row0 = BESIDE(o, at), row1 = BESIDE(o, min(at + (apart), most));                                   \
        const row_t row2 = BESIDE(o, min(at + 2 * (apart), most)), row3 = BESIDE(o, min(at + 3 * (apart), most));      \
        if (at + 3 * (apart) < (stop)) {                                                                               \
            EACH_COLUMN SET_SLOT(into, FIRST_4(ELEMENT));                                                              \
        } else if (at + 2 * (apart) < (stop)) {                                                                        \
            EACH_COLUMN SET_SLOT(into, FIRST_3(ELEMENT));                                                              \
        } else if (at + (apart) < (stop)) {                                                                            \
            EACH_COLUMN SET_SLOT(into, FIRST_2(ELEMENT));                                                              \
        } else {                                                                                                       \
            EACH_COLUMN SET_SLOT(into, FIRST_1(ELEMENT));                                                              \
        }                                                                                                              \
        if (into == four) EACH_COLUMN SET_SLOT(to, OP(SLOT(to), SLOT(four)));                                          \
    }

/* Fold the node in slot `own`, number `count` of its level, with those that wait. */
#define PUSH(count)                                                                                                    \
    do {                                                                                                               \
        int level = 0;                                                                                                 \
        for (; (count) >> level & 1; level++) EACH_COLUMN SET_SLOT(own, OP(SLOT(level), SLOT(own)));                   \
        EACH_COLUMN SET_SLOT(level, SLOT(own));                                                                        \
    } while (0)

__kernel WORK_GROUP(1)
void reduce_cpu_fixed_columns(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout,
                              const i64 outputs, const i64 n, const i64 parts, const i64 shift)
{
    const i64 length = BESIDE_LENGTH(outputs), groups = get_num_groups(0), most = (length + WIDTH - 1) / WIDTH;
    const i64 even = parts == 1 ? (most + groups - 1) / groups * groups : most; /* as many strips for each group */
#if COMMUTATIVE
    int pairs = TREE_LANES / 2;
    while (pairs > 1 && pairs >= n) pairs /= 2;
    const i64 widest = min(ROOM / pairs, WIDTH);
#else
    const i64 widest = WIDTH;
#endif
    const i64 width = min(((length + even - 1) / even + LINE - 1) / LINE * LINE, widest);
    const i64 across = (length + width - 1) / width, strips = outputs / length * across;
    const int own = SLOTS, other = SLOTS + 1, four = SLOTS + 2;
    VALUES(nodes, [ROOM + (SLOTS + 3) * WIDTH]);

    for (i64 task = get_group_id(0); task < strips * parts; task += groups) {
        const i64 strip = task / parts, part = task % parts, o = strip / across * length + strip % across * width;
        const i64 first = (part << shift) * FIXED_BLOCK, end = min(first + (FIXED_BLOCK << shift), n);
        const int live = (int)min(width, length - strip % across * width);
        i64 count = 0;

#if COMMUTATIVE
        for (i64 base = first; base < end; base += FIXED_BLOCK) {
            /* 1. Fold lanes, and each with the one half of them further on. The last ones may lack it. Lanes of one element or of
             * four fold in one loop, in a third of the time (rows: cpu_fixed_columns). */
            const i64 stop = min(base + FIXED_BLOCK, end);
            const int have = (int)min(stop - base, (i64)TREE_LANES);
            int half_of = pairs;
            while (half_of >= have && half_of > 1) half_of /= 2;
            for (int pair = 0; pair < min(half_of, have); pair++) {
                const i64 lane = base + pair, further = lane + half_of;
                if (pair + half_of < have && lane + TREE_LANES >= stop) { /* one element each */
                    const row_t row0 = BESIDE(o, lane), row1 = BESIDE(o, further);
                    EACH_COLUMN SET_PAIR(FIRST_2(ELEMENT));
                    continue;
                }
                if (further + 3 * TREE_LANES < stop && lane + 4 * TREE_LANES >= stop) { /* four each */
                    const row_t row0 = BESIDE(o, lane), row1 = BESIDE(o, lane + TREE_LANES);
                    const row_t row2 = BESIDE(o, lane + 2 * TREE_LANES), row3 = BESIDE(o, lane + 3 * TREE_LANES);
                    const row_t row4 = BESIDE(o, further), row5 = BESIDE(o, further + TREE_LANES);
                    const row_t row6 = BESIDE(o, further + 2 * TREE_LANES), row7 = BESIDE(o, further + 3 * TREE_LANES);
                    EACH_COLUMN
                    {
                        const value_t near = FIRST_4(ELEMENT), far = FIRST_4(ELEMENT_FURTHER);
                        SET_PAIR(OP(near, far));
                    }
                    continue;
                }
                FOLD_LANE(own, lane, stop, TREE_LANES)
                if (pair + half_of < have) {
                    FOLD_LANE(other, further, stop, TREE_LANES)
                    EACH_COLUMN SET_PAIR(OP(SLOT(own), SLOT(other)));
                } else {
                    EACH_COLUMN SET_PAIR(SLOT(own));
                }
            }

            /* 2. Fold these by halves, and then neighbouring blocks. */
            for (int left = half_of / 2 * live; left >= live; left = left / live / 2 * live)
                _Pragma("clang loop unroll(disable)") for (int k = 0; k < left; k++)
                    SET_VALUE(nodes, [k], OP(VALUE(nodes, [k]), VALUE(nodes, [left + k])));
            EACH_COLUMN SET_SLOT(own, VALUE(nodes, [column]));
            PUSH(count);
            count++;
        }
#else
        /* 1. Fold runs of elements in order, and the runs as a binary counter; blocks have a power of two of them. */
        for (i64 base = first; base < end; base += TREE_RUN) {
            const i64 stop = min(base + TREE_RUN, end);
            FOLD_LANE(own, base, stop, 1)
            PUSH(count);
            count++;
        }
#endif

        /* 3. Fold the nodes that still wait, the last ones first. */
        if (count) {
            int level = 0;
            while (!(count >> level & 1)) level++;
            EACH_COLUMN SET_SLOT(own, SLOT(level));
            for (level++; count >> level; level++)
                if (count >> level & 1) EACH_COLUMN SET_SLOT(own, OP(SLOT(level), SLOT(own)));
        } else {
            EACH_COLUMN SET_SLOT(own, IDENTITY);
        }

        /* 4. If there are several parts, leave the values; the last part folds all of them. */
        if (parts > 1) {
            EACH_COLUMN gp_leave(partials, (o + column) * parts + part, SLOT(own));
            if (!gp_last_done(counters + o, parts)) continue;
            for (int column = 0; column < live; column++) {
                value_t levels[FIXED_LEVELS];
                for (i64 left = 0; left < parts; left++) gp_push(levels, left, gp_collect(partials, (o + column) * parts + left));
                SET_SLOT(own, gp_fold_levels(levels, parts));
            }
        }

        /* 5. Store. Of a single output, which is at no stride, Intel's compiler (2026.2) would store a lane that is not live. */
        const row_t there = BESIDE(o, 0);
        const int column = 0;
        if (live == 1) STORE(o, 0, SLOT(own));
        else EACH_COLUMN STORE_BESIDE(there, o + column, SLOT(own));
    }
}

/* sort/cpu_merge: one launch sorts chunks, and each further one merges pairs of runs, for devices whose work-items are CPU
 * threads.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES, unless it is the `first` pass
 *         of INDICES
 * out     moved: the elements in longer runs, if KEEPS_KEYS or not the `last` pass; kept: the values, in the last pass as
 *         kept_t
 * launch  any number of groups of one work-item, which take chunks of ITEMS elements in turn: TILES sorts them; else they
 *         are parts of merged runs of `run` elements
 * host    SORTS_FIRST (by sort_keys.h, or `less=`), GP_CROSSING (runs.h), KEEP_VALUE (carried.h)
 * order   stable: of equal elements, that of the earlier run goes first
 */
/* Runs of so few elements are sorted by insertion. */
#define SHORT 16

/* Store the value of element `place` of a row as that of element `at` of all. */
#if CARRIES
#define KEEP(value) KEEP_VALUE(kept_at + at, value)
#else
#define KEEP(value)
#endif

#if TILES
/* Copy an element of a chunk, and its place before, to another place. */
DEVICE void gp_move_one(LOCAL element_t *staged, LOCAL u16 *from, const int k, const int at)
{
    staged[at] = staged[k];
    if (CARRIES) from[at] = from[k];
}

/* Merge two runs that follow one another; behind the chunk, from ITEMS on, there is room for the first. */
DEVICE void gp_merge_runs(LOCAL element_t *staged, LOCAL u16 *from, const int begin, const int middle, const int end)
{
    if (!SORTS_FIRST(staged[middle], staged[middle - 1])) return;
    const int lefts = ITEMS + middle - begin;
    int left = ITEMS, right = middle, at = begin;
    for (int k = begin; k < middle; k++) gp_move_one(staged, from, k, ITEMS + k - begin);
    while (left < lefts && right < end) {
        const int second = SORTS_FIRST(staged[right], staged[left]) != 0;
        gp_move_one(staged, from, left + second * (right - left), at++); /* without a branch */
        left += 1 - second;
        right += second;
    }
    while (left < lefts) gp_move_one(staged, from, left++, at++);
}

__kernel WORK_GROUP(1)
void sort_cpu_merge(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved,
                    GLOBAL u8 *kept, const layout_t layout, const i64 rows, const i64 n, const i64 tiles,
                    const i64 last, const i64 keys_at, const i64 values_at, const i64 moved_at, const i64 kept_at)
{
    __local element_t staged[ITEMS + ITEMS / 2];
    __local u16 from[CARRIES ? ITEMS + ITEMS / 2 : 1];

    for (i64 task = get_group_id(0); task < rows * tiles; task += get_num_groups(0)) {
        const i64 base = task / tiles * n + task % tiles * ITEMS, in_row = task % tiles * ITEMS;
        const int live = (int)min(n - in_row, (i64)ITEMS);

        /* 1. Sort short runs. */
        for (int begin = 0; begin < live; begin += SHORT) {
            for (int k = begin; k < min(begin + SHORT, live); k++) {
                const element_t element = keys[keys_at + base + k];
                int at = k;
                for (; at > begin && SORTS_FIRST(element, staged[at - 1]); at--)
                    gp_move_one(staged, from, at - 1, at);
                staged[at] = element;
                if (CARRIES) from[at] = (u16)k;
            }
        }

        /* 2. Merge runs, twice as long each time. */
        for (int run = SHORT; run < live; run *= 2)
            for (int begin = 0; begin + run < live; begin += 2 * run)
                gp_merge_runs(staged, from, begin, begin + run, min(begin + 2 * run, live));

        /* 3. Store. */
        for (int k = 0; k < live; k++) {
            const i64 at = base + k;
            if (KEEPS_KEYS || !last) moved[moved_at + at] = staged[k];
            KEEP(INDICES ? (carried_t)(in_row + from[k]) : values[values_at + base + from[k]]);
        }
    }
}
#else
GP_CROSSING(gp_run_crossing, GLOBAL, i64)

__kernel WORK_GROUP(1)
void sort_cpu_merge(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *moved,
                    GLOBAL u8 *kept, const layout_t layout, const i64 rows, const i64 n, const i64 tiles, const i64 run,
                    const i64 last, const i64 keys_at, const i64 values_at, const i64 moved_at, const i64 kept_at)
{
    for (i64 task = get_group_id(0); task < rows * tiles; task += get_num_groups(0)) {
        const i64 row = task / tiles, base = task % tiles * ITEMS, pair = base / (2 * run) * (2 * run);
        const i64 lefts = min(run, n - pair), rights = min(run, n - pair - lefts);
        GLOBAL const element_t *left = keys + keys_at + row * n + pair, *right = left + lefts;
        GLOBAL const carried_t *with = values + values_at + row * n + pair;

        /* 1. Find which parts of the runs the chunk has. */
        i64 a = gp_run_crossing(left, lefts, right, rights, base - pair), b = base - pair - a;
        i64 at = row * n + base;
        const i64 end = row * n + min(base + ITEMS, n);

        /* 2. Merge as long as both have elements. */
        for (; at < end && a < lefts && b < rights; at++) {
            const int second = SORTS_FIRST(right[b], left[a]) != 0;
            const i64 next = a + second * (lefts + b - a); /* without a branch */
            if (KEEPS_KEYS || !last) moved[moved_at + at] = left[next];
            KEEP(with[next]);
            a += 1 - second;
            b += second;
        }

        /* 3. Copy what is left of one of them. */
        for (; at < end; at++) {
            const i64 next = a < lefts ? a++ : lefts + b++;
            if (KEEPS_KEYS || !last) moved[moved_at + at] = left[next];
            KEEP(with[next]);
        }
    }
}
#endif

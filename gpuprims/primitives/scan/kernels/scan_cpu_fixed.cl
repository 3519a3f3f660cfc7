/* scan/cpu_fixed: each work-item scans tiles in an order that is the same on every device, several runs of each at a time,
 * for devices whose work-items are CPU threads.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each tile's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of one work-item; each takes neighbouring tiles of ITEMS elements of the outputs
 * host    gp_keep and gp_recall (scanning.h), ROW(o, j), ROWS_JOIN(length), ROW_END(j, last), MAP_ROW(row, j), MAP(o, j),
 *         OP(a, b), IDENTITY, STORE_ROW(row, j, value), STORE(o, j, value), INCLUSIVE
 * order   of fixed_scans.py
 *
 * A tile's runs are scanned by themselves first. What lies before is folded in afterwards, many elements at once. Outputs of
 * whole runs that lie together are scanned as one, in which each begins anew. Other outputs of a few runs are scanned one element
 * after the other: processors overlap several outputs (rows: cpu_fixed-short).
 */
#define RUN 16
#define RUNS (ITEMS / RUN) /* of a tile */
#define ABREAST 8           /* runs that are scanned at the same time, because each addition of a run waits for the last one */
#define EACH_RUN _Pragma("unroll") for (int run = 0; run < ABREAST; run++)
/* Places of a run in its tile. Intel's compiler makes gathers of places from 0 on, which become at * RUN | k
 * (rows: cpu_fixed). */
#define EACH_FROM(from) _Pragma("clang loop unroll(disable)") for (i64 k = from; k < (from) + RUN; k++)
/* Loops that fold one element after the other: Intel's compiler would fold every other one by itself. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")
/* An element of any level. */
#if MANY_ROWS
#define IN_ONE_ROW(first, after) (ROW_END(first, last) >= (after))
#else
#define IN_ONE_ROW(first, after) 1
#endif
#define ELEMENT_OR_FOLD(j) (level < 0 ? MAP(o, j) : gp_recall(partials, level + o * n + (j)))

/* Scan a run, whose element `k` is given. */
#define SCAN_RUN(element)                                                                                              \
    const int count = (int)min((i64)RUN, last - first);                                                                \
    int k = 0;                                                                                                         \
    value_t own = element;                                                                                             \
    SET_VALUE(scanned, [at * RUN], own);                                                                               \
    IN_ORDER for (k = 1; k < count; k++)                                                                               \
    {                                                                                                                  \
        const value_t before = own;                                                                                    \
        own = OP(own, element);                                                                                        \
        SET_VALUE(scanned, [at * RUN + k], inclusive ? own : before);                                                  \
    }                                                                                                                  \
    SET_VALUE(ends, [at], own);                                                                                        \
    at++;

/* Scan a run of an output, and store; return its fold. */
DEVICE value_t gp_scan_short_run(INPUTS, OUTPUTS, const layout_t layout, const row_t row, const i64 first, const int count,
                           const value_t before)
{
    value_t own = MAP_ROW(row, first);
    STORE_ROW(row, first, INCLUSIVE ? OP(before, own) : before);
    IN_ORDER for (int k = 1; k < count; k++)
    {
        const value_t earlier = own;
        own = OP(own, MAP_ROW(row, first + k));
        STORE_ROW(row, first + k, OP(before, INCLUSIVE ? own : earlier));
    }
    return own;
}

/* Scan outputs of up to SHORT runs: by halves, so few are folded in order too. */
#define SHORT 4
DEVICE void gp_scan_short(INPUTS, OUTPUTS, const layout_t layout, const i64 outputs, const i64 n)
{
    const i64 share = (outputs + get_num_groups(0) - 1) / get_num_groups(0);
    const i64 end = min((i64)(get_group_id(0) + 1) * share, outputs);
    for (i64 o = get_group_id(0) * share; o < end; o++) {
        const row_t row = ROW(o, 0);
        const int some = (int)min(n, (i64)RUN);
        value_t left = gp_scan_short_run(INPUT_NAMES, OUTPUT_NAMES, layout, row, 0, some, OP(IDENTITY, IDENTITY));
        for (i64 first = RUN; first < n; first += RUN) {
            const int count = (int)min(n - first, (i64)RUN);
            left = OP(left, gp_scan_short_run(INPUT_NAMES, OUTPUT_NAMES, layout, row, first, count, OP(IDENTITY, left)));
        }
    }
}

__kernel WORK_GROUP(1)
void scan_cpu_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                    const i64 level, const i64 totals, const i64 folds)
{
    /* Outputs of whole runs are scanned as one: their elements, those of a tile, and the runs of each. */
    const int joined = n % RUN == 0 && 2 * n <= ITEMS && n > 0 && ROWS_JOIN(n);
    if (!joined && n <= SHORT * RUN && n > 0 && level < 0 && ROW_END(0, n) >= n) {
        gp_scan_short(INPUT_NAMES, OUTPUT_NAMES, layout, outputs, n);
        return;
    }
    const i64 many = joined ? 1 : outputs, size = joined ? outputs * n : n, tile = joined ? ITEMS / n * n : ITEMS;
    const i64 own_runs = joined ? n / RUN : RUNS;
    const i64 tiles = (size + tile - 1) / tile;
    const i64 share = (many * tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const i64 end = min((i64)(get_group_id(0) + 1) * share, many * tiles);
    const task_t step = {1, 0, 1};
    VALUES(ends, [RUNS]);
    VALUES(folded, [ABREAST]);
    VALUES(scanned, [ITEMS]); /* each element's fold up to it, or of those before it in its run; of the first one, itself */

    for (task_t task = gp_task_at(get_group_id(0) * share, tiles); task.at < end; task = gp_task_after(task, step, tiles)) {
        const i64 o = task.o, base = task.tile * tile, last = min(base + tile, size);
        const i64 runs = (last - base + RUN - 1) / RUN;
        const int inclusive = INCLUSIVE && level < 0;
        i64 at = 0; /* an int hides from PoCL that step 4 takes neighbours (rows: cpu_fixed) */

        /* 1. Scan each run by itself, or fold it. */
        while (at < runs) {
            const i64 first = base + at * RUN, after = first + ABREAST * RUN;
            if (level < 0 && after <= last && IN_ONE_ROW(first, after)) {
                const row_t row = ROW(o, first);
                EACH_RUN SET_VALUE(folded, [run], MAP_ROW(row, first + run * RUN));
                if (folds) {
                    IN_ORDER for (int k = 1; k < RUN; k++)
                        EACH_RUN SET_VALUE(folded, [run], OP(VALUE(folded, [run]), MAP_ROW(row, first + run * RUN + k)));
                } else {
                    EACH_RUN SET_VALUE(scanned, [(at + run) * RUN], VALUE(folded, [run]));
                    IN_ORDER for (int k = 1; k < RUN; k++)
                        EACH_RUN
                        {
                            const value_t before = VALUE(folded, [run]);
                            const value_t next = OP(before, MAP_ROW(row, first + run * RUN + k));
                            SET_VALUE(scanned, [(at + run) * RUN + k], INCLUSIVE ? next : before);
                            SET_VALUE(folded, [run], next);
                        }
                }
                EACH_RUN SET_VALUE(ends, [at + run], VALUE(folded, [run]));
                at += ABREAST;
            } else if (level < 0 && IN_ONE_ROW(first, min(first + RUN, last))) {
                const row_t row = ROW(o, first);
                SCAN_RUN(MAP_ROW(row, first + k))
            } else {
                SCAN_RUN(ELEMENT_OR_FOLD(first + k))
            }
        }

        /* 2. Fold all runs of a whole tile, neighbours first; an aggregate of fewer elements is never read. */
        if (folds) {
            for (i64 count = runs / 2; count > 0; count /= 2)
                for (i64 k = 0; k < count; k++) SET_VALUE(ends, [k], OP(VALUE(ends, [2 * k]), VALUE(ends, [2 * k + 1])));
            gp_keep(partials, totals + task.at, VALUE(ends, [0]));
            continue;
        }

        /* 3. Scan the folds of runs: those of each second half of 2, 4, 8, ... runs follow the first half's. */
        for (i64 from = 0; from < runs; from += own_runs) {
            const i64 to = min(from + own_runs, runs);
            for (i64 half_of = 1; half_of < to - from; half_of *= 2)
                for (i64 place = from + half_of; place < to; place += 2 * half_of) {
                    const value_t earlier = VALUE(ends, [place - 1]);
                    const i64 stop = min(place + half_of, to);
                    for (i64 k = place; k < stop; k++) SET_VALUE(ends, [k], OP(earlier, VALUE(ends, [k])));
                }
        }

        /* 4. Fold in what lies before, and store. */
        const value_t earlier = totals < 0 ? IDENTITY : gp_recall(partials, totals + task.at);
        i64 begin = 0; /* the first run of an output */
        for (at = 0; at < runs; at++) {
            const i64 first = base + at * RUN;
            if (at == begin + own_runs) begin = at;
            const value_t before = OP(earlier, at > begin ? VALUE(ends, [at ? at - 1 : 0]) : IDENTITY);
            if (level < 0 && first + RUN <= last && IN_ONE_ROW(first, first + RUN)) {
                const row_t row = ROW(o, first);
                const i64 from = at * RUN;
                EACH_FROM(from)
                {
                    const value_t own = OP(before, VALUE(scanned, [k]));
                    STORE_ROW(row, base + k, INCLUSIVE || k > from ? own : before);
                }
                continue;
            }
            const int count = (int)min((i64)RUN, last - first);
            for (int k = 0; k < count; k++) {
                const value_t own = inclusive || k ? OP(before, VALUE(scanned, [at * RUN + k])) : before;
                if (level < 0)
                    STORE(o, first + k, own);
                else
                    gp_keep(partials, level + o * n + first + k, own);
            }
        }
    }
}

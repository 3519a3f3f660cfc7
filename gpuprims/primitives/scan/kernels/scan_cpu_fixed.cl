/* scan/cpu_fixed: each work-item scans tiles in an order that is the same on every device, several runs of each at a time,
 * for devices whose work-items are CPU threads.
 *
 * in      INPUTS, or kept values of an earlier launch: n elements for each of `outputs` outputs
 * out     OUTPUTS, or the kept values in place: a value at each element; or with `folds` each tile's aggregate
 * scratch partials: kept values, those of a level from `level` on, and of the level above from `totals` on
 * launch  any number of groups of one work-item; each takes neighbouring tiles of ITEMS elements of the outputs
 * host    gp_keep and gp_recall (scanning.h), ROW(o, j), ROW_END(j, last), MAP_ROW(row, j), MAP(o, j), OP(a, b), IDENTITY,
 *         STORE_ROW(row, j, value), STORE(o, j, value), INCLUSIVE
 * order   of fixed_scans.py
 *
 * A tile is read twice: for the folds of its runs, and then, from the cache, for the results.
 */
#define RUN 16
#define RUNS (ITEMS / RUN) /* of a tile */
#define BESIDE 8           /* runs that are scanned at the same time, because each addition of a run waits for the last one */
#define EACH_RUN _Pragma("unroll") for (int run = 0; run < BESIDE; run++)
#define EACH_OF_RUN _Pragma("clang loop unroll(disable)") for (int k = !INCLUSIVE; k < RUN; k++)
/* Loops that fold one element after the other: Intel's compiler would fold every other one by itself. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")
/* An element of any level. */
#define ELEMENT(j) (level < 0 ? MAP(o, j) : gp_recall(partials, level + o * n + (j)))

__kernel WORK_GROUP(1)
void scan_cpu_fixed(INPUTS, OUTPUTS, GLOBAL u32 *partials, const layout_t layout, const i64 outputs, const i64 n,
                    const i64 level, const i64 totals, const i64 folds)
{
    const i64 tiles = (n + ITEMS - 1) / ITEMS;
    const i64 share = (outputs * tiles + get_num_groups(0) - 1) / get_num_groups(0);
    const i64 end = min((i64)(get_group_id(0) + 1) * share, outputs * tiles);
    const task_t step = {1, 0, 1};
    VALUES(ends, [RUNS]);
    VALUES(folded, [BESIDE]);
    VALUES(scanned, [BESIDE * RUN]);

    for (task_t task = gp_task_at(get_group_id(0) * share, tiles); task.at < end; task = gp_task_after(task, step, tiles)) {
        const i64 o = task.o, base = task.tile * ITEMS, last = min(base + ITEMS, n);
        const int runs = (int)((last - base + RUN - 1) / RUN);
        int at = 0;

        /* 1. Fold each run. */
        while (at < runs) {
            const i64 first = base + at * RUN, after = first + BESIDE * RUN;
            if (level < 0 && after <= last && (!MANY_ROWS || ROW_END(first, last) >= after)) {
                const row_t row = ROW(o, first);
                EACH_RUN SET_VALUE(folded, [run], MAP_ROW(row, first + run * RUN));
                IN_ORDER for (int k = 1; k < RUN; k++)
                    EACH_RUN SET_VALUE(folded, [run], OP(VALUE(folded, [run]), MAP_ROW(row, first + run * RUN + k)));
                EACH_RUN SET_VALUE(ends, [at + run], VALUE(folded, [run]));
                at += BESIDE;
            } else {
                const i64 stop = min(first + RUN, last);
                value_t own = ELEMENT(first);
                IN_ORDER for (i64 j = first + 1; j < stop; j++) own = OP(own, ELEMENT(j));
                SET_VALUE(ends, [at], own);
                at++;
            }
        }

        /* 2. Fold all runs of a whole tile, neighbours first; an aggregate of fewer elements is never read. */
        if (folds) {
            for (int count = runs / 2; count > 0; count /= 2)
                for (int k = 0; k < count; k++) SET_VALUE(ends, [k], OP(VALUE(ends, [2 * k]), VALUE(ends, [2 * k + 1])));
            gp_keep(partials, totals + task.at, VALUE(ends, [0]));
            continue;
        }

        /* 3. Scan the folds of runs: those of each second half of 2, 4, 8, ... runs follow the first half's. */
        for (int half_of = 1; half_of < runs; half_of *= 2)
            for (int place = half_of; place < runs; place += 2 * half_of) {
                const value_t earlier = VALUE(ends, [place - 1]);
                const int stop = min(place + half_of, runs);
                for (int k = place; k < stop; k++) SET_VALUE(ends, [k], OP(earlier, VALUE(ends, [k])));
            }

        /* 4. Scan each run, fold in what lies before, and store. */
        const value_t earlier = totals < 0 ? IDENTITY : gp_recall(partials, totals + task.at);
        for (at = 0; at < runs;) {
            const i64 first = base + at * RUN, after = first + BESIDE * RUN;
            if (level < 0 && after <= last && (!MANY_ROWS || ROW_END(first, last) >= after)) {
                const row_t row = ROW(o, first);
                EACH_RUN
                {
                    SET_VALUE(folded, [run], MAP_ROW(row, first + run * RUN));
                    SET_VALUE(scanned, [run * RUN], VALUE(folded, [run]));
                }
                IN_ORDER for (int k = 1; k < RUN; k++)
                    EACH_RUN
                    {
                        const value_t sum = VALUE(folded, [run]), next = OP(sum, MAP_ROW(row, first + run * RUN + k));
                        SET_VALUE(scanned, [run * RUN + k], INCLUSIVE ? next : sum);
                        SET_VALUE(folded, [run], next);
                    }
                for (int run = 0; run < BESIDE; run++) {
                    const int begins = at + run == 0;
                    const value_t before = OP(earlier, begins ? IDENTITY : VALUE(ends, [begins ? 0 : at + run - 1]));
                    const i64 j = first + run * RUN;
                    if (!INCLUSIVE) STORE_ROW(row, j, before);
                    EACH_OF_RUN STORE_ROW(row, j + k, OP(before, VALUE(scanned, [run * RUN + k])));
                }
                at += BESIDE;
            } else {
                const i64 stop = min(first + RUN, last);
                const value_t before = OP(earlier, at ? VALUE(ends, [at ? at - 1 : 0]) : IDENTITY);
                value_t own = IDENTITY;
                IN_ORDER for (i64 j = first; j < stop; j++) {
                    const value_t next = j == first ? ELEMENT(j) : OP(own, ELEMENT(j));
                    const value_t exclusive = j == first ? before : OP(before, own);
                    if (level < 0)
                        STORE(o, j, INCLUSIVE ? OP(before, next) : exclusive);
                    else
                        gp_keep(partials, level + o * n + j, exclusive);
                    own = next;
                }
                at++;
            }
        }
    }
}

/* segments/cpu_tiles: each work-item folds segments one after the other, in an order that is the same on every device, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements in all, at most FIXED_TILE * FIXED_TILE; the last input has the begins of `segments` segments and
 *         the end of the last
 * out     OUTPUTS: one value for each segment
 * launch  any number of groups of one work-item; each takes parts until none are left
 * host    ROW(o, j), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o); functions of path.h and
 *         joints.h
 * order   of fixed_scans.py: that of a scan of all elements which begins anew at each segment
 *
 * Such a scan joins no element with those of another segment, so the elements of a segment are enough; but where its runs and
 * tiles begin depends on the place of the segment. A joint has the fold of elements up to a place, and if they reach back to
 * the begin of the segment: then nothing before it is folded in.
 */
#define FIXED_RUN 16
#define FIXED_TILE 4096
#define FIXED_RUNS (FIXED_TILE / FIXED_RUN)
#define HALVES 8 /* FIXED_RUNS is 2^HALVES */
/* Loops that fold one value after the other: Intel's compiler would fold every other one by itself. */
#define IN_ORDER _Pragma("clang loop vectorize(disable) interleave(disable)")

/* Keep what comes after `index` others, with the halves that it completes: one for each bit of `index` + 1. */
DEVICE void gp_keep_half(joint_t *kept, const int index, joint_t own)
{
    int bit = 0;
    IN_ORDER for (; index >> bit & 1; bit++)
        if (!own.whole) own = gp_follow(kept[bit], own);
    kept[bit] = own;
}

/* Fold `count` of those kept by halves, one or more. */
DEVICE joint_t gp_fold_halves(const joint_t *kept, const int count)
{
    int bit = 31 - clz(count & -count);
    joint_t own = kept[bit++];
    IN_ORDER for (; count >> bit && !own.whole; bit++)
        if (count >> bit & 1) own = gp_follow(kept[bit], own);
    return own;
}

/* Fold the elements of a run from j on. */
DEVICE value_t gp_fold_run(INPUTS, const layout_t layout, const row_t row, const i64 j, const i64 last)
{
    value_t folded = MAP_ROW(row, j);
    IN_ORDER for (i64 k = j + 1; k < last; k++) folded = OP(folded, MAP_ROW(row, k));
    return folded;
}

/* Fold the whole runs of a tile between two places, RUNS at a time: each element of a run waits for the last one. */
DEVICE void gp_fold_runs(INPUTS, const layout_t layout, const row_t row, i64 j, const i64 last, value_t *runs)
{
    VALUES(folded, [RUNS]);
    int at = (int)(j / FIXED_RUN % FIXED_RUNS);
    for (; j + RUNS * FIXED_RUN <= last; j += RUNS * FIXED_RUN, at += RUNS) {
        EACH_RUN SET_VALUE(folded, [run], MAP_ROW(row, j + run * FIXED_RUN));
        IN_ORDER for (int k = 1; k < FIXED_RUN; k++)
            EACH_RUN SET_VALUE(folded, [run], OP(VALUE(folded, [run]), MAP_ROW(row, j + run * FIXED_RUN + k)));
        EACH_RUN runs[at + run] = VALUE(folded, [run]);
    }
    for (; j + FIXED_RUN <= last; j += FIXED_RUN, at++)
        runs[at] = gp_fold_run(INPUT_NAMES, layout, row, j, j + FIXED_RUN);
}

/* Fold a segment's elements of a tile, from j on: all of the tile's; or if the segment ends, those and what is `before`. */
DEVICE joint_t gp_fold_tile(INPUTS, const layout_t layout, const row_t row, const i64 begin, i64 j, const i64 last,
                            const joint_t before, const int ends, const value_t *runs)
{
    joint_t halves[HALVES + 1], own, earlier;
    const int first = (int)(j / FIXED_RUN % FIXED_RUNS);
    int run = first;
    for (;; run++) {
        const i64 end = min((j | (FIXED_RUN - 1)) + 1, last);
        own.folded = end - j == FIXED_RUN ? runs[run] : gp_fold_run(INPUT_NAMES, layout, row, j, end);
        own.whole = j == begin;
        if (end == last) break;
        gp_keep_half(halves, run, own);
        j = end;
    }
    if (!ends) {
        gp_keep_half(halves, run, own);
        return gp_fold_halves(halves, FIXED_RUNS);
    }
    if (own.whole) return own;
    earlier.folded = IDENTITY;
    earlier.whole = 0;
    if (run > first) earlier = gp_fold_halves(halves, run);
    return gp_follow(gp_follow(before, earlier), own);
}

/* Fold a segment of one element or more: tiles are elements of another such scan. `runs` has the folds of the whole runs of
 * tile `held`, as far as `stop`. */
DEVICE value_t gp_fold_segment(INPUTS, const layout_t layout, const row_t row, const i64 begin, const i64 last,
                               const i64 stop, value_t *runs, i64 *held)
{
    joint_t halves[HALVES + 1], tiles, before_tiles, before;
    before.folded = IDENTITY;
    before.whole = 0;
    tiles = before_tiles = before;
    for (i64 j = begin;;) {
        const i64 tile = j / FIXED_TILE, end = min((tile + 1) * FIXED_TILE, last);
        if (tile != *held) {
            const i64 from = (j + FIXED_RUN - 1) / FIXED_RUN * FIXED_RUN, to = min((tile + 1) * FIXED_TILE, stop);
            gp_fold_runs(INPUT_NAMES, layout, row, from, to, runs);
            *held = tile;
        }
        const joint_t own = gp_fold_tile(INPUT_NAMES, layout, row, begin, j, end, before, end == last, runs);
        if (end == last) return own.folded;
        tiles = tile % FIXED_RUN && !own.whole ? gp_follow(tiles, own) : own;
        if (tile % FIXED_RUN == FIXED_RUN - 1) {
            gp_keep_half(halves, (int)(tile / FIXED_RUN), tiles);
            before_tiles = before = gp_fold_halves(halves, (int)(tile / FIXED_RUN) + 1);
        } else {
            before = gp_follow(before_tiles, tiles);
        }
        j = end;
    }
}

__kernel WORK_GROUP(1)
void segments_cpu_tiles(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 segments,
                        const i64 n, const i64 parts)
{
    const i64 steps = n + END_STEPS * segments, share = (steps + parts - 1) / parts;
    const row_t row = ROW(0, 0);
    value_t runs[FIXED_RUNS];

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        /* 1. Find the segments that end in the part; the parts share the path (path.h) evenly. */
        const i64 from = min(part * share, steps);
        const run_t own = gp_run_of(INPUT_NAMES, layout, segments, from, min(from + share, steps));

        /* 2. Fold each from its begin on, and store. */
        const i64 stop = BEGIN(own.ended);
        i64 held = -1;
        for (i64 o = own.o; o < own.ended; o++) {
            const i64 begin = BEGIN(o), last = BEGIN(o + 1);
            const value_t folded = begin < last ? gp_fold_segment(INPUT_NAMES, layout, row, begin, last, stop, runs, &held) : IDENTITY;
            STORE(o, last - begin, folded);
        }
    }
}

/* segments/cpu_tiles: each work-item folds segments one after the other, in an order that is the same on every device, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements in all, at most FIXED_TILE * FIXED_TILE; the last input has the begins of `segments` segments and
 *         the end of the last
 * out     OUTPUTS: one value for each segment
 * launch  any number of groups of one work-item; each takes parts until none are left
 * host    ROW(o, j), MAP_ROW(row, j), OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o); functions of path.h
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

typedef struct {
    value_t folded;
    int whole; /* reaches back to the begin of the segment */
} joint_t;

/* Fold what lies before other elements in, unless these reach back to the begin of the segment. */
DEVICE joint_t gp_follow(const joint_t before, const joint_t own)
{
    joint_t both = own;
    if (!own.whole) {
        both.folded = OP(before.folded, own.folded);
        both.whole = before.whole;
    }
    return both;
}

/* Fold by halves what comes after `index` others, whose whole halves are in `kept`, one for each bit of `index`, and keep the
 * half that is whole now. */
DEVICE joint_t gp_follow_halves(joint_t *kept, const int index, joint_t own)
{
    int bit = 0;
    IN_ORDER for (; index >> bit & 1; bit++)
        if (!own.whole) own = gp_follow(kept[bit], own);
    kept[bit] = own;
    IN_ORDER for (; bit < HALVES; bit++)
        if (index >> bit & 1 && !own.whole) own = gp_follow(kept[bit], own);
    return own;
}

/* Fold the elements of a run from j on. */
DEVICE value_t gp_fold_run(INPUTS, const layout_t layout, const row_t row, const i64 j, const i64 last)
{
    value_t folded = MAP_ROW(row, j);
    IN_ORDER for (i64 k = j + 1; k < last; k++) folded = OP(folded, MAP_ROW(row, k));
    return folded;
}

/* Fold a segment's elements of a tile, from j on: all of the tile's; or if the segment ends, those and what is `before`. */
DEVICE joint_t gp_fold_tile(INPUTS, const layout_t layout, const row_t row, const i64 begin, i64 j, const i64 last,
                            const joint_t before, const int ends)
{
    joint_t halves[HALVES + 1], own, earlier;
    earlier.folded = IDENTITY;
    earlier.whole = 0;
    for (;;) {
        const i64 end = min((j / FIXED_RUN + 1) * FIXED_RUN, last);
        own.folded = gp_fold_run(INPUT_NAMES, layout, row, j, end);
        own.whole = j == begin;
        if (end == last) break;
        earlier = gp_follow_halves(halves, (int)(j / FIXED_RUN % FIXED_RUNS), own);
        j = end;
    }
    if (!ends) return gp_follow_halves(halves, FIXED_RUNS - 1, own);
    return own.whole ? own : gp_follow(gp_follow(before, earlier), own);
}

/* Fold a segment of one element or more: tiles are elements of another such scan. */
DEVICE value_t gp_fold_segment(INPUTS, const layout_t layout, const row_t row, const i64 begin, const i64 last)
{
    joint_t halves[HALVES + 1], tiles, before_tiles, before;
    before.folded = IDENTITY;
    before.whole = 0;
    tiles = before_tiles = before;
    for (i64 j = begin;;) {
        const i64 tile = j / FIXED_TILE, end = min((tile + 1) * FIXED_TILE, last);
        const joint_t own = gp_fold_tile(INPUT_NAMES, layout, row, begin, j, end, before, end == last);
        if (end == last) return own.folded;
        tiles = tile % FIXED_RUN && !own.whole ? gp_follow(tiles, own) : own;
        if (tile % FIXED_RUN == FIXED_RUN - 1)
            before_tiles = before = gp_follow_halves(halves, (int)(tile / FIXED_RUN), tiles);
        else
            before = gp_follow(before_tiles, tiles);
        j = end;
    }
}

__kernel WORK_GROUP(1)
void segments_cpu_tiles(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, const layout_t layout, const i64 segments,
                        const i64 n, const i64 parts)
{
    const i64 steps = n + END_STEPS * segments, share = (steps + parts - 1) / parts;
    const row_t row = ROW(0, 0);

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        /* 1. Find the segments that end in the part; the parts share the path (path.h) evenly. */
        const i64 from = min(part * share, steps);
        const run_t own = gp_run_of(INPUT_NAMES, layout, segments, from, min(from + share, steps));

        /* 2. Fold each from its begin on, and store. */
        for (i64 o = own.o; o < own.ended; o++) {
            const i64 begin = BEGIN(o), last = BEGIN(o + 1);
            const value_t folded = begin < last ? gp_fold_segment(INPUT_NAMES, layout, row, begin, last) : IDENTITY;
            STORE(o, last - begin, folded);
        }
    }
}

/* segscan/tails: groups scan equal shares of elements and segments, tile by tile, given what earlier groups have begun.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: a value at each element, in place or apart from all inputs; found: 0, or what is wrong with the
 *         offsets
 * scratch partials: what the first launch finds, and a value of WORDS for each part; counters: two, zero before and after
 * launch  twice, any number of groups of BLOCK, which take parts until none are left
 * host    OP(a, b), IDENTITY, STORE_VECTOR(o, j, values), BEGIN(o), INCLUSIVE, COMMUTATIVE, gp_fold_values (folding.h);
 *         functions of shares.h
 * order   operands in index order; a commutative operator may fold a part's end with a stride. Only the number of parts
 *         decides how values are associated
 *
 * The first launch also folds the tail of each part, what it has of the segment that goes on after it. If segments are
 * short, that is next to nothing; a segment of several parts is read twice.
 */

/* Fold the elements from `first` to before `last`; the result is in every work-item. */
DEVICE value_t fold_range(INPUTS, const layout_t layout, const i64 first, const i64 last, LOCAL value_t *staged,
                          LOCAL value_t *partial, LOCAL int *flagged, LOCAL value_t *rest, const int tid)
{
    value_t before = IDENTITY, own = IDENTITY;
    tile_t tile;
    for (tile.base = first / LOADED_FROM * LOADED_FROM; tile.base < last; tile.base += TILE) {
        value_t values[ITEMS];
        tile.low = (int)max(first - tile.base, (i64)0);
        tile.high = (int)min(last - tile.base, (i64)TILE);
        gp_load_steps(INPUT_NAMES, layout, tile, tid, values);
        if (COMMUTATIVE) {
            own = OP(own, gp_fold_values(values, ITEMS));
        } else {
            gp_gather_items(values, staged, tid);
            before = gp_fold_group(gp_fold_values(values, ITEMS), before, partial, flagged, rest, tid);
        }
    }
    return COMMUTATIVE ? gp_fold_group(own, before, partial, flagged, rest, tid) : before;
}

/* Fold in what comes before each item, given that of the first; without INCLUSIVE, the item itself is left out. */
DEVICE void finish_items(value_t *values, const u32 flags, const value_t before)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        if (!(flags & (u32)(((u64)2 << item) - 1))) values[item] = OP(before, values[item]);
#if !INCLUSIVE
#pragma unroll
    for (int item = ITEMS - 1; item > 0; item--) values[item] = flags >> item & 1 ? IDENTITY : values[item - 1];
    values[0] = flags & 1 ? IDENTITY : before;
#endif
}

/* Store a tile's values, of which a work-item has vectors beside those of neighbouring lanes. */
DEVICE void store_steps(INPUTS, OUTPUTS, const layout_t layout, const tile_t tile, const int tid, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        const int at = gp_item_at(tid, item);
        if (at >= tile.low && at + VECTOR <= tile.high) {
            STORE_VECTOR(0, tile.base + at, values + item);
        } else {
#pragma unroll
            for (int k = 0; k < VECTOR; k++)
                if (at + k >= tile.low && at + k < tile.high) STORE(0, tile.base + at + k, values[item + k]);
        }
    }
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS) WHOLE_WARPS
void segscan_tails(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found, const layout_t layout,
                   const i64 segments, const i64 n, const i64 tiles, const i64 parts, const i64 step)
{
    __local value_t staged[STAGED], partial[WARPS], rest;
    __local u32 flags[2][FLAG_WORDS];
    __local int flagged[WARPS], shared;
    __local i64 ends[2];
    const int tid = get_local_id(0);
    GLOBAL u32 *left = gp_left(partials, tiles);

    /* 1. In the first launch, leave each part's fold of the segment that goes on after it. */
    if (step == 0) {
        for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
            const tiles_t own = gp_tiles_of(part, parts, tiles);
            const i64 from = own.first * STEPS, to = min(own.last * STEPS, n + segments);
            if (tid < 2) ends[tid] = gp_ended_by(INPUT_NAMES, layout, segments, tid ? to : from);
            barrier(CLK_LOCAL_MEM_FENCE);
            /* Wrong offsets might lead anywhere. */
            const i64 first = max(max(BEGIN(ends[1]), from - ends[0]), (i64)0), last = min(to - ends[1], n);
            const value_t tail = fold_range(INPUT_NAMES, layout, first, last, staged, partial, flagged, &rest, tid);
            if (tid == 0) gp_leave(left, part, tail);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        gp_prepare(INPUT_NAMES, layout, partials, counters, found, segments, n, tiles, &shared, tid);
        return;
    }
    if (partials[0]) return;

    GLOBAL const i64 *table = gp_table(partials);
    int turn = 0;
    gp_clear_flags(flags[0], tid);
    gp_clear_flags(flags[1], tid);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        /* 2. Fold what the parts before have of this part's first segment. */
        value_t before = IDENTITY;
        for (i64 base = 0; base < part; base += BLOCK) {
            const i64 other = base + tid;
            const int live = other < part;
            const tiles_t theirs = gp_tiles_of(other, parts, tiles);
            const int ends_there = live && table[theirs.first] < table[theirs.last];
            const value_t tail = live ? gp_collect(left, other) : IDENTITY;
            gp_scan_flagged(tail, ends_there, before, partial, flagged, &rest, tid);
            barrier(CLK_LOCAL_MEM_FENCE);
            before = rest;
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        const tiles_t own = gp_tiles_of(part, parts, tiles);
        i64 o = table[own.first], ended = table[own.first + 1];
        for (i64 each = own.first; each < own.last; each++) {
            /* 3. Load a tile, and flag where segments begin. */
            const tile_t tile = gp_tile_at(each, o, ended, n + segments);
            const i64 coming = table[min(each + 2, tiles)];
            value_t values[ITEMS];
            gp_load_steps(INPUT_NAMES, layout, tile, tid, values);
            gp_flag_ends(INPUT_NAMES, layout, tile, flags[turn], tid);
            o = ended;
            ended = coming;
            gp_gather_items(values, staged, tid);
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Scan. */
            if (each > own.first) before = rest;
            gp_clear_flags(flags[1 - turn], tid);
            const u32 own_flags = gp_flags_of(flags[turn], tid);
            gp_scan_items(values, own_flags);
            const value_t earlier =
                gp_scan_flagged(values[ITEMS - 1], own_flags != 0, before, partial, flagged, &rest, tid);
            finish_items(values, own_flags, earlier);

            /* 5. Store. */
            gp_scatter_items(values, staged, tid);
            store_steps(INPUT_NAMES, OUTPUT_NAMES, layout, tile, tid, values);
            turn = 1 - turn;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* segscan/tails: warps scan equal shares of elements and segments, tile by tile, given what earlier shares have begun.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: a value at each element, in place or apart from all inputs; found: 0, or what is wrong with the
 *         offsets
 * scratch partials: the answer of a check, a segment's number and a value of WORDS for each warp, and a value for each
 *         group; counters: two, zero before and after
 * launch  any number of groups of BLOCK, the same at each `step`, whose warps share the path (path.h). At CHECK they check
 *         the offsets; at PREPARE they leave the tail of each share; then they scan. At CHECKED they do nothing if an
 *         offset is wrong; at ALONE they tell what they find while they scan, and results hold nothing if one is wrong
 * host    OP(a, b), IDENTITY, STORE_VECTOR(o, j, values), BEGIN(o), INCLUSIVE, COMMUTATIVE, gp_fold_values (folding.h);
 *         functions of shares.h
 * order   operands in index order; a commutative operator may fold a share's tail with a stride. Only the number of shares
 *         decides how values are associated
 *
 * A share's tail is what it has of the segment that goes on after it. If segments are short, that is next to nothing; a
 * segment of several shares is read twice.
 */

/* Fold the share's elements from place `j` on; the result is in all lanes. */
DEVICE value_t fold_tail(INPUTS, const layout_t layout, const share_t share, const i64 from, LOCAL value_t *staged, const int lane)
{
    value_t before = IDENTITY, values[ITEMS];
    tile_t tile;
    for (tile.base = from / LOADED_FROM * LOADED_FROM; tile.base < share.last; tile.base += WARP_TILE) {
        tile.low = (int)max(from - tile.base, (i64)0);
        tile.high = (int)min(share.last - tile.base, (i64)WARP_TILE);
        gp_load_elements_of(INPUT_NAMES, layout, tile, lane, values);
        if (COMMUTATIVE) {
            before = OP(before, gp_fold_values(values, ITEMS));
        } else {
            gp_gather_items(values, staged, lane);
            before = OP(before, gp_fold_lanes(gp_fold_values(values, ITEMS)));
            gp_lanes_barrier();
        }
    }
    return COMMUTATIVE ? gp_fold_lanes(before) : before;
}

/* Scan the items of all lanes, given what comes before; return the fold of all since the last flag. */
DEVICE value_t scan_items(value_t *values, const u32 flags, const value_t before, const int lane)
{
    value_t earlier = before, rest;
    gp_scan_items(values, flags);
#if LANES > 1
    const int nearest = gp_nearest_lane(flags != 0, lane);
    const value_t whole = gp_scan_flags(values[ITEMS - 1], nearest, lane);
    const value_t lower = gp_shuffle_up(whole, 1);
    const int anew = (int)gp_shuffle_word_up((u32)nearest, 1) >= 0;
    if (lane > 0) earlier = anew ? lower : OP(before, lower);
    rest = gp_shuffle_from(nearest >= 0 ? whole : OP(before, whole), LANES - 1);
#else
    rest = flags ? values[ITEMS - 1] : OP(before, values[ITEMS - 1]);
#endif
#pragma unroll
    for (int item = 0; item < ITEMS; item++)
        if (!(flags & (u32)(((u64)2 << item) - 1))) values[item] = OP(earlier, values[item]);
#if !INCLUSIVE
#pragma unroll
    for (int item = ITEMS - 1; item > 0; item--) values[item] = flags >> item & 1 ? IDENTITY : values[item - 1];
    values[0] = flags & 1 ? IDENTITY : earlier;
#endif
    return rest;
}

/* Store a tile's values; a lane has vectors beside those of its neighbours. */
DEVICE void store_tile(INPUTS, OUTPUTS, const layout_t layout, const tile_t tile, const int lane, value_t *values)
{
    const int whole = tile.low == 0 && tile.high == WARP_TILE;
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        const int at = gp_item_at(lane, item);
        if (whole || (at >= tile.low && at + VECTOR <= tile.high)) {
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
                   const i64 segments, const i64 n, const i64 step)
{
    __local value_t all_staged[STAGED], tails[WARPS], partial[WARPS], rest;
    __local u32 all_marks[WARPS * MARKS];
    __local i64 firsts[WARPS + 1];
    __local int flagged[WARPS], worst;
    const int tid = get_local_id(0), warp = tid / LANES, lane = tid % LANES;
    const i64 parts = get_num_groups(0), part = get_group_id(0), shares = parts * WARPS, own = part * WARPS + warp;
    GLOBAL u32 *places = partials + HEADER, *left = places + 2 * shares;
    LOCAL value_t *staged = all_staged + warp * WARP_STAGED;
    LOCAL u32 *marks = all_marks + warp * MARKS;
    if (step == CHECK) {
        gp_check(INPUT_NAMES, layout, partials, counters, found, segments, n, &worst, tid);
        return;
    }
    if (step == CHECKED && partials[0]) return;

    /* 1. Find the warp's share: by a search, and in the next launch from what that found. */
    i64 steps[2], bounds[2];
    int wrong;
    gp_steps_of(n + segments, warp, steps);
    if (step == PREPARE) {
        gp_search_ends(INPUT_NAMES, layout, segments, steps, bounds, lane);
    } else {
        bounds[0] = gp_collect_place(places, own);
        bounds[1] = own + 1 < shares ? gp_collect_place(places, own + 1) : segments;
    }
    const share_t share = gp_share_between(steps, bounds, n, &wrong);
    if (tid == 0) worst = 0;
    if (lane == 0) firsts[warp] = share.opened;
    if (tid == BLOCK - 1) firsts[WARPS] = share.ended;

    /* 2. In the first launch, leave its tail, and the tail of all shares of the group. */
    if (step == PREPARE) {
        value_t tail = IDENTITY;
        if (!wrong) {
            const i64 from = max(share.opened < share.ended ? BEGIN(share.ended) : share.first, share.first);
            tail = fold_tail(INPUT_NAMES, layout, share, from, staged, lane);
        }
        if (lane == 0) {
            tails[warp] = tail;
            gp_leave(left, own, tail);
            gp_leave_place(places, own, share.opened);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int live = tid < WARPS;
        gp_scan_flagged(live ? tails[tid] : IDENTITY, live && firsts[tid] < firsts[tid + 1], IDENTITY, partial, flagged, &rest, tid);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0) gp_leave(left, shares + part, rest);
        return;
    }

    /* 3. Fold what the groups and then the warps before have of this share's first segment. */
    const i64 run = (part + BLOCK - 1) / BLOCK;
    value_t before = IDENTITY;
    int anew = 0;
#pragma unroll 4
    for (i64 other = tid * run; other < min((tid + 1) * run, part); other++) {
        const value_t tail = gp_collect(left, shares + other);
        const int ends = gp_collect_place(places, other * WARPS) < gp_collect_place(places, (other + 1) * WARPS);
        before = ends ? tail : OP(before, tail);
        anew |= ends;
    }
    gp_scan_flagged(before, anew, IDENTITY, partial, flagged, &rest, tid);
    barrier(CLK_LOCAL_MEM_FENCE);
    before = rest;
    barrier(CLK_LOCAL_MEM_FENCE);
    {
        const int live = tid < WARPS;
        const value_t tail = live ? gp_collect(left, part * WARPS + tid) : IDENTITY;
        before = gp_scan_flagged(tail, live && firsts[tid] < firsts[tid + 1], before, partial, flagged, &rest, tid);
        if (live) tails[tid] = before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    before = tails[warp];

    const int stop = (int)(share.last - share.origin);
    i64 o = share.opened - SEGMENTS;
    int j = (int)(share.first - share.origin), done = SEGMENTS, begins[WINDOW], ends[WINDOW];
    if (part == 0 && warp == 0 && (BEGIN(0) != 0 || BEGIN(segments) != n)) wrong = WRONG_OFFSETS;
    gp_clear_marks(marks, lane);
    gp_lanes_barrier();

    while (!wrong && (j < stop || o + done < share.ended)) {
        /* 4. Read a window of segments if half of it is done, and a tile. */
        if (2 * done > SEGMENTS) {
            o += done;
            done = 0;
            wrong = gp_any(gp_load_window(INPUT_NAMES, layout, share, o, lane, begins, ends));
            if (wrong) break;
        }
        tile_t tile = gp_tile_at(share, j);
        value_t values[ITEMS];
        gp_load_elements_of(INPUT_NAMES, layout, tile, lane, values);
        const int base = (int)(tile.base - share.origin);
        const int reach = o + SEGMENTS < share.ended ? gp_end_of(ends, SEGMENTS - 1, lane) : stop, high = min(reach - base, tile.high);
        const int now = gp_count_ended(ends, base + high, lane);
        if (high < tile.high) gp_cut_items(values, high, lane);
        tile.high = high;

        /* 5. Mark where segments begin, and scan. */
        gp_mark_begins(begins, ends, done, now, base, marks, lane);
        gp_gather_items(values, staged, lane);
        gp_lanes_barrier();
        const u32 flags = marks[lane], closed = marks[LANES];
        const value_t after = scan_items(values, flags, before, lane);
        before = closed ? IDENTITY : after;

        /* 6. Store. */
        gp_scatter_items(values, staged, lane);
        gp_clear_marks(marks, lane);
        store_tile(INPUT_NAMES, OUTPUT_NAMES, layout, tile, lane, values);
        gp_lanes_barrier();
        j = base + high;
        done = now;
    }

    /* 7. Tell what was wrong. */
    if (step != ALONE) return;
    if (wrong) gp_raise(&worst, wrong);
    barrier(CLK_LOCAL_MEM_FENCE);
    i64 whole;
    if (tid == 0 && gp_last_to_tell(counters, parts, worst, &whole)) *found = whole;
}

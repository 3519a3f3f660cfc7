/* segments/shares: warps fold equal shares of elements and segments, tile by tile.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: one value for each segment; found: 0, or what is wrong with the offsets
 * scratch partials: the answer of a check, two values of WORDS and a segment's number for each group; counters: two, zero
 *         before and after
 * launch  any number of groups of BLOCK, whose warps share the path (path.h). At `step` CHECK groups check the offsets and
 *         do nothing else; at CHECKED they do nothing if that found an offset wrong; at ALONE they tell what they find
 *         while they fold, and results hold nothing if an offset is wrong
 * host    OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o), COMMUTATIVE, gp_fold_values (folding.h);
 *         functions of shares.h
 * order   operands in index order; a commutative operator may take a warp's elements, and those of several tiles within
 *         a segment, with a stride. Only the number of shares decides how values are associated
 *
 * A tile in which no segment ends is folded apart by each lane, as in reduce. Others are scanned, and each lane finds the
 * values of the window's segments that ended.
 *
 * A share leaves its fold of the first segment that ends in it, its head, which earlier shares may have begun, and of the
 * last one, its tail, which goes on. The group joins those of its warps, and the last group those of all groups.
 */
/* Scan the items of all lanes. Each flag begins a new scan. A lane leaves its scan in `staged`, and behind it the fold of what
 * comes before its items since the last flag, or from `before` on. Return the fold of all since the last flag. */
DEVICE value_t scan_staged(value_t *values, const u32 flags, const value_t before, LOCAL value_t *staged, const int lane)
{
    gp_gather_items(values, staged, lane);
    gp_scan_items(values, flags);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) staged[gp_own_place(lane) + item] = values[item];
#if LANES > 1
    const int nearest = gp_nearest_lane(flags != 0, lane);
    const value_t whole = gp_scan_flags(values[ITEMS - 1], nearest, lane);
    const value_t lower = gp_shuffle_up(whole, 1);
    const int anew = (int)gp_shuffle_word_up((u32)nearest, 1) >= 0;
    staged[gp_own_place(lane) + ITEMS] = lane == 0 ? before : anew ? lower : OP(before, lower);
    const value_t rest = nearest >= 0 ? whole : OP(before, whole);
    return gp_shuffle_from(rest, LANES - 1);
#else
    staged[ITEMS] = before;
    return flags ? values[ITEMS - 1] : OP(before, values[ITEMS - 1]);
#endif
}

/* The fold of a segment from place `begin` up to `at` of the tile. What a lane scanned lacks what comes before its items. */
DEVICE value_t fold_up_to(const int begin, const int at, LOCAL const value_t *staged)
{
    const int lane = (u32)at / ITEMS;
    const value_t folded = staged[at + lane];
    return begin >= lane * ITEMS ? folded : OP(staged[gp_own_place(lane) + ITEMS], folded);
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS) WHOLE_WARPS
void segments_shares(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found, const layout_t layout,
                     const i64 segments, const i64 n, const i64 step)
{
    __local value_t all_staged[STAGED], heads[WARPS], tails[WARPS], partial[WARPS], rest, head;
    __local u32 all_marks[WARPS * MARKS];
    __local i64 firsts[WARPS + 1];
    __local int flagged[WARPS], worst, is_last;
    const int tid = get_local_id(0), warp = tid / LANES, lane = tid % LANES;
    if (step == CHECK) {
        gp_check(INPUT_NAMES, layout, partials, counters, found, segments, n, &worst, tid);
        return;
    }
    if (step == CHECKED && partials[0]) return;

    /* 1. Find the warp's share of segments and elements. */
    const i64 parts = get_num_groups(0), part = get_group_id(0);
    i64 steps[2], bounds[2];
    int wrong;
    gp_steps_of(n + segments, warp, steps);
    gp_search_ends(INPUT_NAMES, layout, segments, steps, bounds, lane);
    const share_t share = gp_share_between(steps, bounds, n, &wrong);
    if (part == 0 && warp == 0 && (BEGIN(0) != 0 || BEGIN(segments) != n)) wrong = WRONG_OFFSETS;

    LOCAL value_t *staged = all_staged + warp * WARP_STAGED;
    LOCAL u32 *marks = all_marks + warp * MARKS;
    const int stop = (int)(share.last - share.origin);
    i64 o = share.opened - SEGMENTS;
    int j = (int)(share.first - share.origin), done = SEGMENTS, any_apart = 0, begins[WINDOW], ends[WINDOW];
    value_t before = IDENTITY, apart = IDENTITY;
    if (tid == 0) {
        worst = 0;
        head = IDENTITY;
    }
    if (lane == 0) {
        heads[warp] = IDENTITY;
        firsts[warp] = share.opened;
    }
    gp_clear_marks(marks, lane);
    gp_lanes_barrier();

    while (!wrong && (j < stop || o + done < share.ended)) {
        /* 2. Read a window of segments if half of it is done, and a tile. */
        if (2 * done > SEGMENTS) {
            o += done;
            done = 0;
            wrong = gp_any(gp_load_window(INPUT_NAMES, layout, share, o, lane, begins, ends));
            if (wrong) break;
        }
        const tile_t tile = gp_tile_at(share, j);
        value_t values[ITEMS];
        gp_load_elements_of(INPUT_NAMES, layout, tile, lane, values);
        const int base = (int)(tile.base - share.origin);
        const int reach = o + SEGMENTS < share.ended ? gp_end_of(ends, SEGMENTS - 1, lane) : stop, high = min(reach - base, tile.high);
        const int now = gp_count_ended(ends, base + high, lane);
        j = base + high;

        /* 3. Where no segment ends, fold apart from other lanes, unless order matters; also the tiles that follow. */
        if (COMMUTATIVE && now == done && high == tile.high) {
            const int next = done < SEGMENTS ? min(gp_end_of(ends, done, lane) - 1, reach) : reach;
            apart = OP(apart, gp_fold_values(values, ITEMS));
            any_apart = 1;
            for (; high == WARP_TILE && j + WARP_TILE <= next; j += WARP_TILE) {
                gp_load_whole(INPUT_NAMES, layout, share.origin + j, lane, values);
                apart = OP(apart, gp_fold_values(values, ITEMS));
            }
            continue;
        }
        if (any_apart) {
            before = OP(before, gp_fold_lanes(apart));
            apart = IDENTITY;
            any_apart = 0;
        }

        /* 4. Mark where segments begin, and scan. */
        if (high < tile.high) gp_cut_items(values, high, lane);
        gp_mark_begins(begins, ends, done, now, base, marks, lane);
        gp_lanes_barrier();
        const u32 flags = marks[lane], closed = marks[LANES];
        const value_t after = scan_staged(values, flags, before, staged, lane);
        gp_lanes_barrier();
        gp_clear_marks(marks, lane);

        /* 5. Store the value of each segment that ends here; the share's first one is its head. */
        const int opened_at = o == share.opened ? 0 : -1;
#pragma unroll
        for (int k = 0; k < WINDOW; k++) {
            const int one = k * LANES + lane, at = ends[k] - base - 1;
            if (one < done || one >= now) continue;
            value_t folded = IDENTITY;
            if (begins[k] != ends[k]) folded = at < tile.low ? before : fold_up_to(begins[k] - base, at, staged);
            if (one == opened_at) {
                heads[warp] = folded;
            } else {
                STORE(o + one, (i64)(ends[k] - begins[k]), folded);
            }
        }
        before = closed ? IDENTITY : after;
        done = now;
        gp_lanes_barrier();
    }
    if (any_apart) before = OP(before, gp_fold_lanes(apart));
    if (lane == 0) tails[warp] = before;
    if (tid == BLOCK - 1) firsts[WARPS] = share.ended;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* 6. Join the warps' folds, and leave those of the group. */
    if (wrong) gp_raise(&worst, wrong);
    const int own = tid < WARPS && firsts[tid] < firsts[tid + 1];
    const value_t open = gp_scan_flagged(tid < WARPS ? tails[tid] : IDENTITY, own, IDENTITY, partial, flagged, &rest, tid);
    if (own) {
        const i64 one = firsts[tid];
        const value_t whole = OP(open, heads[tid]);
        if (one == firsts[0]) {
            head = whole;
        } else {
            STORE(one, BEGIN(one + 1) - BEGIN(one), whole);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    GLOBAL u32 *left = partials + HEADER + 2 * parts;
    if (tid == 0) {
        gp_leave(left, 2 * part, head);
        gp_leave(left, 2 * part + 1, rest);
        gp_leave_place(partials + HEADER, part, firsts[0]);
        i64 whole;
        is_last = gp_last_to_tell(counters, parts, worst, &whole);
        if (is_last && step == ALONE) *found = whole;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!is_last) return;

    /* 7. The last group joins what all groups left. */
    before = IDENTITY;
    for (i64 base = 0; base < parts; base += BLOCK) {
        const i64 other = base + tid;
        const int live = other < parts;
        const i64 one = live ? gp_collect_place(partials + HEADER, other) : 0;
        const i64 next = other + 1 < parts ? gp_collect_place(partials + HEADER, other + 1) : segments;
        const value_t tail = live ? gp_collect(left, 2 * other + 1) : IDENTITY, folded = live ? gp_collect(left, 2 * other) : IDENTITY;
        const value_t open = gp_scan_flagged(tail, live && one < next, before, partial, flagged, &rest, tid);
        if (live && one < next) STORE(one, BEGIN(one + 1) - BEGIN(one), OP(open, folded));
        barrier(CLK_LOCAL_MEM_FENCE);
        before = rest;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

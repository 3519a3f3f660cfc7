/* segments/shares: groups fold equal shares of elements and segments, tile by tile.
 *
 * in      INPUTS: n elements in all; the last input has the begins of `segments` segments and the end of the last
 * out     OUTPUTS: one value for each segment; found: 0, or what is wrong with the offsets
 * scratch partials: what the first launch finds, and two values of WORDS for each part; counters: two, zero before and
 *         after
 * launch  twice, any number of groups of BLOCK; at `step` 1 each takes parts until none are left
 * host    OP(a, b), IDENTITY, STORE(o, j, value) for j elements, BEGIN(o), COMMUTATIVE, gp_fold_values (folding.h);
 *         functions of shares.h
 * order   operands in index order; a commutative operator may take a warp's elements, and those of several tiles within
 *         a segment, with a stride. Only the number of parts decides how values are associated
 *
 * A part leaves its fold of the first segment that ends in it, which earlier parts may have begun, and of the last,
 * which goes on; the last part joins them.
 */

/* Scan a work-item's items from each flag anew, keep them in local memory, and return the last. */
DEVICE value_t scan_staged(value_t *values, const u32 flags, LOCAL value_t *staged, const tile_t tile, const int tid)
{
#if COMMUTATIVE && LANES > 1
    /* A warp without a flag needs its fold alone, unless its elements begin at the last work-item. */
    if (!gp_any_lane(flags != 0) && tile.low < (LANES - 1) * ITEMS) {
        const value_t folded = gp_fold_values(values, ITEMS);
        staged[gp_own_place(tid) + ITEMS - 1] = folded;
        return folded;
    }
#endif
    gp_gather_items(values, staged, tid);
    gp_scan_items(values, flags);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) staged[gp_own_place(tid) + item] = values[item];
    return values[ITEMS - 1];
}

/* The fold of a segment up to place `at` of the tile; values before a work-item's first flag lack those before it. */
DEVICE value_t fold_up_to(const int at, LOCAL const value_t *staged, LOCAL const value_t *earlier, LOCAL const u32 *flags)
{
    const u32 up_to = (u32)(((u64)2 << at % ITEMS) - 1);
    const value_t folded = staged[gp_staged_at(at)];
    return gp_flags_of(flags, at / ITEMS) & up_to ? folded : OP(earlier[at / ITEMS], folded);
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS) WHOLE_WARPS
void segments_shares(INPUTS, OUTPUTS, GLOBAL u32 *partials, GLOBAL u32 *counters, GLOBAL i64 *found, const layout_t layout,
                     const i64 segments, const i64 n, const i64 tiles, const i64 parts, const i64 step)
{
    __local value_t staged[STAGED], earlier[BLOCK], partial[WARPS], rest, head;
    __local u32 flags[2][FLAG_WORDS];
    __local int flagged[WARPS], shared;
    const int tid = get_local_id(0);
    if (step == 0) {
        gp_prepare(INPUT_NAMES, layout, partials, counters, found, segments, n, tiles, &shared, tid);
        return;
    }
    if (partials[0]) return;

    GLOBAL const i64 *table = gp_table(partials);
    GLOBAL u32 *left = gp_left(partials, tiles);
    int turn = 0;
    gp_clear_flags(flags[0], tid);
    gp_clear_flags(flags[1], tid);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (i64 part = get_group_id(0); part < parts; part += get_num_groups(0)) {
        const tiles_t own = gp_tiles_of(part, parts, tiles);
        const i64 opened = table[own.first];
        i64 o = opened, ended = table[own.first + 1];
        value_t before = IDENTITY, apart = IDENTITY;
        int any_apart = 0;
        if (tid == 0) head = IDENTITY;

        for (i64 each = own.first; each < own.last; each++) {
            /* 1. Load. */
            const tile_t tile = gp_tile_at(each, o, ended, n + segments);
            const i64 coming = table[min(each + 2, tiles)];
            value_t values[ITEMS];
            gp_load_steps(INPUT_NAMES, layout, tile, tid, values);
            o = ended;
            ended = coming;

            /* 2. Where no segment ends, fold apart from other work-items, unless order matters. */
            if (COMMUTATIVE && tile.o == tile.ended) {
                apart = OP(apart, gp_fold_values(values, ITEMS));
                any_apart = 1;
                continue;
            }
            if (any_apart) {
                before = gp_fold_group(apart, before, partial, flagged, &rest, tid);
                apart = IDENTITY;
                any_apart = 0;
            }

            /* 3. Flag where segments begin, and scan. */
            gp_flag_ends(INPUT_NAMES, layout, tile, flags[turn], tid);
            barrier(CLK_LOCAL_MEM_FENCE);
            gp_clear_flags(flags[1 - turn], tid);
            const u32 own_flags = gp_flags_of(flags[turn], tid);
            const value_t last = scan_staged(values, own_flags, staged, tile, tid);
            earlier[tid] = gp_scan_flagged(last, own_flags != 0, before, partial, flagged, &rest, tid);
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Store the value of each segment that ends here. */
            for (i64 one = tile.o + tid; one < tile.ended; one += BLOCK) {
                const i64 begin = BEGIN(one), end = BEGIN(one + 1);
                const int at = (int)(end - tile.base) - 1;
                value_t folded = IDENTITY;
                if (begin < end) folded = at < tile.low ? before : fold_up_to(at, staged, earlier, flags[turn]);
                if (one == opened) {
                    head = folded;
                } else {
                    STORE(one, end - begin, folded);
                }
            }
            before = rest;
            turn = 1 - turn;
        }

        /* 5. Leave the rest. */
        if (any_apart) before = gp_fold_group(apart, before, partial, flagged, &rest, tid);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tid == 0) {
            gp_leave(left, 2 * part, head);
            gp_leave(left, 2 * part + 1, before);
            shared = gp_last_done(counters, parts);
        }
    }

    /* 6. The last part joins what all parts left. */
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!shared) return;
    value_t before = IDENTITY;
    for (i64 base = 0; base < parts; base += BLOCK) {
        const i64 part = base + tid;
        const int live = part < parts;
        const tiles_t own = gp_tiles_of(part, parts, tiles);
        const i64 opened = table[own.first];
        const int ends = live && opened < table[own.last];
        const value_t other = live ? gp_collect(left, 2 * part + 1) : IDENTITY;
        const value_t open = gp_scan_flagged(other, ends, before, partial, flagged, &rest, tid);
        if (ends) STORE(opened, BEGIN(opened + 1) - BEGIN(opened), OP(open, gp_collect(left, 2 * part)));
        barrier(CLK_LOCAL_MEM_FENCE);
        before = rest;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* scan/columns: groups scan strips of neighbouring outputs; those of a strip take its tiles in turn.
 *
 * in      INPUTS: n elements for each of `outputs` outputs; neighbouring outputs lie nearer than neighbouring elements
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): if parts > 1, one for each column of each tile
 * launch  a multiple of `parts` groups of BLOCK, all running at the same time
 * host    ROWS x width lanes of a warp, `across` warps side by side, a power of two; gp_write_status, gp_read_entries,
 *         gp_status_of and gp_await_status (scanning.h), strips.h, MAP(o, j), OP(a, b), IDENTITY, STORE(o, j, value), INCLUSIVE
 * order   operands in index order; only the numbers of the launch decide how they are associated
 *
 * As in scan/round_robin, the prefix of a tile is the inclusive prefix of the group's own last tile and the aggregates
 * of the tiles between, which other groups write as soon as they have loaded them.
 */

/* A group's next tile, of its strip or of its next strip. */
typedef struct { int strip, tile; } turn_t;

DEVICE turn_t turn_after(turn_t turn, const int part, const int parts, const int tiles)
{
    turn.tile += parts;
    if (turn.tile >= tiles) {
        turn.tile = part;
        turn.strip += get_num_groups(0) / parts;
    }
    return turn;
}

/* Load a work-item's rows of a tile, `own` rows below its first row `base`; all at once if the tile is whole. */
DEVICE void load_strip(INPUTS, const layout_t layout, const i64 o, const i64 base, const int own, const int tile_rows,
                      const i64 n, value_t *values)
{
    const i64 first = base + own;
    if (base + tile_rows <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = MAP(o, first + item * ROWS);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            values[item] = MAP(o, min(first + item * ROWS, n - 1)); /* always, so that `o` is split into axes once */
            if (first + item * ROWS >= n) values[item] = IDENTITY;
        }
    }
}

#if PREFETCHED
/* Ask for the rows of a warp's part of a tile, which begins at output `o` and row `first`: a row for each lane. */
DEVICE void prefetch_strip(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 outputs, const i64 n,
                           const int width, const int lane)
{
    for (int row = lane; row < ROWS * ITEMS; row += LANES)
        for (int column = 0; column < width + LINE - 1; column += LINE)
            PREFETCH(min(o + min(column, width - 1), outputs - 1), min(first + row, n - 1));
}
#endif

/* Fold a tile's column as its own group does, a row at a time, so that it rounds alike. */
DEVICE value_t refold(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const place_t at,
                      const int lane)
{
    value_t whole = IDENTITY;
    for (int below = 0; below < at.down; below++) {
        value_t folded = IDENTITY;
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = base + (below * ITEMS + item) * ROWS + at.row;
            value_t value = IDENTITY;
            if (at.row < ROWS && j < n) value = MAP(o, j);
            folded = OP(folded, gp_last_row(gp_scan_down(value, at), at, lane));
        }
        whole = OP(whole, folded);
    }
    return whole;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void scan_columns(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                  const i64 width, const i64 across, const i64 parts)
{
    __local value_t partial[BLOCK], between[BLOCK];
    __local u32 launch;
    const int tid = get_local_id(0), lane = tid % LANES, shared = (int)parts, part = get_group_id(0) % shared;
    const place_t at = gp_strip_place(tid, (int)width, (int)across);
    const int tile_rows = at.down * ROWS * ITEMS, own = at.below * ROWS * ITEMS + (at.row < ROWS ? at.row : 0);
    const int tiles = (int)((n + tile_rows - 1) / tile_rows), strips = (int)((outputs + at.span - 1) / at.span);
    const int slot = at.below * at.span + at.column, share = at.row < ROWS ? at.below * ROWS + at.row : WARPS * LANES;
    value_t next[ITEMS], ahead[ITEMS], values[ITEMS], prefix = IDENTITY;
    value_t ahead_earlier = IDENTITY, ahead_aggregate = IDENTITY, earlier = IDENTITY, aggregate = IDENTITY;

    turn_t coming = {(int)(get_group_id(0) / shared), part}, task = coming;
    if (tid == 0 && shared > 1) launch = TAG_OF(gp_read_entry(statuses)) + 1;
    if (coming.strip < strips)
        load_strip(INPUT_NAMES, layout, min((i64)coming.strip * at.span + at.column, outputs - 1),
                  (i64)coming.tile * tile_rows, own, tile_rows, n, next);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task.strip < strips; turn++) {
        /* 1. Take the tile that was loaded meanwhile, and load the next. Of the tile before, read the aggregates of the
         * tiles between; rows of lanes share them out, and each takes neighbouring ones. */
        const turn_t following = turn_after(coming, part, shared, tiles);
        const int count = min(task.tile, shared - 1), each = (count + at.down * ROWS - 1) / (at.down * ROWS);
        const i64 status = ((i64)task.strip * tiles + task.tile - count) * at.span + at.column;
        u64 entries[LOOKED * WORDS];
        const int taken = share * each, last = min(taken + each, count);
        if (turn > 0) gp_look_between(statuses, status, at.span, taken, last, entries);
#pragma unroll
        for (int item = 0; item < ITEMS; item++) ahead[item] = next[item];
        if (following.strip < strips)
            load_strip(INPUT_NAMES, layout, min((i64)following.strip * at.span + at.column, outputs - 1),
                      (i64)following.tile * tile_rows, own, tile_rows, n, next);

#if PREFETCHED
        const turn_t later = turn_after(following, part, shared, tiles);
        if (later.strip < strips)
            prefetch_strip(INPUT_NAMES, layout, (i64)later.strip * at.span + tid / LANES % across * width,
                           (i64)later.tile * tile_rows + at.below * ROWS * ITEMS, outputs, n, at.width, lane);
#endif

        /* 2. Scan it, fold the warps above each other, and write its aggregate to its status, an iteration before others
         * need it. */
        const value_t folded = gp_scan_rows(ahead, IDENTITY, at, lane);
        if (at.row == 0) partial[slot] = folded;
        barrier(CLK_LOCAL_MEM_FENCE);
        ahead_aggregate = IDENTITY;
#pragma unroll 4
        for (int below = 0; below < at.down; below++) {
            if (below == at.below) ahead_earlier = ahead_aggregate;
            ahead_aggregate = OP(ahead_aggregate, partial[below * at.span + at.column]);
        }
        if (shared > 1 && at.below == 0 && at.row == 0 && coming.strip < strips)
            gp_write_status(statuses, ((i64)coming.strip * tiles + coming.tile) * at.span + at.column, tag,
                            ahead_aggregate);

        /* 3. Fold the aggregates of the tiles between. A warp folds the tiles of groups that do not run. */
        const i64 o = min((i64)task.strip * at.span + at.column, outputs - 1);
        if (turn > 0 && shared > 1) {
            value_t whole = IDENTITY;
            for (int k = 0; k < each; k += LOOKED) {
                value_t read[LOOKED];
                int absent = 0;
                if (k) gp_look_between(statuses, status, at.span, taken + k, last, entries);
#pragma unroll
                for (int one = 0; one < LOOKED; one++)
                    if (taken + k + one < last) absent |= !gp_status_of(entries + one * WORDS, tag, tag, read + one);
                if (!ANY_LANE(absent)) {
#pragma unroll
                    for (int one = 0; one < LOOKED; one++)
                        if (taken + k + one < last) whole = OP(whole, read[one]);
                } else {
                    for (int one = k; one < min(k + LOOKED, each); one++) {
                        value_t value = IDENTITY;
                        const int has = taken + one < last;
                        const i64 where = status + (i64)(taken + one) * at.span;
                        const int waiting = has && !gp_await_status(statuses, where, tag, tag, &value);
                        for (int row = 0; ANY_LANE(waiting) && row < ROWS; row++) {
                            const int missing = task.tile - count + min((at.below * ROWS + row) * each + one, count - 1);
                            const value_t stood_in = refold(INPUT_NAMES, layout, o, (i64)missing * tile_rows, n, at, lane);
                            /* If the tile's group ran meanwhile, its outputs may have overwritten the inputs, but its
                             * status is set. */
                            if (waiting && row == at.row && !gp_await_status(statuses, where, tag, tag, &value))
                                value = stood_in;
                        }
                        if (has) whole = OP(whole, value);
                    }
                }
            }
            whole = gp_fold_down(whole, at);
            if (at.row == 0) between[slot] = whole;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Fold in the prefix, and store. */
        if (turn > 0) {
            if (task.tile < shared) prefix = IDENTITY;
            if (shared > 1) {
#pragma unroll 4
                for (int below = 0; below < at.down; below++) prefix = OP(prefix, between[below * at.span + at.column]);
            }
            const value_t before = OP(prefix, earlier);
            prefix = OP(prefix, aggregate);
            const i64 first = (i64)task.tile * tile_rows + own;
            const int live = at.row < ROWS && (i64)task.strip * at.span + at.column < outputs;
            if (live && first - own + tile_rows <= n) {
#pragma unroll
                for (int item = 0; item < ITEMS; item++) STORE(o, first + item * ROWS, OP(before, values[item]));
            } else if (live) {
#pragma unroll
                for (int item = 0; item < ITEMS; item++)
                    if (first + item * ROWS < n) STORE(o, first + item * ROWS, OP(before, values[item]));
            }
        }

        /* 5. Go on to the next tile. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = ahead[item];
        earlier = ahead_earlier;
        aggregate = ahead_aggregate;
        task = coming;
        coming = following;
    }

    /* 6. The last group makes the launch's tags void. */
    if (tid == 0 && shared > 1 && (u32)gp_add_entry(statuses, 1) == (u32)get_num_groups(0) - 1)
        gp_write_entry(statuses, (u64)tag << 32);
}

/* scan/fixed_round_robin: one pass in an order that is the same on every device; groups take stretches of tiles in turn and
 * fold the aggregates of all tiles since their last.
 *
 * in      INPUTS: n elements for each of `outputs` outputs, in `tiles` stretches of TILE each
 * out     OUTPUTS: a value at each element, in place or apart from all inputs
 * scratch statuses (scanning.h): one for each tile of FOLDED elements
 * launch  groups of BLOCK, all running at the same time, at most as many as have SPAN - RUN_ITEMS tiles in a turn
 * host    RUN_ITEMS, TILE_RUNS, LOOKUPS, SLOT, SLOT_TYPE; fixed_tiles.h, turning.h; gp_fetch_tile, gp_take_tile, FETCHED and
 *         raw_t, gp_write_status, gp_read_status and gp_await_status (scanning.h), OP(a, b), IDENTITY
 * order   of fixed_scans.py, whatever the number of groups and VECTOR are
 *
 * Groups take stretches in turn, as in scan/round_robin. A stretch is TILES whole tiles, and a work-item scans EACH runs
 * of it.
 */
#define SHARERS (TILE_RUNS / EACH) /* work-items of a tile */
#define SPAN (LOOKUPS * BLOCK)     /* statuses that a group reads at once, at most */

#define STAGING (LANES > 1 && WARPS * PART > TILE_RUNS ? WARPS * PART : TILE_RUNS)

/* Fold the runs of a tile by halves in local memory, as far as tiles have so many runs: of each 2, 4, 8, ... runs, those of
 * the second half follow the fold of the first half. */
DEVICE void halve_runs(LOCAL value_t *ends, const int first, const int last, const int step)
{
    for (int half_of = 1; half_of < TILE_RUNS; half_of *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int run = first; run < last; run += step)
            if (run & half_of) ends[run] = OP(ends[run / half_of * half_of - 1], ends[run]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

#if LANES > 1
/* Turn fetched vectors into the values of a work-item's runs, and the identity past the end. */
DEVICE void take_runs(const raw_t *raw, const layout_t layout, const i64 base, const i64 n, const int tid,
                      LOCAL value_t *own, value_t *values)
{
    const int lane = tid % LANES;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) {
            const int at = (item * LANES + lane * VECTOR) % PART;
            const i64 j = base + gp_item_offset(tid, item);
            value_t vector[VECTOR];
            if (!gp_is_in(part, item, lane)) continue;
#pragma unroll
            for (int k = 0; k < VECTOR; k++) vector[k] = FETCHED(raw + item / VECTOR, k, j + k);
            if (base + TILE > n) {
#pragma unroll
                for (int k = 0; k < VECTOR; k++)
                    if (j + k >= n) vector[k] = IDENTITY;
            }
            WRITE_TURNED(at, vector);
        }
        gp_warp_barrier();
        if (lane / TURNED == part % (LANES / TURNED)) {
            value_t *run = values + part * TURNED / LANES * RUN_ITEMS;
            READ_RUN(lane, run);
        }
        gp_warp_barrier();
    }
}

/* Turn the values of runs into vectors of neighbours, and store these. */
DEVICE void store_runs(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                       LOCAL value_t *own, const value_t *values)
{
    const int lane = tid % LANES;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        if (lane / TURNED == part % (LANES / TURNED)) {
            const value_t *run = values + part * TURNED / LANES * RUN_ITEMS;
            WRITE_RUN(lane, run);
        }
        gp_warp_barrier();
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) {
            const int at = (item * LANES + lane * VECTOR) % PART;
            value_t vector[VECTOR];
            if (!gp_is_in(part, item, lane)) continue;
            READ_TURNED(at, vector);
            if (base + TILE <= n) {
                STORE_VECTOR(o, base + gp_item_offset(tid, item), vector);
            } else {
                gp_store_values(INPUT_NAMES, OUTPUT_NAMES, layout, o, base + gp_item_offset(tid, item), n, vector);
            }
        }
        gp_warp_barrier();
    }
}

/* Scan a work-item's runs; find the fold of the runs before each in its tile, and the tile's aggregate. */
DEVICE value_t scan_tile(value_t *values, LOCAL value_t *ends, const int tid, value_t *earlier)
{
    const int lane = tid % LANES, first = tid / LANES * EACH, in_tile = first % BLOCKS;
    value_t folded[EACH];
#pragma unroll
    for (int each = 0; each < EACH; each++) {
#pragma unroll
        for (int k = 1; k < RUN_ITEMS; k++)
            values[each * RUN_ITEMS + k] = OP(values[each * RUN_ITEMS + k - 1], values[each * RUN_ITEMS + k]);
        folded[each] = values[each * RUN_ITEMS + RUN_ITEMS - 1];
    }
#pragma unroll
    for (int half_of = 1; half_of < LANES; half_of *= 2) {
#pragma unroll
        for (int each = 0; each < EACH; each++) {
            const value_t before = gp_shuffle_from(folded[each], (lane / half_of * half_of - 1) & (LANES - 1));
            if (lane & half_of) folded[each] = OP(before, folded[each]);
        }
    }
    if (lane == LANES - 1) {
#pragma unroll
        for (int each = 0; each < EACH; each++) ends[first + each] = folded[each];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* The same for whole warps: each lane has the end of one, and all lanes of a warp have the same one before. */
    value_t whole = ends[first / BLOCKS * BLOCKS + lane % BLOCKS];
#pragma unroll
    for (int half_of = 1; half_of < BLOCKS; half_of *= 2) {
        const value_t own = gp_shuffle_from(whole, (lane / half_of * half_of - 1) & (LANES - 1));
#pragma unroll
        for (int each = 0; each < EACH; each++) {
            const int at = in_tile + each;
            const value_t before = gp_shuffle_from(whole, (at / half_of * half_of - 1) & (LANES - 1));
            if (at & half_of) folded[each] = OP(before, folded[each]);
        }
        if (lane & half_of) whole = OP(own, whole);
    }
#pragma unroll
    for (int each = 0; each < EACH; each++) {
        const int at = in_tile + each;
        const value_t before = gp_shuffle_from(whole, (at - 1) & (LANES - 1));
        const value_t left = gp_shuffle_up(folded[each], 1);
        earlier[each] = lane ? left : at ? before : IDENTITY;
    }
    return gp_shuffle_from(whole, BLOCKS - 1);
}
#else
DEVICE void take_runs(const raw_t *raw, const layout_t layout, const i64 base, const i64 n, const int tid,
                      LOCAL value_t *own, value_t *values)
{
    gp_take_tile(raw, layout, base, n, tid, values);
}

DEVICE void store_runs(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                       LOCAL value_t *own, value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR)
        gp_store_values(INPUT_NAMES, OUTPUT_NAMES, layout, o, base + gp_item_offset(tid, item), n, values + item);
}

DEVICE value_t scan_tile(value_t *values, LOCAL value_t *ends, const int tid, value_t *earlier)
{
    const int first = tid * EACH;
    for (int each = 0; each < EACH; each++) {
#pragma unroll
        for (int k = 1; k < RUN_ITEMS; k++)
            values[each * RUN_ITEMS + k] = OP(values[each * RUN_ITEMS + k - 1], values[each * RUN_ITEMS + k]);
        ends[first + each] = values[each * RUN_ITEMS + RUN_ITEMS - 1];
    }
    halve_runs(ends, first, first + EACH, 1);
    for (int each = 0; each < EACH; each++)
        earlier[each] = (first + each) % TILE_RUNS ? ends[first + each - 1] : IDENTITY;
    return ends[first / TILE_RUNS * TILE_RUNS + TILE_RUNS - 1];
}
#endif

/* Fold a tile as its own group does, in local memory. */
DEVICE value_t refold_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                           LOCAL value_t *ends)
{
    for (int run = tid; run < TILE_RUNS; run += BLOCK) {
        value_t whole = IDENTITY;
        for (int k = 0; k < RUN_ITEMS; k++) {
            const i64 j = base + run * RUN_ITEMS + k;
            const value_t value = j < n ? MAP(o, j) : IDENTITY;
            whole = k ? OP(whole, value) : value;
        }
        ends[run] = whole;
    }
    halve_runs(ends, tid, TILE_RUNS, BLOCK);
    return ends[TILE_RUNS - 1];
}

__kernel WORK_GROUP_RESIDENT(BLOCK, RESIDENT) WHOLE_WARPS
void scan_fixed_round_robin(INPUTS, OUTPUTS, GLOBAL u64 *statuses, const layout_t layout, const i64 outputs, const i64 n,
                            const i64 tiles)
{
    __local ALIGNED value_t staging[STAGING];
    __local value_t ends[BLOCK * EACH / LANES], between[BETWEEN(SPAN)], folds[2 * TILE_RUNS], own[2 * TILES], prefixes[TILES];
    __local above_t above;
    __local int absent;
    __local u32 launch;
    const int tid = get_local_id(0), groups = get_num_groups(0), in_stretch = tid / SHARERS;
    const task_t step = gp_task_at(groups, tiles);
    LOCAL value_t *turning = LANES > 1 ? staging + tid / LANES * PART : staging; /* of the warp */
    raw_t next[ITEMS / VECTOR];
    value_t ahead[ITEMS], values[ITEMS], ahead_earlier[EACH], earlier[EACH];
    i64 known = 0; /* the first tile of the first run whose fold is not in `folds` */

    if (tid == 0) {
        launch = TAG_OF(gp_read_entry(statuses)) + 1;
        absent = -1;
    }
    for (int run = tid; run < 2 * TILE_RUNS; run += BLOCK) folds[run] = IDENTITY;
    task_t coming = gp_task_at(get_group_id(0), tiles), task = coming;
    if (coming.o < outputs) gp_fetch_tile(INPUT_NAMES, layout, coming.o, coming.tile * TILE, n, tid, next);
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 tag = launch;

    for (int turn = 0; task.o < outputs; turn++) {
        const i64 first = task.tile * TILES;
        if (task.tile < groups) known = 0;
        const int count = turn ? (int)(first - known) : 0;
        GLOBAL u64 *asked = statuses + ((task.at - task.tile) * TILES + known) * WORDS;
        u64 entries[LOOKUPS * WORDS];
#pragma unroll
        for (int look = 0; look < LOOKUPS; look++)
            if (look * BLOCK + tid < count) gp_read_entries(asked, look * BLOCK + tid, entries + look * WORDS);

        /* 1. Take the stretch that was loaded meanwhile, and load the next. */
        const task_t following = gp_task_after(coming, step, tiles);
        if (coming.o < outputs) take_runs(next, layout, coming.tile * TILE, n, tid, turning, ahead);
        if (following.o < outputs)
            gp_fetch_tile(INPUT_NAMES, layout, following.o, following.tile * TILE, n, tid, next);

        /* 2. Scan it and write the aggregates of its tiles to their statuses, a turn before others need them. */
        const value_t aggregate = scan_tile(ahead, ends, tid, ahead_earlier);
        if (tid % SHARERS == 0) {
            own[turn % 2 * TILES + in_stretch] = aggregate;
            if (coming.o < outputs && coming.tile * TILE + in_stretch * FOLDED < n)
                gp_write_status(statuses, coming.at * TILES + in_stretch, tag, aggregate);
        }

        if (turn > 0) {
            /* 3. For the stretch before: read the aggregates of the tiles since the last whole run of tiles. */
            int waiting = 0;
#pragma unroll
            for (int look = 0; look < LOOKUPS; look++) {
                const int at = look * BLOCK + tid;
                value_t folded = IDENTITY;
                if (at >= count) continue;
                const u64 *read = entries + look * WORDS;
                if (gp_status_of(read, tag, tag, &folded) || gp_await_status(asked, at, tag, tag, &folded)) {
                    between[BETWEEN(at)] = folded;
                } else {
                    waiting |= 1 << look;
                    gp_raise(&absent, at);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);

            /* 4. Fold the tiles of groups that do not run. */
            while (absent >= 0) {
                const int whose = absent;
                const value_t stood_in =
                    refold_tile(INPUT_NAMES, layout, task.o, (known + whose) * FOLDED, n, tid, staging);
                if (tid == 0) absent = -1;
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int look = 0; look < LOOKUPS; look++) {
                    const int at = look * BLOCK + tid;
                    value_t folded = stood_in;
                    if (!(waiting >> look & 1)) continue;
                    /* If the tile's group ran meanwhile, its outputs may have overwritten the inputs, but its status is
                     * set. */
                    if (at == whose && !gp_await_status(asked, at, tag, tag, &folded)) folded = stood_in;
                    if (at == whose || gp_read_status(asked, at, tag, tag, &folded)) {
                        between[BETWEEN(at)] = folded;
                        waiting ^= 1 << look;
                    } else {
                        gp_raise(&absent, at);
                    }
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }

            /* 5. Find the prefixes of its tiles, fold them in, and store. */
            if (tid < LANES) gp_find_prefixes(between, folds, &above, own + (turn - 1) % 2 * TILES, first, known, tid, prefixes);
            barrier(CLK_LOCAL_MEM_FENCE);
            known = first / RUN_ITEMS * RUN_ITEMS;
            const value_t before_tile = prefixes[in_stretch];
#pragma unroll
            for (int each = 0; each < EACH; each++) {
                const value_t before = OP(before_tile, earlier[each]);
                value_t *run = values + each * RUN_ITEMS;
#pragma unroll
                for (int k = RUN_ITEMS - 1; k >= 0; k--)
                    run[k] = INCLUSIVE ? OP(before, run[k]) : k ? OP(before, run[k ? k - 1 : 0]) : before;
            }
            store_runs(INPUT_NAMES, OUTPUT_NAMES, layout, task.o, task.tile * TILE, n, tid, turning, values);
        } else {
            barrier(CLK_LOCAL_MEM_FENCE); /* scan_tile writes to local memory again */
        }

        /* 6. Go on to the next stretch. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++) values[item] = ahead[item];
#pragma unroll
        for (int each = 0; each < EACH; each++) earlier[each] = ahead_earlier[each];
        task = coming;
        coming = following;
    }

    /* 7. The last group makes the launch's tags void. */
    if (tid == 0 && (u32)gp_add_entry(statuses, 1) == (u32)groups - 1) gp_write_entry(statuses, (u64)tag << 32);
}

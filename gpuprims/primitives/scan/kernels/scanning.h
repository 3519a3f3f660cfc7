/* The steps that scans share, the same in both dialects.
 *
 * A tile is BLOCK x ITEMS neighbours. Each warp takes a contiguous part of it, one vector a lane at a time, so that lanes
 * read neighbours in memory; without shuffles a warp is one work-item. For LANES = 4, VECTOR = 2, ITEMS = 4:
 *
 *     lane                 0        1        2        3
 *     values[0], [1]     0  1     2  3     4  5     6  7
 *     values[2], [3]     8  9    10 11    12 13    14 15
 */
#if WARP && BLOCK <= WARP * WARP && BLOCK % WARP == 0
#define LANES WARP
#else
#define LANES 1
#endif
#define WARPS (BLOCK / LANES)
#define TILE ((i64)BLOCK * ITEMS)

/* The place in its tile of a work-item's item, which is the first of a vector. */
DEVICE int gp_item_offset(const int tid, const int item)
{
    return tid / LANES * (LANES * ITEMS) + item * LANES + tid % LANES * VECTOR;
}

/* The tiles of all outputs, one after the other. A group divides once, and from then on adds: 64-bit divisions would take longer
 * than a tile does. */
typedef struct { i64 at, o, tile; } task_t;

DEVICE task_t gp_task_at(const i64 at, const i64 tiles)
{
    task_t task;
    task.at = at;
    task.o = at / tiles;
    task.tile = at % tiles;
    return task;
}

DEVICE task_t gp_task_after(task_t task, const task_t step, const i64 tiles)
{
    task.at += step.at;
    task.o += step.o;
    task.tile += step.tile;
    if (task.tile >= tiles) {
        task.tile -= tiles;
        task.o++;
    }
    return task;
}

/* Load VECTOR elements of an output from j on; past the last there is the identity. */
DEVICE void gp_load_values(INPUTS, const layout_t layout, const i64 o, const i64 j, const i64 n, value_t *values)
{
    if (j + VECTOR <= n) {
        MAP_VECTOR(o, j, values);
    } else {
#pragma unroll
        for (int item = 0; item < VECTOR; item++) {
            values[item] = IDENTITY;
            if (j + item < n) values[item] = MAP(o, j + item);
        }
    }
}

/* Load a work-item's share of a tile; of a whole one all its vectors at once. */
DEVICE void gp_load_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                      value_t *values)
{
    if (base + TILE <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) MAP_VECTOR(o, base + gp_item_offset(tid, item), values + item);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR)
            gp_load_values(INPUT_NAMES, layout, o, base + gp_item_offset(tid, item), n, values + item);
    }
}

/* Scan the vectors of so many neighbouring lanes, a power of two, given the fold of what is before them and the lane's place
 * in its warp; return the fold with them. */
DEVICE value_t gp_scan_vectors(value_t *values, const value_t before, const int at, const int lanes)
{
#pragma unroll
    for (int item = 1; item < VECTOR; item++) values[item] = OP(values[item - 1], values[item]);
    value_t left = before, whole = values[VECTOR - 1];
#if LANES > 1
    const int lane = at & (lanes - 1);
#pragma unroll
    for (int stride = 1; stride < lanes; stride *= 2) {
        const value_t earlier = gp_shuffle_up(whole, stride);
        if (lane >= stride) whole = OP(earlier, whole);
    }
    const value_t earlier = gp_shuffle_up(whole, 1);
    if (lane) left = OP(before, earlier);
    whole = gp_shuffle_from(whole, at | (lanes - 1));
#endif
#pragma unroll
    for (int item = VECTOR - 1; item >= 0; item--)
#if INCLUSIVE
        values[item] = OP(left, values[item]);
#else
        values[item] = item ? OP(left, values[item ? item - 1 : 0]) : left;
#endif
    return OP(before, whole);
}

/* Scan a work-item's values within its warp; return the warp's fold. */
DEVICE value_t gp_scan_warp(value_t *values, const int lane)
{
    value_t whole = IDENTITY;
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) whole = gp_scan_vectors(values + item, whole, lane, LANES);
    return whole;
}

/* The fold of a whole tile, for each work-item of every warp its own warp's: the same operations as gp_scan_warp's, so that the same
 * rounding, on one vector at a time. */
DEVICE value_t gp_refold_warp(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid)
{
    value_t whole = IDENTITY;
    for (int item = 0; item < ITEMS; item += VECTOR) {
        value_t values[VECTOR];
        gp_load_values(INPUT_NAMES, layout, o, base + gp_item_offset(tid, item), n, values);
        whole = gp_scan_vectors(values, whole, tid % LANES, LANES);
    }
    return whole;
}

/* From each warp's fold to the folds of the warps before, and of all; for every work-item. Local memory may be written again
 * once all work-items are past another barrier. */
DEVICE value_t gp_scan_warps(const value_t folded, LOCAL value_t *partial, const int tid, value_t *aggregate)
{
    const int warp = tid / LANES;
#if LANES > 1
    const int lane = tid % LANES;
    if (lane == 0) partial[warp] = folded;
    barrier(CLK_LOCAL_MEM_FENCE);
    value_t whole = lane < WARPS ? partial[lane] : IDENTITY;
#pragma unroll
    for (int stride = 1; stride < WARPS; stride *= 2) {
        const value_t earlier = gp_shuffle_up(whole, stride);
        if (lane >= stride) whole = OP(earlier, whole);
    }
    *aggregate = gp_shuffle_from(whole, WARPS - 1);
    const value_t before = gp_shuffle_from(whole, warp ? warp - 1 : 0);
#else
    partial[tid] = folded;
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        value_t whole = partial[tid];
        if (tid >= stride) whole = OP(partial[tid - stride], whole);
        barrier(CLK_LOCAL_MEM_FENCE);
        partial[tid] = whole;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    *aggregate = partial[BLOCK - 1];
    const value_t before = partial[warp ? warp - 1 : 0];
#endif
    return warp ? before : IDENTITY;
}

/* Leave the folds of each warp's values, in order, in local memory. */
DEVICE void gp_fold_warps(value_t folded, LOCAL value_t *between, const int tid)
{
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
#endif
    if (tid % LANES == 0) between[tid / LANES] = folded;
}

/* Store VECTOR values of an output from j on, as far as there are elements. */
DEVICE void gp_store_values(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 j, const i64 n, value_t *values)
{
    if (j + VECTOR <= n) {
        STORE_VECTOR(o, j, values);
    } else {
#pragma unroll
        for (int item = 0; item < VECTOR; item++)
            if (j + item < n) STORE(o, j + item, values[item]);
    }
}

/* Fold what is before into each scanned value, and store. */
#if !PACKED
typedef value_t staged_t;
#define STAGED 1

DEVICE void gp_store_tile(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                       const value_t before, value_t *values, LOCAL staged_t *staging)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) values[item] = OP(before, values[item]);
    if (base + TILE <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR) STORE_VECTOR(o, base + gp_item_offset(tid, item), values + item);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const i64 j = base + gp_item_offset(tid, item / VECTOR * VECTOR) + item % VECTOR;
            if (j < n) STORE(o, j, values[item]);
        }
    }
}
#else
/* Elements that go side by side are gathered in local memory, a round of them at a time, and then written by neighbouring
 * lanes: written one by one they would be a store each. Every warp has a place of its own, so that none waits for another. */
#define ROUND_OF (32 / (int)sizeof(staged_t) > VECTOR ? 32 / (int)sizeof(staged_t) : VECTOR)
#define ROUND (ROUND_OF < ITEMS ? ROUND_OF : ITEMS)
#define STAGED (BLOCK * ROUND)

DEVICE void gp_store_tile(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                       const value_t before, value_t *values, LOCAL staged_t *staging)
{
    LOCAL staged_t *own = staging + tid / LANES * (LANES * ROUND);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) values[item] = OP(before, values[item]);
#pragma unroll
    for (int round = 0; round < ITEMS; round += ROUND) {
        value_t first = values[round], last = first;
#if LANES > 1
        first = gp_shuffle_from(first, 0);
#endif
        if (base + TILE <= n) {
#pragma unroll
            for (int item = round; item < round + ROUND; item += VECTOR)
                last = STAGE_VECTOR(o, base + gp_item_offset(tid, item), values + item, first, own);
        } else {
#pragma unroll
            for (int item = round; item < round + ROUND; item++) {
                const i64 j = base + gp_item_offset(tid, item / VECTOR * VECTOR) + item % VECTOR;
                last = values[item];
                if (j < n) last = STAGE(o, j, values[item], first, own);
            }
        }
#if LANES > 1
        last = gp_shuffle_from(last, LANES - 1);
        gp_warp_barrier();
#endif
        for (int k = tid % LANES; k < last - first; k += LANES) WRITE_STAGED(o, first + k, own[k]);
#if LANES > 1
        gp_warp_barrier();
#endif
    }
}
#endif

/* Values that one launch keeps for the next. */
DEVICE void gp_keep(GLOBAL u32 *partials, const i64 at, const value_t value)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) partials[at * WORDS + word] = words[word];
}

DEVICE value_t gp_recall(GLOBAL const u32 *partials, const i64 at)
{
    u32 words[WORDS];
#pragma unroll
    for (int word = 0; word < WORDS; word++) words[word] = partials[at * WORDS + word];
    return gp_join(words);
}

/* An element of a level: of the inputs where it is negative, else of the values kept from it on. */
DEVICE value_t gp_load_level(INPUTS, const layout_t layout, GLOBAL const u32 *partials, const i64 level, const i64 o,
                          const i64 j, const i64 n)
{
    return level < 0 ? MAP(o, j) : gp_recall(partials, level + o * n + j);
}

/* Store at an element of a level, given the fold of all before it: levels above the inputs are scanned exclusively. */
DEVICE void gp_store_level(INPUTS, OUTPUTS, const layout_t layout, GLOBAL u32 *partials, const i64 level, const i64 o,
                        const i64 j, const i64 n, const value_t before, const value_t element)
{
    if (level < 0) {
        STORE(o, j, INCLUSIVE ? OP(before, element) : before);
    } else {
        gp_keep(partials, level + o * n + j, before);
    }
}

/* The board, on which groups that run at the same time post folds for each other: entries of 64 bits, each a word of a
 * value below a tag, so that a value is there when all its words bear the tag, in whatever order they arrive. The first
 * entry has the tag of the launch above a count, and what it is left with makes every old tag void. */
#define TAG_OF(entry) ((u32)((entry) >> 32))

#ifdef GP_ENTRIES /* devices without atomics on 64 bits have no board */

/* Post a value at a place of the board. */
DEVICE void gp_write_status(GLOBAL u64 *statuses, const i64 at, const u32 tag, const value_t value)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) gp_write_entry(statuses + 1 + at * WORDS + word, (u64)tag << 32 | words[word]);
}

/* Read a place of the board; return the tag that is `first` or up to `last`, or 0 where there is none, or not all of it. */
DEVICE u32 gp_read_status(GLOBAL u64 *statuses, const i64 at, const u32 first, const u32 last, value_t *value)
{
    u32 words[WORDS], tag = 0;
    int alike = 1;
#pragma unroll
    for (int word = 0; word < WORDS; word++) {
        const u64 entry = gp_read_entry(statuses + 1 + at * WORDS + word);
        alike &= word == 0 || TAG_OF(entry) == tag;
        tag = TAG_OF(entry);
        words[word] = (u32)entry;
    }
    *value = gp_join(words);
    return alike && tag >= first && tag <= last ? tag : 0;
}

/* How often to look for a fold, some 10 ms, before folding the tile oneself: a group that does not run holds nobody up for ever. */
#ifndef LOOKS /* as where groups are simulated one after the other */
#define LOOKS (1 << 14)
#endif

/* Look at a place until its value is there, but not for ever; return its tag, or 0. */
DEVICE u32 gp_await_status(GLOBAL u64 *statuses, const i64 at, const u32 first, const u32 last, value_t *value)
{
    u32 found = 0;
    for (int look = 0; !found && look < LOOKS; look++) found = gp_read_status(statuses, at, first, last, value);
    return found;
}
#endif

/* Steps of several scans.
 *
 * A tile is BLOCK x ITEMS neighbours. Each warp takes a contiguous part of it, one vector per lane at a time, so lanes read
 * neighbours in memory. Without shuffles a warp is one work-item. For LANES = 4, VECTOR = 2, ITEMS = 4:
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

/* Return the offset of a vector in its tile; `item` is its first. */
DEVICE int gp_item_offset(const int tid, const int item)
{
    return tid / LANES * (LANES * ITEMS) + item * LANES + tid % LANES * VECTOR;
}

/* A tile of an output. A group divides once and then adds, because 64-bit divisions would take longer than a tile. */
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

/* True unless an element is before the first. */
#if PEELED
#define BEGUN(j) ((j) >= 0)
#else
#define BEGUN(j) 1
#endif

/* Load VECTOR elements of an output from j on, and the identity past the end. */
DEVICE void gp_load_values(INPUTS, const layout_t layout, const i64 o, const i64 j, const i64 n, value_t *values)
{
    if (BEGUN(j) && j + VECTOR <= n) {
        MAP_VECTOR(o, j, values);
    } else {
#pragma unroll
        for (int item = 0; item < VECTOR; item++) {
            values[item] = IDENTITY;
            if (BEGUN(j + item) && j + item < n) values[item] = MAP(o, j + item);
        }
    }
}

/* Load a work-item's elements of a tile; all vectors of a whole tile at once. */
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

/* Load a work-item's elements of a tile as they are. Converting them, as from uint8 to a sum of 64 bits, would wait for
 * them before there is other work to do. */
DEVICE void gp_fetch_tile(INPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                          raw_t *raw)
{
    if (base + TILE <= n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR)
            gp_fetch_vector(INPUT_NAMES, layout, o, base + gp_item_offset(tid, item), raw + item / VECTOR);
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item += VECTOR)
            gp_fetch_part(INPUT_NAMES, layout, o, base + gp_item_offset(tid, item), n, raw + item / VECTOR);
    }
}

/* Return the values of fetched elements, and the identity past the end. */
DEVICE void gp_take_tile(const raw_t *raw, const layout_t layout, const i64 base, const i64 n, const int tid,
                         value_t *values)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        const i64 j = base + gp_item_offset(tid, item / VECTOR * VECTOR) + item % VECTOR;
        values[item] = FETCHED(raw + item / VECTOR, item % VECTOR, j);
    }
    if (base + TILE > n) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (base + gp_item_offset(tid, item / VECTOR * VECTOR) + item % VECTOR >= n) values[item] = IDENTITY;
    }
}

/* Scan a vector in place, and the aggregates of `lanes` neighbouring lanes, a power of two; `at` is the lane's index in
 * its warp. Return the fold of all elements of the lanes up to this one. */
DEVICE value_t gp_scan_lanes(value_t *values, const int at, const int lanes)
{
#pragma unroll
    for (int item = 1; item < VECTOR; item++) values[item] = OP(values[item - 1], values[item]);
    value_t whole = values[VECTOR - 1];
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < lanes; stride *= 2) {
        const value_t earlier = gp_shuffle_up(whole, stride);
        if ((at & (lanes - 1)) >= stride) whole = OP(earlier, whole);
    }
#endif
    return whole;
}

/* Fold in the elements before a vector: `before`, that of its lanes, and those of the lanes before, whose fold up to
 * this one is `whole`. Return the fold of `before` and all elements of the lanes. */
DEVICE value_t gp_fold_before(value_t *values, const value_t before, value_t whole, const int at, const int lanes)
{
    value_t left = before;
#if LANES > 1
    const value_t earlier = gp_shuffle_up(whole, 1);
    if (at & (lanes - 1)) left = OP(before, earlier);
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

/* Scan the vectors of `lanes` neighbouring lanes after `before`; return the fold of `before` and all elements. */
DEVICE value_t gp_scan_vectors(value_t *values, const value_t before, const int at, const int lanes)
{
    const value_t whole = gp_scan_lanes(values, at, lanes);
    return gp_fold_before(values, before, whole, at, lanes);
}

/* Scan a work-item's values within its warp; return the warp's aggregate. All vectors take a step before any takes the
 * next: shuffles that do not wait for each other follow one another at once. */
DEVICE value_t gp_scan_warp(value_t *values, const int lane)
{
    value_t folded[ITEMS / VECTOR], whole = IDENTITY;
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
#pragma unroll
        for (int k = item + 1; k < item + VECTOR; k++) values[k] = OP(values[k - 1], values[k]);
        folded[item / VECTOR] = values[item + VECTOR - 1];
    }
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) {
#pragma unroll
        for (int vector = 0; vector < ITEMS / VECTOR; vector++) {
            const value_t earlier = gp_shuffle_up(folded[vector], stride);
            if (lane >= stride) folded[vector] = OP(earlier, folded[vector]);
        }
    }
#endif
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR)
        whole = gp_fold_before(values + item, whole, folded[item / VECTOR], lane, LANES);
    return whole;
}

/* Load a whole tile and return the aggregate of the work-item's warp. It repeats gp_scan_warp's operations on one
 * vector at a time, so it rounds alike. */
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

/* Turn each warp's aggregate into its exclusive prefix in the group and the group's aggregate, in every work-item.
 * After another barrier, local memory may be reused. */
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

/* Fold each warp's values in order and write the results to local memory. */
DEVICE void gp_fold_warps(value_t folded, LOCAL value_t *between, const int tid)
{
#if LANES > 1
#pragma unroll
    for (int stride = 1; stride < LANES; stride *= 2) folded = OP(folded, gp_shuffle_down(folded, stride));
#endif
    if (tid % LANES == 0) between[tid / LANES] = folded;
}

/* Store VECTOR values of an output from j on, as far as it has elements. */
DEVICE void gp_store_values(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 j, const i64 n, value_t *values)
{
    if (BEGUN(j) && j + VECTOR <= n) {
        STORE_VECTOR(o, j, values);
    } else {
#pragma unroll
        for (int item = 0; item < VECTOR; item++)
            if (BEGUN(j + item) && j + item < n) STORE(o, j + item, values[item]);
    }
}

/* Fold the exclusive prefix into each scanned value and store it. */
#if !PACKED
typedef value_t staged_t;
#define STAGED 1

DEVICE void gp_store_tile(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 base, const i64 n, const int tid,
                       const value_t before, value_t *values, LOCAL staged_t *staging)
{
#pragma unroll
    for (int item = 0; item < ITEMS; item++) values[item] = OP(before, values[item]);
#ifdef PLACED
    /* Whole vectors, then what there is of one more. Other paths for whole tiles would double the kernel, most of which
     * are stores at places of their own, and the time to compile it. */
    value_t rest[VECTOR]; /* written by every work-item: NVRTC may keep a value that some leave unwritten once a warp */
    i64 from = n;
#pragma unroll
    for (int k = 0; k < VECTOR; k++) rest[k] = values[k];
#pragma unroll
    for (int item = 0; item < ITEMS; item += VECTOR) {
        const i64 j = base + gp_item_offset(tid, item);
        if (j + VECTOR <= n) {
            STORE_VECTOR(o, j, values + item);
        } else if (j < n) {
            from = j;
#pragma unroll
            for (int k = 0; k < VECTOR; k++) rest[k] = values[item + k];
        }
    }
#pragma unroll
    for (int k = 0; k < VECTOR - 1; k++)
        if (from + k < n) STORE(o, from + k, rest[k]);
#else
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
#endif
}
#else
/* Packed elements are gathered in local memory, ROUND at a time, and written by neighbouring lanes; otherwise each
 * would be a store of its own. Each warp has its own part of local memory, so no warp waits for another. */
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

/* Load an element of a level: an input if `level` is negative, else a kept value from `level` on. */
DEVICE value_t gp_load_level(INPUTS, const layout_t layout, GLOBAL const u32 *partials, const i64 level, const i64 o,
                          const i64 j, const i64 n)
{
    return level < 0 ? MAP(o, j) : gp_recall(partials, level + o * n + j);
}

/* Store an element of a level, given the fold of the elements before. Levels above the inputs are scanned exclusively. */
DEVICE void gp_store_level(INPUTS, OUTPUTS, const layout_t layout, GLOBAL u32 *partials, const i64 level, const i64 o,
                        const i64 j, const i64 n, const value_t before, const value_t element)
{
    if (level < 0) {
        STORE(o, j, INCLUSIVE ? OP(before, element) : before);
    } else {
        gp_keep(partials, level + o * n + j, before);
    }
}

/* Tile statuses, in which groups that run at the same time write a tile's aggregate or inclusive prefix for each
 * other. An entry of 64 bits is a word of a value below a tag. A value is complete when all its words have the same
 * tag, so the words may arrive in any order. The first entry is the launch's tag above a counter; raising it at the
 * end of a launch makes all old tags void. */
#define TAG_OF(entry) ((u32)((entry) >> 32))

#ifdef GP_ENTRIES /* devices without 64-bit atomics have no tile statuses */

/* Write a value and its tag to a tile's status. */
DEVICE void gp_write_status(GLOBAL u64 *statuses, const i64 at, const u32 tag, const value_t value)
{
    u32 words[WORDS];
    gp_split(value, words);
#pragma unroll
    for (int word = 0; word < WORDS; word++) gp_write_entry(statuses + 1 + at * WORDS + word, (u64)tag << 32 | words[word]);
}

/* Read a tile's status, to look at its tag and value later. */
DEVICE void gp_read_entries(GLOBAL u64 *statuses, const i64 at, u64 *entries)
{
#pragma unroll
    for (int word = 0; word < WORDS; word++) entries[word] = gp_read_entry(statuses + 1 + at * WORDS + word);
}

/* Return the tag of a status if all its words have it and it is `first` to `last`, else 0. */
DEVICE u32 gp_status_of(const u64 *entries, const u32 first, const u32 last, value_t *value)
{
    u32 words[WORDS], tag = 0;
    int alike = 1;
#pragma unroll
    for (int word = 0; word < WORDS; word++) {
        alike &= word == 0 || TAG_OF(entries[word]) == tag;
        tag = TAG_OF(entries[word]);
        words[word] = (u32)entries[word];
    }
    *value = gp_join(words);
    return alike && tag >= first && tag <= last ? tag : 0;
}

DEVICE u32 gp_read_status(GLOBAL u64 *statuses, const i64 at, const u32 first, const u32 last, value_t *value)
{
    u64 entries[WORDS];
    gp_read_entries(statuses, at, entries);
    return gp_status_of(entries, first, last, value);
}

/* Reads of a status, some 10 ms, before a group folds the tile itself, so that no group waits forever. */
#ifndef LOOKS /* set where groups are simulated one after the other */
#define LOOKS (1 << 14)
#endif

/* Read a tile's status until it has a valid tag, at most LOOKS times. Return the tag, or 0. */
DEVICE u32 gp_await_status(GLOBAL u64 *statuses, const i64 at, const u32 first, const u32 last, value_t *value)
{
    u32 found = 0;
    for (int look = 0; !found && look < LOOKS; look++) found = gp_read_status(statuses, at, first, last, value);
    return found;
}
#endif

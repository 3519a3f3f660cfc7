/* sort/buckets: launches count and move keys by digits from the top, until a bucket of them fits in local memory, where a
 * group sorts it.
 *
 * in      keys: n elements
 * out     sorted: the elements in order; before that, keys between moves
 * scratch between: keys between moves; table: for each of two levels buckets, and the bucket of each tile; tasks; two
 *         counts of each chunk of the first level; state: zeros, which the `final` launch leaves zero
 * local   COUNTS: COPIES of a count of each value of the digit; moves: as COUNTS, then a tile's keys; TILES: a count of each
 *         bin, then a task's keys; FILLS: where each value's part begins, and where the bucket ends; TIES: a
 *         count of each work-item
 * launch  for each byte from the top: COUNTS, of wide integers' top byte a second `final` one, and moves, each any number of
 *         groups; for the top byte of floats COUNTS takes NOTES; for the lowest byte FILLS in place of moves; then
 *         TILES, any number of groups; then for floats TIES, any number of groups. No group waits for another
 * host    gp_sort_key, gp_element_of (sort_keys.h), DIGITS
 * order   of elements alike in all bits nobody sees the order. NaN, and zeros of both signs, TIES puts back in that of memory
 * source  Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs, 2017
 *
 * A bucket is the keys that are alike above a byte. The last group to count a bucket says what becomes of its parts, the
 * keys of each value of the byte:
 *
 *     more than `room`      a bucket of the next byte
 *     more than room / 2    a task of one group
 *     fewer                 a task with those that begin in the same window; this and the largest of them fit in the room
 *
 * A bucket whose keys are alike in the byte too is not moved. If all integers share leading bits of the top byte, they may be
 * counted again; bytes are then those of keys without these bits.
 */
#if COUNTS
/* Loads of a work-item in flight, each of LOAD_KEYS keys. */
#define FLYING 4

/* Count the digit of a key, which lies as an element if `raw`. */
#define COUNT_DIGIT(bits, raw) gp_increment(own + ((u32)((element_t)(((raw) ? gp_sort_key(bits) : (bits)) << lead) >> shift) & (DIGITS - 1)) * COPIES)

#if NOTES
/* True for zeros of both signs and NaN. */
#define IS_SPECIAL(bits) ((element_t)(((bits) & ~ORDER_SIGN) - 1) >= INFINITE_KEY)

/* Count a zero or NaN by its kind. */
DEVICE void gp_tally(const element_t bits, u32 *found)
{
    const element_t size = bits & ~ORDER_SIGN;
    found[0] += bits == 0;
    found[1] += bits != 0 && size == 0;
    found[2] += size > INFINITE_KEY;
}
#else
#define IS_SPECIAL(bits) 0
#define gp_tally(bits, found) (void)0
#endif

/* Count keys that lie side by side: one by one up to a vector's begin, then vectors, then the rest. Of elements count also
 * positive zeros, negative ones and NaN. */
DEVICE void gp_count_keys(LOCAL u32 *own, GLOBAL const element_t *from, const i64 size, const u32 place, const int shift,
                          const int lead, LOCAL u32 *tallies, const int tid)
{
    const i64 head = min(size, (i64)((16 - (u64)from % 16) % 16 / BYTES)), vectors = (size - head) / LOAD_KEYS;
#if NOTES
    u32 found[3] = {0, 0, 0};
#endif
    for (i64 j = tid; j < head; j += BLOCK) {
        COUNT_DIGIT(from[j], !place);
        if (!place) gp_tally(from[j], found);
    }
    i64 v = tid;
    for (; v + (FLYING - 1) * BLOCK < vectors; v += FLYING * BLOCK) {
        element_t flying[FLYING * LOAD_KEYS];
#pragma unroll
        for (int k = 0; k < FLYING; k++)
            READ_VECTOR(ELEMENT, LOAD_KEYS, from + head + (v + k * BLOCK) * LOAD_KEYS, flying + k * LOAD_KEYS);
        if (place) {
#pragma unroll
            for (int k = 0; k < FLYING * LOAD_KEYS; k++) COUNT_DIGIT(flying[k], 0);
        } else {
            int special = 0;
#pragma unroll
            for (int k = 0; k < FLYING * LOAD_KEYS; k++) {
                COUNT_DIGIT(flying[k], 1);
                special |= IS_SPECIAL(flying[k]);
            }
            if (special) /* seldom: load them once more, which takes fewer registers */
#pragma unroll 1
                for (int k = 0; k < FLYING; k++)
#pragma unroll 1
                    for (int at = 0; at < LOAD_KEYS; at++) gp_tally(from[head + (v + k * BLOCK) * LOAD_KEYS + at], found);
        }
    }
    for (i64 j = head + v * LOAD_KEYS; j < size; j += BLOCK * LOAD_KEYS)
        for (int k = 0; k < LOAD_KEYS && j + k < size; k++) {
            COUNT_DIGIT(from[j + k], !place);
            if (!place) gp_tally(from[j + k], found);
        }
#if NOTES
#pragma unroll
    for (int kind = 0; kind < 3; kind++)
        if (found[kind]) gp_add_count(tallies + kind, found[kind]);
#endif
}

/* Note the zeros and NaN of a chunk; return those of the kind of each of the first work-items. */
DEVICE u32 gp_note_chunk(const sort_t *sort, const i64 chunk, LOCAL u32 *tallies, const int tid)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 found = tid < 3 ? tallies[tid] : 0;
    if (tid == 0) {
        sort->table[sort->ties_at + 2 * chunk] = tallies[0] + tallies[1];
        sort->table[sort->ties_at + 2 * chunk + 1] = tallies[2];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < 3) tallies[tid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    return found;
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE) WHOLE_WARPS
void sort_buckets(GLOBAL const element_t *keys, GLOBAL element_t *sorted, GLOBAL element_t *between, GLOBAL u32 *table,
                  GLOBAL u32 *state, const layout_t layout, const i64 n, const i64 digit_at, const i64 final,
                  const i64 most, const i64 room, const i64 tasks_at, const i64 ties_at, const i64 keys_at,
                  const i64 sorted_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    __local shared_t shared;
    const sort_t sort = TAKEN;
    const int tid = get_local_id(0), byte = (int)digit_at, shift = 8 * byte;
    const i64 tiles = gp_level_tiles(&sort, byte), groups = get_num_groups(0), group = get_group_id(0);
    if (tiles == 0) return;
    const int lead = (int)LEAD_OF(state);
    const i64 share = gp_tiles_at_once(tiles, groups, byte), chunk = NOTES ? gp_chunk(tiles) : share;
    u32 special = 0;

    if ((final != 0) & (lead == 0)) return; /* nothing to count again */
    if (tid < 3) shared.tallies[tid] = 0;
    for (i64 turn = group * share; turn < tiles; turn += groups * share) {
        const i64 last = min(turn + share, tiles);
        for (i64 tile = turn; tile < last;) {
            const bucket_t bucket = gp_bucket_of(&sort, byte, tile);
            const i64 end = min(last, (i64)bucket.before + bucket.tiles);

            /* 1. Count. */
            for (int at = tid; at < DIGITS * COPIES; at += BLOCK) counts[at] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            GLOBAL const element_t *from = gp_keys_in(&sort, bucket.place) + bucket.start;
            for (i64 part = tile; part < end; part += chunk) {
                const i64 first = (part - bucket.before) * TILE;
                const i64 past = min((min(part + chunk, end) - bucket.before) * TILE, (i64)bucket.length);
                gp_count_keys(counts + tid % COPIES, from + first, past - first, bucket.place, shift, lead,
                              shared.tallies, tid);
                if (NOTES) special += gp_note_chunk(&sort, part / chunk, shared.tallies, tid);
            }
            if (tid == 0) shared.flag = end - tile == bucket.tiles;
            barrier(CLK_LOCAL_MEM_FENCE);
            u32 count = 0;
            if (tid < DIGITS) {
#pragma unroll 1
                for (int copy = 0; copy < COPIES; copy++) count += counts[COPY_IN_TURN(tid, copy)];
            }

            /* 2. Plan what comes, if nobody else counts the bucket; else the last group to add its counts does. */
            if (!shared.flag) {
                if (count) gp_add_count(bucket.entry + ROW + tid, count);
                gp_fence();
                barrier(CLK_LOCAL_MEM_FENCE);
                if (tid == 0) {
                    const u32 own = (u32)(end - tile);
                    shared.flag = gp_add_count(bucket.entry + DONE, own) + own == bucket.tiles;
                    gp_fence();
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                if (shared.flag) count = tid < DIGITS ? gp_read_word(bucket.entry + ROW + tid) : 0;
            }
            if (shared.flag) {
#if !ORDER_FLOATS
                const int again =
                    BYTES >= 4 && byte == TOP_BYTE && !final && gp_shares_leading_bits(&sort, bucket, count, &shared, tid);
#else
                const int again = 0;
#endif
                if (!again)
                    gp_plan(&sort, bucket, count, bucket.place ? *from : gp_sort_key(*from), byte, lead, &shared, tid);
            }
            tile = end;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }

    if (NOTES && tid < 3 && special) gp_add_count(state + PLUS + tid, special);
}
#elif TIES
/* Elements of a work-item. */
#define OWN 8

/* Zeros of both signs are one key, and so are all NaN: put them in the order of memory, if there are any. */
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_buckets(GLOBAL const element_t *keys, GLOBAL element_t *sorted, GLOBAL element_t *between, GLOBAL u32 *table,
                  GLOBAL u32 *state, const layout_t layout, const i64 n, const i64 digit_at, const i64 final,
                  const i64 most, const i64 room, const i64 tasks_at, const i64 ties_at, const i64 keys_at,
                  const i64 sorted_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, sums);
    __local u32 base;
    __local int flag;
    const int tid = get_local_id(0);
    const i64 tiles = (n + TILE - 1) / TILE, each = gp_chunk(tiles) * TILE;
    const u32 plus = gp_read_word(state + PLUS), minus = gp_read_word(state + MINUS), nans = gp_read_word(state + NANS);
    const u32 zeros = plus && minus ? plus + minus : 0;
    const u32 zeros_at = gp_read_word(state + ZEROS_AT) - (DESCENDING ? zeros : 0), nans_at = DESCENDING ? 0 : (u32)n - nans;

    GLOBAL const u32 *noted = table + ties_at;

    for (i64 chunk = get_group_id(0); chunk * each < n; chunk += get_num_groups(0)) {
        if (!(zeros && noted[2 * chunk]) && !noted[2 * chunk + 1]) continue;
        /* 1. Add up what chunks before this one have. */
        u32 at[2];
        for (int kind = 0; kind < 2; kind++) {
            u32 earlier = 0;
            for (i64 other = tid; other < chunk; other += BLOCK) earlier += noted[2 * other + kind];
            const u32 lower = gp_sum_of_lower(earlier, sums, BLOCK, tid);
            if (tid == BLOCK - 1) base = lower + earlier;
            barrier(CLK_LOCAL_MEM_FENCE);
            at[kind] = base;
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        /* 2. Store the chunk's own. */
        const i64 past = min((chunk + 1) * each, n);
        for (i64 begin = chunk * each; begin < past; begin += BLOCK * OWN) {
            element_t raw[OWN];
            u32 own = 0;
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                const i64 j = begin + tid * OWN + k;
                raw[k] = j < past ? keys[keys_at + j] : ORDER_SIGN >> 1;
                const element_t size = raw[k] & ~ORDER_SIGN;
                own += (size == 0) + ((size > INFINITE_KEY) << 16);
            }
            u32 lower = gp_sum_of_lower(own, sums, BLOCK, tid);
            if (tid == BLOCK - 1) base = lower + own;
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                const element_t size = raw[k] & ~ORDER_SIGN;
                if (zeros && size == 0) sorted[sorted_at + zeros_at + at[0] + (lower & 0xffff)] = raw[k];
                if (size > INFINITE_KEY) sorted[sorted_at + nans_at + at[1] + (lower >> 16)] = raw[k];
                lower += (size == 0) + ((size > INFINITE_KEY) << 16);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            at[0] += base & 0xffff;
            at[1] += base >> 16;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    if (final) gp_leave_zeros(state, &flag, tid);
}
#elif FILLS
/* The keys of a part are alike in every bit: write as many as were counted. */
__kernel WORK_GROUP(BLOCK) WHOLE_WARPS
void sort_buckets(GLOBAL const element_t *keys, GLOBAL element_t *sorted, GLOBAL element_t *between, GLOBAL u32 *table,
                  GLOBAL u32 *state, const layout_t layout, const i64 n, const i64 digit_at, const i64 final,
                  const i64 most, const i64 room, const i64 tasks_at, const i64 ties_at, const i64 keys_at,
                  const i64 sorted_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, begins);
    __local int flag;
    const sort_t sort = TAKEN;
    const int tid = get_local_id(0), byte = (int)digit_at;
    const i64 tiles = gp_level_tiles(&sort, byte);
    const element_t zero = gp_only_negative(state) ? ORDER_SIGN : 0;
    const int lead = (int)LEAD_OF(state);
    GLOBAL element_t *to = sort.sorted;

    for (i64 tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        /* 1. Load where parts begin. */
        const bucket_t bucket = gp_bucket_of(&sort, byte, tile);
        const element_t prefix = byte == TOP_BYTE ? 0 : (element_t)(*(GLOBAL const u64 *)(bucket.entry + PREFIX) << (8 - lead));
        for (int digit = tid; digit < DIGITS; digit += BLOCK) begins[digit] = gp_read_word(bucket.entry + ROW + digit);
        if (tid == 0) begins[DIGITS] = bucket.start + bucket.length;
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Find a work-item's first part in each vector, and go on from there. */
        const i64 first = (i64)bucket.start + (tile - bucket.before) * TILE;
        const i64 past = min(first + TILE, (i64)bucket.start + bucket.length);
        const i64 skew = (i64)((u64)(to + first) % 16 / BYTES);
        for (i64 begin = first - skew + tid * LOAD_KEYS; begin < past; begin += BLOCK * LOAD_KEYS) {
            int low = 0;
            for (int step = DIGITS / 2; step > 0; step /= 2)
                if ((i64)begins[low + step] <= max(begin, first)) low += step;
            element_t found[LOAD_KEYS];
#pragma unroll
            for (int k = 0; k < LOAD_KEYS; k++) {
                while (low < DIGITS - 1 && (i64)begins[low + 1] <= begin + k) low++;
                found[k] = gp_element_of(prefix | (element_t)(low >> lead), zero);
            }
            if (begin >= first && begin + LOAD_KEYS <= past) {
                WRITE_VECTOR(ELEMENT, LOAD_KEYS, to + begin, found);
            } else {
                for (int k = 0; k < LOAD_KEYS; k++)
                    if (begin + k >= first && begin + k < past) to[begin + k] = found[k];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (final) gp_leave_zeros(state, &flag, tid);
}
#elif TILES
__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE) WHOLE_WARPS
void sort_buckets(GLOBAL const element_t *keys, GLOBAL element_t *sorted, GLOBAL element_t *between, GLOBAL u32 *table,
                  GLOBAL u32 *state, const layout_t layout, const i64 n, const i64 digit_at, const i64 final,
                  const i64 most, const i64 room, const i64 tasks_at, const i64 ties_at, const i64 keys_at,
                  const i64 sorted_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, bins);
    LOCAL element_t *staged = (LOCAL element_t *)(bins + BINS + BLOCK);
    __local u32 sums[SUMS];
    __local int crowded, flag;
    const sort_t sort = TAKEN;
    const int tid = get_local_id(0);
    const i64 tasks = gp_read_word(ENTRIES_OF(state, TASKS));
    const int lead = (int)LEAD_OF(state);
    const element_t zero = gp_only_negative(state) ? ORDER_SIGN : 0;

    for (i64 index = get_group_id(0); index < tasks; index += get_num_groups(0)) {
        GLOBAL const u32 *task = table + tasks_at + index * TASK_WORDS;
        const u32 start = task[0], place = PLACE_OF(task[2]), scale = SCALE_OF(task[2]);
        const int length = (int)task[1], shift = SHIFT_OF(task[2]), lower = (int)(task[3] & 255) - shift;
        const u32 lowest = task[3] >> 8 << lower, mask = (1u << (8 + lower)) - 1;
        GLOBAL const element_t *from = gp_keys_in(&sort, place) + start;

        /* 1. Load, and count keys in bins, by the top bits that tell them apart. */
        for (int word = tid; word < BINS + BLOCK; word += BLOCK) bins[word] = 0;
        if (tid == 0) crowded = 0;
        element_t own[ITEMS];
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (item * BLOCK + tid < length) own[item] = from[item * BLOCK + tid];
        if (!place) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) own[item] = gp_sort_key(own[item]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (item * BLOCK + tid < length) gp_increment(bins + BIN_OF(own[item]));
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Find where bins begin. */
        u32 count = 0, fullest = 0;
#pragma unroll
        for (int k = 0; k < BINS_EACH; k++) {
            const u32 here = bins[AT_BIN(tid * BINS_EACH) + k];
            fullest = max(fullest, here);
            count += here;
        }
        if (scale != EXACT && fullest > CROWDED) crowded = 1;
        u32 next = gp_sum_of_lower(count, sums, BLOCK, tid);
#pragma unroll
        for (int k = 0; k < BINS_EACH; k++) {
            const u32 here = bins[AT_BIN(tid * BINS_EACH) + k];
            bins[AT_BIN(tid * BINS_EACH) + k] = next;
            next += here;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Gather the task by bins, sort each, and store. */
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (item * BLOCK + tid < length) {
                const u32 to = gp_increment(bins + BIN_OF(own[item]));
                staged[AT_KEY(to)] = own[item];
            }
        const int filled = (length + WINDOW - 1) / WINDOW * WINDOW;
        for (int j = length + tid; j < filled; j += BLOCK) staged[AT_KEY(j)] = (element_t) ~(element_t)0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (crowded) {
            gp_sort_crowded(staged, length, &flag, tid);
        } else if (scale != EXACT) {
            gp_sort_bins(staged, filled, &flag, tid);
        }
        GLOBAL element_t *to = sort.sorted + start;
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (item * BLOCK + tid < length) to[item * BLOCK + tid] = gp_element_of(staged[AT_KEY(item * BLOCK + tid)], zero);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (final) gp_leave_zeros(state, &flag, tid);
}
#else
/* A tile that is about to move. */
typedef struct {
    bucket_t bucket;
    GLOBAL const element_t *from;
    int live; /* keys of it; 0 for a tile that stays */
} moved_t;

DEVICE moved_t gp_moved_at(const sort_t *sort, const int byte, const i64 tile, const i64 tiles)
{
    moved_t found;
    found.live = 0;
    found.from = sort->keys;
    if (tile >= tiles) return found;
    found.bucket = gp_bucket_of(sort, byte, tile);
    const i64 first = (tile - found.bucket.before) * TILE;
    if (found.bucket.entry[MOVES]) found.live = (int)min((i64)TILE, (i64)found.bucket.length - first);
    found.from = gp_keys_in(sort, found.bucket.place) + found.bucket.start + first;
    return found;
}

DEVICE void gp_load_moved(const moved_t tile, element_t *elements, const int tid)
{
    if (tile.live == TILE) {
#pragma unroll
        for (int item = 0; item < ITEMS; item++) elements[item] = tile.from[item * BLOCK + tid];
    } else {
#pragma unroll
        for (int item = 0; item < ITEMS; item++)
            if (item * BLOCK + tid < tile.live) elements[item] = tile.from[item * BLOCK + tid];
    }
}

/* Clear the rows of the buckets of a level, which are not counted yet, and note the bucket of each tile. */
DEVICE void gp_prepare_buckets(const sort_t *sort, const int byte, const int tid)
{
    const u32 buckets = gp_read_word(ENTRIES_OF(sort->state, byte));
    GLOBAL u32 *notes = gp_tile_notes(sort, byte);
    for (u32 index = get_group_id(0); index < buckets; index += get_num_groups(0)) {
        GLOBAL u32 *entry = gp_entry(sort, byte, index);
        const u32 before = entry[TILES_BEFORE], tiles = (u32)(((i64)entry[LENGTH] + TILE - 1) / TILE);
        for (int digit = tid; digit < DIGITS; digit += BLOCK) entry[ROW + digit] = 0;
        for (u32 tile = tid; tile < tiles; tile += BLOCK) notes[before + tile] = index;
    }
}

#define DIGIT_IN(key) ((u32)((key) >> shift) & (DIGITS - 1))

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE) WHOLE_WARPS
void sort_buckets(GLOBAL const element_t *keys, GLOBAL element_t *sorted, GLOBAL element_t *between, GLOBAL u32 *table,
                  GLOBAL u32 *state, const layout_t layout, const i64 n, const i64 digit_at, const i64 final,
                  const i64 most, const i64 room, const i64 tasks_at, const i64 ties_at, const i64 keys_at,
                  const i64 sorted_at LOCAL_PARAMETER)
{
    LOCAL_MEMORY(u32, counts);
    __local u32 sums[SUMS], places[DIGITS];
    LOCAL element_t *staged = (LOCAL element_t *)(counts + DIGITS * COPIES);
    const sort_t sort = TAKEN;
    const int tid = get_local_id(0), byte = (int)digit_at, shift = 8 * byte - (int)LEAD_OF(state); /* byte > 0 */
    const i64 tiles = gp_level_tiles(&sort, byte), groups = get_num_groups(0);
    LOCAL u32 *own = counts + tid % COPIES;

    /* Groups that run at the same time move neighbours, whose places are near each other. The next tile is loaded while
     * this one is stored. */
    if (tiles == 0) return;
    gp_prepare_buckets(&sort, byte - 1, tid);
    element_t elements[ITEMS];
    moved_t tile = gp_moved_at(&sort, byte, get_group_id(0), tiles);
    gp_load_moved(tile, elements, tid);
    for (i64 turn = get_group_id(0); turn < tiles; turn += groups) {
        const moved_t next = gp_moved_at(&sort, byte, turn + groups, tiles);
        const int live = tile.live, full = live == TILE;

        /* 1. Count digits. */
        for (int at = tid; at < DIGITS * COPIES; at += BLOCK) counts[at] = 0;
        if (!tile.bucket.place) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) elements[item] = gp_sort_key(elements[item]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (full) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++) gp_increment(own + DIGIT_IN(elements[item]) * COPIES);
        } else {
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (item * BLOCK + tid < live) gp_increment(own + DIGIT_IN(elements[item]) * COPIES);
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 2. Take places in the bucket for each digit. */
        u32 count = 0, taken = 0;
        if (tid < DIGITS) {
#pragma unroll
            for (int copy = 0; copy < COPIES; copy++) count += counts[COPY_IN_TURN(tid, copy)];
            if (count) taken = gp_add_count(tile.bucket.entry + ROW + tid, count);
        }
        const u32 begin = gp_sum_of_lower(count, sums, DIGITS, tid);
        if (tid < DIGITS) {
            u32 lower = begin;
#pragma unroll
            for (int copy = 0; copy < COPIES; copy++) {
                const u32 here = counts[COPY_IN_TURN(tid, copy)];
                counts[COPY_IN_TURN(tid, copy)] = lower;
                lower += here;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 3. Gather the tile by digits, in any order among those of one. */
        if (full) {
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                staged[gp_increment(own + DIGIT_IN(elements[item]) * COPIES)] = elements[item];
        } else {
#pragma unroll
            for (int item = 0; item < ITEMS; item++)
                if (item * BLOCK + tid < live)
                    staged[gp_increment(own + DIGIT_IN(elements[item]) * COPIES)] = elements[item];
        }
        if (tid < DIGITS) places[tid] = taken - begin;
        gp_load_moved(next, elements, tid);
        barrier(CLK_LOCAL_MEM_FENCE);

        /* 4. Store. */
        GLOBAL element_t *to = tile.bucket.place == 1 ? between : sort.sorted;
#pragma unroll
        for (int item = 0; item < ITEMS; item++) {
            const int j = item * BLOCK + tid;
            if (j < live) {
                const element_t key = staged[j];
                to[places[DIGIT_IN(key)] + (u32)j] = key;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        tile = next;
    }
}
#endif

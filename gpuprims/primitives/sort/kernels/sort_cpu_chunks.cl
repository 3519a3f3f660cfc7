/* sort/cpu_chunks: a launch samples each row, the next moves the elements of each chunk to buckets of near keys, and the
 * last sorts each bucket by digits, lowest first, in a CPU's caches; keys of one byte are counted and move once; for
 * devices whose work-items are CPU threads.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES and not INDICES
 * out     sorted: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index in its row, if CARRIES
 * scratch between: chunks in buckets, from `keys_0` and `values_0` on; buckets of more than `room` elements from `keys_1`
 *         and `values_1` on, and `spare` further unless KEEPS_KEYS, and earlier the bucket of each element; two buckets
 *         for each group from `keys_2` and `values_2` on; plans: one for each row, then where buckets of chunks begin
 * launch  groups of one work-item, by `step`: 0 one for each row, 1 `parts` for each row, which take a chunk each, 2 any
 *         number of `groups` for each row, which share its buckets
 * host    plan_t, gp_plan_chunks, gp_move_chunk (chunk_buckets.h); gp_sort_key, ORDER_FLOATS, ORDER_SIGN (sort_keys.h, order.h);
 *         carried_t between passes, kept_t in the result
 * order   stable: a bucket reads the chunks in order, and moves keep the order of elements of one bucket or digit
 */
/* Bits of a digit: so few values that the first cache has a line for the next element of each. */
#define WIDTH 8

/* Where elements go. */
typedef struct { GLOBAL element_t *keys; GLOBAL carried_t *values; GLOBAL kept_t *kept; } sink_t;

/* The key of zeros, and the bits in which a key differs from its element. */
#define ZERO_KEY ((element_t)(DESCENDING ? ~ORDER_SIGN : ORDER_SIGN))
#if ORDER_FLOATS
#define FLIPPED(key)                                                                                                   \
    ((element_t)((((key) > ZERO_KEY) != DESCENDING ? ORDER_SIGN : ~(element_t)0) ^ (DESCENDING ? ~(element_t)0 : 0)))
#else
#define FLIPPED(key) ((element_t)((ORDER_SIGNED ? ORDER_SIGN : 0) ^ (DESCENDING ? ~(element_t)0 : 0)))
#endif

/* How a bucket's elements become numbers from 0 on: by the exact key, or by bits to flip, and without `low`. Elements of
 * one sign, without zeros and NaN, are in the order of such bits.
 */
typedef struct { element_t low, flip; int exact; } bucket_t;
#define REST_EXACT(element) ((element_t)(gp_sort_key(element) - bucket.low))
#define REST_FLIPPED(element) ((element_t)(((element) ^ bucket.flip) - bucket.low))

/* Count the digits of a run. */
#define COUNT_DIGIT(pass) counts[pass][(u32)(rest >> (pass) * width) & mask]++

DEVICE void gp_count_run(GLOBAL const element_t *from, const i64 count, const bucket_t bucket, const u32 passes,
                         const u32 width, place_t (*counts)[1 << WIDTH])
{
    const u32 mask = (1u << width) - 1;
    if (!bucket.exact && passes == 3) { /* as many as 32-bit keys have in most buckets */
        UNROLLED
        for (i64 j = 0; j < count; j++) {
            const element_t rest = REST_FLIPPED(from[j]);
            COUNT_DIGIT(0);
            COUNT_DIGIT(1);
            COUNT_DIGIT(2);
        }
        return;
    }
    for (i64 j = 0; j < count; j++) {
        const element_t rest = bucket.exact ? REST_EXACT(from[j]) : REST_FLIPPED(from[j]);
        for (u32 pass = 0; pass < passes; pass++) COUNT_DIGIT(pass);
    }
}

/* Move a run by a digit. */
#define MOVE_RUN(REST, WRITE)                                                                                          \
    UNROLLED                                                                                                           \
    for (i64 j = 0; j < count; j++) {                                                                                  \
        const element_t element = from[j];                                                                             \
        const place_t place = places[(u32)(REST(element) >> shift) & mask]++;                                          \
        WRITE;                                                                                                         \
    }
#define WRITE_BETWEEN                                                                                                  \
    to.keys[place] = element;                                                                                          \
    if (CARRIES) to.values[place] = with[j]
#define WRITE_RESULT                                                                                                   \
    if (KEEPS_KEYS) to.keys[place] = element;                                                                          \
    if (CARRIES) to.kept[place] = (kept_t)with[j]

DEVICE void gp_move_run(GLOBAL const element_t *from, GLOBAL const carried_t *with, const i64 count, const sink_t to,
                        const bucket_t bucket, const u32 shift, const u32 mask, const int last, place_t *places)
{
    if (bucket.exact && last) {
        MOVE_RUN(REST_EXACT, WRITE_RESULT)
    } else if (bucket.exact) {
        MOVE_RUN(REST_EXACT, WRITE_BETWEEN)
    } else if (last) {
        MOVE_RUN(REST_FLIPPED, WRITE_RESULT)
    } else {
        MOVE_RUN(REST_FLIPPED, WRITE_BETWEEN)
    }
}

/* Write a bucket that is in order: the parts of a group, of `groups` that share it. */
DEVICE void gp_copy_bucket(GLOBAL const u32 *begins, GLOBAL const element_t *keys, GLOBAL const carried_t *values,
                           const i64 parts, const i64 chunk, const i64 own, const i64 groups,
                           GLOBAL element_t *sorted, GLOBAL kept_t *kept)
{
    for (i64 part = 0; part < parts; part++) {
        GLOBAL const u32 *ends = begins + part * (BUCKETS + 1);
        const i64 from = part * chunk + ends[0], count = ends[1] - ends[0];
        for (i64 j = 0; j < count && part % groups == own; j++) {
            if (KEEPS_KEYS) sorted[j] = keys[from + j];
            if (CARRIES) kept[j] = (kept_t)values[from + j];
        }
        sorted += count;
        kept += count;
    }
}

/* Return how many elements of a bucket rise before the others fall, none of which are equal; 0 if they do not. */
DEVICE i64 gp_rising(GLOBAL const u32 *begins, GLOBAL const element_t *keys, const i64 parts, const i64 chunk)
{
    i64 rising = 0;
    element_t before = 0;
    int falls = 0;
    for (i64 part = 0; part < parts; part++) {
        GLOBAL const u32 *ends = begins + part * (BUCKETS + 1);
        for (u32 j = ends[0]; j < ends[1]; j++) {
            const element_t key = gp_sort_key(keys[part * chunk + j]);
            falls = falls || key < before;
            if (!falls) rising++;
            else if (key >= before) return 0;
            before = key;
        }
    }
    return rising;
}

/* Merge a bucket whose elements rise and then fall, from both ends. */
DEVICE void gp_merge_ends(GLOBAL const u32 *begins, GLOBAL const element_t *keys, GLOBAL const carried_t *values,
                          const i64 parts, const i64 chunk, const i64 size, GLOBAL element_t *sorted,
                          GLOBAL kept_t *kept)
{
    i64 first = 0, last = parts - 1, front = begins[0], back = (i64)begins[last * (BUCKETS + 1) + 1] - 1;
    for (i64 j = 0; j < size; j++) {
        while (front == begins[first * (BUCKETS + 1) + 1]) front = begins[++first * (BUCKETS + 1)];
        while (back < begins[last * (BUCKETS + 1)]) back = (i64)begins[--last * (BUCKETS + 1) + 1] - 1;
        const element_t low = keys[first * chunk + front], high = keys[last * chunk + back];
        const int rises = gp_sort_key(low) <= gp_sort_key(high);
        if (KEEPS_KEYS) sorted[j] = rises ? low : high;
        if (CARRIES) kept[j] = (kept_t)values[rises ? first * chunk + front : last * chunk + back];
        front += rises;
        back -= !rises;
    }
}

/* Move to their places what keys of one byte carry: every `groups`-th chunk from chunk `own` on (rows: cpu_chunks-bytes). */
DEVICE void gp_place_carried(GLOBAL const u32 *begins, GLOBAL const element_t *keys, GLOBAL const carried_t *with,
                             const i64 n, const i64 parts, const i64 own, const i64 groups, const place_t *firsts,
                             GLOBAL kept_t *kept)
{
    const i64 chunk = (n + parts - 1) / parts;
    place_t places[BUCKETS];
    for (int b = 0; b < BUCKETS; b++) places[b] = firsts[b];
    for (i64 part = 0; part < parts; part++) {
        const i64 first = min(part * chunk, n), end = min(first + chunk, n);
        if (part % groups == own) {
            UNROLLED
            for (i64 j = first; j < end; j++)
                kept[places[TOP_BITS(keys[j])]++] = INDICES ? (kept_t)j : (kept_t)with[j];
        } else {
            GLOBAL const u32 *begin = begins + part * (BUCKETS + 1);
            for (int b = 0; b < BUCKETS; b++) places[b] += begin[b + 1] - begin[b];
        }
    }
}

__kernel WORK_GROUP(1)
void sort_cpu_chunks(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *sorted,
                     GLOBAL kept_t *kept, GLOBAL u8 *between, GLOBAL u64 *plans, const layout_t layout, const i64 rows,
                     const i64 n, const i64 step, const i64 parts, const i64 groups, const i64 room, const i64 spare,
                     const i64 keys_at, const i64 values_at, const i64 sorted_at, const i64 kept_at, const i64 keys_0,
                     const i64 values_0, const i64 keys_1, const i64 values_1, const i64 keys_2, const i64 values_2)
{
    const i64 sharing = step == 0 ? 1 : step == 1 ? parts : groups;
    const i64 task = get_group_id(0), row = task / sharing, own = task % sharing, chunk = (n + parts - 1) / parts;
    GLOBAL plan_t *plan = (GLOBAL plan_t *)plans + row;
    GLOBAL u32 *begins = (GLOBAL u32 *)((GLOBAL plan_t *)plans + rows) + row * parts * (BUCKETS + 1);
    GLOBAL const element_t *from = keys + keys_at + row * n;
    GLOBAL element_t *chunk_keys = (GLOBAL element_t *)between + keys_0 + row * n;
    GLOBAL carried_t *chunk_values = (GLOBAL carried_t *)between + values_0 + row * n;

    /* 1. Find the buckets. */
    if (step == 0) {
        gp_plan_chunks(from, n, plan);
        return;
    }

    /* 2. Move a chunk to its buckets. */
    if (step == 1) {
        const i64 first = min(own * chunk, n), count = min(chunk, n - first);
        gp_move_chunk(plan, from + first, values + values_at + row * n + first, chunk_keys + first,
                      chunk_values + first, between + keys_1 * (i64)sizeof(element_t) + row * n + first, first, count,
                      begins + own * (BUCKETS + 1));
        return;
    }

    /* 3. Find the place of each bucket's first element. */
    place_t firsts[BUCKETS + 1], before = 0;
    for (int b = 0; b <= BUCKETS; b++) firsts[b] = 0;
    for (i64 part = 0; part < parts; part++)
        for (int b = 0; b < BUCKETS; b++)
            firsts[b] += begins[part * (BUCKETS + 1) + b + 1] - begins[part * (BUCKETS + 1) + b];
    for (int b = 0; b <= BUCKETS; b++) {
        const place_t size = firsts[b];
        firsts[b] = before;
        before += size;
    }

    if (plan->alone)
        gp_copy_bucket(begins + plan->alone, chunk_keys, chunk_values, parts, chunk, own, groups,
                       sorted + sorted_at + row * n + firsts[plan->alone], kept + kept_at + row * n + firsts[plan->alone]);
    if (BYTES && CARRIES)
        gp_place_carried(begins, from, values + values_at + row * n, n, parts, own, groups, firsts,
                         kept + kept_at + row * n);
    const int buckets = (int)plan->buckets;
    for (int b = (int)own; b < buckets; b += (int)groups) {
        const i64 first = row * n + firsts[b], size = firsts[b + 1] - firsts[b];
        if (!size || plan->alone && b == (int)plan->alone) continue;
        if (BYTES) {
            GLOBAL element_t *to = sorted + sorted_at + first;
            const element_t element = (element_t)b ^ FLIPPED((element_t)b);
            for (i64 j = 0; j < size && KEEPS_KEYS; j++) to[j] = element;
            continue;
        }

        /* 4. Write a bucket that rises and then falls; else find the bits in which its keys may differ. */
        const i64 rising = gp_rising(begins + b, chunk_keys, parts, chunk);
        if (rising && rising < size) {
            gp_merge_ends(begins + b, chunk_keys, chunk_values, parts, chunk, size, sorted + sorted_at + first,
                          kept + kept_at + first);
            continue;
        }
        element_t low = (element_t)((element_t)plan->base + ((element_t)b << plan->shift)), high;
        if (plan->direct && b > 0 && b < buckets - 1) {
            high = (element_t)(low + (((element_t)1 << plan->shift) - 1));
        } else {
            low = (element_t)~(element_t)0;
            high = 0;
            for (i64 part = 0; part < parts; part++) {
                GLOBAL const u32 *ends = begins + part * (BUCKETS + 1) + b;
                GLOBAL const element_t *run = chunk_keys + part * chunk;
                for (u32 j = ends[0]; j < ends[1]; j++) {
                    const element_t key = gp_sort_key(run[j]);
                    low = key < low ? key : low;
                    high = key > high ? key : high;
                }
            }
        }
        if (high == low || rising == size) {
            gp_copy_bucket(begins + b, chunk_keys, chunk_values, parts, chunk, 0, 1, sorted + sorted_at + first,
                           kept + kept_at + first);
            continue;
        }
        const u32 bits = 64 - (u32)clz((u64)(element_t)(high - low));
        const u32 passes = (bits + WIDTH - 1) / WIDTH, width = (bits + passes - 1) / passes, mask = (1u << width) - 1;
        bucket_t bucket;
        bucket.low = low;
        bucket.exact = ORDER_FLOATS && (low <= ZERO_KEY && high >= ZERO_KEY || (DESCENDING ? !low : !(element_t)~high));
        bucket.flip = FLIPPED(low);

        /* 5. Count the digits. */
        place_t counts[KEY_BITS / WIDTH][1 << WIDTH];
        for (u32 pass = 0; pass < passes; pass++)
            for (int digit = 0; digit < 1 << WIDTH; digit++) counts[pass][digit] = 0;
        for (i64 part = 0; part < parts; part++) {
            GLOBAL const u32 *ends = begins + part * (BUCKETS + 1) + b;
            gp_count_run(chunk_keys + part * chunk + ends[0], ends[1] - ends[0], bucket, passes, width, counts);
        }

        /* 6. Move elements by one digit after the other: from the chunks, between two sides, and to the result. */
        sink_t sides[2], result;
        const int fits = size <= room;
        const i64 beside = fits ? 2 * room * task : first;
        result.keys = sorted + sorted_at + first;
        result.values = 0;
        result.kept = kept + kept_at + first;
        sides[0].keys = (GLOBAL element_t *)between + (fits ? keys_2 : keys_1) + beside;
        sides[0].values = (GLOBAL carried_t *)between + (fits ? values_2 : values_1) + beside;
        sides[1].keys = sides[0].keys + (fits ? room : spare);
        sides[1].values = sides[0].values + (fits ? room : spare);
        sides[0].kept = sides[1].kept = 0;
        if (!fits && KEEPS_KEYS) {
            sides[passes & 1] = sides[0];
            sides[~passes & 1].keys = result.keys;
            sides[~passes & 1].values = (GLOBAL carried_t *)result.kept;
        }
        for (u32 pass = 0; pass < passes; pass++) {
            const int last = pass == passes - 1;
            const u32 shift = pass * width;
            place_t *places = counts[pass], total = 0;
            for (int digit = 0; digit < 1 << WIDTH; digit++) {
                const place_t own = places[digit];
                places[digit] = total;
                total += own;
            }
            const sink_t to = last ? result : sides[pass & 1];
            if (pass) {
                const sink_t at = sides[~pass & 1];
                gp_move_run(at.keys, at.values, size, to, bucket, shift, mask, last, places);
                continue;
            }
            for (i64 part = 0; part < parts; part++) {
                GLOBAL const u32 *ends = begins + part * (BUCKETS + 1) + b;
                const i64 begin = part * chunk + ends[0];
                gp_move_run(chunk_keys + begin, chunk_values + begin, ends[1] - ends[0], to, bucket, shift,
                            mask, last, places);
            }
        }
    }
}

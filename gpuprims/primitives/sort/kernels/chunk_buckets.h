/* Buckets of a row of keys by a sample, and the moves of chunks to them: see sort_cpu_chunks.cl. */
#define BUCKETS 256
#define FINE 4096    /* equal parts of a row's range; if keys are skewed, a bucket joins neighbouring parts */
#define SAMPLED 8192 /* rows: cpu_chunks */
/* Elements whose buckets are found side by side: so many that a compiler keeps the loop, and makes vectors of it. */
#define RUN 512
/* Eight elements at once: one by one, stores wait for each other, in twice the time (rows: cpu_chunks). */
#define UNROLLED _Pragma("unroll 8")
#define KEY_BITS (8 * (int)sizeof(element_t))
/* Keys of one byte are counted and written; what they carry moves at once to its place in the result. */
#define BYTES (KEY_BITS == 8)

/* The buckets of a row. Part `f` of its range begins with key `base + (f << shift)`. If `direct`, each part is a bucket; else
 * `of` has the bucket of each part. Keys outside are in the first and the last part. A key that many elements have is `often`,
 * and alone in bucket `alone`, 0 if there is none: its part's other keys are in the buckets beside.
 */
typedef struct {
    u64 base, often;
    u32 shift, direct, buckets, alone;
    u8 of[FINE];
} plan_t;

DEVICE u32 gp_part_of(const element_t key, const element_t base, const u32 shift, const u32 parts)
{
    const element_t part = (element_t)((element_t)(key - base) >> shift);
    return key < base ? 0 : part < (element_t)(parts - 1) ? (u32)part : parts - 1;
}

/* The place of sampled element k, one in each stretch. Places look random, so that a period does not mislead. */
DEVICE i64 gp_place_in_stretch(const i64 k, const i64 stretch)
{
    return k * stretch + (i64)((u64)k * 0x9E3779B1u >> 11) % stretch;
}

#define SAMPLE(k) gp_sort_key(from[gp_place_in_stretch(k, stretch)])

/* Find the key that more than half of the fullest part's keys have, and an eighth of the sample; return how many have it, 0
 * if none does. Such a key is left when pairs of different ones are taken away (R. Boyer and J. Moore, 1981).
 */
DEVICE i64 gp_find_often(GLOBAL const element_t *from, const i64 sampled, const i64 stretch, const element_t low,
                         const u32 shift, const u32 *counts, element_t *often)
{
    u32 fullest = 0;
    for (u32 part = 1; part < FINE; part++)
        if (counts[part] > counts[fullest]) fullest = part;
    if (8 * (i64)counts[fullest] <= sampled) return 0;
    i64 left = 0, many = 0;
    for (i64 k = 0; k < sampled; k++) {
        const element_t key = SAMPLE(k);
        if (gp_part_of(key, low, shift, FINE) != fullest) continue;
        if (!left) *often = key;
        left += key == *often ? 1 : -1;
    }
    for (i64 k = 0; k < sampled; k++) many += SAMPLE(k) == *often;
    return 8 * many > sampled && 2 * many > (i64)counts[fullest] && many < sampled ? many : 0;
}

/* Cut the range of a sample into parts, and again those without an eighth of the sample at each end, while these are few. */
DEVICE void gp_plan_chunks(GLOBAL const element_t *from, const i64 n, GLOBAL plan_t *plan)
{
    if (BYTES) {
        plan->base = plan->often = plan->shift = plan->alone = 0;
        plan->buckets = BUCKETS;
        plan->direct = 1;
        return;
    }
    const i64 sampled = min(n, (i64)SAMPLED), stretch = n / sampled;
    element_t low = (element_t)~(element_t)0, high = 0, often = 0;
    for (i64 k = 0; k < sampled; k++) {
        const element_t key = SAMPLE(k);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    u32 counts[FINE], shift, bits;
    i64 others = sampled; /* of another key than the one that many have */
    for (int round = 0;; round++) {
        bits = high > low ? 64 - (u32)clz((u64)(element_t)(high - low)) : 0;
        shift = bits > 12 ? bits - 12 : 0;
        const u32 coarse = bits > 8 ? bits - 8 : 0;
        low = (element_t)(low >> coarse << coarse);
        for (int part = 0; part < FINE; part++) counts[part] = 0;
        for (i64 k = 0; k < sampled; k++) {
            const element_t key = SAMPLE(k);
            if (others == sampled || key != often) counts[gp_part_of(key, low, shift, FINE)]++;
        }
        if (!round && shift) {
            others -= gp_find_often(from, sampled, stretch, low, shift, counts, &often);
            if (others < sampled) counts[gp_part_of(often, low, shift, FINE)] -= (u32)(sampled - others);
        }
        u32 first = 0, last = FINE - 1, below = counts[0], above = counts[FINE - 1];
        while (8 * (i64)below <= others) below += counts[++first];
        while (8 * (i64)above <= others) above += counts[--last];
        if (!shift || last - first >= FINE / 16) break;
        low = (element_t)(low + ((element_t)first << shift));
        high = (element_t)(low + (((element_t)(last - first + 1) << shift) - 1));
    }

    /* Parts of a sixteenth of the range's are buckets, if none has three times its share. */
    const int fold = bits > 8 ? (bits < 12 ? (int)bits - 8 : 4) : 0;
    u32 most = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        u32 sum = 0;
        for (int k = 0; k < 1 << fold; k++) sum += counts[(bucket << fold) + k];
        most = max(most, sum);
    }
    plan->base = low;
    plan->often = plan->alone = 0;
    plan->direct = others == sampled && (!fold || most <= (u32)max((i64)8, 3 * sampled / BUCKETS));
    if (plan->direct) {
        plan->shift = shift + fold;
        plan->buckets = BUCKETS;
        return;
    }
    plan->shift = shift;
    const u32 share = (u32)(2 * others / BUCKETS) + 1, divided = others < sampled ? gp_part_of(often, low, shift, FINE) : FINE;
    u32 bucket = 0, sum = 0;
    for (u32 part = 0; part < FINE; part++) {
        if (sum && sum + counts[part] > share && bucket < BUCKETS - 3) {
            bucket++;
            sum = 0;
        }
        sum += counts[part];
        plan->of[part] = (u8)bucket;
        if (part == divided) {
            plan->often = often;
            plan->alone = plan->of[part] = (u8)(bucket + 1);
            bucket += 2;
            sum = counts[part];
        }
    }
    plan->buckets = bucket + 1;
}

/* Find the buckets of RUN elements, or fewer. */
DEVICE void gp_buckets_of(GLOBAL const element_t *from, const int run, const element_t base, const u32 shift,
                          const int direct, const u8 *of, const u32 alone, const element_t often, u32 *buckets)
{
    if (run == RUN) {
        const u32 parts = direct ? BUCKETS : FINE;
        for (int k = 0; k < RUN; k++) buckets[k] = gp_part_of(gp_sort_key(from[k]), base, shift, parts);
    } else {
        for (int k = 0; k < run; k++)
            buckets[k] = gp_part_of(gp_sort_key(from[k]), base, shift, direct ? BUCKETS : FINE);
    }
    if (direct) return;
    for (int k = 0; k < run; k++) buckets[k] = of[buckets[k]];
    if (!alone) return;
    for (int k = 0; k < run; k++) {
        const element_t key = gp_sort_key(from[k]);
        buckets[k] += buckets[k] == alone ? (u32)(key > often) - (u32)(key < often) : 0;
    }
}

/* Turn counts of buckets into the place of the first element of each, and write where each begins, and the end. */
DEVICE void gp_begin_buckets(u32 (*places)[BUCKETS], GLOBAL u32 *begins)
{
    u32 before = 0;
    for (int b = 0; b < BUCKETS; b++) {
        const u32 own = places[0][b] + places[1][b] + places[2][b] + places[3][b];
        begins[b] = places[0][b] = before;
        before += own;
    }
    begins[BUCKETS] = before;
}

#define TOP_BITS(element) ((u32)(gp_sort_key(element) >> (KEY_BITS - 8)))

/* Move the elements of a chunk to their buckets in it, which are kept in `found` meanwhile. Equal neighbours are counted in
 * four sets, so that they do not wait for each other.
 */
DEVICE void gp_move_chunk(GLOBAL const plan_t *plan, GLOBAL const element_t *from, GLOBAL const carried_t *with,
                          GLOBAL element_t *keys, GLOBAL carried_t *values, GLOBAL u8 *found, const i64 first,
                          const i64 count, GLOBAL u32 *begins)
{
    const element_t base = (element_t)plan->base;
    const u32 shift = plan->shift, alone = plan->alone;
    const element_t often = (element_t)plan->often;
    const int direct = plan->direct;
    u32 places[4][BUCKETS], buckets[RUN];
    for (int b = 0; b < BUCKETS; b++) places[0][b] = places[1][b] = places[2][b] = places[3][b] = 0;

    /* Keys of the whole range: the bucket is the top byte. */
    if (direct && !base && shift == KEY_BITS - 8) {
        i64 j = 0;
        for (; j + 4 <= count; j += 4) {
            places[0][TOP_BITS(from[j])]++;
            places[1][TOP_BITS(from[j + 1])]++;
            places[2][TOP_BITS(from[j + 2])]++;
            places[3][TOP_BITS(from[j + 3])]++;
        }
        for (; j < count; j++) places[0][TOP_BITS(from[j])]++;
        gp_begin_buckets(places, begins);
        if (BYTES) return;
        UNROLLED
        for (j = 0; j < count; j++) {
            const element_t element = from[j];
            const u32 place = places[0][TOP_BITS(element)]++;
            keys[place] = element;
            if (CARRIES) values[place] = INDICES ? (carried_t)(first + j) : with[j];
        }
        return;
    }

    u8 of[FINE];
    if (!direct)
        for (int part = 0; part < FINE; part++) of[part] = plan->of[part];
    for (i64 j = 0; j < count; j += RUN) {
        const int run = (int)min((i64)RUN, count - j);
        gp_buckets_of(from + j, run, base, shift, direct, of, alone, often, buckets);
        for (int k = 0; k < run; k++) found[j + k] = (u8)buckets[k];
        int k = 0;
        for (; k + 4 <= run; k += 4) {
            places[0][buckets[k]]++;
            places[1][buckets[k + 1]]++;
            places[2][buckets[k + 2]]++;
            places[3][buckets[k + 3]]++;
        }
        for (; k < run; k++) places[0][buckets[k]]++;
    }
    gp_begin_buckets(places, begins);
    UNROLLED
    for (i64 j = 0; j < count; j++) {
        const u32 place = places[0][found[j]]++;
        keys[place] = from[j];
        if (CARRIES) values[place] = INDICES ? (carried_t)(first + j) : with[j];
    }
}

/* Buckets of a row of keys, by a sample: see sort_cpu_chunks.cl. */
#define BUCKETS 256
#define FINE 4096    /* equal parts of a row's range, neighbours of which make a bucket if keys are skewed */
#define SAMPLED 8192 /* rows: cpu_chunks */
#define KEY_BITS (8 * (int)sizeof(element_t))

/* The buckets of a row. Part `f` of its range begins with key `base + (f << shift)`. If `direct`, each part is a bucket; else
 * `of` has the bucket of each part. Keys outside are in the first and the last part.
 */
typedef struct {
    u64 base;
    u32 shift, direct, buckets, unused;
    u8 of[FINE];
} plan_t;

DEVICE u32 gp_part_of(const element_t element, const element_t base, const u32 shift, const u32 parts)
{
    const element_t key = gp_sort_key(element), part = (element_t)((element_t)(key - base) >> shift);
    return key < base ? 0 : part < (element_t)(parts - 1) ? (u32)part : parts - 1;
}

/* The place of sampled element k, one in each stretch. Places look random, so that a period does not mislead. */
DEVICE i64 gp_place_in_stretch(const i64 k, const i64 stretch)
{
    return k * stretch + (i64)((u64)k * 0x9E3779B1u >> 11) % stretch;
}

/* Cut the range of a sample into parts, and again those without an eighth of the sample at each end, while these are few. */
DEVICE void gp_plan_chunks(GLOBAL const element_t *from, const i64 n, GLOBAL plan_t *plan)
{
    if (KEY_BITS == 8) {
        plan->base = plan->shift = 0;
        plan->buckets = BUCKETS;
        plan->direct = 1;
        return;
    }
    const i64 sampled = min(n, (i64)SAMPLED), stretch = n / sampled;
    element_t low = (element_t)~(element_t)0, high = 0;
    for (i64 k = 0; k < sampled; k++) {
        const element_t key = gp_sort_key(from[gp_place_in_stretch(k, stretch)]);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    u32 counts[FINE], shift, bits;
    for (;;) {
        bits = high > low ? 64 - (u32)clz((u64)(element_t)(high - low)) : 0;
        shift = bits > 12 ? bits - 12 : 0;
        const u32 coarse = bits > 8 ? bits - 8 : 0;
        low = (element_t)(low >> coarse << coarse);
        for (int part = 0; part < FINE; part++) counts[part] = 0;
        for (i64 k = 0; k < sampled; k++) counts[gp_part_of(from[gp_place_in_stretch(k, stretch)], low, shift, FINE)]++;
        u32 first = 0, last = FINE - 1, below = counts[0], above = counts[FINE - 1];
        while (8 * (i64)below <= sampled) below += counts[++first];
        while (8 * (i64)above <= sampled) above += counts[--last];
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
    plan->direct = !fold || most <= (u32)max((i64)8, 3 * sampled / BUCKETS);
    if (plan->direct) {
        plan->shift = shift + fold;
        plan->buckets = BUCKETS;
        return;
    }
    plan->shift = shift;
    const u32 share = (u32)(2 * sampled / BUCKETS) + 1;
    u32 bucket = 0, sum = 0;
    for (u32 part = 0; part < FINE; part++) {
        if (sum && sum + counts[part] > share && bucket < BUCKETS - 1) {
            bucket++;
            sum = 0;
        }
        sum += counts[part];
        plan->of[part] = (u8)bucket;
    }
    plan->buckets = bucket + 1;
}

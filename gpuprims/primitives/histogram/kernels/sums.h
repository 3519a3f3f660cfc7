/* Add to the sums of a bin, and turn finished sums into results.
 *
 * Float weights are added as integers, so the order does not matter. SUMS_EXACT covers all exponents of the dtype;
 * SUMS_SCALED has 62 bits for the largest weight of the bin, whose exponent an earlier launch found (SUMS_PEAKS);
 * SUMS_RELATIVE has 62 bits for the largest weight of the bin in the group's part, which a first pass finds.
 *
 * GPUs add 64 bits in local memory by trying until no other work-item interferes. So a group's sum is a row of DIGITS
 * words of 32 bits, and a carry goes to the next one. Digits begin at START, in the middle of their range, so that
 * carries end soon. Global memory has PLANES sums of 64 bits for each bin. */
#define START 0x80000000u

#if SUMS_PEAKS || SUMS_SCALED || SUMS_RELATIVE || SUMS_EXACT
/* The biased exponent of a weight: for subnormal numbers 1, as for the smallest normal one, for infinities and NaN
 * EXPONENT_MASK. */
DEVICE u32 gp_exponent(const weight_t weight)
{
    const u32 exponent = (u32)(WEIGHT_BITS(weight) >> FRACTION_BITS) & EXPONENT_MASK;
    return exponent ? exponent : weight != 0;
}
#endif

#if SUMS_EXACT
/* The bits of a finite weight before its exponent, without sign. */
DEVICE i64 gp_mantissa(const weight_t weight)
{
    const u64 bits = WEIGHT_BITS(weight), implicit = (u64)1 << FRACTION_BITS;
    return (i64)((bits & (implicit - 1)) | ((bits >> FRACTION_BITS & EXPONENT_MASK) ? implicit : 0));
}
#endif

#if SUMS_SCALED || SUMS_RELATIVE || SUMS_EXACT
/* 1 for infinity, 2 for negative infinity, 3 for NaN. */
DEVICE u32 gp_not_finite(const weight_t weight)
{
    return (weight > 0 ? 1u : 0u) | (weight < 0 ? 2u : 0u) | (weight != weight ? 3u : 0u);
}
#endif

#if SUMS_SCALED || SUMS_RELATIVE
#define TWO_TO(exponent) gp_from_bits_f64((u64)(1023 + (exponent)) << 52)

/* A weight as an integer of at most 62 bits, relative to the bin's largest exponent. If the largest weight is not
 * finite, count infinities from bit 0, and negative ones from bit 48; they alone decide the sum. */
DEVICE i64 gp_scaled(const weight_t weight, const u32 peak)
{
    if (peak == EXPONENT_MASK) {
        const u32 kind = gp_exponent(weight) == EXPONENT_MASK ? gp_not_finite(weight) : 0;
        return (i64)(kind & 1) + ((i64)(kind >> 1) << 48);
    }
    const i32 up = EXPONENT_MASK / 2 + 61 - (i32)peak, lower = up >> 1; /* neither factor overflows */
    return (i64)((f64)weight * TWO_TO(lower) * TWO_TO(up - lower)); /* exact, but for the fraction that is cut */
}
#endif

#if SUMS_DIGITS
/* Carry 1 or -1 to a digit and on to the `left` - 1 above. Carries are rare, so this is a loop. */
DEVICE void gp_carry(LOCAL u32 *digits, const i32 stride, i32 carry, int left)
{
    for (; carry && left > 0; left--) {
        const u32 sum = gp_add_count(digits, (u32)carry) + (u32)carry;
        carry = (sum < (u32)carry) - (carry < 0);
        digits += stride;
    }
}

/* Add a signed number of two digits. `left` digits remain from the lower one on. */
DEVICE void gp_add_pair(LOCAL u32 *digits, const i32 stride, const u32 low, u32 high, const int left)
{
    const int negative = (i32)high < 0;
    if (low && gp_add_count(digits, low) + low < low) high++;
    const i32 carry = high ? (gp_add_count(digits + stride, high) + high < high) - negative : 0;
    if (carry) gp_carry(digits + 2 * stride, stride, carry, left - 2);
}
#endif

#if SUMS_EXACT
/* Add a weight at the digit of its last bit. The digit after the number marks weights that are not finite. */
DEVICE void gp_add_exactly(LOCAL u32 *digits, const i32 stride, const weight_t weight)
{
    const u32 exponent = gp_exponent(weight);
    if (!exponent) return;
    if (exponent == EXPONENT_MASK) {
        gp_set_bits(digits + (DIGITS - 1) * stride, gp_not_finite(weight));
        return;
    }
    const i32 at = (i32)(exponent - 1) >> 5, up = (i32)(exponent - 1) & 31;
    const i64 mantissa = weight < 0 ? -gp_mantissa(weight) : gp_mantissa(weight);
    digits += at * stride;
#if FRACTION_BITS < 32
    const i64 number = (i64)((u64)mantissa << up);
    gp_add_pair(digits, stride, (u32)number, (u32)(number >> 32), DIGITS - 1 - at);
#else
    const u32 low = (u32)((u64)mantissa << up);
    i64 rest = mantissa >> (32 - up);
    if (low && gp_add_count(digits, low) + low < low) rest++;
    gp_add_pair(digits + stride, stride, (u32)rest, (u32)(rest >> 32), DIGITS - 2 - at);
#endif
}
#endif

#if WINDOWED
/* Most weights are added without carries: those from `least` to before `limit`, a window of WINDOW exponents from `lowest`
 * on. Such a weight is an integer of WINDOW_WORDS times SPLIT bits. Each word but the highest takes SPLIT of them, rounded
 * to nearest and so with a sign. Each lane of a warp has words of its own for each place, in a column that is a bank of
 * local memory, so no two lanes conflict. A word holds HELD additions; before more come, gp_empty_window adds the words
 * to the digits. Products with powers of two are exact, and no number on the way is subnormal or overflows. */
#define WINDOW_WORDS (FRACTION_BITS < 32 ? 2 : 4)
#define SPLIT 19
#define HELD 4095
#define WINDOW (WINDOW_WORDS * SPLIT - FRACTION_BITS)
#define LOWEST_WINDOW (FRACTION_BITS + 1)
#define HIGHEST_WINDOW (EXPONENT_MASK - 1 - WINDOW)
#define EXPONENT_BITS 11
#if FRACTION_BITS < 32
#define POWER_OF_TWO(exponent) gp_from_bits_f32((u32)(exponent) << FRACTION_BITS) /* a biased one */
#define TURN_WEIGHT TURN
#else
#define POWER_OF_TWO(exponent) gp_from_bits_f64((u64)(exponent) << FRACTION_BITS)
#define TURN_WEIGHT 6755399441055744.0 /* 1.5 * 2^52 */
#endif

typedef struct {
    weight_t least, limit, scale; /* the scale turns a weight into units of the highest word */
    u32 lowest;
} window_t;

/* Choose the window that has the most exponents of a part's first weights. */
DEVICE window_t gp_choose_window(INPUTS, const layout_t layout, const i64 o, const i64 first, const i64 end,
                                 LOCAL u32 *votes, const int tid)
{
    for (int exponent = tid; exponent <= EXPONENT_MASK + 1; exponent += BLOCK) votes[exponent] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first + tid < end) {
        const value_t value = MAP(o, first + tid);
        gp_increment(votes + gp_exponent(WEIGHT(value)));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 lowest = LOWEST_WINDOW + tid; lowest <= HIGHEST_WINDOW; lowest += BLOCK) {
        u32 found = 0;
        for (int k = 0; k < WINDOW; k++) found += votes[lowest + k];
        if (found || lowest == LOWEST_WINDOW) gp_raise(votes + EXPONENT_MASK + 1, found << EXPONENT_BITS | lowest);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    window_t window;
    const int lowest = (int)(votes[EXPONENT_MASK + 1] & ((1 << EXPONENT_BITS) - 1)), bias = EXPONENT_MASK / 2;
    window.lowest = (u32)lowest;
    window.least = POWER_OF_TWO(lowest);
    window.limit = POWER_OF_TWO(lowest + WINDOW);
    window.scale = POWER_OF_TWO(2 * bias + FRACTION_BITS - (WINDOW_WORDS - 1) * SPLIT - lowest);
    return window;
}

/* Add a weight to the words at `own`, `stride` apart, and return 1; or return 0 if it lies outside the window. */
DEVICE int gp_add_in_window(LOCAL u32 *own, const i32 stride, const weight_t weight, const window_t window)
{
    const weight_t size = weight < 0 ? -weight : weight;
    const int inside = size >= window.least && size < window.limit;
    weight_t rest = (inside ? weight : 0) * window.scale;
#pragma unroll
    for (int word = WINDOW_WORDS - 1; word >= 0; word--) {
        const weight_t turned = rest + TURN_WEIGHT;
        gp_add_count(own + word * stride, (u32)(WEIGHT_BITS(turned) - WEIGHT_BITS(TURN_WEIGHT)));
        rest = (rest - (turned - TURN_WEIGHT)) * (1 << SPLIT);
    }
    return inside || weight == 0;
}

/* Add the words of all places to their digits, two words at a time, and clear them. */
DEVICE void gp_empty_window(LOCAL u32 *digits, LOCAL u32 *words, const i32 width, const i32 columns, const u32 lowest,
                            const int tid)
{
    const i32 pitch = width * columns;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i32 place = tid; place < width; place += BLOCK)
        for (int word = 0; word < WINDOW_WORDS; word += 2) {
            const int bit = (int)lowest - 1 + word * SPLIT, at = bit >> 5, up = bit & 31;
            LOCAL u32 *row = words + word * pitch + place * columns;
            i64 sum = 0;
            for (i32 k = 0; k < columns; k++) {
                LOCAL u32 *own = row + ((k + tid) & (columns - 1));
                sum += (i32)own[0] + (i64)(i32)own[pitch] * (1 << SPLIT);
                own[0] = own[pitch] = 0;
            }
            const u64 low = (u64)(u32)sum << up, high = (u64)(sum >> 32) << up;
            gp_add_pair(digits + at * width + place, width, (u32)low, (u32)(low >> 32), DIGITS - 1 - at);
            gp_add_pair(digits + (at + 1) * width + place, width, (u32)high, (u32)(high >> 32), DIGITS - 2 - at);
        }
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

/* Add a value at a place: ADD in local memory, ADD_GLOBALLY in global memory. `stride` places lie between digits or
 * planes; `peak` is the exponent of the bin's largest weight. */
#if SUMS_COUNTS
#define ADD(own, place, stride, value, peak) gp_increment((own) + (place))
#if WIDE_TOTALS
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_add_integer((whole) + (place), (i64)1)
#else
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_increment((whole) + (place))
#endif
#elif SUMS_PEAKS
#define ADD(own, place, stride, value, peak) gp_raise((own) + (place), gp_exponent(WEIGHT(value)))
#define ADD_GLOBALLY(whole, place, stride, value, peak)                                                                \
    do {                                                                                                               \
        const u32 exponent = gp_exponent(WEIGHT(value));                                                               \
        if (gp_read_word((whole) + (place)) < exponent) gp_raise((whole) + (place), exponent); /* seldom, in time */   \
    } while (0)
#elif SUMS_FLOATS
#define ADD(own, place, stride, value, peak) gp_add_float_locally((own) + (place), (bin_t)WEIGHT(value))
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_add_float_globally((whole) + (place), (total_t)WEIGHT(value))
#elif SUMS_EXACT
#define ADD(own, place, stride, value, peak) gp_add_exactly((own) + (place), stride, WEIGHT(value))
#elif SUMS_SCALED
#define ADD(own, place, stride, value, peak)                                                                           \
    do {                                                                                                               \
        const i64 scaled = gp_scaled(WEIGHT(value), peak);                                                             \
        gp_add_pair((own) + (place), stride, (u32)scaled, (u32)(scaled >> 32), DIGITS);                                \
    } while (0)
#define ADD_GLOBALLY(whole, place, stride, value, peak)                                                                \
    do {                                                                                                               \
        const i64 scaled = gp_scaled(WEIGHT(value), peak);                                                             \
        if ((u32)scaled) gp_add_integer((whole) + (place), (i64)(u32)scaled);                                          \
        if (scaled >> 32) gp_add_integer((whole) + (place) + (stride), scaled >> 32);                                  \
    } while (0)
#elif SUMS_RELATIVE
#define ADD(own, place, stride, value, peak)                                                                           \
    do {                                                                                                               \
        const i64 scaled = gp_scaled(WEIGHT(value), gp_read_count((own) + (place) + 2 * (stride)) >> CARRY_BITS);      \
        gp_add_pair((own) + (place), stride, (u32)scaled, (u32)(scaled >> 32), DIGITS);                                \
    } while (0)
#else
#define ADD(own, place, stride, value, peak)                                                                           \
    gp_add_pair((own) + (place), stride, (u32)WEIGHT(value), (u32)((i64)WEIGHT(value) >> 32), DIGITS)
#define ADD_GLOBALLY(whole, place, stride, value, peak) gp_add_integer((whole) + (place), (i64)WEIGHT(value))
#endif

/* SUMS_RELATIVE takes two passes over a part: the first finds exponents, the second adds. The last digit of a sum has
 * the largest exponent of its weights in its upper bits, and carries, from CARRY_START on, in the others. */
#if SUMS_RELATIVE
#define PASSES 2
#define CARRY_BITS (FRACTION_BITS < 32 ? 24 : 21) /* enough for 2^22 weights */
#define CARRY_START (1u << (CARRY_BITS - 1))
#define ADD_IN_PASS(pass, own, place, stride, value, peak)                                                             \
    do {                                                                                                               \
        if ((pass) == 0) {                                                                                             \
            gp_raise((own) + (place) + 2 * (stride), gp_exponent(WEIGHT(value)) << CARRY_BITS | CARRY_START);          \
        } else {                                                                                                       \
            ADD(own, place, stride, value, peak);                                                                      \
        }                                                                                                              \
    } while (0)
#else
#define PASSES 1
#define ADD_IN_PASS(pass, own, place, stride, value, peak) ADD(own, place, stride, value, peak)
#endif

/* Add a group's sum to one in global memory. */
#if SUMS_PEAKS
#define ADD_SUM(place, sum) gp_raise(place, sum)
#elif SUMS_FLOATS
#define ADD_SUM(place, sum) gp_add_float_globally(place, sum)
#elif WIDE_TOTALS
#define ADD_SUM(place, sum) gp_add_integer(place, (i64)(sum))
#else
#define ADD_SUM(place, sum) gp_add_count(place, sum)
#endif
#if SUMS_SCALED
#define PEAK(o, found) peaks[(o) * (bins + 2) + (found)]
#else
#define PEAK(o, found) 0
#endif

/* A plane's sum of a place, from a group's sums in local memory, where digits of one rank are `stride` apart. BEGIN_SUM is
 * the word `at` of sums without elements. */
#if SUMS_DIGITS
#define DIGIT(own, place, stride, digit) ((i64)(own)[(place) + (digit) * (stride)] - START)
#if SUMS_RELATIVE
#define BEGIN_SUM(at, stride) ((at) < 2 * (stride) ? START : CARRY_START)
DEVICE f64 gp_plane(LOCAL const u32 *own, const i32 place, const i32 stride, const int plane)
{
    const u32 top = own[place + 2 * stride], peak = top >> CARRY_BITS;
    const i64 carry = (i64)(top & ((1u << CARRY_BITS) - 1)) - CARRY_START;
    const i64 low = DIGIT(own, place, stride, 0), high = DIGIT(own, place, stride, 1) + carry * ((i64)1 << 32);
    if (peak == EXPONENT_MASK) { /* the digits count: bits 0 to 47 infinities, the bits above negative ones */
        const i64 above = high + (low < 0 ? -1 : 0);
        const u32 kind = (((u32)low || above & 0xFFFF) ? 1u : 0u) | (above >> 16 ? 2u : 0u);
        const f64 infinity = gp_from_bits_f64((u64)0x7FF0000000000000);
        return kind == 1 ? infinity : kind == 2 ? -infinity : infinity - infinity;
    }
    const i32 exponent = (i32)peak - EXPONENT_MASK / 2 - 61, lower = exponent >> 1; /* no factor overflows */
    const f64 sum = fma((f64)high, TWO_TO(32), (f64)low);
    return sum * TWO_TO(lower) * TWO_TO(exponent - lower);
}
#else
#define BEGIN_SUM(at, stride) START
DEVICE i64 gp_plane(LOCAL const u32 *own, const i32 place, const i32 stride, const int plane)
{
#if SUMS_EXACT
    if (plane == DIGITS - 1) {
        const u32 kind = own[place + plane * stride] - START;
        return (i64)(kind & 1) + ((i64)(kind >> 1) << 32);
    }
    return DIGIT(own, place, stride, plane);
#elif SUMS_SCALED
    return plane == 0 ? DIGIT(own, place, stride, 0) : DIGIT(own, place, stride, 1) + DIGIT(own, place, stride, 2) * ((i64)1 << 32);
#else
    return (i64)((u64)DIGIT(own, place, stride, 0) + ((u64)DIGIT(own, place, stride, 1) << 32));
#endif
}
#endif
#else
#define BEGIN_SUM(at, stride) 0
#define gp_plane(own, place, stride, plane) (own)[place]
#endif

/* Where a group's sums go. If the launch is FINAL, into the result: at once if there is one part, else the last group
 * stores the totals of all groups, and leaves zeros (MERGED). Else into a row for each part, which a later launch adds. */
#define OWN_ROW(o, part) (histograms + ((part) * outputs + (o)) * PLANES * (bins + 2))

#if FINAL
/* A sum whose planes come from the lowest to the highest. */
#if SUMS_EXACT
typedef struct {
    i64 carry;
    i32 below, lower;          /* the last two digits, from -2^31 to 2^31 - 1 */
    i32 top, second, third;    /* the highest digit that is not zero, and those below */
    i32 tail, rest;            /* the signs of what lies below `lower`, and below `third` */
    int digits, at;            /* how many digits there were, also below the highest */
    u32 kind;                  /* as of gp_not_finite */
} joined_t;

DEVICE void gp_join_digit(joined_t *sum, const i64 plane)
{
    const i64 whole = plane + sum->carry;
    const i32 digit = (i32)(u32)whole;
    sum->carry = (whole - digit) >> 32;
    if (digit) {
        sum->top = digit;
        sum->second = sum->below;
        sum->third = sum->lower;
        sum->rest = sum->tail;
        sum->at = sum->digits;
    }
    if (sum->lower) sum->tail = sum->lower < 0 ? -1 : 1;
    sum->lower = sum->below;
    sum->below = digit;
    sum->digits++;
}

DEVICE void gp_join_plane(joined_t *sum, const int plane, const i64 value)
{
    if (plane == PLANES - 1) {
        sum->kind = ((u32)value ? 1u : 0u) | (value >> 32 ? 2u : 0u);
        return;
    }
    gp_join_digit(sum, value);
}

/* Round a sum to the nearest float of the result's dtype; of two, to the even one. A result is a multiple of the lowest bit
 * of the sum, so subnormal results are exact. */
#define RESULT_BITS (WIDE_TOTALS ? 52 : 23) /* after the first one */
DEVICE f64 gp_joined(joined_t sum)
{
    const i32 last = 1 - EXPONENT_MASK / 2 - FRACTION_BITS; /* the exponent of the lowest digit's last bit */
    if (sum.kind) {
        const u64 infinity = (u64)0x7FF0000000000000, sign = (u64)(sum.kind == 2) << 63;
        return gp_from_bits_f64(sum.kind == 3 ? infinity | (u64)1 << 51 : infinity | sign);
    }
    gp_join_digit(&sum, 0);
    gp_join_digit(&sum, 0);
    if (!sum.top) return 0;

    /* 1. Twice three digits, in two words, and the sign of the rest as the last bit. */
    const u64 upper = (u64)(i64)sum.second << 32, lower = (u64)(i64)sum.third;
    u64 low = upper + lower, high = (u64)(i64)sum.top - (sum.second < 0) - (sum.third < 0) + (low < upper);
    high = high << 1 | low >> 63;
    low <<= 1;
    high -= sum.rest < 0 && !low;
    low += (u64)(i64)sum.rest;
    if (sum.top < 0) {
        low = ~low + 1;
        high = ~high + !low;
    }

    /* 2. The 64 bits from the first one on, which lies in the second word or is the first of the other; and whether there
     * are more. */
    int shift = 0;
    while (shift < 63 && high >> shift) shift++;
    const u64 whole = shift ? high << (64 - shift) | low >> shift : low;
    const int more = shift && low << (64 - shift);

    /* 3. Round, and scale; neither rounds again. */
    const int drop = 63 - RESULT_BITS;
    const u64 fraction = whole & (((u64)1 << drop) - 1), middle = (u64)1 << (drop - 1), kept = whole >> drop;
    const u64 rounded = kept + (fraction > middle || (fraction == middle && (more || (kept & 1))));
    const f64 size = sum.top < 0 ? -(f64)(i64)rounded : (f64)(i64)rounded;
    return ldexp(size, shift + drop - 1 + last + 32 * (sum.at - 2));
}
#else
typedef i64 joined_t;
#define gp_join_plane(sum, plane, value) *(sum) = (value)
#define gp_joined(sum) (sum)
#endif

/* Store a sum whose planes are joined. */
DEVICE void gp_store_total(GLOBAL total_t *results, const i64 place, const joined_t sum)
{
    results[place] = (total_t)gp_joined(sum);
}

#if REPORTS
#define REPORT report
#else
#define REPORT ((GLOBAL i64 *)0)
#endif

#if MERGED
/* Groups add by turns to one of TOTAL_COPIES rows of totals, since memory adds to one address after the other. */
#define TOTALS(o) ((GLOBAL u64 *)(counters + (outputs + 1) / 2 * 2) + (o) * TOTAL_COPIES * PLANES * (bins + 2))
#define OWN_TOTALS(o, part) (TOTALS(o) + (part) % TOTAL_COPIES * PLANES * (bins + 2))

/* Add a group's sum to a total. */
DEVICE void gp_merge(GLOBAL u64 *total, const i64 sum)
{
    if (sum) gp_add_integer((GLOBAL i64 *)total, sum);
}

/* Most planes of exact sums are zero, since weights have few of all exponents. The span of the others is kept as
 * PLANES - first and last + 1, behind the totals. Other sums have one plane. */
typedef struct {
    i32 first, end;
} span_t;

#if SUMS_EXACT
#define SPAN(o) ((GLOBAL u32 *)TOTALS(outputs) + 2 * (o))
#define EMPTY_SPAN {PLANES, 0}
#define WIDEN_SPAN(span, plane, sum)                                                                                   \
    if (sum) {                                                                                                         \
        (span).first = min((span).first, plane);                                                                       \
        (span).end = max((span).end, plane + 1);                                                                       \
    }

/* Widen the span of all groups by those of a group's work-items; `own` is local memory that is free (rows: spans). */
DEVICE void gp_merge_spans(GLOBAL u32 *all, LOCAL u32 *own, const span_t span, const int tid)
{
    const u32 words[2] = {(u32)(PLANES - span.first), (u32)span.end};
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < 2) own[tid] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 2; k++)
        if (gp_read_count(own + k) < words[k]) gp_raise(own + k, words[k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < 2) gp_raise(all + tid, own[tid]);
}

/* Read the span of all groups in the last group, and leave zeros. */
DEVICE span_t gp_take_span(GLOBAL u32 *all, LOCAL u32 *own, const int tid)
{
    if (tid < 2) own[tid] = gp_read_word(all + tid);
    if (tid < 2) gp_add_count(all + tid, 0u - own[tid]);
    barrier(CLK_LOCAL_MEM_FENCE);
    const span_t span = {PLANES - (i32)own[0], (i32)own[1]};
    barrier(CLK_LOCAL_MEM_FENCE);
    return span;
}
#else
#define SPAN(o) ((GLOBAL u32 *)0)
#define EMPTY_SPAN {0, 1}
#define WIDEN_SPAN(span, plane, sum)
DEVICE void gp_merge_spans(GLOBAL u32 *all, LOCAL bin_t *own, const span_t span, const int tid)
{
}
DEVICE span_t gp_take_span(GLOBAL u32 *all, LOCAL bin_t *own, const int tid)
{
    const span_t span = EMPTY_SPAN;
    return span;
}
#endif

/* Take a work-item's totals from `first` to `end` of `all`, AT_A_TIME at once since each read waits for memory, and leave
 * zeros. */
#define AT_A_TIME 4
#define EACH_TAKEN _Pragma("unroll") for (int k = 0; k < AT_A_TIME; k++)
#define EACH_COPY _Pragma("unroll") for (int copy = 0; copy < TOTAL_COPIES; copy++)
DEVICE void gp_take_totals(GLOBAL u64 *totals, const i32 first, const i32 end, const i32 all, i64 *taken)
{
    EACH_TAKEN taken[k] = 0;
    EACH_COPY EACH_TAKEN if (first + k * BLOCK < end) taken[k] += (i64)gp_read_entry(totals + copy * all + first + k * BLOCK);
    EACH_COPY EACH_TAKEN if (first + k * BLOCK < end) gp_write_entry(totals + copy * all + first + k * BLOCK, 0);
}

/* In the last group of `parts`, store the totals of a span of planes as the results of `stored` places, and return one
 * more than a work-item's last place that is not zero. `whole` has room for sums of several planes. */
DEVICE i32 gp_store_totals(GLOBAL total_t *results, const i64 stored, GLOBAL u64 *totals, LOCAL i64 *whole, const i32 width,
                           const span_t span, const int tid)
{
    const i32 begin = span.first * width, end = span.end * width;
    i64 taken[AT_A_TIME];
    i32 seen = 0;
    for (i32 first = begin + tid; first < end; first += AT_A_TIME * BLOCK) {
        gp_take_totals(totals, first, end, PLANES * width, taken);
        EACH_TAKEN
        {
            const i32 place = first + k * BLOCK;
#if PLANES > 1
            if (place < end) whole[place - begin] = taken[k];
#else
            if (place < stored) results[place] = (total_t)taken[k]; /* stored <= width */
            if (taken[k]) seen = place + 1;
#endif
        }
    }
#if PLANES > 1
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i32 place = tid; place < width; place += BLOCK) {
        joined_t sum = {0};
        sum.digits = span.first;
        for (int plane = span.first; plane < span.end; plane++) gp_join_plane(&sum, plane, whole[plane * width + place - begin]);
        if (place < stored) gp_store_total(results, place, sum);
    }
#endif
    return seen;
}

/* Store the totals in the last of `parts` groups that comes here; `own` is the local memory in which it counted. If the
 * launch REPORTS, tell the host one more than the last place that is not zero. */
DEVICE void gp_finish_merging(GLOBAL total_t *results, const i64 stored, GLOBAL u64 *totals, GLOBAL u32 *counter,
                              GLOBAL u32 *spans, const i64 parts, LOCAL bin_t *own, const i32 width,
                              GLOBAL i64 *report, const int tid)
{
    gp_fence();
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) own[0] = gp_last_done(counter, parts);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = (int)own[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!last) return;
    const span_t span = gp_take_span(spans, own, tid);
#if REPORTS
    if (tid == 0) own[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    gp_raise(own, (u32)gp_store_totals(results, stored, totals, (LOCAL i64 *)own, width, span, tid));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid == 0) report[0] = own[0];
#else
    gp_store_totals(results, stored, totals, (LOCAL i64 *)own, width, span, tid);
#endif
}
#endif
#endif

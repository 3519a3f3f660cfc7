/* sort/cpu_chunks: a launch finds the digits that differ; then, for each of them, lowest first, a launch counts the digits of
 * each chunk of a row, and the next moves elements to their places, for devices whose work-items are CPU threads.
 *
 * in      keys: `rows` rows of n elements, side by side; values: one for each, if CARRIES and not INDICES
 * out     sorted: the elements in order, if KEEPS_KEYS; kept: the values, or each element's index in its row, if CARRIES
 * scratch between: two sides for keys and carried values, which begin at `keys_0`, `values_0`, `keys_1` and `values_1`;
 *         differing: for each of `parts` chunks of each row, the bits in which keys differ from the row's first;
 *         counts: DIGITS for each chunk
 * launch  groups of one work-item, one for each chunk: COUNTS with `byte` -1; then, for each byte, COUNTS and not. A launch
 *         for a digit that is the same in all of a row does nothing; but if all digits are, elements move by the last one
 * host    gp_sort_key, DIGITS, DIGIT_OF (sort_keys.h); carried_t between passes, kept_t in the result
 * order   stable: a chunk's elements of one digit follow those of the chunks before, in order
 */
#define BYTES (ORDER_BITS / 8)
/* Elements whose digits are computed side by side: so many that a compiler keeps the loop, and makes vectors of it. */
#define RUN 512

/* A pass: how many come before it, and if it is needed, and the last one. */
typedef struct { int before, live, last; } pass_t;

/* Find out about the pass of a byte from the bits that differ in a row. */
DEVICE pass_t gp_pass_of(GLOBAL const element_t *differing, const i64 parts, const i64 byte)
{
    element_t bits = 0;
    for (i64 part = 0; part < parts; part++) bits |= differing[part];
    pass_t pass;
    pass.before = 0;
    pass.last = 1;
    for (int other = 0; other < BYTES; other++) {
        const int differs = (bits >> (8 * other) & (DIGITS - 1)) != 0;
        pass.before += differs & (other < byte);
        pass.last &= !(differs & (other > byte));
    }
    pass.live = (bits >> (8 * byte) & (DIGITS - 1)) != 0 || (byte == BYTES - 1 && !pass.before);
    return pass;
}

/* Compute the digits of RUN elements. */
DEVICE void gp_digits_of(GLOBAL const element_t *from, const i64 shift, u32 *digits)
{
    for (int k = 0; k < RUN; k++) digits[k] = DIGIT_OF(from[k], shift);
}

#if COUNTS
__kernel WORK_GROUP(1)
void sort_cpu_chunks(GLOBAL const element_t *keys, GLOBAL const u8 *between, GLOBAL element_t *differing,
                     GLOBAL u32 *counts, const layout_t layout, const i64 n, const i64 chunk, const i64 parts,
                     const i64 byte, const i64 keys_at, const i64 keys_0, const i64 keys_1)
{
    const i64 task = get_group_id(0), row = task / parts, part = task % parts;
    const i64 begin = min(part * chunk, n), end = min(begin + chunk, n);
    GLOBAL const element_t *from = keys + keys_at + row * n;

    /* 1. Find the bits that differ. */
    if (byte < 0) {
        const element_t one = gp_sort_key(from[0]);
        element_t bits = 0;
        for (i64 j = begin; j < end; j++) bits |= gp_sort_key(from[j]) ^ one;
        differing[task] = bits;
        return;
    }

    /* 2. Count a digit, in four sets, so that equal neighbours do not wait for each other. */
    const pass_t pass = gp_pass_of(differing + row * parts, parts, byte);
    if (!pass.live) return;
    if (pass.before) from = (GLOBAL const element_t *)between + (pass.before & 1 ? keys_0 : keys_1) + row * n;
    u32 own[4][DIGITS], digits[RUN];
    for (int digit = 0; digit < DIGITS; digit++) own[0][digit] = own[1][digit] = own[2][digit] = own[3][digit] = 0;
    i64 j = begin;
    for (; j + RUN <= end; j += RUN) {
        gp_digits_of(from + j, 8 * byte, digits);
        for (int k = 0; k < RUN; k += 4) {
            own[0][digits[k]]++;
            own[1][digits[k + 1]]++;
            own[2][digits[k + 2]]++;
            own[3][digits[k + 3]]++;
        }
    }
    for (; j < end; j++) own[0][DIGIT_OF(from[j], 8 * byte)]++;
    for (int digit = 0; digit < DIGITS; digit++)
        counts[task * DIGITS + digit] = own[0][digit] + own[1][digit] + own[2][digit] + own[3][digit];
}
#else
/* Elements and values are gathered by digits, as many as a cache line holds of the wider ones, and written together. */
#define WIDEST (CARRIES && sizeof(carried_t) > sizeof(element_t) ? sizeof(carried_t) : sizeof(element_t))
#define LINE (64 / (int)WIDEST)
typedef union { element_t items[LINE]; u64 words[LINE * sizeof(element_t) / 8]; } key_line_t;
typedef union { carried_t items[LINE]; u64 words[LINE * sizeof(carried_t) / 8]; } value_line_t;

/* Write a word past the caches, where the compiler can: a line that is written whole need not be read before. */
#define STREAM(word, to) *(to) = (word)
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#undef STREAM
#define STREAM(word, to) __builtin_nontemporal_store(word, to)
#endif
#endif
/* Bytes of keys from which they do not stay in caches anyway. */
#define STREAMED (1 << 22)

/* Where a pass writes; `keys` and `final` are null if it does not. */
typedef struct { GLOBAL element_t *keys; GLOBAL carried_t *values; GLOBAL kept_t *final; int streams; } sink_t;

/* Write a whole line from place `first` on. */
DEVICE void gp_write_line(const sink_t to, const key_line_t *keys, const value_line_t *values, const i64 first)
{
    if (to.keys && to.streams) {
        GLOBAL u64 *line = (GLOBAL u64 *)(to.keys + first);
        for (int k = 0; k < (int)(sizeof(key_line_t) / 8); k++) STREAM(keys->words[k], line + k);
    } else if (to.keys) {
        for (int k = 0; k < LINE; k++) to.keys[first + k] = keys->items[k];
    }
    if (!CARRIES) return;
    if (to.final && to.streams) {
        for (int k = 0; k < LINE; k++) STREAM((kept_t)values->items[k], to.final + first + k);
    } else if (to.final) {
        for (int k = 0; k < LINE; k++) to.final[first + k] = (kept_t)values->items[k];
    } else if (to.streams) {
        GLOBAL u64 *line = (GLOBAL u64 *)(to.values + first);
        for (int k = 0; k < (int)(sizeof(value_line_t) / 8); k++) STREAM(values->words[k], line + k);
    } else {
        for (int k = 0; k < LINE; k++) to.values[first + k] = values->items[k];
    }
}

/* Write items `begin` to `end` of a line whose first item has place `first`. */
DEVICE void gp_write_part(const sink_t to, const key_line_t *keys, const value_line_t *values, const i64 first,
                          const int begin, const int end)
{
    for (int k = begin; k < end; k++) {
        if (to.keys) to.keys[first + k] = keys->items[k];
        if (!CARRIES) continue;
        if (to.final) {
            to.final[first + k] = (kept_t)values->items[k];
        } else {
            to.values[first + k] = values->items[k];
        }
    }
}

__kernel WORK_GROUP(1)
void sort_cpu_chunks(GLOBAL const element_t *keys, GLOBAL const carried_t *values, GLOBAL element_t *sorted,
                     GLOBAL kept_t *kept, GLOBAL u8 *between, GLOBAL const element_t *differing,
                     GLOBAL const u32 *counts, const layout_t layout, const i64 n, const i64 chunk, const i64 parts,
                     const i64 byte, const i64 keys_at, const i64 values_at, const i64 sorted_at, const i64 kept_at,
                     const i64 keys_0, const i64 values_0, const i64 keys_1, const i64 values_1)
{
    const i64 task = get_group_id(0), row = task / parts, part = task % parts;
    const i64 begin = min(part * chunk, n), end = min(begin + chunk, n);
    GLOBAL const element_t *from = keys + keys_at + row * n;
    GLOBAL const carried_t *with = values + values_at + row * n;

    /* 1. Find where this pass reads and writes. */
    const pass_t pass = gp_pass_of(differing + row * parts, parts, byte);
    if (!pass.live) return;
    const int odd = pass.before & 1, numbers = INDICES ? !pass.before : 0;
    if (pass.before) {
        from = (GLOBAL const element_t *)between + (odd ? keys_0 : keys_1) + row * n;
        with = (GLOBAL const carried_t *)between + (odd ? values_0 : values_1) + row * n;
    }
    sink_t to;
    to.keys = (GLOBAL element_t *)between + (odd ? keys_1 : keys_0) + row * n;
    if (pass.last) to.keys = KEEPS_KEYS ? sorted + sorted_at + row * n : 0;
    to.values = (GLOBAL carried_t *)between + (odd ? values_1 : values_0) + row * n;
    to.final = pass.last ? kept + kept_at + row * n : 0;

    /* 2. Find the place of this chunk's first element of each digit. Places count from the start of a cache line. */
    const int skew = (int)((to.keys ? (size_t)to.keys / sizeof(element_t) : (size_t)to.final / sizeof(kept_t)) % LINE);
    if (to.keys) to.keys -= skew;
    if (to.final) to.final -= skew;
    to.values -= skew;
    to.streams = n * (i64)sizeof(element_t) >= STREAMED && (size_t)to.keys % sizeof(key_line_t) == 0;
    if (CARRIES) to.streams &= (size_t)to.values % sizeof(value_line_t) == 0;
    place_t firsts[DIGITS], places[DIGITS], before = (place_t)skew;
    for (int digit = 0; digit < DIGITS; digit++) {
        place_t all = 0, earlier = 0;
        for (i64 k = 0; k < parts; k++) {
            const u32 count = counts[(row * parts + k) * DIGITS + digit];
            earlier += k < part ? count : 0;
            all += count;
        }
        firsts[digit] = places[digit] = before + earlier;
        before += all;
    }

    /* 3. Gather the elements of each digit, in order, and write each line that is full. */
    key_line_t key_lines[DIGITS] __attribute__((aligned(64)));
    value_line_t value_lines[CARRIES ? DIGITS : 1] __attribute__((aligned(64)));
    u32 digits[RUN];
    for (i64 j = begin; j < end; j += RUN) {
        const int run = (int)min((i64)RUN, end - j);
        if (run == RUN) {
            gp_digits_of(from + j, 8 * byte, digits);
        } else {
            for (int k = 0; k < run; k++) digits[k] = DIGIT_OF(from[j + k], 8 * byte);
        }
        for (int k = 0; k < run; k++) {
            const u32 digit = digits[k];
            const place_t place = places[digit]++;
            const int item = (int)(place % LINE);
            key_lines[digit].items[item] = from[j + k];
            if (CARRIES) value_lines[digit].items[item] = numbers ? (carried_t)(j + k) : with[j + k];
            if (item < LINE - 1) continue;
            const place_t line = place - (LINE - 1);
            const value_line_t *beside = &value_lines[CARRIES ? digit : 0];
            if (line >= firsts[digit]) {
                gp_write_line(to, &key_lines[digit], beside, line);
            } else {
                gp_write_part(to, &key_lines[digit], beside, line, (int)(firsts[digit] - line), LINE);
            }
        }
    }

    /* 4. Write the rest. */
    for (int digit = 0; digit < DIGITS; digit++) {
        const place_t line = places[digit] / LINE * LINE;
        const int begins = firsts[digit] > line ? (int)(firsts[digit] - line) : 0, ends = (int)(places[digit] - line);
        gp_write_part(to, &key_lines[digit], &value_lines[CARRIES ? digit : 0], line, begins, ends);
    }
}
#endif

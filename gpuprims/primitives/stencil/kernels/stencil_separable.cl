/* stencil/separable: each group goes down a strip of columns; it filters the rows that it loads, keeps them in a ring in local
 * memory, and filters the columns of the ring. Weights are read from memory.
 *
 * in      INPUTS: x0, with axes of batches, rows, and elements of a row side by side; x1, the weights along rows, the
 *         weights along columns, or these after those
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of BLOCK; each takes strips of WIDE columns and `depth` rows until none are left, with local
 *         memory for a ring and for STEP lines
 * host    gp_within, gp_element_at, gp_add_neighbours, gp_lead_of (stencil.h), gp_result; word_t, which holds IN_WORD elements, which UNPACK
 *         makes sums of
 *
 * A filter computes ITEMS elements of a line at once, from ITEMS + TAPS - 1 neighbours:
 *
 *     rows       lane: one of STEP rows; neighbours: CHANNELS apart; results go to the ring
 *     columns    lane: one of WIDE columns; neighbours: a row of the ring apart; results go to memory
 *
 * While a group filters the rows of a step, it loads those of the next. Loads and stores are side by side in the lanes. Loads
 * are words that begin at a multiple of their size, so a row may have up to IN_WORD - 1 elements, its lead, before those that
 * it needs. Element k of a word goes to part k of the line in local memory: lanes write neighbouring words. Lines begin an
 * odd number of words apart, so that lanes in as many rows read all banks. A stencil along one axis does one half of this.
 */
#define WIDE (LANES_X * ITEMS)
#define TAPS (HIGH_X - LOW_X + 1)
#define ALONG (SEPARABLE || TAPS > 1)
#define DOWN (SEPARABLE || TAPS == 1)
/* Rows of a step, one for each lane of a warp. */
#define STEP 32
#define WARPS (BLOCK / 32)
/* Results lag behind the rows that are loaded by as many rows, whole vectors of ITEMS. */
#define LAG ((SPAN - 1 + ITEMS - 1) / ITEMS * ITEMS)
#define RING (LAG + STEP)
#define PITCH_OF_RING (WIDE | 1)
/* Words of a line, and words that a lane loads of it. A warp loads a few of its rows of a step at a time. */
#define LINE (WIDE + HALO)
#define LINE_WORDS ((LINE + 2 * (IN_WORD - 1)) / IN_WORD)
#define WORDS_EACH ((LINE_WORDS + 31) / 32)
#define PITCH_OF_LINES ((IN_WORD * LINE_WORDS) | 1)
#define HELD (WORDS_EACH * (sizeof(word_t) > 4 ? 2 : 1))
#define ROWS_LOADED (HELD <= 4 ? 8 : HELD <= 8 ? 4 : HELD <= 16 ? 2 : 1)
#define ROWS_OF_WARP (STEP / WARPS)
#define GROUPS_AT_ONCE (65536 / (BLOCK * (sizeof(sum_t) > 4 ? 128 : 96)))
/* The weights of a filter follow one another so that all but the first are in whole vectors. */
#define BEFORE_WEIGHTS 3
#define WEIGHTS_ALONG (ALONG ? (BEFORE_WEIGHTS + TAPS + 3) / 4 * 4 : 0)
#define WEIGHTS_DOWN (DOWN ? BEFORE_WEIGHTS + SPAN : 0)

/* A strip: its plane and its first element of a row, the first row that it needs, and the element of the row that each
 * element of a line is, -1 for the constant. These are one after the other if `inside`. */
typedef struct {
    GLOBAL const stored_t *plane;
    LOCAL const i32 *at;
    i32 start, inside;
    index_t top;
} strip_t;

/* Numbers in local memory: number k is in part k % parts. */
typedef struct {
    LOCAL const sum_t *part[IN_WORD];
} line_t;

/* Return the row that the mode reads for row `row` of a strip; -1 for the constant. */
DEVICE index_t row_of(const strip_t strip, const layout_t layout, const int row)
{
    const index_t rows = (index_t)ROWS;
    return gp_within(min(strip.top + row, rows - 1 + HIGH_Y), rows);
}

/* Return 1 if all rows of a step, and all elements that words of them contain, are in the plane. */
DEVICE int all_inside(const strip_t strip, const layout_t layout, const int step)
{
    return strip.inside && strip.top + step >= 0 && strip.top + step + STEP <= (index_t)ROWS;
}

/* Return the address of the first element that a strip needs of a row of the plane. */
DEVICE GLOBAL const stored_t *line_from(const strip_t strip, const layout_t layout, const index_t y)
{
    return strip.plane + y * STRIDE_2 + strip.start;
}

/* Load word `k` of a line from wherever its elements lie. */
DEVICE word_t gather_word(GLOBAL const stored_t *row, const strip_t strip, const int k)
{
#if IN_WORD > 1
    const int bits = 8 * (int)sizeof(stored_t);
    word_t word = 0;
#pragma unroll
    for (int element = 0; element < IN_WORD; element++) {
        const i32 at = strip.at[min(k * IN_WORD + element, LINE - 1)];
        word |= ((u32)row[max(at, 0)] & (0xFFFFFFFFu >> (32 - bits))) << element * bits;
    }
    return word;
#else
    return row[max(strip.at[min(k, LINE - 1)], 0)];
#endif
}

/* Load ROWS_LOADED of a warp's rows of a step, from row `first` of these on. */
DEVICE void load_lines(word_t raw[ROWS_LOADED][WORDS_EACH], const strip_t strip, const layout_t layout, const int step, const int first)
{
    const int lane = get_local_id(0) % 32;
    if (all_inside(strip, layout, step)) {
        GLOBAL const stored_t *from = line_from(strip, layout, strip.top + step + first);
#pragma unroll
        for (int row = 0; row < ROWS_LOADED; row++, from += WARPS * STRIDE_2) {
            GLOBAL const word_t *words = (GLOBAL const word_t *)(from - gp_lead_of(from)) + lane;
#pragma unroll
            for (int k = 0; k < WORDS_EACH; k++)
                raw[row][k] = words[(k + 1) * 32 <= LINE_WORDS ? k * 32 : min(k * 32, LINE_WORDS - 1 - lane)];
        }
    } else {
#pragma unroll
        for (int row = 0; row < ROWS_LOADED; row++) {
            const index_t y = row_of(strip, layout, step + first + row * WARPS);
#pragma unroll
            for (int k = 0; k < WORDS_EACH; k++)
                raw[row][k] = gather_word(strip.plane + max(y, (index_t)0) * STRIDE_2, strip, k * 32 + lane);
        }
    }
}

/* Write loaded rows to local memory: to lines, or, if these are not filtered, to the ring, where the step begins at `base`. */
DEVICE void write_lines(LOCAL sum_t *lines, const word_t raw[ROWS_LOADED][WORDS_EACH], const strip_t strip, const layout_t layout,
                        const int step, const int first, const int base)
{
    const int lane = get_local_id(0) % 32, inside = all_inside(strip, layout, step);
#pragma unroll
    for (int row = 0; row < ROWS_LOADED; row++) {
        const int line = first + row * WARPS;
        const int nothing = MODE_CONSTANT && !inside && row_of(strip, layout, step + line) < 0;
#if !ALONG
        const int lead = inside ? gp_lead_of(line_from(strip, layout, strip.top + step + line)) : 0;
        LOCAL sum_t *to = lines + (base + line < RING ? base + line : base + line - RING) * PITCH_OF_RING;
#endif
#pragma unroll
        for (int k = 0; k < WORDS_EACH; k++) {
            const int word = k * 32 + lane;
            if ((k + 1) * 32 > LINE_WORDS && word >= LINE_WORDS) break;
#pragma unroll
            for (int element = 0; element < IN_WORD; element++) {
                const int place = word * IN_WORD + element;
                const int outside = MODE_CONSTANT && !inside && strip.at[min(place, LINE - 1)] < 0;
                const sum_t number = (nothing | outside) ? (sum_t)BEYOND : UNPACK(raw[row][k], element);
#if ALONG
                lines[line * PITCH_OF_LINES + element * LINE_WORDS + word] = number;
#else
                if (place >= lead && place - lead < WIDE) to[place - lead] = number;
#endif
            }
        }
    }
}

/* Return number `k` of a line. */
DEVICE sum_t number_at(const line_t line, const int parts, const int k)
{
    return line.part[k % parts][k / parts];
}

/* Filter ITEMS elements of a line, whose numbers are `apart` in local memory, by `taps` weights. After `left` neighbours, lines
 * in the ring go on where it begins. */
DEVICE void filter_line(sum_t *sums, line_t line, const int parts, const int apart, const int in_ring, int left,
                        LOCAL const sum_t *weights, const int taps)
{
    sum_t values[ITEMS + CHUNK];
#pragma unroll
    for (int item = 0; item < ITEMS; item++) sums[item] = 0;
#pragma unroll
    for (int item = 0; item < ITEMS; item++) values[item] = number_at(line, parts, item * apart);
    gp_add_neighbours(sums, values, weights, 1);
    weights++;
    left -= ITEMS;
    int passed = ITEMS * apart / parts;
#pragma unroll 2
    for (int tap = 1; tap + CHUNK <= taps; tap += CHUNK, weights += CHUNK) {
        if (in_ring && left == 0) passed -= RING * apart;
#pragma unroll
        for (int k = 0; k < parts; k++) line.part[k] += passed;
#pragma unroll
        for (int k = 0; k < CHUNK; k++) values[ITEMS + k] = number_at(line, parts, k * apart);
        gp_add_neighbours(sums, values + 1, weights, CHUNK);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) values[k] = values[k + CHUNK];
        left -= CHUNK;
        passed = CHUNK * apart / parts;
    }
    if (in_ring && left == 0) passed -= RING * apart;
#pragma unroll
    for (int k = 0; k < parts; k++) line.part[k] += passed;
#pragma unroll
    for (int k = 0; k < (taps - 1) % CHUNK; k++) values[ITEMS + k] = number_at(line, parts, k * apart);
    gp_add_neighbours(sums, values + 1, weights, (taps - 1) % CHUNK);
}

__kernel WORK_GROUP_RESIDENT(BLOCK, GROUPS_AT_ONCE)
void stencil_separable(INPUTS, OUTPUTS, const layout_t layout, const i64 depth LOCAL_PARAMETER)
{
    LOCAL_MEMORY(sum_t, ring);
    LOCAL sum_t *lines = ALONG ? ring + RING * PITCH_OF_RING : ring;
    __local ALIGNED sum_t weights[WEIGHTS_ALONG + WEIGHTS_DOWN];
    __local i32 at[LINE];
    const int tid = get_local_id(0), lane = tid % 32, warp = tid / 32;
    const i64 across = (LENGTH + WIDE - 1) / WIDE, down = (ROWS + depth - 1) / depth;
    for (int k = tid; k < ALONG * TAPS; k += BLOCK) weights[BEFORE_WEIGHTS + k] = x1[layout.offset[1] + k];
    for (int k = tid; k < DOWN * SPAN; k += BLOCK)
        weights[WEIGHTS_ALONG + BEFORE_WEIGHTS + k] = x1[layout.offset[1] + ALONG * TAPS + k];

    for (i64 task = get_group_id(0); task < across * down * BATCHES; task += get_num_groups(0)) {
        const i32 first = (i32)(task % across) * WIDE;
        const i64 top = task / across % down * depth, batch = task / across / down;
        const int rows = (int)min(depth, ROWS - top);
        GLOBAL result_t *out = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + top * STRIDE_OUT_ROW + first;
        strip_t strip;
        strip.plane = x0 + layout.offset[0] + batch * STRIDE_0;
        strip.at = at;
        strip.start = first + LEFT;
        strip.inside = strip.start >= IN_WORD - 1 && strip.start + LINE + 2 * (IN_WORD - 1) <= LENGTH;
        strip.top = (index_t)top + LOW_Y;
        for (int k = tid; k < LINE; k += BLOCK)
            at[k] = gp_element_at(LENGTH, min(strip.start + k, LENGTH - 1 + HIGH_X * CHANNELS));
        barrier(CLK_LOCAL_MEM_FENCE);

        word_t raw[ROWS_LOADED][WORDS_EACH];
        load_lines(raw, strip, layout, 0, warp);
        int base = 0; /* the place in the ring of the first row of the step */
        for (int step = 0; step < rows + LAG; step += STEP, base = base + STEP < RING ? base + STEP : base + STEP - RING) {
            /* 1. Write the rows of this step to local memory, and load those of the next. */
#pragma unroll
            for (int part = 0; part < ROWS_OF_WARP; part += ROWS_LOADED) {
                if (part) load_lines(raw, strip, layout, step, part * WARPS + warp);
                write_lines(lines, raw, strip, layout, step, part * WARPS + warp, base);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (step + STEP < rows + LAG) load_lines(raw, strip, layout, step + STEP, warp);

            /* 2. Filter rows. */
#if ALONG
            const int lead = all_inside(strip, layout, step) ? gp_lead_of(line_from(strip, layout, strip.top + step + lane)) : 0;
            const int turned = base + lane < RING ? base + lane : base + lane - RING;
            for (int block = warp; block < LANES_X; block += WARPS) {
                const int column = block / CHANNELS * (CHANNELS * ITEMS) + block % CHANNELS;
                LOCAL sum_t *to = ring + turned * PITCH_OF_RING + column;
                line_t line;
                sum_t sums[ITEMS];
#pragma unroll
                for (int k = 0; k < IN_WORD; k++)
                    line.part[k] = lines + lane * PITCH_OF_LINES + (lead + column + k) % IN_WORD * LINE_WORDS + (lead + column + k) / IN_WORD;
                filter_line(sums, line, IN_WORD, CHANNELS, 0, 0, weights + BEFORE_WEIGHTS, TAPS);
#pragma unroll
                for (int item = 0; item < ITEMS; item++) to[item * CHANNELS] = sums[item];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
#endif

            /* 3. Filter columns, and store. */
            for (int unit = tid; unit < WIDE * (STEP / ITEMS); unit += BLOCK) {
                const int column = unit % WIDE, row = unit / WIDE * ITEMS, y = step - LAG + row;
                const int behind = base - LAG + row, place = behind < 0 ? behind + RING : behind < RING ? behind : behind - RING;
                if (first + column >= LENGTH || y < 0 || y >= rows) continue;
                sum_t sums[ITEMS];
                line_t line;
                line.part[0] = ring + place * PITCH_OF_RING + column;
#if DOWN
                filter_line(sums, line, 1, PITCH_OF_RING, 1, RING - place, weights + WEIGHTS_ALONG + BEFORE_WEIGHTS, SPAN);
#else
#pragma unroll
                for (int item = 0; item < ITEMS; item++) sums[item] = line.part[0][item * PITCH_OF_RING];
#endif
                GLOBAL result_t *to = out + y * STRIDE_OUT_ROW + column;
                result_t results[ITEMS];
#pragma unroll
                for (int item = 0; item < ITEMS; item++) results[item] = gp_result(layout, sums[item]);
                if (y + ITEMS <= rows) {
#pragma unroll
                    for (int item = 0; item < ITEMS; item++, to += STRIDE_OUT_ROW) *to = results[item];
                } else {
                    for (int item = 0; item < ITEMS; item++, to += STRIDE_OUT_ROW)
                        if (y + item < rows) *to = results[item];
                }
            }
            if (!ALONG) barrier(CLK_LOCAL_MEM_FENCE);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

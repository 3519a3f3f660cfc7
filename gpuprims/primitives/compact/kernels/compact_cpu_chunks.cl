/* compact/cpu_chunks: one launch finds a bit for each element, 1 if it is kept, and the next copies the kept elements,
 * for devices whose work-items are CPU threads.
 *
 * in      INPUTS: n elements of each of `outputs` outputs; if FINDS, a mask or what a function takes, else what is kept
 * out     OUTPUTS: the kept elements side by side, and their number
 * scratch bits: `words` words of WORD elements for each row of a tile; then each row's count; then each tile's
 * launch  any number of groups of one work-item, the same in both launches; each takes neighbouring tiles of ROWS
 *         outputs and `words` words of each, at most 2^16 elements. `across` neighbouring outputs lie at one stride
 * host    ROW(o, j), ROW_END(j, last), ROW_BESIDE(row, o), MAP_ROW(row, j), KEPT(row, j), FINDS, MASKED, ROWS,
 *         SIDE_BY_SIDE
 * order   kept elements stay in order
 *
 * Where neighbouring outputs lie closer than neighbouring elements, a tile is read across its outputs. For ROWS = 4:
 *
 *     in memory    a0 b0 c0 d0   a1 b1 c1 d1   a2 b2 c2 d2   a3 b3 c3 d3
 *     is kept       1  0  1  1    0  0  1  0    1  1  0  0    0  0  1  0
 *     bits         a: 1 0 1 0    b: 0 0 1 0    c: 1 1 0 1    d: 1 0 0 0
 *     kept         a0 a2         b2            c0 c1 c3      d0
 */
#define WORD 64
/* Loops over elements stay rolled: Intel's compiler does not vectorise unrolled ones. */
#define ROLLED _Pragma("clang loop unroll(disable)")

/* Elements j to `last` of outputs o to o + rows. */
typedef struct { i64 o, j, last; int rows; } tile_t;

DEVICE tile_t tile_at(const i64 task, const i64 chunks, const i64 n, const i64 across, const i64 words)
{
    const i64 strips = (across + ROWS - 1) / ROWS, strip = task / chunks, first = strip % strips * ROWS;
    tile_t tile;
    tile.o = strip / strips * across + first;
    tile.rows = (int)min((i64)ROWS, across - first);
    tile.j = task % chunks * words * WORD;
    tile.last = min(tile.j + words * WORD, n);
    return tile;
}

#if FINDS && SIDE_BY_SIDE
/* Find the bits of a tile, and count those of each row. */
DEVICE void find_tile(INPUTS, const layout_t layout, const tile_t tile, const i64 words, GLOBAL u64 *bits,
                      GLOBAL u32 *counts)
{
    row_t row;
    i64 end = tile.j;
    for (int r = 0; r < ROWS; r++) counts[r] = 0;
    for (i64 first = tile.j; first < tile.last; first += WORD, bits++) {
        u64 kept[ROWS] = {0};
        for (i64 j = first; j < min(first + WORD, tile.last); j++) {
            if (j == end) {
                row = ROW(tile.o, j);
                end = ROW_END(j, tile.last);
            }
            ROLLED for (int r = 0; r < tile.rows; r++) kept[r] |= (u64)MAP_ROW(ROW_BESIDE(row, r), j) << (j - first);
        }
        for (int r = 0; r < tile.rows; r++) {
            bits[r * words] = kept[r];
            counts[r] += (u32)gp_count_bits(kept[r]);
        }
    }
}
#elif FINDS
#define STRETCH (8 * WORD) /* elements of a mask; often none is kept */

/* Gather WORD bytes, each 0 or 1, as bits. A product has those of eight bytes in its highest byte. */
DEVICE u64 gather(const b8 *flags)
{
    u64 bits = 0;
    for (int k = 0; k < 8; k++) bits |= (as_ulong(vload8(k, flags)) * 0x0102040810204080 >> 56) << 8 * k;
    return bits;
}

/* Find the bits of elements j to `last` of an output; return how many are kept. */
DEVICE u32 find_row(INPUTS, const layout_t layout, const i64 o, i64 j, const i64 last, GLOBAL u64 *bits)
{
    row_t row;
    i64 end = j;
    u32 count = 0;
    while (j < last) {
        if (j == end) {
            row = ROW(o, j);
            end = ROW_END(j, last);
        }

        /* 1. Take whole words of one row. */
        i64 stop = end;
#if MASKED
        for (; j + STRETCH <= end; j += STRETCH) {
            b8 any = 0;
            ROLLED for (int k = 0; k < STRETCH; k++) any |= MAP_ROW(row, j + k);
            if (any) break;
            for (int k = 0; k < STRETCH / WORD; k++) *bits++ = 0;
        }
        stop = min(end, j + STRETCH);
#endif
        for (; j + WORD <= stop; j += WORD) {
            b8 flags[WORD];
            ROLLED for (int k = 0; k < WORD; k++) flags[k] = MAP_ROW(row, j + k);
            *bits = gather(flags);
            count += (u32)gp_count_bits(*bits++);
        }
        if (stop < end || j == end) continue;

        /* 2. Take a word of several rows, or the last one. */
        u64 kept = 0;
        int k = 0;
        while (k < WORD && j < last) {
            if (j == end) {
                row = ROW(o, j);
                end = ROW_END(j, last);
            }
            for (; k < WORD && j < end; k++, j++) kept |= (u64)MAP_ROW(row, j) << k;
        }
        *bits++ = kept;
        count += (u32)gp_count_bits(kept);
    }
    return count;
}

DEVICE void find_tile(INPUTS, const layout_t layout, const tile_t tile, const i64 words, GLOBAL u64 *bits,
                      GLOBAL u32 *counts)
{
    for (int r = 0; r < tile.rows; r++)
        counts[r] = find_row(INPUT_NAMES, layout, tile.o + r, tile.j, tile.last, bits + r * words);
    for (int r = tile.rows; r < ROWS; r++) counts[r] = 0;
}
#else
#define MANY 24   /* kept elements of a word; rows: cpu_chunks-tiles */
#define FEW 16    /* elements of a block for each kept one */
#define SPARSE 32 /* elements of a row for each kept one */
#define FOUND 512 /* most kept elements of a row that is sparse */
#define FIRST(kept) (int)gp_count_bits(((kept) & -(kept)) - 1)

/* Copy the kept ones of WORD elements side by side to `place` and further, but not to `limit`; return the next place.
 * TAKE(k) is element k. If many of a whole word are kept, each element is written to the next place, without a branch;
 * then the next one takes the place of one that is not kept. */
#if SIDE_BY_SIDE
#define ELEMENTS const staged_t *elements
#define TAKE(k) elements[k]
#else
#define ELEMENTS const layout_t layout, const row_t row, const i64 j
#define TAKE(k) KEPT(row, j + (k))
#endif
DEVICE i64 copy_word(INPUTS, OUTPUTS, ELEMENTS, u64 kept, const int whole, i64 place, const i64 limit)
{
    if (kept == ~(u64)0) {
        ROLLED for (int k = 0; k < WORD; k++) y0[place + k] = TAKE(k);
        return place + WORD;
    }
    if (!whole || place + WORD > limit || gp_count_bits(kept) < MANY) {
        for (; kept; kept &= kept - 1) y0[place++] = TAKE(FIRST(kept));
        return place;
    }
#pragma unroll 8
    for (int k = 0; k < WORD; k++) {
        y0[place] = TAKE(k);
        place += kept >> k & 1;
    }
    return place;
}

#if SIDE_BY_SIDE
/* Copy the kept elements of a tile, and move the places of its rows. */
DEVICE void copy_tile(INPUTS, OUTPUTS, const layout_t layout, const tile_t tile, const i64 words,
                      GLOBAL const u64 *bits, GLOBAL const u32 *counts, i64 *places)
{
    row_t row;
    i64 end = tile.j, limits[ROWS];
    staged_t staged[ROWS][WORD];
    for (int r = 0; r < tile.rows; r++) limits[r] = places[r] + counts[r];
    for (i64 first = tile.j; first < tile.last; first += WORD, bits++) {
        const i64 stop = min(first + WORD, tile.last);
        int count = 0;
        for (int r = 0; r < tile.rows; r++) count += (int)gp_count_bits(bits[r * words]);

        /* 1. Visit a few elements where they lie. */
        if (count * FEW <= tile.rows * WORD) {
            for (int r = 0; r < tile.rows; r++)
                for (u64 kept = bits[r * words]; kept; kept &= kept - 1) {
                    const i64 j = first + FIRST(kept);
                    y0[places[r]++] = KEPT(ROW(tile.o + r, j), j);
                }
            continue;
        }

        /* 2. Load all elements across the rows, and copy the kept ones along the rows. */
        for (i64 j = first; j < stop; j++) {
            if (j >= end) {
                row = ROW(tile.o, j);
                end = ROW_END(j, tile.last);
            }
            ROLLED for (int r = 0; r < tile.rows; r++) staged[r][j - first] = KEPT(ROW_BESIDE(row, r), j);
        }
        const int whole = stop == first + WORD;
        for (int r = 0; r < tile.rows; r++)
            places[r] = copy_word(INPUT_NAMES, OUTPUT_NAMES, staged[r], bits[r * words], whole, places[r], limits[r]);
    }
}
#else
/* Copy elements j to `last` of an output; all are kept. */
DEVICE void copy_all(INPUTS, OUTPUTS, const layout_t layout, const i64 o, i64 j, const i64 last, i64 place)
{
    while (j < last) {
        const row_t row = ROW(o, j);
        const i64 length = ROW_END(j, last) - j;
        ROLLED for (i64 k = 0; k < length; k++) y0[place + k] = KEPT(row, j + k);
        place += length;
        j += length;
    }
}

/* Copy a few kept elements: find two of each word without a branch, then load all of them. */
DEVICE void copy_few(INPUTS, OUTPUTS, const layout_t layout, const i64 o, const i64 j, const i64 last,
                     GLOBAL const u64 *bits, const i64 place)
{
    u16 found[FOUND + 2];
    int count = 0;
    for (int at = 0; at < last - j; at += WORD) {
        u64 kept = *bits++;
        for (int k = 0; k < 2; k++) {
            found[count] = (u16)(at + FIRST(kept));
            count += kept != 0;
            kept &= kept - 1;
        }
        for (; kept; kept &= kept - 1) found[count++] = (u16)(at + FIRST(kept));
    }
    row_t row = ROW(o, j);
    i64 end = ROW_END(j, last);
    for (int k = 0; k < count; k++) {
        if (MANY_ROWS && j + found[k] >= end) {
            row = ROW(o, j + found[k]);
            end = ROW_END(j + found[k], last);
        }
        y0[place + k] = KEPT(row, j + found[k]);
    }
}

/* Copy the kept ones of elements j to `last` of an output. */
DEVICE void copy_some(INPUTS, OUTPUTS, const layout_t layout, const i64 o, i64 j, const i64 last,
                      GLOBAL const u64 *bits, i64 place, const i64 limit)
{
    row_t row;
    i64 begin = j, end = j;
    for (; j < last; j += WORD, bits++)
        for (u64 kept = *bits; kept;) {
            const i64 first = j + FIRST(kept);
            if (first >= end) {
                row = ROW(o, first);
                end = ROW_END(first, last);
                begin = first;
            }
            const u64 here = end - j < WORD ? kept & (((u64)1 << (end - j)) - 1) : kept;
            const int whole = begin <= j && j + WORD <= end;
            place = copy_word(INPUT_NAMES, OUTPUT_NAMES, layout, row, j, here, whole, place, limit);
            kept ^= here;
        }
}

/* Copy the kept elements of a tile, and move the places of its rows. */
DEVICE void copy_tile(INPUTS, OUTPUTS, const layout_t layout, const tile_t tile, const i64 words,
                      GLOBAL const u64 *bits, GLOBAL const u32 *counts, i64 *places)
{
    const i64 j = tile.j, last = tile.last;
    for (int r = 0; r < tile.rows; r++, bits += words) {
        const i64 o = tile.o + r, place = places[r], count = counts[r], most = min((last - j) / SPARSE, (i64)FOUND);
        places[r] += count;
        if (count == last - j)
            copy_all(INPUT_NAMES, OUTPUT_NAMES, layout, o, j, last, place);
        else if (count <= most)
            copy_few(INPUT_NAMES, OUTPUT_NAMES, layout, o, j, last, bits, place);
        else
            copy_some(INPUT_NAMES, OUTPUT_NAMES, layout, o, j, last, bits, place, place + count);
    }
}
#endif
#endif

DEVICE i64 sum_of(GLOBAL const u32 *counts, const i64 number)
{
    i64 sum = 0;
    for (i64 k = 0; k < number; k++) sum += counts[k];
    return sum;
}

/* Find the places of a tile's rows: after earlier strips, earlier rows of the strip, and earlier tiles of the row. */
DEVICE void find_places(GLOBAL const u32 *counts, const i64 chunks, const i64 chunk, i64 place, i64 *places)
{
    for (int r = 0; r < ROWS; r++)
        for (i64 k = 0; k < chunks; k++) {
            if (k == chunk) places[r] = place;
            place += counts[k * ROWS + r];
        }
}

__kernel WORK_GROUP(1)
void compact_cpu_chunks(INPUTS, OUTPUTS, GLOBAL u64 *bits, const layout_t layout, const i64 outputs, const i64 n,
                        const i64 across, const i64 words)
{
    const i64 chunks = (n + words * WORD - 1) / (words * WORD), size = ROWS * words; /* of a row; words of a tile */
    const i64 tasks = outputs / across * ((across + ROWS - 1) / ROWS) * chunks;
    const i64 share = (tasks + get_num_groups(0) - 1) / get_num_groups(0);
    const i64 begin = min((i64)get_group_id(0) * share, tasks), end = min(begin + share, tasks);
    GLOBAL u32 *counts = (GLOBAL u32 *)(bits + tasks * size), *totals = counts + tasks * ROWS;
    i64 places[ROWS], counted = 0, before = 0; /* kept elements of so many tiles */
    int placed = 0;

    for (i64 task = begin; task < end; task++) {
        const tile_t tile = tile_at(task, chunks, n, across, words);
#if FINDS
        /* 1. Find the bits of a tile, and count them. */
        find_tile(INPUT_NAMES, layout, tile, words, bits + task * size, counts + task * ROWS);
        totals[task] = (u32)sum_of(counts + task * ROWS, ROWS);
#else
        /* 2. If some of a tile is kept, find the places of its strip's rows, and copy. */
        if (!totals[task] && task < tasks - 1) continue;
        const i64 chunk = task % chunks, strip = task - chunk;
        if (!placed || strip != counted) {
            before += sum_of(totals + counted, strip - counted);
            counted = strip;
            placed = 1;
            find_places(counts + strip * ROWS, chunks, chunk, before, places);
        }
        if (totals[task])
            copy_tile(INPUT_NAMES, OUTPUT_NAMES, layout, tile, words, bits + task * size, counts + task * ROWS, places);
        if (task == tasks - 1) y1[0] = places[tile.rows - 1];
#endif
    }
}

/* stencil/cpu_long_rows: each work-item computes some hundred columns of a row, with weights that it reads from memory, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0, with axes of batches, planes, rows, and elements of a row side by side; x1, the weights of a row
 * out     OUTPUTS, with the same axes as x0
 * launch  any number of groups of one work-item; each takes parts of ITEMS columns of a row until none are left
 * host    gp_within and gp_load_element (stencil.h), gp_result
 *
 * The elements that PIECE weights need are in private memory. The sums of CHUNK vectors of columns are in registers: each
 * weight is read once for all of them. Each sum adds its neighbours in the order of their indices. Places beyond the ends
 * are the same in all rows, so that those of short rows are found once (rows: cpu_long_rows-short).
 *
 * With ALIKE equal weights behind SKIPPED zeros, elements are weighted once, and become sums of 2, 4, 8 and more of them;
 * a sum adds one for each bit of their number (rows: cpu_long_rows-alike). For 5 neighbours:
 *
 *     elements    a      b      c      d      e      f         sums  e        f
 *     of 2        ab     bc     cd     de     ef
 *     of 4        abcd   bcde                                        e abcd   f bcde
 */
#ifdef ALIKE
#define TAPS ALIKE
#define FIRST_TAP (LOW_X + SKIPPED)
#define WIDE VECTOR_LOCAL
#else
#define TAPS (HIGH_X - LOW_X + 1)
#define FIRST_TAP LOW_X
#define WIDE (CHUNK * VECTOR_LOCAL)
#endif
/* Weights whose elements are in private memory at once. */
#define PIECE 1024
#define AT_ONCE (TAPS < PIECE ? TAPS : PIECE)
/* Elements behind those. */
#define SPARE (2 * VECTOR_LOCAL)
typedef VECTOR_OF(sum_t, VECTOR_LOCAL) vector_t;
#define LOAD(from) GP_JOINED(vload, VECTOR_LOCAL)(0, from)
#define STORE_AT(to, vector) GP_JOINED(vstore, VECTOR_LOCAL)(vector, 0, to)

/* Find the places of `taken` elements of any row, from `start` on. */
DEVICE void find_places_in_row(i32 *places, const layout_t layout, const i64 start, const int taken)
{
    for (int k = 0; k < taken; k++) places[k] = gp_element_at(LENGTH, min((i32)start + k, LENGTH - 1 + HIGH_X));
}

/* Write `taken` elements of a row, from `start` on, to private memory; `known` if their places are. */
DEVICE void fill_row(sum_t *to, GLOBAL const stored_t *row, const layout_t layout, const i64 start, const int taken, const i32 *places,
                     const int known)
{
    const int inside = (int)clamp(-start, (i64)0, (i64)taken), end = (int)clamp(LENGTH - start, (i64)inside, (i64)taken);
    for (int k = inside; k < end; k++) to[k] = NUMBER(row[start + k]);
    for (int side = 0; side < 2; side++) {
        const int from = side ? end : 0, until = side ? taken : inside;
        if (MODE_CONSTANT) {
            for (int k = from; k < until; k++) to[k] = BEYOND;
        } else if (known) {
            for (int k = from; k < until; k++) to[k] = NUMBER(row[places[k]]);
        } else {
            for (int k = from; k < until; k++) to[k] = gp_load_element(row, LENGTH, min((i32)start + k, LENGTH - 1 + HIGH_X));
        }
    }
}

#ifdef ALIKE
/* Weight `taken` elements, and write zeros behind them, which sums of vectors read. */
DEVICE void weigh(sum_t *elements, const sum_t weight, const int taken)
{
    for (int k = 0; k < taken; k++) elements[k] *= weight;
    for (int k = 0; k < SPARE; k++) elements[taken + k] = 0;
}

/* Add `taps` neighbours of each of `wide` columns to the sums; `taken` elements become sums of neighbours. */
DEVICE void add_alike(sum_t *sums, sum_t *elements, const int taps, const int wide, const int taken)
{
    for (int count = 1; count <= taps; count *= 2) {
        if (taps & count) {
            const sum_t *from = elements + (taps & ~(2 * count - 1)); /* behind larger sums, whose vectors are aligned so */
            for (int k = 0; k < wide; k += VECTOR_LOCAL) STORE_AT(sums + k, LOAD(sums + k) + LOAD(from + k));
        }
        if (2 * count > taps) break;
        for (int k = 0; k < taken - count; k += VECTOR_LOCAL)
            STORE_AT(elements + k, LOAD(elements + k) + LOAD(elements + count + k));
    }
}
#else
/* Add `taps` neighbours of WIDE columns, times their weights, to the sums. */
DEVICE void add_taps(sum_t *sums, const sum_t *elements, GLOBAL const sum_t *weights, const int taps)
{
    vector_t held[CHUNK];
#pragma unroll
    for (int k = 0; k < CHUNK; k++) held[k] = LOAD(sums + k * VECTOR_LOCAL);
    for (int tap = 0; tap < taps; tap++) {
        const sum_t weight = weights[tap];
        if (SOME_ZERO && weight == 0) continue;
#pragma unroll
        for (int k = 0; k < CHUNK; k++) held[k] += weight * LOAD(elements + tap + k * VECTOR_LOCAL);
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k++) STORE_AT(sums + k * VECTOR_LOCAL, held[k]);
}
#endif

__kernel WORK_GROUP(1)
void stencil_cpu_long_rows(INPUTS, OUTPUTS, const layout_t layout)
{
    const i64 across = (LENGTH + ITEMS - 1) / ITEMS;
    sum_t elements[ITEMS + AT_ONCE - 1 + SPARE] __attribute__((aligned(64))), sums[ITEMS] __attribute__((aligned(64)));
    i32 places[ITEMS + AT_ONCE - 1];
    const int known = !MODE_CONSTANT & (across == 1) & (TAPS <= PIECE);
    if (known) find_places_in_row(places, layout, FIRST_TAP, (LENGTH + WIDE - 1) / WIDE * WIDE + TAPS - 1);

    for (i64 task = get_group_id(0); task < across * ROWS * PLANES_Z * BATCHES; task += get_num_groups(0)) {
        const i64 first = task % across * ITEMS, y = task / across % ROWS, z = task / across / ROWS % PLANES_Z;
        const i64 batch = task / across / ROWS / PLANES_Z;
        const int width = (int)min((i64)ITEMS, LENGTH - first), wide = (width + WIDE - 1) / WIDE * WIDE;
        GLOBAL const stored_t *row = x0 + layout.offset[0] + batch * STRIDE_0 + z * STRIDE_1 + y * STRIDE_2;
        for (int item = 0; item < wide; item++) sums[item] = 0;

        for (int piece = 0; piece < TAPS; piece += AT_ONCE) {
            /* 1. Load the elements for a piece of the weights. */
            const int taps = min(AT_ONCE, TAPS - piece);
            fill_row(elements, row, layout, first + FIRST_TAP + piece, wide + taps - 1, places, known);

            /* 2. Add them. */
#ifdef ALIKE
            weigh(elements, x1[layout.offset[1] + SKIPPED], wide + taps - 1);
            add_alike(sums, elements, taps, wide, wide + taps - 1);
#else
            GLOBAL const sum_t *weights = x1 + layout.offset[1] + piece;
            for (int item = 0; item < width; item += WIDE) add_taps(sums + item, elements + item, weights, taps);
#endif
        }

        /* 3. Store. */
        GLOBAL result_t *to = y0 + layout.offset[RESULT] + batch * STRIDE_OUT + z * STRIDE_OUT_PLANE + y * STRIDE_OUT_ROW + first;
        for (int item = 0; item < width; item++) to[item] = gp_result(layout, sums[item]);
    }
}

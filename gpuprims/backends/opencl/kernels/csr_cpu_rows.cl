/* csr/cpu_rows: each work-item takes a run of a sparse matrix's rows, of about as many elements as the others' runs, for devices
 * whose work-items are CPU threads.
 *
 * in      INPUTS: x0 stored elements, x1 their places in a row, x2 where n rows begin and the last ends, x3 the dense matrix
 * out     OUTPUTS: y0 n rows of COLUMNS, the product
 * launch  groups of one work-item, each for a run of rows
 * host    HELD columns at once; ELEMENT, PLACE, BEGIN, BESIDE, PRODUCT and add_exactly (sparse.h)
 * order   every SIDE-th element of a stretch of a row, these sums by halves, then the stretches
 */
/* Elements whose products are added up side by side, as many as keep a core's adders busy while there are registers. */
#define SIDE (HELD == 1 ? 8 : HELD < 4 ? 4 : 2)
/* Elements of a row that are added up before their sum is added exactly to that of those before it. */
#define STRETCH 512

/* The first row with so many elements and rows before it, or more; rows count too, for empty ones take time. */
DEVICE i64 first_row(INPUTS, const layout_t layout, const i64 n, const i64 wanted)
{
    i64 low = 0, high = n;
    while (low < high) {
        const i64 row = (low + high) / 2;
        if (BEGIN(row) + row < wanted) {
            low = row + 1;
        } else {
            high = row;
        }
    }
    return low;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void csr_cpu_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const i64 part = get_group_id(0), parts = get_num_groups(0), all = BEGIN(n) + n;
    const i64 last = first_row(INPUT_NAMES, layout, n, (part + 1) * all / parts);

    for (i64 row = first_row(INPUT_NAMES, layout, n, part * all / parts); row < last; row++) {
        const i64 end = BEGIN(row + 1);
        for (int column = 0; column < COLUMNS; column += HELD) {
            const int held = COLUMNS % HELD ? min(HELD, COLUMNS - column) : HELD;
            value_t sums[HELD], lost[HELD];
            for (int k = 0; k < HELD; k++) sums[k] = lost[k] = 0;

            for (i64 at = BEGIN(row); at < end;) {
                const i64 stop = min(at + STRETCH, end);
                value_t side[SIDE][HELD];
                for (int item = 0; item < SIDE; item++)
                    for (int k = 0; k < HELD; k++) side[item][k] = 0;

                /* 1. Add up the products of a stretch. */
                for (; at + SIDE <= stop; at += SIDE)
                    for (int item = 0; item < SIDE; item++)
                        for (int k = 0; k < held; k++)
                            side[item][k] += ELEMENT(at + item) * BESIDE(PLACE(at + item), column + k);
                for (; at < stop; at++)
                    for (int k = 0; k < held; k++) side[0][k] += ELEMENT(at) * BESIDE(PLACE(at), column + k);

                /* 2. Fold what lies side by side. */
                for (int stride = SIDE / 2; stride > 0; stride /= 2)
                    for (int item = 0; item < stride; item++)
                        for (int k = 0; k < HELD; k++) side[item][k] += side[item + stride][k];
                for (int k = 0; k < HELD; k++) add_exactly(&sums[k], &lost[k], side[0][k]);
            }

            /* 3. Store. */
            for (int k = 0; k < held; k++) PRODUCT(row, column + k) = sums[k];
        }
    }
}

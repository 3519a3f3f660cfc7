/* csr/cpu_rows: each work-item takes a run of a sparse matrix's rows, of about as many elements as the others' runs, for devices
 * whose work-items are CPU threads.
 *
 * in      INPUTS: x0 stored elements, x1 their places in a row, x2 where n rows begin and the last ends, x3 the dense matrix
 * out     OUTPUTS: y0 n rows of COLUMNS, the product
 * launch  groups of one work-item, each for a run of rows
 * host    HELD columns at once, side by side in a sum_t; ELEMENT, PLACE, BEGIN, BESIDE, PRODUCT and gp_add_kahan (sparse.h)
 * order   every SIDE-th element of a stretch of a row, these sums by halves, then the stretches
 */
/* Elements whose products are added up side by side, as many as keep a core's adders busy while there are registers. */
#define SIDE (HELD > 1 ? 4 : 8)
/* Elements of a row that are added up before their sum is added exactly to that of those before it. */
#define STRETCH 512

#if HELD > 1
#define LOAD(from) GP_JOINED(vload, HELD)(0, from)
#define STORE(sum, to) GP_JOINED(vstore, HELD)(sum, 0, to)
#else
#define LOAD(from) *(from)
#define STORE(sum, to) *(to) = sum
#endif

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

__kernel WORK_GROUP(1)
void csr_cpu_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const i64 part = get_group_id(0), parts = get_num_groups(0), all = BEGIN(n) + n;
    const i64 last = first_row(INPUT_NAMES, layout, n, (part + 1) * all / parts);

    for (i64 row = first_row(INPUT_NAMES, layout, n, part * all / parts); row < last; row++) {
        const i64 end = BEGIN(row + 1);
        for (int next = 0; next < COLUMNS; next += HELD) {
            const int column = min(next, COLUMNS - HELD); /* the last columns, perhaps some of those before once more */
            sum_t sum = 0, lost = 0;

            for (i64 at = BEGIN(row); at < end;) {
                const i64 stop = min(at + STRETCH, end);
                sum_t side[SIDE];
                for (int item = 0; item < SIDE; item++) side[item] = 0;

                /* 1. Add up the products of a stretch. */
                for (; at + SIDE <= stop; at += SIDE)
                    for (int item = 0; item < SIDE; item++)
                        side[item] += ELEMENT(at + item) * LOAD(&BESIDE(PLACE(at + item), column));
                for (; at < stop; at++) side[0] += ELEMENT(at) * LOAD(&BESIDE(PLACE(at), column));

                /* 2. Fold what lies side by side. */
                for (int stride = SIDE / 2; stride > 0; stride /= 2)
                    for (int item = 0; item < stride; item++) side[item] += side[item + stride];
                gp_add_kahan(&sum, &lost, side[0]);
            }

            /* 3. Store. */
            STORE(sum, &PRODUCT(row, column));
        }
    }
}

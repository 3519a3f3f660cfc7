/* csr/cpu_rows: each work-item takes a run of a sparse matrix's rows with about as many elements as other runs, for
 * devices whose work-items are CPU threads.
 *
 * in      INPUTS: x0 stored elements, x1 their columns, x2 the first element of each of n rows and the end of the last,
 *         x3 the dense matrix
 * out     OUTPUTS: y0 n rows of COLUMNS, the product
 * launch  groups of one work-item, one for each run of rows
 * host    HELD columns at once, side by side in a sum_t; ELEMENT, COLUMN, BEGIN, DENSE, PRODUCT, gp_first_row and
 *         gp_add_kahan (sparse.h)
 * order   every SIDE-th element of a stretch of a row, then these sums by halves, then the stretches
 */
/* Products that are added side by side: as many as keep a core's adders busy and fit in registers. */
#define SIDE (HELD > 1 ? 4 : 8)
/* Elements of a row that are added before their sum joins the row's by Kahan addition. */
#define STRETCH 512

#if HELD > 1
#define LOAD(from) GP_JOINED(vload, HELD)(0, from)
#define STORE(sum, to) GP_JOINED(vstore, HELD)(sum, 0, to)
#else
#define LOAD(from) *(from)
#define STORE(sum, to) *(to) = sum
#endif

__kernel WORK_GROUP(1)
void csr_cpu_rows(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    const i64 part = get_group_id(0), parts = get_num_groups(0), all = BEGIN(n) + n;
    const i64 last = gp_first_row(INPUT_NAMES, layout, n, (part + 1) * all / parts);

    for (i64 row = gp_first_row(INPUT_NAMES, layout, n, part * all / parts); row < last; row++) {
        const i64 end = BEGIN(row + 1);
        for (int next = 0; next < COLUMNS; next += HELD) {
            const int column = min(next, COLUMNS - HELD); /* the last vector may repeat columns */
            sum_t sum = 0, lost = 0;

            for (i64 at = BEGIN(row); at < end;) {
                const i64 stop = min(at + STRETCH, end);
                sum_t side[SIDE];
                for (int item = 0; item < SIDE; item++) side[item] = 0;

                /* 1. Add the products of a stretch. */
                for (; at + SIDE <= stop; at += SIDE)
                    for (int item = 0; item < SIDE; item++)
                        side[item] += ELEMENT(at + item) * LOAD(&DENSE(COLUMN(at + item), column));
                for (; at < stop; at++) side[0] += ELEMENT(at) * LOAD(&DENSE(COLUMN(at), column));

                /* 2. Fold the sums side by side. */
                for (int stride = SIDE / 2; stride > 0; stride /= 2)
                    for (int item = 0; item < stride; item++) side[item] += side[item + stride];
                gp_add_kahan(&sum, &lost, side[0]);
            }

            /* 3. Store. */
            STORE(sum, &PRODUCT(row, column));
        }
    }
}

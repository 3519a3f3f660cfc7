/* Operands of the sparse product: stored elements, their columns, the first element of each row, then the end of the
 * last row; the dense matrix and the product, in rows of COLUMNS. */
#define ELEMENT(at) x0[gp_at_x0(layout, 0, 0) + (at)]
#define COLUMN(at) x1[gp_at_x1(layout, 0, 0) + (at)]
#define BEGIN(row) x2[gp_at_x2(layout, 0, 0) + (row)]
#define DENSE(place, column) x3[gp_at_x3(layout, 0, 0) + (i64)(place) * COLUMNS + (column)]
#define PRODUCT(row, column) y0[gp_at_y0(layout, 0, 0) + (row) * COLUMNS + (column)]

/* Kahan addition. Non-finite values carry no correction. Source: W. Kahan, "Further remarks on reducing truncation
 * errors", 1965. */
DEVICE void gp_add_kahan(sum_t *sum, sum_t *lost, const sum_t value)
{
    const sum_t wanted = value - *lost, found = *sum + wanted;
    *lost = found - found == 0 ? found - *sum - wanted : (sum_t)0;
    *sum = found;
}

/* The first row with at least `wanted` elements and rows before it. Rows count, because empty rows take time too. */
DEVICE i64 gp_first_row(INPUTS, const layout_t layout, const i64 n, const i64 wanted)
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

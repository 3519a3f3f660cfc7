/* The key of an element, which is moved as an unsigned integer: see order.h. */
DEVICE element_t gp_sort_key(const element_t bits)
{
    const element_t key = gp_order_of_raw(bits);
    return DESCENDING ? (element_t)~key : key;
}

/* Return the element of a key. That of zeros is `zero`, and that of NaN any NaN. */
DEVICE element_t gp_element_of(const element_t key, const element_t zero)
{
    const element_t raw = gp_raw_of_order(DESCENDING ? (element_t)~key : key);
    return ORDER_FLOATS && raw == 0 ? zero : raw;
}

/* The digit of an element that begins at bit `shift` of its key. */
#define DIGITS 256
#define DIGIT_OF(element, shift) ((u32)(gp_sort_key(element) >> (shift)) & (DIGITS - 1))

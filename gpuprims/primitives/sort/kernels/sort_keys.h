/* The key of an element, which is moved as an unsigned integer: see order.h. */
DEVICE element_t gp_sort_key(const element_t bits)
{
    const element_t key = gp_order_of_raw(bits);
    return DESCENDING ? (element_t)~key : key;
}

/* The digit of an element that begins at bit `shift` of its key. */
#define DIGITS 256
#define DIGIT_OF(element, shift) ((u32)(gp_sort_key(element) >> (shift)) & (DIGITS - 1))

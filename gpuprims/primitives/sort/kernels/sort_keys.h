/* Elements as unsigned integers whose order is the elements' order: NaN after all numbers, zeros of either sign alike. */
#define TOP_BIT ((element_t)1 << (ELEMENT_BITS - 1))

DEVICE element_t gp_sort_key(const element_t bits)
{
#if FLOATS
    const element_t size = bits & ~TOP_BIT;
    element_t key = bits & TOP_BIT ? ~bits : bits | TOP_BIT;
    key = size ? key : TOP_BIT;
    key = size > INFINITE ? (element_t)~(element_t)0 : key;
#elif SIGNED
    const element_t key = bits ^ TOP_BIT;
#else
    const element_t key = bits;
#endif
    return DESCENDING ? (element_t)~key : key;
}

/* The digit of an element that begins at bit `shift` of its key. */
#define DIGITS 256
#define DIGIT_OF(element, shift) ((u32)(gp_sort_key(element) >> (shift)) & (DIGITS - 1))

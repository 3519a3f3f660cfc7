/* True for elements of the sorted array that a key belongs behind: smaller ones, or with RIGHT equal ones too. */
DEVICE int gp_is_before(const element_t element, const value_t key)
{
#if RIGHT
    return !gp_precedes(key, gp_element_number(element));
#else
    return gp_precedes(gp_element_number(element), key);
#endif
}

/* Element i of the sorted array, and key j. */
#define ELEMENT(i) x0[layout.offset[0] + (i)]
#define KEY(j) gp_key_number(x1[gp_at_x1(layout, 0, j)])

/* Places in local memory leave a gap behind each row of banks, without which halves of 2^k entries would meet in one bank. */
#define PLACE_OF(i) ((i) + ((i) >> 5))

/* What a search tells of a key, given how many of `size` elements come before it. */
#if ASKS_MEMBERS
#define ANSWER(found, key)                                                                                             \
    (((found) < size && gp_equal(gp_element_number(ELEMENT(min((i64)(found), size - 1))), key)) == MEMBER)
#else
#define ANSWER(found, key) (found)
#endif

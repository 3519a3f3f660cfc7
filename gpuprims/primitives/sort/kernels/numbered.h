/* A key and its element's place in the row, in one word. No two words of a row are alike, so that any sort of them is stable. */
#if KEY_BYTES <= 2
typedef u32 numbered_t;
#define PLACE_BITS 16
#else
typedef u64 numbered_t;
#define PLACE_BITS 32
#endif
#define PLACE_OF(word) ((int)((word) & 0xffff))

DEVICE numbered_t gp_numbered(const element_t element, const int place)
{
    return (numbered_t)gp_sort_key(element) << PLACE_BITS | (numbered_t)place;
}

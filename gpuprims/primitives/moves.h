/* Moves of eight elements of 1, 2, 4 or 8 bytes, or their places, by the bits of a mask; C modules that part rows include it,
 * after c_modules.h. Without AVX2 there are none.
 */
#define LANES 8

#if BUILDS_WIDE
#include <immintrin.h>

static npy_uint8 places_of[1 << LANES][LANES]; /* of the bits of a mask that are set */
static npy_int32 words_of[1 << LANES / 2][LANES]; /* the same as pairs of words of 32 bits, of half a mask */

static int has_places(void) {
    for (int mask = 0; mask < 1 << LANES; mask++)
        for (int lane = 0, at = 0; lane < LANES; lane++)
            if (mask >> lane & 1) {
                if (mask < 1 << LANES / 2) words_of[mask][2 * at] = 2 * lane, words_of[mask][2 * at + 1] = 2 * lane + 1;
                places_of[mask][at++] = (npy_uint8)lane;
            }
    return 1;
}

WIDE static inline __m128i bytes_of(const unsigned mask) { return _mm_loadl_epi64((const __m128i *)places_of[mask]); }

/* Store the elements of a mask of eight, and others behind them. */
WIDE static inline void move_1(const void *x, const unsigned mask, void *to) {
    _mm_storel_epi64(to, _mm_shuffle_epi8(_mm_loadl_epi64(x), bytes_of(mask)));
}

WIDE static inline void move_2(const void *x, const unsigned mask, void *to) {
    const __m128i low = _mm_add_epi8(bytes_of(mask), bytes_of(mask)), high = _mm_add_epi8(low, _mm_set1_epi8(1));
    _mm_storeu_si128(to, _mm_shuffle_epi8(_mm_loadu_si128(x), _mm_unpacklo_epi8(low, high)));
}

WIDE static inline void move_4(const void *x, const unsigned mask, void *to) {
    _mm256_storeu_si256(to, _mm256_permutevar8x32_epi32(_mm256_loadu_si256(x), _mm256_cvtepu8_epi32(bytes_of(mask))));
}

WIDE static inline void move_8(const void *x, const unsigned mask, void *to) {
    const __m256i *from = x;
    const unsigned halves[2] = {mask & 15, mask >> 4};
    npy_int64 *at = to;
    for (int half = 0; half < 2; half++) {
        const __m256i words = _mm256_loadu_si256((const __m256i *)words_of[halves[half]]);
        _mm256_storeu_si256((__m256i *)at, _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from + half), words));
        at += _mm_popcnt_u32(halves[half]);
    }
}

/* Store the places, from `first` on, of the elements of a mask. */
WIDE static inline void move_places(const npy_intp first, const unsigned mask, npy_int64 *to) {
    const __m128i bytes = bytes_of(mask);
    const __m256i before = _mm256_set1_epi64x(first);
    _mm256_storeu_si256((__m256i *)to, _mm256_add_epi64(_mm256_cvtepu8_epi64(bytes), before));
    _mm256_storeu_si256((__m256i *)to + 1, _mm256_add_epi64(_mm256_cvtepu8_epi64(_mm_srli_si128(bytes, 4)), before));
}

/* The mask of a comparison of eight elements of so many bytes. */
#define MASK_1(x, OP, all) (unsigned)_mm_movemask_epi8(_mm_cvtsi64_si128((long long)((x)[0] OP all)))
#define MASK_2(x, OP, all) ((unsigned)_mm_movemask_epi8(_mm_packs_epi16((__m128i)((x)[0] OP all), _mm_setzero_si128())))
#define MASK_4(x, OP, all) (unsigned)_mm256_movemask_ps((__m256)((x)[0] OP all))
#define MASK_8(x, OP, all)                                                                                             \
    ((unsigned)_mm256_movemask_pd((__m256d)((x)[0] OP all)) | (unsigned)_mm256_movemask_pd((__m256d)((x)[1] OP all)) << 4)
#else
static int has_places(void) { return 1; }
#endif

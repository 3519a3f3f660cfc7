/* Elements of the host as unsigned integers in NumPy's order, as in order.h: NaN last and equal to each other, -0.0 equal
 * to 0.0. C modules that order few elements include it, after NumPy's headers.
 */
#define BITS_OF(word) (64 - __builtin_clzll(word))

typedef npy_uint64 word_t;

static inline word_t bool_word(npy_uint8 x) { return x != 0; }
static inline word_t u8_word(npy_uint8 x) { return x; }
static inline word_t u16_word(npy_uint16 x) { return x; }
static inline word_t u32_word(npy_uint32 x) { return x; }
static inline word_t u64_word(npy_uint64 x) { return x; }
static inline word_t i8_word(npy_int8 x) { return (npy_uint8)x ^ 0x80u; }
static inline word_t i16_word(npy_int16 x) { return (npy_uint16)x ^ 0x8000u; }
static inline word_t i32_word(npy_int32 x) { return (npy_uint32)x ^ 0x80000000u; }
static inline word_t i64_word(npy_int64 x) { return (npy_uint64)x ^ ((npy_uint64)1 << 63); }

static inline word_t f32_word(npy_uint32 bits) {
    const npy_uint32 magnitude = bits & 0x7FFFFFFFu, sign = (npy_uint32)((npy_int32)bits >> 31);
    const npy_uint32 ordered = (magnitude ^ sign) + 0x80000000u - sign; /* -0.0 becomes 0.0 */
    return magnitude > 0x7F800000u ? 0xFFFFFFFFu : ordered;
}

static inline word_t f64_word(npy_uint64 bits) {
    const npy_uint64 magnitude = bits & ~((npy_uint64)1 << 63), sign = (npy_uint64)((npy_int64)bits >> 63);
    const npy_uint64 ordered = (magnitude ^ sign) + ((npy_uint64)1 << 63) - sign;
    return magnitude > (npy_uint64)0x7FF << 52 ? ~(npy_uint64)0 : ordered;
}

/* Write the words of a row; those of elements that come first when descending are the least ones. */
#define DEFINE_WORDS(name, type)                                                                                       \
    static void name##_words(const void *row, const npy_intp n, const word_t flip, word_t *words) {                    \
        const type *x = row;                                                                                           \
        for (npy_intp i = 0; i < n; i++) words[i] = name##_word(x[i]) ^ flip;                                          \
    }

DEFINE_WORDS(bool, npy_uint8)
DEFINE_WORDS(u8, npy_uint8)
DEFINE_WORDS(u16, npy_uint16)
DEFINE_WORDS(u32, npy_uint32)
DEFINE_WORDS(u64, npy_uint64)
DEFINE_WORDS(i8, npy_int8)
DEFINE_WORDS(i16, npy_int16)
DEFINE_WORDS(i32, npy_int32)
DEFINE_WORDS(i64, npy_int64)
DEFINE_WORDS(f32, npy_uint32)
DEFINE_WORDS(f64, npy_uint64)

typedef void (*words_t)(const void *, npy_intp, word_t, word_t *);

static words_t words_of(PyArrayObject *x) {
    switch (PyArray_TYPE(x)) {
    case NPY_BOOL: return bool_words;
    case NPY_FLOAT32: return f32_words;
    case NPY_FLOAT64: return f64_words;
    }
    const int is_signed = PyArray_ISSIGNED(x);
    if (!PyArray_ISINTEGER(x)) return NULL;
    switch (PyArray_ITEMSIZE(x)) {
    case 1: return is_signed ? i8_words : u8_words;
    case 2: return is_signed ? i16_words : u16_words;
    case 4: return is_signed ? i32_words : u32_words;
    default: return is_signed ? i64_words : u64_words;
    }
}

/* Return contiguous elements whose rows have at most so many, or raise. */
static PyArrayObject *elements_of(PyObject *given, const npy_intp most) {
    PyArrayObject *x = PyArray_Check(given) ? (PyArrayObject *)given : NULL;
    if (x && PyArray_NDIM(x) && PyArray_ISCARRAY_RO(x) && words_of(x) && PyArray_DIM(x, PyArray_NDIM(x) - 1) <= most)
        return x;
    PyErr_SetString(PyExc_TypeError, "contiguous arrays of bools, integers, float32 or float64, with short rows");
    return NULL;
}

/* Return the keys of `indices(keys, descending)`, whose rows have at most so many, and what flips their words; or raise. */
static PyArrayObject *keys_of(PyObject *const *arguments, const Py_ssize_t given, const npy_intp most, word_t *flip) {
    PyArrayObject *x = given == 2 ? elements_of(arguments[0], most) : NULL;
    if (!x) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "indices: keys, and True or False");
        return NULL;
    }
    const int descending = PyObject_IsTrue(arguments[1]);
    *flip = descending ? ~(word_t)0 : 0;
    return descending < 0 ? NULL : x;
}

/* Indices of stable sorts of rows of the host, by NumPy's sort of integers that pack an element and its index.
 *
 * NumPy sorts integers of 64 bits by vectors, in a fraction of the time that digits take; its own argsort is not stable.
 * An element is how far its word lies above its row's least one, without the low bits that the index needs.
 */
#pragma GCC optimize("O3")
#include "../core/c_modules.h"
#include "words.h"

#define MOST_ROW ((npy_intp)1 << 31)
#define MOST_MOVES 16 /* for each element of a row, while elements that are alike are inserted one by one */
#define SIGN ((word_t)1 << 63)

/* Write a row of integers; return 1 if bits of elements are lost. */
static npy_uint8 pack_row(const word_t *words, const npy_intp n, const int index_bits, npy_int64 *packed) {
    word_t least = words[0], most = words[0];
    for (npy_intp i = 1; i < n; i++) {
        least = words[i] < least ? words[i] : least;
        most = words[i] > most ? words[i] : most;
    }
    const int bits = most > least ? BITS_OF(most - least) : 0, lost = bits + index_bits > 64 ? bits + index_bits - 64 : 0;
    if (!lost)
        for (npy_intp i = 0; i < n; i++) packed[i] = (npy_int64)(((words[i] - least) << index_bits | (word_t)i) ^ SIGN);
    else
        for (npy_intp i = 0; i < n; i++)
            packed[i] = (npy_int64)(((words[i] - least) >> lost << index_bits | (word_t)i) ^ SIGN);
    return lost > 0;
}

/* 1 if two integers of a sorted row are alike above their indices. */
static int has_alike(const npy_int64 *packed, const npy_intp n, const int index_bits) {
    int alike = 0;
    for (npy_intp i = 1; i < n; i++) alike |= !((packed[i] ^ packed[i - 1]) >> index_bits);
    return alike;
}

/* Sort integers that are alike above their indices by their whole words, one by one; return 0 if that takes long. */
static int sort_alike(const word_t *words, npy_int64 *packed, const npy_intp n, const int index_bits) {
    const npy_int64 low = ((npy_int64)1 << index_bits) - 1;
    npy_intp moves = MOST_MOVES * n;
    for (npy_intp i = 1; i < n; i++) {
        const npy_int64 own = packed[i];
        npy_intp at = i;
        for (; at > 0 && !((packed[at - 1] ^ own) >> index_bits) && words[packed[at - 1] & low] > words[own & low]; at--)
            packed[at] = packed[at - 1];
        packed[at] = own;
        if ((moves -= i - at) < 0) return 0;
    }
    return 1;
}

/* Sort the rows of integers that elements and their indices become; return 0 with an error. */
static int sort_packed(PyArrayObject *x, const npy_intp n, const int index_bits, const word_t flip, word_t *words,
                       npy_uint8 *lost, PyArrayObject *found) {
    const words_t fill = words_of(x);
    const npy_intp size = PyArray_SIZE(x), item = PyArray_ITEMSIZE(x);
    npy_int64 *const packed = PyArray_DATA(found);
    for (npy_intp begin = 0; begin < size; begin += n) {
        fill(PyArray_BYTES(x) + begin * item, n, flip, words);
        *lost++ = pack_row(words, n, index_bits, packed + begin);
    }
    return PyArray_Sort(found, PyArray_NDIM(found) - 1, NPY_QUICKSORT) == 0;
}

/* Keep the indices of sorted rows; return 0 if elements of a row are too much alike. */
static int keep_indices(PyArrayObject *x, const npy_intp n, const int index_bits, const word_t flip, word_t *words,
                        const npy_uint8 *lost, npy_int64 *packed) {
    const words_t fill = words_of(x);
    const npy_intp size = PyArray_SIZE(x);
    for (npy_intp begin = 0; begin < size; begin += n) {
        if (*lost++ && has_alike(packed + begin, n, index_bits)) {
            fill(PyArray_BYTES(x) + begin * PyArray_ITEMSIZE(x), n, flip, words);
            if (!sort_alike(words, packed + begin, n, index_bits)) return 0;
        }
        for (npy_intp i = begin; i < begin + n; i++) packed[i] &= ((npy_int64)1 << index_bits) - 1;
    }
    return 1;
}

PyDoc_STRVAR(indices_doc, "indices(keys, descending): the indices of a stable sort of each row, or NotImplemented for rows of "
                          "many long groups of elements that differ in low bits alone.");

static PyObject *indices(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    word_t flip;
    PyArrayObject *x = keys_of(arguments, given, MOST_ROW, &flip);
    if (!x) return NULL;
    const npy_intp n = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    const int index_bits = n > 1 ? BITS_OF((word_t)n - 1) : 1;
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    const npy_intp rows = n ? PyArray_SIZE(x) / n : 0;
    word_t *const words = found ? PyMem_RawMalloc(n * sizeof(word_t) + rows + 1) : NULL;
    npy_uint8 *const lost = (npy_uint8 *)(words + n);
    int done = 0;
    if (found && !words) PyErr_NoMemory();
    if (words && sort_packed(x, n, index_bits, flip, words, lost, found))
        done = keep_indices(x, n, index_bits, flip, words, lost, PyArray_DATA(found));
    PyMem_RawFree(words);
    if (done) return (PyObject *)found;
    Py_XDECREF(found);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}

DEFINE_MODULE(packs, "Orders by packed integers.", 1, FUNCTION(indices))

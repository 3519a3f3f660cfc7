/* Orders of few elements of the host: the indices of stable sorts, and partitions that keep the order of elements.
 *
 * Elements are compared as unsigned integers in NumPy's order, as in order.h: NaN last and equal to each other, -0.0
 * equal to 0.0. Without this module, NumPy or kernels do the same.
 */
#pragma GCC optimize("O3")
#include "../core/c_modules.h"
#include "words.h"

#define SHORT 48            /* elements that are inserted one by one */
#define MOST_ROW 65536      /* elements of a row */
#define MOST_PIVOTS 16      /* of a row */
#define FEW 2048            /* elements whose digits have 8 bits, those of more have MOST_BITS */
#define MOST_BITS 11

/* Insert few indices one by one, each behind those whose words are not above its own. */
static void insert(const word_t *words, npy_uint32 *order, const npy_intp n) {
    for (npy_intp i = 1; i < n; i++) {
        const npy_uint32 own = order[i];
        npy_intp at = i;
        for (; at > 0 && words[order[at - 1]] > words[own]; at--) order[at] = order[at - 1];
        order[at] = own;
    }
}

/* Move pairs by a digit of their upper halves, from ``counts`` of each value on. */
static void move(const word_t *pairs, word_t *moved, const npy_intp n, const int shift, const int bits, npy_uint32 *counts) {
    npy_uint32 before = 0;
    for (int value = 0; value < 1 << bits; value++) {
        const npy_uint32 own = counts[value];
        counts[value] = before;
        before += own;
    }
    const word_t digits = ((word_t)1 << bits) - 1;
    for (npy_intp i = 0; i < n; i++) moved[counts[pairs[i] >> shift & digits]++] = pairs[i];
}

/* Sort indices by their words: by two digits of the highest bits in which these differ, then each group that is alike so
 * far. Room is for 2 n pairs of digits, above, and an index. */
static void sort_indices(const word_t *words, npy_uint32 *order, const npy_intp n, word_t *room) {
    if (n <= SHORT) {
        insert(words, order, n);
        return;
    }
    word_t varying = 0, *const moved = room + n;
    for (npy_intp i = 0; i < n; i++) varying |= words[order[i]] ^ words[order[0]];
    if (!varying) return;
    npy_uint32 counts[2][1 << MOST_BITS];
    const int bits = n <= FEW ? 8 : MOST_BITS, all = BITS_OF(varying), below = all > 2 * bits ? all - 2 * bits : 0;
    const word_t digits = ((word_t)1 << bits) - 1;
    memset(counts[0], 0, sizeof(npy_uint32) << bits);
    memset(counts[1], 0, sizeof(npy_uint32) << bits);
    for (npy_intp i = 0; i < n; i++) {
        const word_t word = words[order[i]] >> below, low = word & digits, high = word >> bits & digits;
        room[i] = (high << bits | low) << 32 | order[i];
        counts[0][low]++;
        if (all > bits) counts[1][high]++;
    }
    move(room, moved, n, 32, bits, counts[0]);
    const word_t *sorted = moved;
    if (all > bits) {
        move(moved, room, n, 32 + bits, bits, counts[1]);
        sorted = room;
    }
    for (npy_intp i = 0; i < n; i++) order[i] = (npy_uint32)sorted[i];
    for (npy_intp begin = 0, end = 0; below && begin < n; begin = end) {
        for (end = begin + 1; end < n && !((words[order[end]] ^ words[order[begin]]) >> below);) end++;
        if (end - begin > 1) sort_indices(words, order + begin, end - begin, room);
    }
}

/* Write the indices of the elements before, at and behind a pivot, each in order; counts in registers take no turns. */
static void part_row_by_one(const word_t *words, const npy_intp n, const word_t pivot, npy_int64 *found) {
    npy_intp below = 0, up_to = 0;
    for (npy_intp i = 0; i < n; i++) {
        below += words[i] < pivot;
        up_to += words[i] <= pivot;
    }
    npy_intp first = 0, second = below, third = up_to;
    for (npy_intp i = 0; i < n; i++) {
        const npy_intp before = words[i] < pivot, behind = words[i] > pivot;
        npy_intp at = second;
        at = before ? first : at;
        at = behind ? third : at;
        found[at] = i;
        first += before;
        second += 1 - before - behind;
        third += behind;
    }
}

/* The same for several pivots, which ascend. */
static void part_row(const word_t *words, const npy_intp n, const word_t *pivots, const int count, npy_uint8 *classes,
                     npy_int64 *found) {
    npy_intp begins[2 * MOST_PIVOTS + 2] = {0};
    for (npy_intp i = 0; i < n; i++) {
        int own = 0;
        for (int k = 0; k < count; k++) own += (words[i] >= pivots[k]) + (words[i] > pivots[k]);
        classes[i] = (npy_uint8)own;
        begins[own + 1]++;
    }
    for (int k = 0; k < 2 * count; k++) begins[k + 1] += begins[k];
    for (npy_intp i = 0; i < n; i++) found[begins[classes[i]]++] = i;
}

/* Return new memory for the words of a row of n elements, and behind them for their sort and its order; NULL with an error. */
static word_t *room_for(const npy_intp n) {
    word_t *const words = PyMem_RawMalloc(4 * n * sizeof(word_t) + 1);
    if (!words) PyErr_NoMemory();
    return words;
}

/* Return the order behind words: as it is before a sort. */
static npy_uint32 *order_of(word_t *words, const npy_intp n) {
    npy_uint32 *const order = (npy_uint32 *)(words + 3 * n);
    for (npy_intp i = 0; i < n; i++) order[i] = (npy_uint32)i;
    return order;
}

static void write_order(const npy_uint32 *order, const npy_intp n, npy_int64 *to) {
    for (npy_intp i = 0; i < n; i++) to[i] = order[i];
}

/* Return the words of an array of one row, in memory as of room_for. */
static word_t *words_of_row(PyArrayObject *x, const int descending) {
    word_t *const words = room_for(PyArray_SIZE(x));
    if (words) words_of(x)(PyArray_DATA(x), PyArray_SIZE(x), descending ? ~(word_t)0 : 0, words);
    return words;
}

PyDoc_STRVAR(indices_doc, "indices(keys, descending): the indices of a stable sort of each row.");

static PyObject *indices(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    word_t flip;
    PyArrayObject *x = keys_of(arguments, given, MOST_ROW, &flip);
    if (!x) return NULL;
    const npy_intp n = PyArray_DIM(x, PyArray_NDIM(x) - 1), size = PyArray_SIZE(x);
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    word_t *const words = found ? room_for(n) : NULL;
    if (!words) {
        Py_XDECREF(found);
        return NULL;
    }
    const words_t fill = words_of(x);
    for (npy_intp begin = 0; begin < size; begin += n) {
        fill(PyArray_BYTES(x) + begin * PyArray_ITEMSIZE(x), n, flip, words);
        npy_uint32 *const order = order_of(words, n);
        sort_indices(words, order, n, words + n);
        write_order(order, n, (npy_int64 *)PyArray_DATA(found) + begin);
    }
    PyMem_RawFree(words);
    return (PyObject *)found;
}

PyDoc_STRVAR(groups_doc, "groups(keys): the indices of a stable sort of one row, and where each group of equal keys begins in "
                         "them, and the end.");

static PyObject *groups(PyObject *module, PyObject *given) {
    PyArrayObject *x = elements_of(given, MOST_ROW);
    if (!x) return NULL;
    const npy_intp n = PyArray_SIZE(x);
    if (n != PyArray_DIM(x, PyArray_NDIM(x) - 1)) {
        PyErr_SetString(PyExc_TypeError, "groups: one row");
        return NULL;
    }
    word_t *const words = words_of_row(x, 0);
    if (!words) return NULL;
    npy_uint32 *const order = order_of(words, n);
    sort_indices(words, order, n, words + n);
    npy_intp size = n, ends = n > 0;
    for (npy_intp i = 1; i < n; i++) ends += words[order[i]] != words[order[i - 1]];
    const npy_intp with_end = ends + 1;
    PyObject *found = PyArray_SimpleNew(1, &size, NPY_INT64), *offsets = PyArray_SimpleNew(1, &with_end, NPY_INT64);
    PyObject *both = found && offsets ? PyTuple_Pack(2, found, offsets) : NULL;
    if (both) {
        npy_int64 *begins = PyArray_DATA((PyArrayObject *)offsets);
        write_order(order, n, PyArray_DATA((PyArrayObject *)found));
        for (npy_intp i = 0; i < n; i++)
            if (!i || words[order[i]] != words[order[i - 1]]) *begins++ = i;
        *begins = n;
    }
    Py_XDECREF(found);
    Py_XDECREF(offsets);
    PyMem_RawFree(words);
    return both;
}

PyDoc_STRVAR(segments_doc, "segments(keys, offsets, descending): the indices of a stable sort of each segment of one row; None "
                           "for offsets that fall, or do not begin with 0 and end with the number of keys.");

static PyObject *segments(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    PyArrayObject *x = given == 3 ? elements_of(arguments[0], MOST_ROW) : NULL;
    PyArrayObject *offsets = x && PyArray_Check(arguments[1]) ? (PyArrayObject *)arguments[1] : NULL;
    if (!offsets || PyArray_TYPE(offsets) != NPY_INT64 || !PyArray_ISCARRAY_RO(offsets) || PyArray_NDIM(offsets) != 1 ||
        !PyArray_SIZE(offsets) || PyArray_NDIM(x) != 1) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "segments: a row, offsets of int64, and True or False");
        return NULL;
    }
    const int descending = PyObject_IsTrue(arguments[2]);
    if (descending < 0) return NULL;
    npy_intp n = PyArray_SIZE(x);
    const npy_intp count = PyArray_SIZE(offsets) - 1;
    const npy_int64 *const ends = PyArray_DATA(offsets);
    int rise = ends[0] == 0 && ends[count] == n;
    for (npy_intp o = 0; o < count; o++) rise &= ends[o] <= ends[o + 1];
    if (!rise) Py_RETURN_NONE;
    word_t *const words = words_of_row(x, descending);
    if (!words) return NULL;
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INT64);
    if (found) {
        npy_uint32 *const order = order_of(words, n);
        for (npy_intp o = 0; o < count; o++) sort_indices(words, order + ends[o], ends[o + 1] - ends[o], words + n);
        write_order(order, n, PyArray_DATA(found));
    }
    PyMem_RawFree(words);
    return (PyObject *)found;
}

PyDoc_STRVAR(parts_doc, "parts(elements, pivots): for each row, the indices of elements before, at and behind its pivots, "
                        "which ascend; elements of a class keep their order.");

static PyObject *parts(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    PyArrayObject *x = given == 2 ? elements_of(arguments[0], NPY_MAX_INTP) : NULL;
    PyArrayObject *pivots = x ? elements_of(arguments[1], NPY_MAX_INTP) : NULL;
    const int last = x ? PyArray_NDIM(x) - 1 : 0;
    const npy_intp n = x ? PyArray_DIM(x, last) : 0, count = pivots ? PyArray_DIM(pivots, PyArray_NDIM(pivots) - 1) : 0;
    if (!pivots || PyArray_TYPE(x) != PyArray_TYPE(pivots) || !count || count > MOST_PIVOTS ||
        PyArray_SIZE(pivots) * n != PyArray_SIZE(x) * count) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "parts: rows, and up to 16 pivots of each");
        return NULL;
    }
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(last + 1, PyArray_DIMS(x), NPY_INT64);
    word_t *const words = found ? PyMem_RawMalloc((2 * n + MOST_PIVOTS) * sizeof(word_t)) : NULL;
    if (!words) {
        Py_XDECREF(found);
        return PyErr_NoMemory();
    }
    const words_t fill = words_of(x);
    const npy_intp size = PyArray_SIZE(x), item = PyArray_ITEMSIZE(x);
    for (npy_intp begin = 0, row = 0; begin < size; begin += n, row++) {
        fill(PyArray_BYTES(x) + begin * item, n, 0, words);
        fill(PyArray_BYTES(pivots) + row * count * item, count, 0, words + n);
        npy_int64 *const to = (npy_int64 *)PyArray_DATA(found) + begin;
        if (count == 1)
            part_row_by_one(words, n, words[n], to);
        else
            part_row(words, n, words + n, (int)count, (npy_uint8 *)(words + n + MOST_PIVOTS), to);
    }
    PyMem_RawFree(words);
    return (PyObject *)found;
}

DEFINE_MODULE(orders, "Orders of few elements.", 1, FUNCTION(indices), FUNCTION_OF_ONE(groups), FUNCTION(segments),
              FUNCTION(parts))

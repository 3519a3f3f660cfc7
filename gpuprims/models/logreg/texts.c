/* The kinds of Python's strings in an array of objects, a list or a tuple, and the kind of each object.
 *
 * Labels are mostly few objects, or many objects with few texts. So a cache knows the kinds of addresses, and a table
 * those of texts, by a hash of their characters: Python's own hash takes longer than the rest. Without this module,
 * NumPy and a dict do the same.
 *
 * Sources: the hash multiplies words to 128 bits and folds them, as in Y. Wang, "wyhash", 2019; collisions go to the
 * next place, as in D. E. Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm L.
 */
#pragma GCC optimize("O3")
#include "../../core/c_modules.h"
#include <string.h>

#define CACHED_BITS 12 /* addresses that are remembered */
#define AHEAD 12       /* objects that are asked for before they are read */
#define FIRST_ROOM 64  /* kinds of the first table, twice */
#define ODD 0x9E3779B97F4A7C15ull

typedef struct {
    PyObject *text;
    npy_uint64 hash;
} kind_t;

typedef struct {
    kind_t *kinds; /* in the order of their first objects */
    npy_intp *table; /* 1 + the number of a kind, or 0 */
    npy_intp count, room; /* the table has `room` places, a power of two, at least twice `count` */
} kinds_t;

static inline npy_uint64 folded(npy_uint64 a, npy_uint64 b) {
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (npy_uint64)product ^ (npy_uint64)(product >> 64);
}

static inline npy_uint64 hash_of(const char *bytes, size_t size, npy_uint64 seed) {
    npy_uint64 hash = seed ^ size, word;
    for (; size >= 8; size -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = folded(hash ^ word, ODD);
    }
    word = 0;
    memcpy(&word, bytes, size);
    return folded(hash ^ word, ODD ^ seed);
}

static inline size_t bytes_of(PyObject *text) { return (size_t)PyUnicode_GET_LENGTH(text) * PyUnicode_KIND(text); }

/* Equal strings have characters of one width, which is the least that holds them. */
static inline int are_equal(PyObject *a, PyObject *b) {
    return a == b || (PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
                      !memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), bytes_of(a)));
}

static inline npy_intp *place_of(const kinds_t *known, npy_uint64 hash) {
    return &known->table[(size_t)hash & (size_t)(known->room - 1)];
}

static inline npy_intp *next_place(const kinds_t *known, npy_intp *place) {
    return place + 1 == known->table + known->room ? known->table : place + 1;
}

static int grow(kinds_t *known) {
    const npy_intp room = known->room ? 2 * known->room : 2 * FIRST_ROOM;
    kind_t *kinds = PyMem_Realloc(known->kinds, (size_t)(room / 2) * sizeof(kind_t));
    if (kinds) known->kinds = kinds;
    npy_intp *table = PyMem_Calloc((size_t)room, sizeof(npy_intp));
    if (!kinds || !table) {
        PyMem_Free(table);
        PyErr_NoMemory();
        return -1;
    }
    PyMem_Free(known->table);
    known->table = table;
    known->room = room;
    for (npy_intp k = 0; k < known->count; k++) {
        npy_intp *place = place_of(known, kinds[k].hash);
        while (*place) place = next_place(known, place);
        *place = k + 1;
    }
    return 0;
}

/* Return the number of a string's kind, which may be a new one; -1 with an error. */
static inline npy_intp number_of(kinds_t *known, PyObject *text, npy_uint64 seed) {
    const npy_uint64 hash = hash_of(PyUnicode_DATA(text), bytes_of(text), seed);
    npy_intp *place = place_of(known, hash);
    for (; *place; place = next_place(known, place)) {
        const kind_t *kind = &known->kinds[*place - 1];
        if (kind->hash == hash && are_equal(kind->text, text)) return *place - 1;
    }
    if (2 * (known->count + 1) > known->room) {
        if (grow(known)) return -1;
        place = place_of(known, hash);
        while (*place) place = next_place(known, place);
    }
    known->kinds[known->count] = (kind_t){text, hash};
    *place = ++known->count;
    return known->count - 1;
}

/* Number each object; return 1, 0 for an object that is no string, or -1 with an error. */
static int number_all(kinds_t *known, PyObject *const *objects, npy_intp n, npy_intp *numbers) {
    struct {
        PyObject *object;
        npy_intp number;
    } cache[1 << CACHED_BITS] = {{0}};
    const npy_uint64 seed = folded((npy_uint64)(size_t)known->table ^ ODD, ODD); /* another one in each process */
    for (npy_intp i = 0; i < n; i++) {
        PyObject *object = objects[i];
        if (i + AHEAD < n) {
            __builtin_prefetch(objects[i + AHEAD]);
            __builtin_prefetch((const char *)objects[i + AHEAD] + 48); /* the characters of a short one */
        }
        const size_t at = ((size_t)object * (size_t)ODD) >> (8 * sizeof(size_t) - CACHED_BITS);
        if (cache[at].object == object && object) {
            numbers[i] = cache[at].number;
            continue;
        }
        if (!object || !(PyUnicode_CheckExact(object) || Py_IS_TYPE(object, &PyUnicodeArrType_Type))) return 0;
#if PY_VERSION_HEX < 0x030C0000
        if (PyUnicode_READY(object)) return -1;
#endif
        if ((numbers[i] = number_of(known, object, seed)) < 0) return -1;
        cache[at].object = object;
        cache[at].number = numbers[i];
    }
    return 1;
}

PyDoc_STRVAR(kinds_doc, "kinds(objects): the distinct strings of a contiguous array, a list or a tuple, by their first objects, "
                        "and the number of each object's kind; None if an object is neither a str nor NumPy's.");

/* Return the objects of a list, a tuple or an array, and their number; NULL with an error for anything else. */
static PyObject *const *objects_of(PyObject *given, npy_intp *n) {
    if (PyList_CheckExact(given) || PyTuple_CheckExact(given)) {
        *n = PySequence_Fast_GET_SIZE(given);
        return PySequence_Fast_ITEMS(given);
    }
    PyArrayObject *array = PyArray_Check(given) ? (PyArrayObject *)given : NULL;
    if (array && PyArray_TYPE(array) == NPY_OBJECT && PyArray_NDIM(array) == 1 && PyArray_ISCARRAY_RO(array)) {
        *n = PyArray_SIZE(array);
        return PyArray_DATA(array);
    }
    PyErr_SetString(PyExc_TypeError, "kinds: a list, a tuple, or a contiguous array of objects of one dimension");
    return NULL;
}

static PyObject *kinds(PyObject *module, PyObject *given) {
    npy_intp n;
    PyObject *const *objects = objects_of(given, &n);
    if (!objects && PyErr_Occurred()) return NULL;
    PyArrayObject *numbers = (PyArrayObject *)PyArray_SimpleNew(1, &n, NPY_INTP);
    PyObject *texts = NULL, *found = NULL;
    kinds_t known = {0};
    if (!numbers || grow(&known)) goto done;
    const int state = number_all(&known, objects, n, PyArray_DATA(numbers));
    if (state < 0) goto done;
    if (!state) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    if (!(texts = PyList_New(known.count))) goto done;
    for (npy_intp k = 0; k < known.count; k++) PyList_SET_ITEM(texts, k, Py_NewRef(known.kinds[k].text));
    found = PyTuple_Pack(2, texts, (PyObject *)numbers);
done:
    PyMem_Free(known.kinds);
    PyMem_Free(known.table);
    Py_XDECREF(numbers);
    Py_XDECREF(texts);
    return found;
}

DEFINE_MODULE(texts, "Kinds of strings.", 1, FUNCTION_OF_ONE(kinds))

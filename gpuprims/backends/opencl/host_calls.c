/* Short calls on host arrays without Python: launches in the calling thread, and calls that return a new array.
 *
 * Without this module, OpenCLKernel.prepare (kernel.py) and LaunchPlan.run_in_place do the same in Python. They also run a
 * call if the queue is not idle, if another thread holds its lock, or if OpenCL refuses the launch.
 */
#include "../../core/c_modules.h"
#include "../../core/c_types.h"
#include <string.h>

#define MOST 64              /* arrays of a launch, and axes of an array */
#define NEAR_BYTES (1 << 15) /* as _NEAR_BYTES of kernel.py */

typedef int (*set_fn)(void *kernel, unsigned place, const void *memory);
typedef int (*enqueue_fn)(void *queue, void *kernel, unsigned axes, const size_t *first, const size_t *size,
                          const size_t *block, unsigned waits, void *const *after, void **event);
typedef int (*wait_fn)(unsigned count, void *const *events);
typedef int (*release_fn)(void *event);

static set_fn set_pointer;
static enqueue_fn enqueue;
static wait_fn wait_for;
static release_fn release_event;
static PyObject *beside_class; /* arrays.Beside */
static PyObject *name_idle, *name_short, *name_driver, *name_pointer;

/* Return 1 if an attribute is true, else 0; -1 with an exception. */
static int is_true(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    if (!value) return -1;
    int found = PyObject_IsTrue(value);
    Py_DECREF(value);
    return found;
}

/* Return the lowest address of an array. */
static char *low_of(PyArrayObject *array) {
    char *low = PyArray_BYTES(array);
    for (int k = 0; k < PyArray_NDIM(array); k++)
        if (PyArray_STRIDE(array, k) < 0) low += PyArray_STRIDE(array, k) * (PyArray_DIM(array, k) - 1);
    return low;
}

/* A launch with its own kernel object, with all arguments set except the pointers. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *slow;              /* the launch in Python */
    PyObject *append;            /* append(slow, beside): a launch that adds the memory of beside(), and these arrays */
    PyObject *alive, *launches;  /* owns the kernel; the launches of the queue */
    PyObject *acquire, *release; /* of the queue's lock */
    PyObject *beside;            /* returns up to two arrays whose memory stays in place; or None */
    PyObject *kept;              /* these arrays */
    void *kernel, *queue, *near; /* `near` runs kernels in the calling thread; NULL if there is no such queue */
    void *more[2];
    size_t size, block;
} Launch;

/* Find the arrays beside those of a call, whose memory stays in place. Return 0, or -1 with an exception. */
static int find_beside(Launch *self) {
    PyObject *both = PyObject_CallNoArgs(self->beside);
    if (!both) return -1;
    int right = PyTuple_Check(both) && PyTuple_GET_SIZE(both) <= 2;
    for (int k = 0; right && k < PyTuple_GET_SIZE(both); k++) {
        PyObject *array = PyTuple_GET_ITEM(both, k);
        right = PyArray_Check(array);
        if (right) self->more[k] = PyArray_DATA((PyArrayObject *)array);
    }
    if (right) {
        self->kept = both;
        return 0;
    }
    Py_DECREF(both);
    PyErr_SetString(PyExc_TypeError, "a launch: up to two arrays of the host beside the call's");
    return -1;
}

/* Take the queue's lock. Return 1, 0 if another thread holds it, or -1 with an exception. */
static int take_turn(Launch *self) {
    PyObject *got = PyObject_CallOneArg(self->acquire, Py_False);
    int ours = got ? PyObject_IsTrue(got) : -1;
    Py_XDECREF(got);
    return ours;
}

/* Release the lock, even with an exception set. Return `done`, or -1 with an exception. */
static int give_back(Launch *self, int done) {
    PyObject *kind, *error, *trace; /* no call is allowed while an exception is set */
    PyErr_Fetch(&kind, &error, &trace);
    PyObject *left = PyObject_CallNoArgs(self->release);
    Py_XDECREF(left);
    if (!left) done = -1;
    if (kind) PyErr_Restore(kind, error, trace);
    return done;
}

/* With the queue's lock held, launch a kernel for a call of `nbytes` bytes, and wait for its end. Return 1, 0 if Python has to
 * launch it, or -1 with an exception. */
static int start(Launch *self, void *const *memories, Py_ssize_t count, Py_ssize_t nbytes) {
    int idle = is_true(self->launches, name_idle);
    if (idle != 1) return idle;
    if (self->beside != Py_None && !self->kept && find_beside(self)) return -1;
    void *event = NULL, *queue = self->near && (self->size == self->block || nbytes <= NEAR_BYTES) ? self->near : self->queue;
    int beside = self->kept ? (int)PyTuple_GET_SIZE(self->kept) : 0, failed = 0, lost = 0;
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t k = 0; k < count && !failed; k++) failed = set_pointer(self->kernel, (unsigned)k, memories[k]);
    for (int k = 0; k < beside && !failed; k++) failed = set_pointer(self->kernel, (unsigned)count + k, self->more[k]);
    if (!failed) failed = enqueue(queue, self->kernel, 1, NULL, &self->size, &self->block, 0, NULL, &event);
    if (!failed) lost = wait_for(1, &event);
    if (event) release_event(event);
    Py_END_ALLOW_THREADS;
    if (!lost) return !failed;
    PyErr_Format(PyExc_RuntimeError, "clWaitForEvents: the end of a kernel; got OpenCL's error %d", lost);
    return -1;
}

static PyObject *launch_call(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names) {
    Launch *self = (Launch *)callable;
    if (!is_one(flags, names, "a launch: one sequence of memories")) return NULL;
    int done = is_true(self->launches, name_short); /* checked again with the lock held: other threads have short calls, too */
    if (done == 1) done = take_turn(self);
    if (done == 1) {
        PyObject *bytes = PyObject_GetAttr(self->launches, name_short);
        Py_ssize_t nbytes = bytes ? PyLong_AsSsize_t(bytes) : -1;
        Py_XDECREF(bytes);
        PyObject *given = nbytes > 0 ? PySequence_Fast(arguments[0], "a launch: one sequence of memories") : NULL;
        Py_ssize_t count = given ? PySequence_Fast_GET_SIZE(given) : 0;
        void *memories[MOST];
        done = given ? count <= MOST : PyErr_Occurred() ? -1 : 0;
        for (Py_ssize_t k = 0; k < count && done == 1; k++) {
            PyObject *memory = PySequence_Fast_GET_ITEM(given, k);
            PyObject *array = Py_IS_TYPE(memory, (PyTypeObject *)beside_class) ? PyObject_CallMethodNoArgs(memory, name_pointer)
                                                                               : Py_NewRef(memory);
            if (array && PyArray_Check(array)) memories[k] = PyArray_DATA((PyArrayObject *)array);
            else done = array ? 0 : -1;
            Py_XDECREF(array); /* the caller keeps it alive, or while the lock is held `beside` does */
        }
        if (done == 1) done = start(self, memories, count, nbytes);
        Py_XDECREF(given);
        done = give_back(self, done);
    }
    if (done < 0) return NULL;
    if (done) Py_RETURN_NONE;
    return PyObject_CallOneArg(self->slow, arguments[0]);
}

static PyObject *launch_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *slow, *append, *alive, *launches, *acquire, *release;
    Py_ssize_t kernel, queue, near, size, block;
    if (!PyArg_ParseTuple(arguments, "OOOOOOnnnnn", &slow, &append, &alive, &launches, &acquire, &release, &kernel,
                          &queue, &near, &size, &block))
        return NULL;
    Launch *self = (Launch *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = launch_call;
    self->slow = Py_NewRef(slow), self->append = Py_NewRef(append), self->alive = Py_NewRef(alive);
    self->launches = Py_NewRef(launches), self->acquire = Py_NewRef(acquire), self->release = Py_NewRef(release);
    self->beside = Py_NewRef(Py_None), self->kept = NULL;
    self->kernel = (void *)kernel, self->queue = (void *)queue, self->near = (void *)near;
    self->size = (size_t)size, self->block = (size_t)block;
    return (PyObject *)self;
}

PyDoc_STRVAR(with_beside_doc, "with_beside(beside): a launch that also takes the memories that a function returns.");

static PyObject *with_beside(PyObject *launch, PyObject *beside) {
    Launch *self = (Launch *)launch;
    PyObject *slow, *arrays, *both = PyObject_CallFunctionObjArgs(self->append, self->slow, beside, NULL);
    if (!both || !PyArg_ParseTuple(both, "OO", &slow, &arrays)) {
        Py_XDECREF(both);
        return NULL;
    }
    Launch *other = (Launch *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (other) {
        size_t head = offsetof(Launch, call);
        memcpy((char *)other + head, (char *)self + head, sizeof(Launch) - head);
        other->slow = Py_NewRef(slow), other->beside = Py_NewRef(arrays), other->kept = NULL;
        Py_INCREF(other->append), Py_INCREF(other->alive), Py_INCREF(other->launches);
        Py_INCREF(other->acquire), Py_INCREF(other->release);
    }
    Py_DECREF(both);
    return (PyObject *)other;
}

static void launch_free(Launch *self) {
    Py_XDECREF(self->slow);
    Py_XDECREF(self->append);
    Py_XDECREF(self->alive);
    Py_XDECREF(self->launches);
    Py_XDECREF(self->acquire);
    Py_XDECREF(self->release);
    Py_XDECREF(self->beside);
    Py_XDECREF(self->kept);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef LAUNCH_METHODS[] = {{"with_beside", with_beside, METH_O, with_beside_doc}, {NULL}};

static PyTypeObject LaunchType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpuprims.backends.opencl.host_calls.Launch",
    .tp_doc = "Launch(slow, append, alive, launches, acquire, release, kernel, queue, near, size, block)",
    .tp_basicsize = sizeof(Launch),
    CALLED(Launch, launch_new, launch_free),
    .tp_methods = LAUNCH_METHODS,
};

/* A call that launches and returns a new host array. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *launch, *device, *driver, *slow, *dtype;
    Py_ssize_t nbytes; /* of the arrays */
    int axes, turned;
    npy_intp shape[MOST];
} Run;

static PyObject *run_call(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names) {
    Run *self = (Run *)callable;
    if (!is_one(flags, names, "a run: one sequence of arrays")) return NULL;
    PyObject *driver = PyObject_GetAttr(self->device, name_driver);
    if (!driver) return NULL;
    int done = driver == self->driver; /* after a fork, another driver raises */
    Py_DECREF(driver);
    PyObject *result = NULL;
    if (done) {
        PyObject *given = PySequence_Fast(arguments[0], "a run: one sequence of arrays");
        if (!given) return NULL;
        Py_ssize_t count = PySequence_Fast_GET_SIZE(given);
        void *memories[MOST];
        done = count < MOST;
        for (Py_ssize_t k = 0; k < count && done; k++) {
            PyObject *array = PySequence_Fast_GET_ITEM(given, k);
            done = PyArray_Check(array);
            if (done) memories[k] = low_of((PyArrayObject *)array);
        }
        if (done) {
            Py_INCREF(self->dtype);
            result = PyArray_Empty(self->axes, self->shape, (PyArray_Descr *)self->dtype, self->turned);
            if (result) memories[count] = PyArray_DATA((PyArrayObject *)result);
            Launch *launch = (Launch *)self->launch;
            done = result ? take_turn(launch) : -1;
            if (done == 1) done = give_back(launch, start(launch, memories, count + 1, self->nbytes));
        }
        Py_DECREF(given);
    }
    if (done == 1) return PyArray_Return((PyArrayObject *)result);
    Py_XDECREF(result);
    return done ? NULL : PyObject_CallOneArg(self->slow, arguments[0]);
}

static PyObject *run_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *launch, *device, *driver, *slow, *dtype, *shape;
    Py_ssize_t nbytes;
    int turned;
    if (!PyArg_ParseTuple(arguments, "O!OOOO!O!pn", &LaunchType, &launch, &device, &driver, &slow, &PyArrayDescr_Type, &dtype,
                          &PyTuple_Type, &shape, &turned, &nbytes))
        return NULL;
    if (PyTuple_GET_SIZE(shape) > MOST) {
        PyErr_SetString(PyExc_ValueError, "a run: fewer axes");
        return NULL;
    }
    Run *self = (Run *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->call = run_call;
    self->launch = Py_NewRef(launch), self->device = Py_NewRef(device), self->driver = Py_NewRef(driver);
    self->slow = Py_NewRef(slow), self->dtype = Py_NewRef(dtype), self->turned = turned;
    self->nbytes = nbytes;
    self->axes = (int)PyTuple_GET_SIZE(shape);
    for (int k = 0; k < self->axes; k++) self->shape[k] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
    if (PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

static void run_free(Run *self) {
    Py_XDECREF(self->launch);
    Py_XDECREF(self->device);
    Py_XDECREF(self->driver);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->dtype);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject RunType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpuprims.backends.opencl.host_calls.Run",
    .tp_doc = "Run(launch, device, driver, slow, dtype, shape, turned, nbytes)",
    .tp_basicsize = sizeof(Run),
    CALLED(Run, run_new, run_free),
};

PyDoc_STRVAR(use_opencl_doc, "use_opencl(set, enqueue, wait, release, Beside): addresses of OpenCL's functions, and a class.");

static PyObject *use_opencl(PyObject *module, PyObject *arguments) {
    Py_ssize_t set, queue, wait, release;
    PyObject *beside;
    if (!PyArg_ParseTuple(arguments, "nnnnO!", &set, &queue, &wait, &release, &PyType_Type, &beside)) return NULL;
    set_pointer = (set_fn)set, enqueue = (enqueue_fn)queue;
    wait_for = (wait_fn)wait, release_event = (release_fn)release;
    Py_XSETREF(beside_class, Py_NewRef(beside));
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {{"use_opencl", use_opencl, METH_VARARGS, use_opencl_doc}, {NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "host_calls", .m_doc = "Short calls on arrays of the host.",
                                    .m_size = -1, .m_methods = METHODS};

PyMODINIT_FUNC PyInit_host_calls(void) {
    import_array();
    name_idle = PyUnicode_InternFromString("idle"), name_short = PyUnicode_InternFromString("short");
    name_driver = PyUnicode_InternFromString("driver"), name_pointer = PyUnicode_InternFromString("pointer");
    if (!name_idle || !name_short || !name_driver || !name_pointer) return NULL;
    return module_with(&MODULE, &LaunchType, &RunType);
}

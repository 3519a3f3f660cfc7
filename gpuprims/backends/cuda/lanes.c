/* Threads that copy between host memory and a GPU's through pinned buffers, without Python: its threads wait for each
 * other at every piece.
 *
 * CudaLanes (lanes.py) does the same with threads of Python where this module is not there, and passes the driver's
 * functions, the streams, the events and the buffers.
 */
#include "../../core/c_types.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define MOST_LANES 32
#define PAGE 4096 /* the system maps new memory when a byte of its page is first written */

typedef struct Lanes Lanes;

/* A copy of one array. */
typedef struct Job {
    PyObject_HEAD
    struct Job *following;
    char *host;
    uint64_t device;
    void *after;                /* an event before the first piece */
    void *events[MOST_LANES];   /* after the last piece of each lane, */
    char has_event[MOST_LANES]; /* if the lane took any */
    int64_t nbytes, shift, next; /* `next`: where the first piece begins that no lane has taken, plus `shift` */
    int is_new, queued, working, status;
} Job;

typedef struct {
    Lanes *all;
    int number;
    void *stream, *events[2];
    char *buffers[2];
    pthread_t thread;
} Lane;

struct Lanes {
    PyObject_HEAD
    int (*use)(void *context);                                                      /* cuCtxSetCurrent */
    int (*copy)(uint64_t target, uint64_t source, size_t nbytes, void *stream);      /* cuMemcpyAsync */
    int (*record)(void *event, void *stream);                                        /* cuEventRecord */
    int (*wait)(void *event);                                                        /* cuEventSynchronize */
    int (*wait_in)(void *stream, void *event, unsigned flags);                       /* cuStreamWaitEvent */
    void *context;
    int64_t piece; /* a power of two */
    int up, count, stopping;
    pid_t process;
    Job *first, *last; /* jobs with pieces left */
    pthread_mutex_t lock;
    pthread_cond_t started, done;
    Lane lanes[MOST_LANES];
};

/* Take a job's next piece, and return its bytes; 0 if none is left. Pieces end at multiples of their length in host memory,
 * so that no two threads map one page of it. */
static int64_t take(Job *job, int64_t piece, int64_t *begin) {
    int64_t at = __atomic_fetch_add(&job->next, piece, __ATOMIC_RELAXED) - job->shift;
    int64_t end = at + piece < job->nbytes ? at + piece : job->nbytes;
    *begin = at < 0 ? 0 : at;
    return end > *begin ? end - *begin : 0;
}

/* Fill one buffer while the GPU's engine empties the other; 0, or the driver's status. */
static int send(Lane *lane, Job *job) {
    Lanes *all = lane->all;
    int64_t begin, count = take(job, all->piece, &begin);
    int status = count ? all->wait_in(lane->stream, job->after, 0) : 0, moved = count > 0;
    for (int k = 0; !status && count; k ^= 1, count = take(job, all->piece, &begin)) {
        if ((status = all->wait(lane->events[k]))) break;
        memcpy(lane->buffers[k], job->host + begin, count);
        status = all->copy(job->device + begin, (uint64_t)(uintptr_t)lane->buffers[k], count, lane->stream);
        if (!status) status = all->record(lane->events[k], lane->stream);
    }
    if (moved && !status) {
        status = all->record(job->events[lane->number], lane->stream);
        job->has_event[lane->number] = 1;
    }
    return status;
}

/* Empty a buffer when the engine has filled it; map the pages of new memory meanwhile. */
static int receive(Lane *lane, Job *job) {
    Lanes *all = lane->all;
    int64_t begin, count = take(job, all->piece, &begin);
    int status = count ? all->wait_in(lane->stream, job->after, 0) : 0;
    for (; !status && count; count = take(job, all->piece, &begin)) {
        status = all->copy((uint64_t)(uintptr_t)lane->buffers[0], job->device + begin, count, lane->stream);
        if (!status) status = all->record(lane->events[0], lane->stream);
        for (int64_t at = begin; job->is_new && at < begin + count; at += PAGE) ((volatile char *)job->host)[at] = 0;
        if (!status) status = all->wait(lane->events[0]);
        if (!status) memcpy(job->host + begin, lane->buffers[0], count);
    }
    return status;
}

/* A thread: take part in the first job until all of its pieces are taken. */
static void *work(void *argument) {
    Lane *lane = argument;
    Lanes *all = lane->all;
    int used = all->use(all->context);
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (!all->first && !all->stopping) pthread_cond_wait(&all->started, &all->lock);
        if (!all->first) break;
        Job *job = all->first;
        job->working++;
        pthread_mutex_unlock(&all->lock);
        int status = used ? used : all->up ? send(lane, job) : receive(lane, job);
        pthread_mutex_lock(&all->lock);
        if (status && !job->status) {
            job->status = status;
            __atomic_store_n(&job->next, job->nbytes + job->shift, __ATOMIC_RELAXED); /* the others end */
        }
        if (all->first == job) {
            all->first = job->following;
            job->queued = 0;
        }
        if (--job->working == 0 && !job->queued) pthread_cond_broadcast(&all->done);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Read so many addresses from a tuple; 0, or -1 with an exception. */
static int read_addresses(PyObject *tuple, void **places, Py_ssize_t least, Py_ssize_t most, const char *what) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) < least || PyTuple_GET_SIZE(tuple) > most) {
        PyErr_Format(PyExc_TypeError, "lanes: %zd to %zd %s in a tuple", least, most, what);
        return -1;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); k++) {
        places[k] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(tuple, k));
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

static PyObject *job_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *events;
    if (!PyArg_ParseTuple(arguments, "O:Job", &events)) return NULL;
    Job *self = (Job *)type->tp_alloc(type, 0);
    if (self && read_addresses(events, self->events, 1, MOST_LANES, "events")) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyTypeObject JobType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpuprims.backends.cuda.lanes.Job",
    .tp_doc = "Job(events): a copy of one array, with an event for each lane.",
    .tp_basicsize = sizeof(Job),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = job_new,
};

static void stop(Lanes *self) {
    if (self->process != getpid()) return; /* the threads are those of the process before a fork */
    pthread_mutex_lock(&self->lock);
    self->stopping = 1;
    pthread_cond_broadcast(&self->started);
    pthread_mutex_unlock(&self->lock);
    Py_BEGIN_ALLOW_THREADS
    for (int k = 0; k < self->count; k++) pthread_join(self->lanes[k].thread, NULL);
    Py_END_ALLOW_THREADS
}

static void lanes_free(Lanes *self) {
    if (self->count) stop(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Read the lanes from a tuple of tuples, and start their threads. */
static int start_threads(Lanes *self, PyObject *lanes) {
    Py_ssize_t count = PyTuple_GET_SIZE(lanes);
    for (Py_ssize_t k = 0; k < count; k++) {
        void *places[5];
        if (read_addresses(PyTuple_GET_ITEM(lanes, k), places, 5, 5, "addresses")) return -1;
        self->lanes[k] = (Lane){self, (int)k, places[0], {places[1], places[2]}, {places[3], places[4]}};
    }
    for (Py_ssize_t k = 0; k < count; k++) {
        if (pthread_create(&self->lanes[k].thread, NULL, work, &self->lanes[k])) {
            PyErr_SetString(PyExc_RuntimeError, "lanes: a thread for each; got no more threads");
            return -1;
        }
        self->count++;
    }
    return 0;
}

static PyObject *lanes_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *functions, *lanes;
    void *all[6];
    long long piece;
    int up;
    if (!PyArg_ParseTuple(arguments, "OO!Lp:Lanes", &functions, &PyTuple_Type, &lanes, &piece, &up)) return NULL;
    if (read_addresses(functions, all, 6, 6, "functions and a context")) return NULL;
    if (piece < 1 || piece & (piece - 1) || !PyTuple_GET_SIZE(lanes) || PyTuple_GET_SIZE(lanes) > MOST_LANES) {
        PyErr_Format(PyExc_ValueError, "lanes: 1 to %d, and pieces of a power of two of bytes", MOST_LANES);
        return NULL;
    }
    Lanes *self = (Lanes *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->use = (int (*)(void *))all[0];
    self->copy = (int (*)(uint64_t, uint64_t, size_t, void *))all[1];
    self->record = (int (*)(void *, void *))all[2];
    self->wait = (int (*)(void *))all[3];
    self->wait_in = (int (*)(void *, void *, unsigned))all[4];
    self->context = all[5];
    self->piece = piece, self->up = up, self->process = getpid();
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->started, NULL);
    pthread_cond_init(&self->done, NULL);
    if (start_threads(self, lanes)) Py_CLEAR(self);
    return (PyObject *)self;
}

PyDoc_STRVAR(start_doc, "start(job, host, device, nbytes, after, new): begin to copy; finish() must follow.");

static PyObject *start(Lanes *self, PyObject *arguments) {
    Job *job;
    unsigned long long host, device, after;
    long long nbytes;
    int is_new;
    if (!PyArg_ParseTuple(arguments, "O!KKLKp:start", &JobType, &job, &host, &device, &nbytes, &after, &is_new)) return NULL;
    if (job->queued || job->working) {
        PyErr_SetString(PyExc_ValueError, "start: a job that is done");
        return NULL;
    }
    job->following = NULL;
    job->host = (char *)(uintptr_t)host, job->device = device, job->after = (void *)(uintptr_t)after;
    job->nbytes = nbytes, job->shift = (int64_t)(host & (unsigned long long)(self->piece - 1)), job->next = 0;
    job->is_new = is_new, job->status = 0;
    memset(job->has_event, 0, sizeof job->has_event);
    Py_INCREF(job); /* for the threads, until it is finished */
    pthread_mutex_lock(&self->lock);
    job->queued = 1;
    if (self->first) self->last->following = job;
    else self->first = job;
    self->last = job;
    pthread_cond_broadcast(&self->started);
    pthread_mutex_unlock(&self->lock);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(finish_doc,
             "finish(job, stream): wait until the host array has been read or written, let the stream wait for what was\n"
             "uploaded, and return the driver's status.");

static PyObject *finish(Lanes *self, PyObject *arguments) {
    Job *job;
    unsigned long long stream;
    int status;
    if (!PyArg_ParseTuple(arguments, "O!K:finish", &JobType, &job, &stream)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&self->lock);
    while (job->queued || job->working) pthread_cond_wait(&self->done, &self->lock);
    pthread_mutex_unlock(&self->lock);
    status = job->status;
    for (int k = 0; k < self->count && !status; k++)
        if (job->has_event[k]) status = self->wait_in((void *)(uintptr_t)stream, job->events[k], 0);
    Py_END_ALLOW_THREADS
    Py_DECREF(job);
    return PyLong_FromLong(status);
}

static PyMethodDef LANES_METHODS[] = {
    {"start", (PyCFunction)start, METH_VARARGS, start_doc},
    {"finish", (PyCFunction)finish, METH_VARARGS, finish_doc},
    {NULL},
};
static PyTypeObject LanesType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpuprims.backends.cuda.lanes.Lanes",
    .tp_doc = "Lanes((use, copy, record, wait, wait_in, context), ((stream, event, event, buffer, buffer), ...), piece, up)",
    .tp_basicsize = sizeof(Lanes),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = LANES_METHODS,
    .tp_new = lanes_new,
    .tp_dealloc = (destructor)lanes_free,
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "lanes", .m_doc = "Copies between a host and a GPU.", .m_size = -1};

PyMODINIT_FUNC PyInit_lanes(void) {
    return module_with(&MODULE, &JobType, &LanesType);
}

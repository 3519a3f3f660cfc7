"""Throw-away: check and time scans."""
import sys, time, os, subprocess, json
import numpy as np
import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.core.geometry import Geometry
def clear(v,**n):
    return v.resized(**n)
AFF = gpuprims.Op(lambda p, q: (p[0]*q[0], q[0]*p[1]+q[1]), (1, 0), commutative=False)
def variant(dev, name, block=None, items=None, units=None):
    v={v.name:v for v in REGISTRY.variants("scan", dev.backend)}[name]
    kw={k:x for k,x in (("block",block),("items",items),("groups_per_unit",units)) if x}
    return v.resized(**kw) if kw else name
def timed(dev, f, n):
    f(); f(); dev.synchronize(); best=9
    for _ in range(3):
        t=time.perf_counter()
        for _ in range(n): f()
        dev.synchronize(); best=min(best,(time.perf_counter()-t)/n)
    return best
DT={"f4":"float32","f8":"float64","i8":"int64","i4":"int32","f2":"float16","u1":"uint8","b":"bool","c8":"complex64","c16":"complex128"}
rng=np.random.default_rng(1)
def make(dev,dt,n):
    d=np.dtype(DT[dt])
    if dt=="b": h=rng.integers(0,2,1<<16).astype(d)
    elif d.kind in "fc": h=rng.integers(0,5,1<<16).astype(d)
    else: h=rng.integers(0,100,1<<16).astype(d)
    if n%(1<<16): return dev.asarray(np.resize(h,n))
    return gpuprims.map(lambda x,y: x, dev.asarray(h.reshape(1,1<<16)), dev.asarray(np.zeros((n>>16,1),np.uint8)))
# name: dtype, op, arrays, bytes per element, kwargs
CASES={"f4 sum":("f4","sum",1,8,{}),"f4 max":("f4","max",1,8,{}),"f4 excl":("f4","sum",1,8,{"inclusive":False}),"f4 prod":("f4","prod",1,8,{}),
"i4 min":("i4","min",1,8,{}),"i4 sum":("i4","sum",1,12,{}),"f8 sum":("f8","sum",1,16,{}),"f8 max":("f8","max",1,16,{}),"i8 sum":("i8","sum",1,16,{}),"f2 sum":("f2","sum",1,4,{}),"f2 max":("f2","max",1,4,{}),
"u1 sum":("u1","sum",1,9,{}),"u1 max":("u1","max",1,2,{}),"b any":("b","any",1,2,{}),"b sum":("b","sum",1,9,{}),"c8 sum":("c8","sum",1,16,{}),"c16 sum":("c16","sum",1,32,{}),"c16 prod":("c16","prod",1,32,{}),"affine":("f4",AFF,2,16,{}),"mean":("f4","mean",1,8,{})}
def call(dev,case,n,v,xs=None):
    dt,op,k,nb,kw=CASES[case]
    xs=xs if xs is not None else [make(dev,dt,n) for _ in range(k)]
    return lambda: gpuprims.scan(*xs,op=op,variant=v,**kw), nb

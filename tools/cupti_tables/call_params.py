"""Which parameters of a call become attributes, their names, and how they are read.

A pointer to something that the call fills in is shown as the value it points to. Structs are shown as the members that
STRUCTS names. Parameters that tell a reader of a trace nothing (arrays, reserved, kernel arguments) are left out."""

import re
from collections import namedtuple

from . import words

# `kind` is enum param_type without its prefix, `how` the flags of enum param_how, `enum` the tag of an enum or "".
Param = namedtuple("Param", "key kind offset member size how enum")

# Arrays, and parameters of no interest. Listed by name, because in C an array and a pointer to one value look the same.
LEFT_OUT = set("""
    args kernelParams extra options optionValues jitOptions jitOptionsValues libraryOptions libraryOptionValues
    dependencies pDependencies dependentNodes pDependentNodes dependencies_out edgeData edgeData_out dependencyData
    nodes rootNodes pRootNodes dptrs dsts srcs sizes dataSizes attrs attrsIdxs prefetchLocs prefetchLocIdxs data
    functions kernels resources device_arr attributes paramArray paramsArray launchParamsList opList mapInfoList
    capabilities operations pBorderColor descList failIdx errorIndex extSemArray reserved arg
    logBuffer pLogBuffer bufferSize
""".split())

# Node lists of graphs share their names with plain parameters.
LEFT_OUT_IF_POINTERS_TO_HANDLES = {"from", "to"}

# Integers that are addresses or handles.
HANDLES = {"CUdeviceptr", "CUdeviceptr_v1", "CUdeviceptr_v2", "CUtexObject", "CUtexObject_v1", "CUsurfObject",
           "CUsurfObject_v1", "cudaTextureObject_t", "cudaSurfaceObject_t", "CUmemGenericAllocationHandle",
           "CUmemGenericAllocationHandle_v1", "CUgraphConditionalHandle", "cudaGraphConditionalHandle"}

# call_result_name gives their values' names.
NO_WORDS = {"cudaError", "cudaError_enum"}

# A parameter's name in both APIs → its key. All others: the name in snake case, without a leading `p`, `h` or `ph`.
KEYS = {
    "gridDim": "grid", "blockDim": "block", "sharedMem": "shared_memory", "sharedMemBytes": "shared_memory",
    "dynamicSmemBytes": "shared_memory", "dynamicSMemSize": "shared_memory", "dynamicSmemSize": "shared_memory",
    "hStream": "stream", "dStream": "stream", "streamId": "stream_id",
    "ByteCount": "bytes", "size": "bytes", "bytesize": "bytes", "bytes": "bytes", "numbytes": "bytes",
    "sizeBytes": "bytes", "psize": "bytes", "Bytesize": "bytes",
    "dst": "dst", "dstHost": "dst", "dstPtr": "dst", "src": "src", "srcHost": "src", "srcPtr": "src",
    "dstArray": "dst_array", "srcArray": "src_array", "hArray": "array", "array_const": "array",
    "dpitch": "dst_pitch", "spitch": "src_pitch", "dstPitch": "dst_pitch", "srcPitch": "src_pitch",
    "pPitch": "pitch", "WidthInBytes": "width", "Width": "width", "Height": "height", "Depth": "depth",
    "uc": "value", "us": "value", "ui": "value",
    "Flags": "flags", "flag": "flags", "Kind": "kind",
    "devPtr": "ptr", "dptr": "ptr", "dptr_out": "ptr", "pp": "ptr", "p": "ptr", "ptr": "ptr", "ptr_out": "ptr",
    "pdptr": "ptr", "hptr": "ptr", "pDevPtr": "ptr", "pbase": "ptr", "ppHost": "ptr",
    "func": "function", "f": "function", "hfunc": "function", "hFunc": "function", "pFunc": "function",
    "functionPtr": "function", "funcPtr": "function", "fptr": "function", "fn": "function", "pfn": "function",
    "entry_point": "function", "kernelPtr": "kernel", "kern": "kernel", "pKernel": "kernel",
    "hEvent": "event", "phEvent": "event", "event_out": "event", "hStart": "start", "hEnd": "end",
    "phStream": "stream", "pStream": "stream",
    "dev": "device", "hDevice": "device", "ctx": "context", "pctx": "context", "hctx": "context", "hCtx": "context",
    "pCtx": "context", "phCtx": "context", "pContext": "context", "greenCtx": "green_context",
    "pGreenCtx": "green_context", "ctxId": "context_id", "hmod": "module", "mod": "module", "pMod": "module",
    "lib": "library", "pLib": "library", "hLib": "library",
    "graph_out": "graph", "phGraph": "graph", "pGraph": "graph", "hGraph": "graph", "phGraphClone": "clone",
    "pGraphClone": "clone", "exec": "graph_exec", "graphExec": "graph_exec", "hGraphExec": "graph_exec",
    "phGraphExec": "graph_exec", "pGraphExec": "graph_exec", "node": "node", "hNode": "node", "pNode": "node",
    "phNode": "node", "pGraphNode": "node", "phGraphNode": "node", "hErrorNode_out": "error_node",
    "phErrorNode": "error_node", "pErrorNode": "error_node", "numDependencies_out": "num_dependencies",
    "memPool": "pool", "hPool": "pool", "pool_out": "pool", "fname": "file", "fileName": "file", "path": "file",
    "pathToFile": "file", "attrib": "attribute", "attr": "attribute", "pi": "value", "pValue": "value",
    "pvalue": "value", "ms": "milliseconds", "pMilliseconds": "milliseconds", "pStr": "text",
    "callback_out": "callback", "callbackOut": "callback", "callbackFunc": "callback", "id_out": "id",
    "hOffset": "h_offset", "hOffsetDst": "h_offset_dst", "hOffsetSrc": "h_offset_src", "pDevice": "device_ptr",
    "am": "address_mode", "pam": "address_mode", "fm": "filter_mode", "pfm": "filter_mode", "pconfig": "config",
    "pbias": "bias", "pmaxAniso": "max_anisotropy", "maxAniso": "max_anisotropy", "ppExportTable": "export_table",
    "pminMipmapLevelClamp": "min_mipmap_level_clamp", "pmaxMipmapLevelClamp": "max_mipmap_level_clamp",
    "dynamicSmem": "shared_memory", "numDynamicSmemBytes": "shared_memory", "cubinOut": "cubin",
}

# Members that stand for a struct, as `member` or `member=key`. A name may be followed by its version, which does not
# count: CUDA_MEMCPY3D_v2.
_LOCATION = "location.type=location.type location.id=location.id"
_POOL = f"allocType=allocation_type handleTypes=handle_types {_LOCATION} maxSize=max_bytes usage"
_COPY_2D = """srcMemoryType=src_type srcHost=src_host srcDevice=src srcArray=src_array srcPitch=src_pitch
    srcXInBytes=src_x srcY=src_y dstMemoryType=dst_type dstHost=dst_host dstDevice=dst dstArray=dst_array
    dstPitch=dst_pitch dstXInBytes=dst_x dstY=dst_y WidthInBytes=width Height=height"""
_COPY_3D = _COPY_2D + " srcZ=src_z srcLOD=src_lod dstZ=dst_z dstLOD=dst_lod Depth=depth"
_COPY_RUNTIME = """srcArray=src_array srcPos.x=src_x srcPos.y=src_y srcPos.z=src_z srcPtr.ptr=src
    srcPtr.pitch=src_pitch dstArray=dst_array dstPos.x=dst_x dstPos.y=dst_y dstPos.z=dst_z dstPtr.ptr=dst
    dstPtr.pitch=dst_pitch extent.width=width extent.height=height extent.depth=depth"""
_KERNEL = "func=function gridDim=grid blockDim=block sharedMemBytes=shared_memory"
_FILL = "dst pitch value elementSize=element_bytes width height"
_ARRAY = "Width=width Height=height Format=format NumChannels=channels"
STRUCTS = {
    "cudaLaunchConfig": "gridDim=grid blockDim=block dynamicSmemBytes=shared_memory stream numAttrs=num_attributes",
    "CUlaunchConfig": "gridDim=grid blockDim=block sharedMemBytes=shared_memory hStream=stream numAttrs=num_attributes",
    "cudaKernelNodeParams": _KERNEL,
    "CUDA_KERNEL_NODE_PARAMS": _KERNEL,
    "cudaHostNodeParams": "fn=function userData=user_data",
    "CUDA_HOST_NODE_PARAMS": "fn=function userData=user_data",
    "cudaMemsetParams": _FILL,
    "CUDA_MEMSET_NODE_PARAMS": _FILL,
    "cudaMemcpy3DParms": _COPY_RUNTIME + " kind",
    "cudaMemcpy3DPeerParms": _COPY_RUNTIME + " srcDevice=src_device dstDevice=dst_device",
    "CUDA_MEMCPY2D": _COPY_2D,
    "CUDA_MEMCPY3D": _COPY_3D,
    "CUDA_MEMCPY3D_PEER": _COPY_3D + " srcContext=src_context dstContext=dst_context",
    "cudaMemcpy3DBatchOp": "extent.width=width extent.height=height extent.depth=depth",
    "CUDA_MEMCPY3D_BATCH_OP": "extent.width=width extent.height=height extent.depth=depth",
    "cudaMemcpyAttributes": "srcAccessOrder=src_access_order srcLocHint.type=src_location.type "
                            "srcLocHint.id=src_location.id dstLocHint.type=dst_location.type "
                            "dstLocHint.id=dst_location.id flags",
    "CUmemcpyAttributes": "srcAccessOrder=src_access_order srcLocHint.type=src_location.type "
                          "srcLocHint.id=src_location.id dstLocHint.type=dst_location.type "
                          "dstLocHint.id=dst_location.id flags",
    "cudaPitchedPtr": "ptr pitch xsize ysize",
    "cudaExtent": "width height depth",
    "cudaChannelFormatDesc": "x=channel.x y=channel.y z=channel.z w=channel.w f=channel.kind",
    "cudaMemLocation": "type=location.type id=location.id",
    "CUmemLocation": "type=location.type id=location.id",
    "cudaMemPoolProps": _POOL,
    "CUmemPoolProps": _POOL,
    "CUmemAllocationProp": f"type=allocation_type requestedHandleTypes=handle_types {_LOCATION}",
    "cudaMemAllocNodeParams": "bytesize=bytes dptr=ptr poolProps.location.type=location.type "
                              "poolProps.location.id=location.id",
    "CUDA_MEM_ALLOC_NODE_PARAMS": "bytesize=bytes dptr=ptr poolProps.location.type=location.type "
                                  "poolProps.location.id=location.id",
    "CUDA_ARRAY_DESCRIPTOR": _ARRAY,
    "CUDA_ARRAY3D_DESCRIPTOR": _ARRAY + " Depth=depth Flags=flags",
    "CUDA_ARRAY_MEMORY_REQUIREMENTS": "size=bytes alignment",
    "cudaArrayMemoryRequirements": "size=bytes alignment",
    "cudaGraphInstantiateParams": "flags uploadStream=upload_stream",
    "CUDA_GRAPH_INSTANTIATE_PARAMS": "flags hUploadStream=upload_stream",
    "cudaGraphExecUpdateResultInfo": "result=update_result errorNode=error_node",
    "CUgraphExecUpdateResultInfo": "result=update_result errorNode=error_node",
    "cudaGraphNodeParams": "type",
    "CUgraphNodeParams": "type",
    "cudaPointerAttributes": "type device devicePointer=device_ptr hostPointer=host_ptr",
    "CUDA_EXTERNAL_MEMORY_HANDLE_DESC": "type size=bytes flags",
    "cudaExternalMemoryHandleDesc": "type size=bytes flags",
    "CUDA_EXTERNAL_MEMORY_BUFFER_DESC": "offset size=bytes flags",
    "cudaExternalMemoryBufferDesc": "offset size=bytes flags",
    "CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC": "type flags",
    "cudaExternalSemaphoreHandleDesc": "type flags",
    "CUmulticastObjectProp": "numDevices=num_devices size=bytes handleTypes=handle_types flags",
}

# Pointers to structs without const that a runtime call reads. All other pointers without const are filled in by the
# call.
READ_THOUGH_NOT_CONST = {"op", "attr", "instantiateParams", "nodeParams", "location"}
_GETTER = re.compile(r"Get[A-Z]|AddMemAllocNode")


def _canonical(name):
    return re.sub(r"(_v\d+)?(_st)?(_t)?$", "", name)


# Names that would otherwise stand for two parameters.
KEYS_OF_CALL = {("cuMemHostGetDevicePointer", "pdptr"): "device_ptr", ("cuMemGetAddressRange", "pbase"): "base",
                ("cudaCreateChannelDesc", "f"): "kind"}

_COUNTS_BYTES = re.compile(r"Memcpy|Memset|Advise|Prefetch|RangeGetAttribute")


def key_of(name, kind, call, group):
    """The key of a parameter, without "cuda.arg."."""
    if (call, name) in KEYS_OF_CALL:
        return KEYS_OF_CALL[call, name]
    if name in ("dstDevice", "srcDevice"):
        return name[:3] if kind == "POINTER" else name[:3] + "_device"
    if name == "count" and _COUNTS_BYTES.search(call) and "Batch" not in call:
        return "bytes"
    if group == "fill" and name in ("N", "devPtr", "ptr", "dstPitch"):
        return {"N": "count", "dstPitch": "pitch"}.get(name, "dst")
    if name == "pHost":
        return "ptr"
    if name in KEYS:
        return KEYS[name]
    name = re.sub(r"(_out|Out)$", "", name)
    name = re.sub(r"^(ph|pp|p|h)(?=[A-Z])", "", name)
    return words.snake(name)


class Reader:
    """Turns the struct of a call's parameters, in the layout of one version, into a list of Param."""

    def __init__(self, types):
        self.types = types

    def params(self, call, group, struct):
        """`call` is the name without version and stream suffix."""
        out = []
        for name, type_, offset, _ in self.types.members(struct):
            if name not in LEFT_OUT:
                out += self._param(call, group, name, type_, offset)
        return self._unique(self._threes(out, call, group))

    @staticmethod
    def _unique(named):
        seen, out = set(), []
        for _, param in named:
            if param.key not in seen:
                seen.add(param.key)
                out.append(param)
        return out

    @staticmethod
    def _threes(named, call, group):
        """Three consecutive integers aX, aY, aZ are one attribute."""
        out, i = [], 0
        while i < len(named):
            names = [n for n, _ in named[i:i + 3]]
            if len(names) == 3 and [n[-1] for n in names] == ["X", "Y", "Z"] and len({n[:-1] for n in names}) == 1:
                first = named[i][1]
                key = key_of(names[0][:-1], "DIM3", call, group)
                out.append((names[0][:-1], first._replace(key=key, kind="DIM3", size=12,
                                                          how=frozenset(first.how | {"THREE"}))))
                i += 3
            else:
                out.append(named[i])
                i += 1
        return out

    def _param(self, call, group, name, type_, offset):
        if type_.kind == "pointer":
            return self._pointer(call, group, name, type_, offset)
        if type_.kind == "struct":
            if type_.tag == "dim3":
                return [(name, Param(key_of(name, "DIM3", call, group), "DIM3", offset, 0, 12, frozenset({"THREE"}), ""))]
            return self._struct(type_, offset, 0, frozenset(), group)
        return self._scalar(call, group, name, type_, offset, 0, frozenset())

    def _scalar(self, call, group, name, type_, offset, member, how, key=None):
        enum = ""
        if type_.kind == "pointer":
            kind = "POINTER"
        elif type_.name in HANDLES:
            kind = "POINTER"
        elif type_.kind == "enum":
            kind, how = "INT", how | {"SIGNED"}
            if type_.tag not in NO_WORDS:
                kind, enum = "ENUM", type_.tag or type_.name
        elif type_.kind in ("int", "uint", "bool", "real"):
            kind = {"int": "INT", "uint": "UINT", "bool": "BOOL", "real": "DOUBLE"}[type_.kind]
            how |= {"SIGNED"} if type_.kind == "int" else {"REAL"} if type_.kind == "real" else set()
        else:
            return []
        if type_.name in ("CUgraphExec", "cudaGraphExec_t"):
            key = "graph_exec"
        key = key or key_of(name, kind, call, group)
        return [(name, Param(key, kind, offset, member, type_.size, frozenset(how), enum))]

    def _is_plain_pointer(self, target):
        return target.kind in ("void", "function") or self.types.is_opaque(target)

    def _pointer(self, call, group, name, type_, offset):
        target = self.types.target(type_)
        if self._is_plain_pointer(target):
            return self._scalar(call, group, name, type_, offset, 0, frozenset())
        if target.tag == "char":
            if not target.const:
                return self._scalar(call, group, name, type_, offset, 0, frozenset())
            return [(name, Param(key_of(name, "STRING", call, group), "STRING", offset, 0, 8, frozenset({"TEXT"}), ""))]
        out = frozenset({"DEREF", "OUT"})
        if target.kind == "pointer":
            return self._pointer_to_pointer(call, group, name, target, offset, out)
        if target.kind == "struct":
            is_read = target.const or name in READ_THOUGH_NOT_CONST and not _GETTER.search(call)
            return self._struct(target, offset, 0, frozenset({"DEREF"}) if is_read else out, group)
        if target.const or target.kind == "union":
            return []
        return self._scalar(call, group, name, target, offset, 0, out)

    def _pointer_to_pointer(self, call, group, name, target, offset, how):
        inner = self.types.target(target)
        if target.const or name in LEFT_OUT_IF_POINTERS_TO_HANDLES:
            return []
        if inner.tag == "char" and inner.const:
            key = key_of(name, "STRING", call, group)
            return [(name, Param(key, "STRING", offset, 0, 8, how | {"TEXT"}, ""))]
        if not self._is_plain_pointer(inner):
            return []
        return self._scalar(call, group, name, target, offset, 0, how)

    def _struct(self, struct, offset, member, how, group):
        out = []
        for item in STRUCTS.get(_canonical(struct.name), STRUCTS.get(_canonical(struct.tag), "")).split():
            path, _, key = item.partition("=")
            found = self.types.find(struct, path)
            if found is None:
                found = self.types.find(struct, path + "X")
                if found is None:
                    continue
            type_, at, _ = found
            place = (offset, member + at) if "DEREF" in how else (offset + at, 0)
            if path in ("gridDim", "blockDim"):
                out.append((path, Param(key, "DIM3", *place, 12, how | {"THREE"}, "")))
            else:
                key = "dst" if (path, group) == ("ptr", "fill") else key or path
                out += self._scalar("", "", path, type_, *place, how, key)
        return out

/* Where the parameters of model/cuda/calls_table.c lie, in the same order.
 *
 * Made by tools/gen_cupti_tables.py from the headers of CUDA 12.0 to 13.5; don't edit. */
/* clang-format off */
#include "agent/abi/params.h"

enum {
    S = PARAM_SIGNED,
    D = PARAM_DEREF,
    O = PARAM_DEREF | PARAM_OUT,
    T = PARAM_TEXT,
    X = PARAM_THREE,
    R = PARAM_REAL
};

const struct param_source param_sources[] = {
    /* 0: cudaDriverGetVersion */
    {0, 0, 4, O | S},
    /* 1: cudaRuntimeGetVersion */
    {0, 0, 4, O | S},
    /* 2: cudaGetDeviceCount */
    {0, 0, 4, O | S},
    /* 3: cudaGetDeviceProperties */
    {8, 0, 4, S},
    /* 4: cudaChooseDevice */
    {0, 0, 4, O | S},
    /* 5: cudaGetChannelDesc */
    {0, 0, 4, O | S}, {0, 4, 4, O | S}, {0, 8, 4, O | S}, {0, 12, 4, O | S}, {0, 16, 4, O | S}, {8, 0, 8, 0},
    /* 11: cudaCreateChannelDesc */
    {0, 0, 4, S}, {4, 0, 4, S}, {8, 0, 4, S}, {12, 0, 4, S}, {16, 0, 4, S},
    /* 16: cudaConfigureCall */
    {0, 0, 12, X}, {12, 0, 12, X}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 20: cudaSetupArgument */
    {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 22: cudaGetErrorString */
    {0, 0, 4, S},
    /* 23: cudaLaunch */
    {0, 0, 8, 0},
    /* 24: cudaFuncSetCacheConfig */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 26: cudaFuncGetAttributes */
    {8, 0, 8, 0},
    /* 27: cudaSetDevice */
    {0, 0, 4, S},
    /* 28: cudaSetValidDevices */
    {8, 0, 4, S},
    /* 29: cudaSetDeviceFlags */
    {0, 0, 4, 0},
    /* 30: cudaMalloc */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 32: cudaMallocPitch */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 36: cudaFree */
    {0, 0, 8, 0},
    /* 37: cudaMallocArray */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {8, 16, 4, D | S},
    {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, 0},
    /* 46: cudaFreeArray */
    {0, 0, 8, 0},
    /* 47: cudaHostAlloc */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 50: cudaHostGetDevicePointer */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 53: cudaHostGetFlags */
    {0, 0, 4, O}, {8, 0, 8, 0},
    /* 55: cudaMemGetInfo */
    {0, 0, 8, O}, {8, 0, 8, O},
    /* 57: cudaMemcpy */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, S},
    /* 61: cudaMemcpy2D */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 4, S},
    /* 68: cudaMemcpyToArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 74: cudaMemcpy2DToArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 4, S},
    /* 82: cudaMemcpyFromArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 88: cudaMemcpy2DFromArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 4, S},
    /* 96: cudaMemcpyArrayToArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 4, S},
    /* 104: cudaMemcpy2DArrayToArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 8, 0}, {64, 0, 4, S},
    /* 113: cudaMemcpyToSymbol */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S},
    /* 118: cudaMemcpyFromSymbol */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S},
    /* 123: cudaMemcpyAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, S}, {32, 0, 8, 0},
    /* 128: cudaMemcpyToArrayAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S}, {48, 0, 8, 0},
    /* 135: cudaMemcpyFromArrayAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S}, {48, 0, 8, 0},
    /* 142: cudaMemcpy2DAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 4, S},
    {56, 0, 8, 0},
    /* 150: cudaMemcpy2DToArrayAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 4, S}, {64, 0, 8, 0},
    /* 159: cudaMemcpy2DFromArrayAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 4, S}, {64, 0, 8, 0},
    /* 168: cudaMemcpyToSymbolAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S}, {40, 0, 8, 0},
    /* 174: cudaMemcpyFromSymbolAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S}, {40, 0, 8, 0},
    /* 180: cudaMemset */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 183: cudaMemset2D */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 188: cudaMemsetAsync */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 192: cudaMemset2DAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 198: cudaGetSymbolAddress */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 200: cudaGetSymbolSize */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 202: cudaBindTexture */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, D | S}, {24, 4, 4, D | S}, {24, 8, 4, D | S},
    {24, 12, 4, D | S}, {24, 16, 4, D | S}, {32, 0, 8, 0},
    /* 211: cudaBindTexture2D */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, D | S}, {24, 4, 4, D | S}, {24, 8, 4, D | S},
    {24, 12, 4, D | S}, {24, 16, 4, D | S}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    /* 222: cudaBindTextureToArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, D | S}, {16, 4, 4, D | S}, {16, 8, 4, D | S}, {16, 12, 4, D | S},
    {16, 16, 4, D | S},
    /* 229: cudaUnbindTexture */
    {0, 0, 8, 0},
    /* 230: cudaGetTextureAlignmentOffset */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 232: cudaGetTextureReference */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 234: cudaBindSurfaceToArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, D | S}, {16, 4, 4, D | S}, {16, 8, 4, D | S}, {16, 12, 4, D | S},
    {16, 16, 4, D | S},
    /* 241: cudaGetSurfaceReference */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 243: cudaGraphicsUnregisterResource */
    {0, 0, 8, 0},
    /* 244: cudaGraphicsResourceSetMapFlags */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 246: cudaGraphicsMapResources */
    {0, 0, 4, S}, {16, 0, 8, 0},
    /* 248: cudaGraphicsResourceGetMappedPointer */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0},
    /* 251: cudaGraphicsSubResourceGetMappedArray */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 255: cudaSetDoubleForDevice */
    {0, 0, 8, O | R},
    /* 256: cudaThreadGetLimit */
    {0, 0, 8, O}, {8, 0, 4, S},
    /* 258: cudaThreadSetLimit */
    {0, 0, 4, S}, {8, 0, 8, 0},
    /* 260: cudaStreamCreate */
    {0, 0, 8, O},
    /* 261: cudaStreamDestroy */
    {0, 0, 8, 0},
    /* 262: cudaEventCreate */
    {0, 0, 8, O},
    /* 263: cudaEventCreateWithFlags */
    {0, 0, 8, O}, {8, 0, 4, 0},
    /* 265: cudaEventRecord */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 267: cudaEventDestroy */
    {0, 0, 8, 0},
    /* 268: cudaEventElapsedTime */
    {0, 0, 4, O | R}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 271: cudaMalloc3D */
    {0, 0, 8, O}, {0, 8, 8, O}, {0, 16, 8, O}, {0, 24, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 278: cudaMalloc3DArray */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {8, 16, 4, D | S},
    {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, 0},
    /* 288: cudaMemset3D */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 8, 0},
    /* 296: cudaMemset3DAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S}, {40, 0, 8, 0}, {48, 0, 8, 0},
    {56, 0, 8, 0}, {64, 0, 8, 0},
    /* 305: cudaMemcpy3D */
    {0, 0, 8, D}, {0, 8, 8, D}, {0, 16, 8, D}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 40, 8, D}, {0, 64, 8, D},
    {0, 72, 8, D}, {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {0, 104, 8, D}, {0, 128, 8, D},
    {0, 136, 8, D}, {0, 144, 8, D}, {0, 152, 4, D | S},
    /* 321: cudaMemcpy3DAsync */
    {0, 0, 8, D}, {0, 8, 8, D}, {0, 16, 8, D}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 40, 8, D}, {0, 64, 8, D},
    {0, 72, 8, D}, {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {0, 104, 8, D}, {0, 128, 8, D},
    {0, 136, 8, D}, {0, 144, 8, D}, {0, 152, 4, D | S}, {8, 0, 8, 0},
    /* 338: cudaThreadSetCacheConfig */
    {0, 0, 4, S},
    /* 339: cudaStreamWaitEvent */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 342: cudaThreadGetCacheConfig */
    {0, 0, 4, O | S},
    /* 343: cudaPointerGetAttributes */
    {8, 0, 8, 0},
    /* 344: cudaHostRegister */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 347: cudaDeviceCanAccessPeer */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 350: cudaDeviceEnablePeerAccess */
    {0, 0, 4, S}, {4, 0, 4, 0},
    /* 352: cudaDeviceDisablePeerAccess */
    {0, 0, 4, S},
    /* 353: cudaMemcpyPeer */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 4, S}, {32, 0, 8, 0},
    /* 358: cudaMemcpyPeerAsync */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 4, S}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 364: cudaMemcpy3DPeer */
    {0, 0, 8, D}, {0, 8, 8, D}, {0, 16, 8, D}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 40, 8, D}, {0, 72, 8, D},
    {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {0, 104, 8, D}, {0, 112, 8, D}, {0, 144, 8, D},
    {0, 152, 8, D}, {0, 160, 8, D}, {0, 64, 4, D | S}, {0, 136, 4, D | S},
    /* 381: cudaMemcpy3DPeerAsync */
    {0, 0, 8, D}, {0, 8, 8, D}, {0, 16, 8, D}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 40, 8, D}, {0, 72, 8, D},
    {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {0, 104, 8, D}, {0, 112, 8, D}, {0, 144, 8, D},
    {0, 152, 8, D}, {0, 160, 8, D}, {0, 64, 4, D | S}, {0, 136, 4, D | S}, {8, 0, 8, 0},
    /* 399: cudaProfilerInitialize */
    {0, 0, 8, T}, {8, 0, 8, T}, {16, 0, 4, S},
    /* 402: cudaDeviceGetByPCIBusId */
    {0, 0, 4, O | S}, {8, 0, 8, T},
    /* 404: cudaDeviceGetPCIBusId */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 407: cudaIpcGetEventHandle */
    {8, 0, 8, 0},
    /* 408: cudaIpcOpenMemHandle */
    {0, 0, 8, O}, {72, 0, 4, 0},
    /* 410: cudaArrayGetInfo */
    {0, 0, 4, O | S}, {0, 4, 4, O | S}, {0, 8, 4, O | S}, {0, 12, 4, O | S}, {0, 16, 4, O | S}, {8, 0, 8, O},
    {8, 8, 8, O}, {8, 16, 8, O}, {16, 0, 4, O}, {24, 0, 8, 0},
    /* 420: cudaFuncSetSharedMemConfig */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 422: cudaDeviceGetSharedMemConfig */
    {0, 0, 4, O | S},
    /* 423: cudaDeviceSetSharedMemConfig */
    {0, 0, 4, S},
    /* 424: cudaCreateTextureObject */
    {0, 0, 8, O},
    /* 425: cudaDestroyTextureObject */
    {0, 0, 8, 0},
    /* 426: cudaGetTextureObjectResourceDesc */
    {8, 0, 8, 0},
    /* 427: cudaCreateSurfaceObject */
    {0, 0, 8, O},
    /* 428: cudaDestroySurfaceObject */
    {0, 0, 8, 0},
    /* 429: cudaGetSurfaceObjectResourceDesc */
    {8, 0, 8, 0},
    /* 430: cudaMallocMipmappedArray */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {8, 16, 4, D | S},
    {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, 0}, {44, 0, 4, 0},
    /* 441: cudaGetMipmappedArrayLevel */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 444: cudaFreeMipmappedArray */
    {0, 0, 8, 0},
    /* 445: cudaBindTextureToMipmappedArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, D | S}, {16, 4, 4, D | S}, {16, 8, 4, D | S}, {16, 12, 4, D | S},
    {16, 16, 4, D | S},
    /* 452: cudaGraphicsResourceGetMappedMipmappedArray */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 454: cudaStreamAddCallback */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 458: cudaStreamCreateWithFlags */
    {0, 0, 8, O}, {8, 0, 4, 0},
    /* 460: cudaDeviceGetAttribute */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 463: cudaStreamCreateWithPriority */
    {0, 0, 8, O}, {8, 0, 4, 0}, {12, 0, 4, S},
    /* 466: cudaStreamGetPriority */
    {0, 0, 8, 0}, {8, 0, 4, O | S},
    /* 468: cudaStreamGetFlags */
    {0, 0, 8, 0}, {8, 0, 4, O},
    /* 470: cudaDeviceGetStreamPriorityRange */
    {0, 0, 4, O | S}, {8, 0, 4, O | S},
    /* 472: cudaOccupancyMaxActiveBlocksPerMultiprocessor */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 475: cudaStreamAttachMemAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 479: cudaOccupancyMaxActiveBlocksPerMultiprocessor */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0},
    /* 483: cudaLaunchKernel */
    {0, 0, 8, 0}, {8, 0, 12, X}, {20, 0, 12, X}, {40, 0, 8, 0}, {48, 0, 8, 0},
    /* 488: cudaGetDeviceFlags */
    {0, 0, 4, O},
    /* 489: cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 4, 0},
    /* 494: cudaMemPrefetchAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0},
    /* 498: cudaMemAdvise */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S},
    /* 502: cudaDeviceGetP2PAttribute */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S}, {16, 0, 4, S},
    /* 506: cudaMemRangeGetAttribute */
    {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 510: cudaMemRangeGetAttributes */
    {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 513: cudaLaunchCooperativeKernelMultiDevice */
    {8, 0, 4, 0}, {12, 0, 4, 0},
    /* 515: cudaFuncSetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 518: cudaImportExternalMemory */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 24, 8, D}, {8, 32, 4, D},
    /* 522: cudaExternalMemoryGetMappedBuffer */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 8, D}, {16, 16, 4, D},
    /* 527: cudaExternalMemoryGetMappedMipmappedArray */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 529: cudaDestroyExternalMemory */
    {0, 0, 8, 0},
    /* 530: cudaImportExternalSemaphore */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 24, 4, D},
    /* 533: cudaSignalExternalSemaphoresAsync */
    {16, 0, 4, 0}, {24, 0, 8, 0},
    /* 535: cudaDestroyExternalSemaphore */
    {0, 0, 8, 0},
    /* 536: cudaLaunchHostFunc */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 539: cudaGraphCreate */
    {0, 0, 8, O}, {8, 0, 4, 0},
    /* 541: cudaGraphKernelNodeGetParams */
    {0, 0, 8, 0}, {8, 0, 8, O}, {8, 8, 12, O | X}, {8, 20, 12, O | X}, {8, 32, 4, O},
    /* 546: cudaGraphKernelNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, D}, {8, 8, 12, D | X}, {8, 20, 12, D | X}, {8, 32, 4, D},
    /* 551: cudaGraphAddKernelNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, D}, {32, 8, 12, D | X}, {32, 20, 12, D | X},
    {32, 32, 4, D},
    /* 558: cudaGraphAddMemcpyNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, D}, {32, 8, 8, D}, {32, 16, 8, D}, {32, 24, 8, D},
    {32, 32, 8, D}, {32, 40, 8, D}, {32, 64, 8, D}, {32, 72, 8, D}, {32, 80, 8, D}, {32, 88, 8, D},
    {32, 96, 8, D}, {32, 104, 8, D}, {32, 128, 8, D}, {32, 136, 8, D}, {32, 144, 8, D}, {32, 152, 4, D | S},
    /* 577: cudaGraphMemcpyNodeGetParams */
    {0, 0, 8, 0}, {8, 0, 8, O}, {8, 8, 8, O}, {8, 16, 8, O}, {8, 24, 8, O}, {8, 32, 8, O}, {8, 40, 8, O},
    {8, 64, 8, O}, {8, 72, 8, O}, {8, 80, 8, O}, {8, 88, 8, O}, {8, 96, 8, O}, {8, 104, 8, O},
    {8, 128, 8, O}, {8, 136, 8, O}, {8, 144, 8, O}, {8, 152, 4, O | S},
    /* 594: cudaGraphMemcpyNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, D}, {8, 8, 8, D}, {8, 16, 8, D}, {8, 24, 8, D}, {8, 32, 8, D}, {8, 40, 8, D},
    {8, 64, 8, D}, {8, 72, 8, D}, {8, 80, 8, D}, {8, 88, 8, D}, {8, 96, 8, D}, {8, 104, 8, D},
    {8, 128, 8, D}, {8, 136, 8, D}, {8, 144, 8, D}, {8, 152, 4, D | S},
    /* 611: cudaGraphAddMemsetNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, D}, {32, 8, 8, D}, {32, 16, 4, D}, {32, 20, 4, D},
    {32, 24, 8, D}, {32, 32, 8, D},
    /* 620: cudaGraphMemsetNodeGetParams */
    {0, 0, 8, 0}, {8, 0, 8, O}, {8, 8, 8, O}, {8, 16, 4, O}, {8, 20, 4, O}, {8, 24, 8, O}, {8, 32, 8, O},
    /* 627: cudaGraphMemsetNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, D}, {8, 8, 8, D}, {8, 16, 4, D}, {8, 20, 4, D}, {8, 24, 8, D}, {8, 32, 8, D},
    /* 634: cudaGraphAddHostNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, D}, {32, 8, 8, D},
    /* 639: cudaGraphHostNodeGetParams */
    {0, 0, 8, 0}, {8, 0, 8, O}, {8, 8, 8, O},
    /* 642: cudaGraphAddChildGraphNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 646: cudaGraphChildGraphNodeGetGraph */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 648: cudaGraphAddEmptyNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0},
    /* 651: cudaGraphClone */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 653: cudaGraphNodeFindInClone */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 656: cudaGraphNodeGetType */
    {0, 0, 8, 0}, {8, 0, 4, O | S},
    /* 658: cudaGraphGetRootNodes */
    {0, 0, 8, 0}, {16, 0, 8, O},
    /* 660: cudaGraphNodeGetDependencies */
    {0, 0, 8, 0}, {16, 0, 8, O},
    /* 662: cudaGraphNodeGetDependentNodes */
    {0, 0, 8, 0}, {16, 0, 8, O},
    /* 664: cudaGraphAddDependencies */
    {0, 0, 8, 0}, {24, 0, 8, 0},
    /* 666: cudaGraphDestroyNode */
    {0, 0, 8, 0},
    /* 667: cudaGraphInstantiate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, O},
    /* 670: cudaGraphLaunch */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 672: cudaGraphExecDestroy */
    {0, 0, 8, 0},
    /* 673: cudaGraphDestroy */
    {0, 0, 8, 0},
    /* 674: cudaStreamBeginCapture */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 676: cudaStreamIsCapturing */
    {0, 0, 8, 0}, {8, 0, 4, O | S},
    /* 678: cudaStreamEndCapture */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 680: cudaGraphHostNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, D}, {8, 8, 8, D},
    /* 683: cudaGraphGetNodes */
    {0, 0, 8, 0}, {16, 0, 8, O},
    /* 685: cudaGraphGetEdges */
    {0, 0, 8, 0}, {24, 0, 8, O},
    /* 687: cudaStreamGetCaptureInfo */
    {0, 0, 8, 0}, {8, 0, 4, O | S}, {16, 0, 8, O},
    /* 690: cudaGraphExecKernelNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 12, D | X}, {16, 20, 12, D | X}, {16, 32, 4, D},
    /* 696: cudaThreadExchangeStreamCaptureMode */
    {0, 0, 4, O | S},
    /* 697: cudaDeviceGetNvSciSyncAttributes */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 700: cudaOccupancyAvailableDynamicSMemPerBlock */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S},
    /* 704: cudaStreamSetFlags */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 706: cudaGraphExecMemcpyNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 8, D}, {16, 16, 8, D}, {16, 24, 8, D}, {16, 32, 8, D},
    {16, 40, 8, D}, {16, 64, 8, D}, {16, 72, 8, D}, {16, 80, 8, D}, {16, 88, 8, D}, {16, 96, 8, D},
    {16, 104, 8, D}, {16, 128, 8, D}, {16, 136, 8, D}, {16, 144, 8, D}, {16, 152, 4, D | S},
    /* 724: cudaGraphExecMemsetNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 8, D}, {16, 16, 4, D}, {16, 20, 4, D}, {16, 24, 8, D},
    {16, 32, 8, D},
    /* 732: cudaGraphExecHostNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 8, D},
    /* 736: cudaGraphExecUpdate */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, O | S}, {16, 8, 8, O},
    /* 740: cudaGetFuncBySymbol */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 742: cudaGraphKernelNodeCopyAttributes */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 744: cudaGraphKernelNodeGetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 746: cudaStreamCopyAttributes */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 748: cudaStreamGetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 750: cudaDeviceGetTexture1DLinearMaxWidth */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {8, 16, 4, D | S},
    {16, 0, 4, S},
    /* 757: cudaGraphAddMemcpyNodeToSymbol */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0}, {56, 0, 8, 0},
    {64, 0, 4, S},
    /* 765: cudaGraphAddMemcpyNodeFromSymbol */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0}, {56, 0, 8, 0},
    {64, 0, 4, S},
    /* 773: cudaGraphAddMemcpyNode1D */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0}, {56, 0, 4, S},
    /* 780: cudaGraphMemcpyNodeSetParamsToSymbol */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 786: cudaGraphMemcpyNodeSetParamsFromSymbol */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 792: cudaGraphMemcpyNodeSetParams1D */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, S},
    /* 797: cudaGraphExecMemcpyNodeSetParamsToSymbol */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 4, S},
    /* 804: cudaGraphExecMemcpyNodeSetParamsFromSymbol */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 4, S},
    /* 811: cudaGraphExecMemcpyNodeSetParams1D */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 817: cudaArrayGetSparseProperties */
    {8, 0, 8, 0},
    /* 818: cudaMipmappedArrayGetSparseProperties */
    {8, 0, 8, 0},
    /* 819: cudaGraphExecChildGraphNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 822: cudaGraphAddEventRecordNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 826: cudaGraphEventRecordNodeGetEvent */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 828: cudaGraphEventRecordNodeSetEvent */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 830: cudaGraphExecEventRecordNodeSetEvent */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 833: cudaEventRecordWithFlags */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 836: cudaDeviceGetDefaultMemPool */
    {0, 0, 8, O}, {8, 0, 4, S},
    /* 838: cudaMallocAsync */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 841: cudaFreeAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 843: cudaMemPoolTrimTo */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 845: cudaMemPoolSetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 848: cudaMemPoolSetAccess */
    {0, 0, 8, 0}, {16, 0, 8, 0},
    /* 850: cudaArrayGetPlane */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 853: cudaMemPoolGetAccess */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 4, O | S}, {16, 4, 4, O | S},
    /* 857: cudaMemPoolCreate */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {8, 24, 8, D},
    {8, 32, 2, D},
    /* 864: cudaMemPoolDestroy */
    {0, 0, 8, 0},
    /* 865: cudaDeviceSetMemPool */
    {0, 0, 4, S}, {8, 0, 8, 0},
    /* 867: cudaMemPoolExportToShareableHandle */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, 0},
    /* 871: cudaMemPoolImportFromShareableHandle */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, 0},
    /* 875: cudaMemPoolImportPointer */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 877: cudaMallocFromPoolAsync */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 881: cudaGraphExecExternalSemaphoresSignalNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 883: cudaDeviceFlushGPUDirectRDMAWrites */
    {0, 0, 4, S}, {4, 0, 4, S},
    /* 885: cudaGetDriverEntryPoint */
    {0, 0, 8, T}, {8, 0, 8, O}, {16, 0, 8, 0}, {24, 0, 4, O | S},
    /* 889: cudaGraphDebugDotPrint */
    {0, 0, 8, 0}, {8, 0, 8, T}, {16, 0, 4, 0},
    /* 892: cudaStreamGetCaptureInfo */
    {0, 0, 8, 0}, {8, 0, 4, O | S}, {16, 0, 8, O}, {24, 0, 8, O}, {40, 0, 8, O},
    /* 897: cudaStreamUpdateCaptureDependencies */
    {0, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 900: cudaUserObjectCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0}, {28, 0, 4, 0},
    /* 905: cudaUserObjectRetain */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 907: cudaGraphRetainUserObject */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 911: cudaGraphReleaseUserObject */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 914: cudaGraphInstantiateWithFlags */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 917: cudaGraphAddMemAllocNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 104, 8, O}, {32, 112, 8, O}, {32, 8, 4, O | S},
    {32, 12, 4, O | S},
    /* 924: cudaGraphMemAllocNodeGetParams */
    {0, 0, 8, 0}, {8, 104, 8, O}, {8, 112, 8, O}, {8, 8, 4, O | S}, {8, 12, 4, O | S},
    /* 929: cudaGraphAddMemFreeNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 933: cudaGraphMemFreeNodeGetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 935: cudaDeviceGetGraphMemAttribute */
    {0, 0, 4, S}, {4, 0, 4, S}, {8, 0, 8, 0},
    /* 938: cudaGraphNodeSetEnabled */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 941: cudaGraphNodeGetEnabled */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, O},
    /* 944: cudaArrayGetMemoryRequirements */
    {0, 0, 8, O}, {0, 8, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S},
    /* 948: cudaMipmappedArrayGetMemoryRequirements */
    {0, 0, 8, O}, {0, 8, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S},
    /* 952: cudaLaunchKernelExC */
    {0, 0, 12, D | X}, {0, 12, 12, D | X}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 48, 4, D}, {8, 0, 8, 0},
    /* 958: cudaOccupancyMaxPotentialClusterSize */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 12, D | X}, {16, 12, 12, D | X}, {16, 24, 8, D}, {16, 32, 8, D},
    {16, 48, 4, D},
    /* 965: cudaOccupancyMaxActiveClusters */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 12, D | X}, {16, 12, 12, D | X}, {16, 24, 8, D}, {16, 32, 8, D},
    {16, 48, 4, D},
    /* 972: cudaGraphInstantiateWithParams */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 8, D},
    /* 976: cudaGraphExecGetFlags */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 978: cudaGetKernel */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 980: cudaStreamGetId */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 982: cudaInitDevice */
    {0, 0, 4, S}, {4, 0, 4, 0}, {8, 0, 4, 0},
    /* 985: cudaGraphAddNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, D | S},
    /* 989: cudaGraphNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 4, D | S},
    /* 991: cudaGraphExecNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, D | S},
    /* 994: cudaMemAdvise */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S}, {24, 0, 4, S},
    /* 999: cudaMemPrefetchAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S}, {24, 0, 4, 0}, {32, 0, 8, 0},
    /* 1005: cudaFuncGetName */
    {0, 0, 8, O | T}, {8, 0, 8, 0},
    /* 1007: cudaStreamBeginCaptureToGraph */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 1011: cudaGraphConditionalHandleCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 1015: cudaGraphGetEdges */
    {0, 0, 8, 0}, {32, 0, 8, O},
    /* 1017: cudaGraphNodeGetDependencies */
    {0, 0, 8, 0}, {24, 0, 8, O},
    /* 1019: cudaGraphNodeGetDependentNodes */
    {0, 0, 8, 0}, {24, 0, 8, O},
    /* 1021: cudaGraphAddDependencies */
    {0, 0, 8, 0}, {32, 0, 8, 0},
    /* 1023: cudaGraphAddNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, D | S},
    /* 1027: cudaStreamGetCaptureInfo */
    {0, 0, 8, 0}, {8, 0, 4, O | S}, {16, 0, 8, O}, {24, 0, 8, O}, {48, 0, 8, O},
    /* 1032: cudaStreamUpdateCaptureDependencies */
    {0, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, 0},
    /* 1035: cudaDeviceRegisterAsyncNotification */
    {0, 0, 4, S}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 1038: cudaDeviceUnregisterAsyncNotification */
    {0, 0, 4, S}, {8, 0, 8, 0},
    /* 1040: cudaFuncGetParamInfo */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, O}, {24, 0, 8, O},
    /* 1044: cudaGetDriverEntryPointByVersion */
    {0, 0, 8, T}, {8, 0, 8, O}, {16, 0, 4, 0}, {24, 0, 8, 0}, {32, 0, 4, O | S},
    /* 1049: cudaLibraryLoadData */
    {0, 0, 8, O}, {8, 0, 8, 0}, {32, 0, 4, 0}, {56, 0, 4, 0},
    /* 1053: cudaLibraryLoadFromFile */
    {0, 0, 8, O}, {8, 0, 8, T}, {32, 0, 4, 0}, {56, 0, 4, 0},
    /* 1057: cudaLibraryUnload */
    {0, 0, 8, 0},
    /* 1058: cudaLibraryGetKernel */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, T},
    /* 1061: cudaLibraryGetGlobal */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0}, {24, 0, 8, T},
    /* 1065: cudaLibraryGetUnifiedFunction */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, T},
    /* 1068: cudaLibraryGetKernelCount */
    {0, 0, 4, O}, {8, 0, 8, 0},
    /* 1070: cudaLibraryEnumerateKernels */
    {8, 0, 4, 0}, {16, 0, 8, 0},
    /* 1072: cudaKernelSetAttributeForDevice */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S}, {16, 0, 4, S},
    /* 1076: cudaStreamGetDevice */
    {0, 0, 8, 0}, {8, 0, 4, O | S},
    /* 1078: cudaMemcpyBatchAsync */
    {24, 0, 8, 0}, {48, 0, 8, 0}, {64, 0, 8, 0},
    /* 1081: cudaMemcpy3DBatchAsync */
    {0, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1084: cudaMemPrefetchBatchAsync */
    {16, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0}, {56, 0, 8, 0},
    /* 1088: cudaMemDiscardBatchAsync */
    {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1091: cudaGetExportTable */
    {0, 0, 8, O},
    /* 1092: cudaMemcpyBatchAsync */
    {24, 0, 8, 0}, {48, 0, 8, 0}, {56, 0, 8, 0},
    /* 1095: cudaMemcpy3DBatchAsync */
    {0, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1098: cudaLogsRegisterCallback */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 1100: cudaLogsUnregisterCallback */
    {0, 0, 8, 0},
    /* 1101: cudaLogsCurrent */
    {0, 0, 4, O}, {8, 0, 4, 0},
    /* 1103: cudaLogsDumpToFile */
    {0, 0, 4, O}, {8, 0, 8, T}, {16, 0, 4, 0},
    /* 1106: cudaLogsDumpToMemory */
    {0, 0, 4, O}, {8, 0, 8, 0}, {16, 0, 8, O}, {24, 0, 4, 0},
    /* 1110: cudaMemGetDefaultMemPool */
    {0, 0, 8, O}, {8, 0, 4, O | S}, {8, 4, 4, O | S}, {16, 0, 4, S},
    /* 1114: cudaMemSetMemPool */
    {0, 0, 4, D | S}, {0, 4, 4, D | S}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 1118: cudaDeviceGetHostAtomicCapabilities */
    {16, 0, 4, 0}, {20, 0, 4, S},
    /* 1120: cudaDeviceGetP2PAtomicCapabilities */
    {16, 0, 4, 0}, {20, 0, 4, S}, {24, 0, 4, S},
    /* 1123: cudaDeviceGetDevResource */
    {0, 0, 4, S}, {16, 0, 4, S},
    /* 1125: cudaDevSmResourceSplitByCount */
    {8, 0, 4, O}, {32, 0, 4, 0}, {36, 0, 4, 0},
    /* 1128: cudaDevResourceGenerateDesc */
    {0, 0, 8, O}, {16, 0, 4, 0},
    /* 1130: cudaGreenCtxCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, 0},
    /* 1134: cudaExecutionCtxDestroy */
    {0, 0, 8, 0},
    /* 1135: cudaExecutionCtxGetDevResource */
    {0, 0, 8, 0}, {16, 0, 4, S},
    /* 1137: cudaExecutionCtxGetDevice */
    {0, 0, 4, O | S}, {8, 0, 8, 0},
    /* 1139: cudaExecutionCtxGetId */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 1141: cudaExecutionCtxStreamCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, S},
    /* 1145: cudaGraphConditionalHandleCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0}, {28, 0, 4, 0},
    /* 1150: cudaStreamGetDevResource */
    {0, 0, 8, 0}, {16, 0, 4, S},
    /* 1152: cudaGraphNodeGetLocalId */
    {0, 0, 8, 0}, {8, 0, 4, O},
    /* 1154: cudaGraphNodeGetToolsId */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 1156: cudaGraphGetId */
    {0, 0, 8, 0}, {8, 0, 4, O},
    /* 1158: cudaGraphExecGetId */
    {0, 0, 8, 0}, {8, 0, 4, O},
    /* 1160: cudaExecutionCtxRecordEvent */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 1162: cudaDeviceGetExecutionCtx */
    {0, 0, 8, O}, {8, 0, 4, S},
    /* 1164: cudaDevSmResourceSplit */
    {8, 0, 4, 0}, {32, 0, 4, 0},
    /* 1166: cudaLaunchHostFunc */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 1170: cudaFuncGetParamCount */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 1172: cudaMemcpyWithAttributesAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, D | S}, {24, 4, 4, D | S}, {24, 8, 4, D | S},
    {24, 12, 4, D | S}, {24, 16, 4, D | S}, {24, 20, 4, D}, {32, 0, 8, 0},
    /* 1182: cudaMemcpy3DWithAttributesAsync */
    {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 1187: cudaStreamBeginRecaptureToGraph */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 1190: cudaMemGetLocationInfo */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, O | S}, {32, 4, 4, O | S},
    /* 1196: cuDeviceGet */
    {0, 0, 4, O | S}, {8, 0, 4, S},
    /* 1198: cuDeviceGetName */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1201: cuDeviceComputeCapability */
    {0, 0, 4, O | S}, {8, 0, 4, O | S}, {16, 0, 4, S},
    /* 1204: cuDeviceTotalMem */
    {0, 0, 4, O}, {8, 0, 4, S},
    /* 1206: cuDeviceGetAttribute */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1209: cuCtxCreate */
    {0, 0, 8, O}, {8, 0, 4, 0}, {12, 0, 4, S},
    /* 1212: cuCtxAttach */
    {0, 0, 8, O}, {8, 0, 4, 0},
    /* 1214: cuCtxPopCurrent */
    {0, 0, 8, O},
    /* 1215: cuModuleLoad */
    {0, 0, 8, O}, {8, 0, 8, T},
    /* 1217: cuModuleLoadData */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1219: cuModuleLoadDataEx */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 1222: cuModuleLoadFatBinary */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1224: cuModuleUnload */
    {0, 0, 8, 0},
    /* 1225: cuModuleGetFunction */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, T},
    /* 1228: cuModuleGetGlobal */
    {0, 0, 4, O}, {8, 0, 4, O}, {16, 0, 8, 0}, {24, 0, 8, T},
    /* 1232: cuModuleGetTexRef */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, T},
    /* 1235: cuMemGetInfo */
    {0, 0, 4, O}, {8, 0, 4, O},
    /* 1237: cuMemAlloc */
    {0, 0, 4, O}, {8, 0, 4, 0},
    /* 1239: cuMemAllocPitch */
    {0, 0, 4, O}, {8, 0, 4, O}, {16, 0, 4, 0}, {20, 0, 4, 0}, {24, 0, 4, 0},
    /* 1244: cuMemFree */
    {0, 0, 4, 0},
    /* 1245: cuMemGetAddressRange */
    {0, 0, 4, O}, {8, 0, 4, O}, {16, 0, 4, 0},
    /* 1248: cuMemAllocHost */
    {0, 0, 8, O}, {8, 0, 4, 0},
    /* 1250: cuMemHostGetDevicePointer */
    {0, 0, 4, O}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 1253: cuMemcpyHtoD */
    {0, 0, 4, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 1256: cuMemcpyDtoH */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {12, 0, 4, 0},
    /* 1259: cuMemcpyDtoD */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 4, 0},
    /* 1262: cuMemcpyDtoA */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {12, 0, 4, 0}, {16, 0, 4, 0},
    /* 1266: cuMemcpyAtoD */
    {0, 0, 4, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 1270: cuMemcpyHtoA */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 1274: cuMemcpyAtoH */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 1278: cuMemcpyAtoA */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {16, 0, 8, 0}, {24, 0, 4, 0}, {28, 0, 4, 0},
    /* 1283: cuMemcpyHtoDAsync */
    {0, 0, 4, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {24, 0, 8, 0},
    /* 1287: cuMemcpyDtoHAsync */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {12, 0, 4, 0}, {16, 0, 8, 0},
    /* 1291: cuMemcpyDtoDAsync */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 4, 0}, {16, 0, 8, 0},
    /* 1295: cuMemcpyHtoAAsync */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {16, 0, 8, 0}, {24, 0, 4, 0}, {32, 0, 8, 0},
    /* 1300: cuMemcpyAtoHAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0}, {24, 0, 8, 0},
    /* 1305: cuMemcpy2DAsync */
    {8, 0, 8, 0},
    /* 1306: cuMemsetD8 */
    {0, 0, 4, 0}, {4, 0, 1, 0}, {8, 0, 4, 0},
    /* 1309: cuMemsetD16 */
    {0, 0, 4, 0}, {4, 0, 2, 0}, {8, 0, 4, 0},
    /* 1312: cuMemsetD32 */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 4, 0},
    /* 1315: cuMemsetD2D8 */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 1, 0}, {12, 0, 4, 0}, {16, 0, 4, 0},
    /* 1320: cuMemsetD2D16 */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 2, 0}, {12, 0, 4, 0}, {16, 0, 4, 0},
    /* 1325: cuMemsetD2D32 */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 4, 0}, {12, 0, 4, 0}, {16, 0, 4, 0},
    /* 1330: cuFuncSetBlockShape */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S}, {16, 0, 4, S},
    /* 1334: cuFuncSetSharedSize */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 1336: cuFuncGetAttribute */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 1339: cuFuncSetCacheConfig */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 1341: cuArrayCreate */
    {0, 0, 8, O},
    /* 1342: cuTexRefCreate */
    {0, 0, 8, O},
    /* 1343: cuTexRefDestroy */
    {0, 0, 8, 0},
    /* 1344: cuTexRefSetArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 1347: cuTexRefSetAddress */
    {0, 0, 4, O}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 1351: cuTexRefSetAddress2D */
    {0, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 1354: cuTexRefSetFormat */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1357: cuTexRefSetAddressMode */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1360: cuTexRefSetFilterMode */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 1362: cuTexRefSetFlags */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 1364: cuTexRefGetAddress */
    {0, 0, 4, O}, {8, 0, 8, 0},
    /* 1366: cuTexRefGetArray */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1368: cuTexRefGetAddressMode */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 4, S},
    /* 1371: cuTexRefGetFilterMode */
    {0, 0, 4, O | S}, {8, 0, 8, 0},
    /* 1373: cuTexRefGetFormat */
    {0, 0, 4, O | S}, {8, 0, 4, O | S}, {16, 0, 8, 0},
    /* 1376: cuTexRefGetFlags */
    {0, 0, 4, O}, {8, 0, 8, 0},
    /* 1378: cuParamSeti */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, 0},
    /* 1381: cuParamSetf */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, R},
    /* 1384: cuParamSetv */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 1388: cuParamSetTexRef */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 1391: cuLaunchGrid */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1394: cuLaunchGridAsync */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S}, {16, 0, 8, 0},
    /* 1398: cuGraphicsResourceGetMappedPointer */
    {0, 0, 4, O}, {8, 0, 4, O}, {16, 0, 8, 0},
    /* 1401: cuGraphicsMapResources */
    {0, 0, 4, 0}, {16, 0, 8, 0},
    /* 1403: cuCtxSetLimit */
    {0, 0, 4, S}, {8, 0, 8, 0},
    /* 1405: cuCtxGetLimit */
    {0, 0, 8, O}, {8, 0, 4, S},
    /* 1407: cuModuleGetSurfRef */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, T},
    /* 1410: cuSurfRefSetArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 1413: cuSurfRefGetArray */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1415: cuMemsetD8Async */
    {0, 0, 8, 0}, {8, 0, 1, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1419: cuMemsetD16Async */
    {0, 0, 8, 0}, {8, 0, 2, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1423: cuMemsetD32Async */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1427: cuMemsetD2D8Async */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 1, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 1433: cuMemsetD2D16Async */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 2, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 1439: cuMemsetD2D32Async */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 1445: cuModuleGetGlobal */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0}, {24, 0, 8, T},
    /* 1449: cuMemAllocPitch */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, 0},
    /* 1454: cuMemGetAddressRange */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0},
    /* 1457: cuMemsetD8 */
    {0, 0, 8, 0}, {8, 0, 1, 0}, {16, 0, 8, 0},
    /* 1460: cuMemsetD16 */
    {0, 0, 8, 0}, {8, 0, 2, 0}, {16, 0, 8, 0},
    /* 1463: cuMemsetD32 */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {16, 0, 8, 0},
    /* 1466: cuMemsetD2D8 */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 1, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1471: cuMemsetD2D16 */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 2, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1476: cuMemsetD2D32 */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1481: cuTexRefSetAddress */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1485: cuTexRefSetAddress2D */
    {0, 0, 8, 0}, {8, 0, 8, D}, {8, 8, 8, D}, {8, 16, 4, D | S}, {8, 20, 4, D}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1492: cuTexRefGetAddress */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1494: cuGraphicsResourceGetMappedPointer */
    {0, 0, 8, O}, {8, 0, 8, O}, {16, 0, 8, 0},
    /* 1497: cuDeviceTotalMem */
    {0, 0, 8, O}, {8, 0, 4, S},
    /* 1499: cuArrayCreate */
    {0, 0, 8, O}, {8, 0, 8, D}, {8, 8, 8, D}, {8, 16, 4, D | S}, {8, 20, 4, D},
    /* 1504: cuArrayGetDescriptor */
    {0, 0, 8, O}, {0, 8, 8, O}, {0, 16, 4, O | S}, {0, 20, 4, O}, {8, 0, 8, 0},
    /* 1509: cuArray3DCreate */
    {0, 0, 8, O}, {8, 0, 8, D}, {8, 8, 8, D}, {8, 24, 4, D | S}, {8, 28, 4, D}, {8, 16, 8, D}, {8, 32, 4, D},
    /* 1516: cuArray3DGetDescriptor */
    {0, 0, 8, O}, {0, 8, 8, O}, {0, 24, 4, O | S}, {0, 28, 4, O}, {0, 16, 8, O}, {0, 32, 4, O}, {8, 0, 8, 0},
    /* 1523: cuMemcpyHtoD */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 1526: cuMemcpyHtoDAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1530: cuMemcpyAtoH */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1534: cuMemcpyAtoHAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1539: cuMemcpyDtoA */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 1543: cuMemcpyAtoA */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1548: cuMemcpy2D */
    {0, 16, 4, D | S}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 40, 8, D}, {0, 48, 8, D}, {0, 0, 8, D},
    {0, 8, 8, D}, {0, 72, 4, D | S}, {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {0, 104, 8, D},
    {0, 56, 8, D}, {0, 64, 8, D}, {0, 112, 8, D}, {0, 120, 8, D},
    /* 1564: cuMemcpy2DAsync */
    {0, 16, 4, D | S}, {0, 24, 8, D}, {0, 32, 8, D}, {0, 40, 8, D}, {0, 48, 8, D}, {0, 0, 8, D},
    {0, 8, 8, D}, {0, 72, 4, D | S}, {0, 80, 8, D}, {0, 88, 8, D}, {0, 96, 8, D}, {0, 104, 8, D},
    {0, 56, 8, D}, {0, 64, 8, D}, {0, 112, 8, D}, {0, 120, 8, D}, {8, 0, 8, 0},
    /* 1581: cuMemcpy3D */
    {0, 32, 4, D | S}, {0, 40, 8, D}, {0, 48, 8, D}, {0, 56, 8, D}, {0, 72, 8, D}, {0, 0, 8, D},
    {0, 8, 8, D}, {0, 120, 4, D | S}, {0, 128, 8, D}, {0, 136, 8, D}, {0, 144, 8, D}, {0, 160, 8, D},
    {0, 88, 8, D}, {0, 96, 8, D}, {0, 176, 8, D}, {0, 184, 8, D}, {0, 16, 8, D}, {0, 24, 8, D},
    {0, 104, 8, D}, {0, 112, 8, D}, {0, 192, 8, D},
    /* 1602: cuMemcpy3DAsync */
    {0, 32, 4, D | S}, {0, 40, 8, D}, {0, 48, 8, D}, {0, 56, 8, D}, {0, 72, 8, D}, {0, 0, 8, D},
    {0, 8, 8, D}, {0, 120, 4, D | S}, {0, 128, 8, D}, {0, 136, 8, D}, {0, 144, 8, D}, {0, 160, 8, D},
    {0, 88, 8, D}, {0, 96, 8, D}, {0, 176, 8, D}, {0, 184, 8, D}, {0, 16, 8, D}, {0, 24, 8, D},
    {0, 104, 8, D}, {0, 112, 8, D}, {0, 192, 8, D}, {8, 0, 8, 0},
    /* 1624: cuMemcpyHtoAAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1629: cuCtxGetApiVersion */
    {0, 0, 8, 0}, {8, 0, 4, O},
    /* 1631: cuCtxGetCacheConfig */
    {0, 0, 4, O | S},
    /* 1632: cuCtxSetCacheConfig */
    {0, 0, 4, S},
    /* 1633: cuLaunchKernel */
    {0, 0, 8, 0}, {8, 0, 12, X}, {20, 0, 12, X}, {32, 0, 4, 0}, {40, 0, 8, 0},
    /* 1638: cuPointerGetAttribute */
    {8, 0, 4, S}, {16, 0, 8, 0},
    /* 1640: cuDeviceCanAccessPeer */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1643: cuCtxEnablePeerAccess */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 1645: cuCtxDisablePeerAccess */
    {0, 0, 8, 0},
    /* 1646: cuMemcpyPeer */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1651: cuMemcpyPeerAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 1657: cuMemcpy3DPeer */
    {0, 32, 4, D | S}, {0, 40, 8, D}, {0, 48, 8, D}, {0, 56, 8, D}, {0, 72, 8, D}, {0, 0, 8, D},
    {0, 8, 8, D}, {0, 120, 4, D | S}, {0, 128, 8, D}, {0, 136, 8, D}, {0, 144, 8, D}, {0, 160, 8, D},
    {0, 88, 8, D}, {0, 96, 8, D}, {0, 176, 8, D}, {0, 184, 8, D}, {0, 16, 8, D}, {0, 24, 8, D},
    {0, 104, 8, D}, {0, 112, 8, D}, {0, 192, 8, D}, {0, 64, 8, D}, {0, 152, 8, D},
    /* 1680: cuMemcpy3DPeerAsync */
    {0, 32, 4, D | S}, {0, 40, 8, D}, {0, 48, 8, D}, {0, 56, 8, D}, {0, 72, 8, D}, {0, 0, 8, D},
    {0, 8, 8, D}, {0, 120, 4, D | S}, {0, 128, 8, D}, {0, 136, 8, D}, {0, 144, 8, D}, {0, 160, 8, D},
    {0, 88, 8, D}, {0, 96, 8, D}, {0, 176, 8, D}, {0, 184, 8, D}, {0, 16, 8, D}, {0, 24, 8, D},
    {0, 104, 8, D}, {0, 112, 8, D}, {0, 192, 8, D}, {0, 64, 8, D}, {0, 152, 8, D}, {8, 0, 8, 0},
    /* 1704: cuCtxSetSharedMemConfig */
    {0, 0, 4, S},
    /* 1705: cuCtxGetSharedMemConfig */
    {0, 0, 4, O | S},
    /* 1706: cuFuncSetSharedMemConfig */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 1708: cuMipmappedArrayCreate */
    {0, 0, 8, O}, {8, 0, 8, D}, {8, 8, 8, D}, {8, 24, 4, D | S}, {8, 28, 4, D}, {8, 16, 8, D}, {8, 32, 4, D},
    {16, 0, 4, 0},
    /* 1716: cuTexRefSetMipmappedArray */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0},
    /* 1719: cuTexRefSetMipmapLevelBias */
    {0, 0, 8, 0}, {8, 0, 4, R},
    /* 1721: cuTexRefSetMipmapLevelClamp */
    {0, 0, 8, 0}, {8, 0, 4, R}, {12, 0, 4, R},
    /* 1724: cuTexRefSetMaxAnisotropy */
    {0, 0, 8, 0}, {8, 0, 4, 0},
    /* 1726: cuTexRefGetMipmappedArray */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1728: cuTexRefGetMipmapLevelBias */
    {0, 0, 4, O | R}, {8, 0, 8, 0},
    /* 1730: cuTexRefGetMipmapLevelClamp */
    {0, 0, 4, O | R}, {8, 0, 4, O | R}, {16, 0, 8, 0},
    /* 1733: cuTexRefGetMaxAnisotropy */
    {0, 0, 4, O | S}, {8, 0, 8, 0},
    /* 1735: cuLinkCreate */
    {0, 0, 4, 0}, {24, 0, 8, O},
    /* 1737: cuLinkAddData */
    {0, 0, 8, 0}, {8, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 8, T}, {40, 0, 4, 0},
    /* 1742: cuLinkAddFile */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, T}, {24, 0, 4, 0},
    /* 1746: cuLinkComplete */
    {0, 0, 8, 0}, {8, 0, 8, O}, {16, 0, 8, O},
    /* 1749: cuLinkDestroy */
    {0, 0, 8, 0},
    /* 1750: cuGetErrorString */
    {0, 0, 4, S}, {8, 0, 8, O | T},
    /* 1752: cuPointerSetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 1755: cuOccupancyMaxPotentialBlockSize */
    {0, 0, 4, O | S}, {8, 0, 4, O | S}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 1761: cuDevicePrimaryCtxSetFlags */
    {0, 0, 4, S}, {4, 0, 4, 0},
    /* 1763: cuDevicePrimaryCtxGetState */
    {0, 0, 4, S}, {8, 0, 4, O}, {16, 0, 4, O | S},
    /* 1766: cuPointerGetAttributes */
    {0, 0, 4, 0}, {24, 0, 8, 0},
    /* 1768: cuOccupancyMaxPotentialBlockSizeWithFlags */
    {0, 0, 4, O | S}, {8, 0, 4, O | S}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    {44, 0, 4, 0},
    /* 1775: cuDeviceGetP2PAttribute */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S}, {16, 0, 4, S},
    /* 1779: cuTexRefGetBorderColor */
    {8, 0, 8, 0},
    /* 1780: cuMemAdvise */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S},
    /* 1784: cuStreamWaitValue32 */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, 0},
    /* 1788: cuStreamBatchMemOp */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {24, 0, 4, 0},
    /* 1791: cuMemRangeGetAttribute */
    {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1795: cuStreamWaitValue64 */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, 0},
    /* 1799: cuFuncSetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 1802: cuStreamGetCtx */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 1804: cuImportExternalMemory */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 24, 8, D}, {8, 32, 4, D},
    /* 1808: cuImportExternalSemaphore */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 24, 4, D},
    /* 1811: cuStreamIsCapturing */
    {0, 0, 8, 0}, {8, 0, 4, O | S},
    /* 1813: cuGraphAddMemcpyNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 32, 4, D | S}, {32, 40, 8, D}, {32, 48, 8, D},
    {32, 56, 8, D}, {32, 72, 8, D}, {32, 0, 8, D}, {32, 8, 8, D}, {32, 120, 4, D | S}, {32, 128, 8, D},
    {32, 136, 8, D}, {32, 144, 8, D}, {32, 160, 8, D}, {32, 88, 8, D}, {32, 96, 8, D}, {32, 176, 8, D},
    {32, 184, 8, D}, {32, 16, 8, D}, {32, 24, 8, D}, {32, 104, 8, D}, {32, 112, 8, D}, {32, 192, 8, D},
    {40, 0, 8, 0},
    /* 1838: cuGraphMemcpyNodeGetParams */
    {0, 0, 8, 0}, {8, 32, 4, O | S}, {8, 40, 8, O}, {8, 48, 8, O}, {8, 56, 8, O}, {8, 72, 8, O},
    {8, 0, 8, O}, {8, 8, 8, O}, {8, 120, 4, O | S}, {8, 128, 8, O}, {8, 136, 8, O}, {8, 144, 8, O},
    {8, 160, 8, O}, {8, 88, 8, O}, {8, 96, 8, O}, {8, 176, 8, O}, {8, 184, 8, O}, {8, 16, 8, O},
    {8, 24, 8, O}, {8, 104, 8, O}, {8, 112, 8, O}, {8, 192, 8, O},
    /* 1860: cuGraphAddMemsetNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, D}, {32, 8, 8, D}, {32, 16, 4, D}, {32, 20, 4, D},
    {32, 24, 8, D}, {32, 32, 8, D}, {40, 0, 8, 0},
    /* 1870: cuGraphNodeGetType */
    {0, 0, 8, 0}, {8, 0, 4, O | S},
    /* 1872: cuGraphMemcpyNodeSetParams */
    {0, 0, 8, 0}, {8, 32, 4, D | S}, {8, 40, 8, D}, {8, 48, 8, D}, {8, 56, 8, D}, {8, 72, 8, D},
    {8, 0, 8, D}, {8, 8, 8, D}, {8, 120, 4, D | S}, {8, 128, 8, D}, {8, 136, 8, D}, {8, 144, 8, D},
    {8, 160, 8, D}, {8, 88, 8, D}, {8, 96, 8, D}, {8, 176, 8, D}, {8, 184, 8, D}, {8, 16, 8, D},
    {8, 24, 8, D}, {8, 104, 8, D}, {8, 112, 8, D}, {8, 192, 8, D},
    /* 1894: cuDeviceGetLuid */
    {0, 0, 8, 0}, {8, 0, 4, O}, {16, 0, 4, S},
    /* 1897: cuStreamGetCaptureInfo */
    {0, 0, 8, 0}, {8, 0, 4, O | S}, {16, 0, 8, O},
    /* 1900: cuStreamBeginCapture */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 1902: cuThreadExchangeStreamCaptureMode */
    {0, 0, 4, O | S},
    /* 1903: cuMemAddressReserve */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1908: cuMemAddressFree */
    {0, 0, 8, 0}, {8, 0, 8, 0},
    /* 1910: cuMemCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, D | S}, {16, 4, 4, D | S}, {16, 8, 4, D | S}, {16, 12, 4, D | S},
    {24, 0, 8, 0},
    /* 1917: cuMemRelease */
    {0, 0, 8, 0},
    /* 1918: cuMemMap */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 1923: cuMemSetAccess */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {24, 0, 8, 0},
    /* 1926: cuMemExportToShareableHandle */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0},
    /* 1930: cuMemImportFromShareableHandle */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S},
    /* 1933: cuMemGetAllocationGranularity */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {16, 0, 4, S},
    /* 1939: cuMemGetAllocationPropertiesFromHandle */
    {0, 0, 4, O | S}, {0, 4, 4, O | S}, {0, 8, 4, O | S}, {0, 12, 4, O | S}, {8, 0, 8, 0},
    /* 1944: cuMemGetAccess */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {16, 0, 8, 0},
    /* 1948: cuGraphExecUpdate */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, O}, {24, 0, 4, O | S},
    /* 1952: cuGraphExecMemcpyNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 32, 4, D | S}, {16, 40, 8, D}, {16, 48, 8, D}, {16, 56, 8, D},
    {16, 72, 8, D}, {16, 0, 8, D}, {16, 8, 8, D}, {16, 120, 4, D | S}, {16, 128, 8, D}, {16, 136, 8, D},
    {16, 144, 8, D}, {16, 160, 8, D}, {16, 88, 8, D}, {16, 96, 8, D}, {16, 176, 8, D}, {16, 184, 8, D},
    {16, 16, 8, D}, {16, 24, 8, D}, {16, 104, 8, D}, {16, 112, 8, D}, {16, 192, 8, D}, {24, 0, 8, 0},
    /* 1976: cuGraphExecMemsetNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, D}, {16, 8, 8, D}, {16, 16, 4, D}, {16, 20, 4, D}, {16, 24, 8, D},
    {16, 32, 8, D}, {24, 0, 8, 0},
    /* 1985: cuMemRetainAllocationHandle */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1987: cuFuncGetModule */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 1989: cuGraphKernelNodeGetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 1991: cuStreamGetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 1993: cuDeviceGetTexture1DLinearMaxWidth */
    {0, 0, 8, O}, {8, 0, 4, S}, {12, 0, 4, 0}, {16, 0, 4, S},
    /* 1997: cuMemMapArrayAsync */
    {8, 0, 4, 0}, {16, 0, 8, 0},
    /* 1999: cuMemPoolSetAttribute */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 2002: cuMemPoolCreate */
    {0, 0, 8, O}, {8, 0, 4, D | S}, {8, 4, 4, D | S}, {8, 8, 4, D | S}, {8, 12, 4, D | S}, {8, 24, 8, D},
    {8, 32, 2, D},
    /* 2009: cuMemPoolExportToShareableHandle */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0},
    /* 2013: cuMemPoolImportFromShareableHandle */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, S}, {24, 0, 8, 0},
    /* 2017: cuMemPoolGetAccess */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 4, O | S}, {16, 4, 4, O | S},
    /* 2021: cuGetProcAddress */
    {0, 0, 8, T}, {8, 0, 8, O}, {16, 0, 4, S}, {24, 0, 8, 0},
    /* 2025: cuFlushGPUDirectRDMAWrites */
    {0, 0, 4, S}, {4, 0, 4, S},
    /* 2027: cuStreamGetCaptureInfo */
    {0, 0, 8, 0}, {8, 0, 4, O | S}, {16, 0, 8, O}, {24, 0, 8, O}, {40, 0, 8, O},
    /* 2032: cuGraphAddMemAllocNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 104, 8, O}, {32, 112, 8, O}, {32, 8, 4, O | S},
    {32, 12, 4, O | S},
    /* 2039: cuDeviceGetGraphMemAttribute */
    {0, 0, 4, S}, {4, 0, 4, S}, {8, 0, 8, 0},
    /* 2042: cuDeviceGetExecAffinitySupport */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 2045: cuCtxCreate */
    {0, 0, 8, O}, {16, 0, 4, S}, {20, 0, 4, 0}, {24, 0, 4, S},
    /* 2049: cuCtxGetExecAffinity */
    {8, 0, 4, S},
    /* 2050: cuGraphMemAllocNodeGetParams */
    {0, 0, 8, 0}, {8, 104, 8, O}, {8, 112, 8, O}, {8, 8, 4, O | S}, {8, 12, 4, O | S},
    /* 2055: cuGraphMemFreeNodeGetParams */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 2057: cuLaunchKernelEx */
    {0, 0, 12, D | X}, {0, 12, 12, D | X}, {0, 24, 4, D}, {0, 32, 8, D}, {0, 48, 4, D}, {8, 0, 8, 0},
    /* 2063: cuModuleGetLoadingMode */
    {0, 0, 4, O | S},
    /* 2064: cuMemGetHandleForAddressRange */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, S}, {32, 0, 8, 0},
    /* 2069: cuOccupancyMaxPotentialClusterSize */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 12, D | X}, {16, 12, 12, D | X}, {16, 24, 4, D}, {16, 32, 8, D},
    {16, 48, 4, D},
    /* 2076: cuOccupancyMaxActiveClusters */
    {0, 0, 4, O | S}, {8, 0, 8, 0}, {16, 0, 12, D | X}, {16, 12, 12, D | X}, {16, 24, 4, D}, {16, 32, 8, D},
    {16, 48, 4, D},
    /* 2083: cuGetProcAddress */
    {0, 0, 8, T}, {8, 0, 8, O}, {16, 0, 4, S}, {24, 0, 8, 0}, {32, 0, 4, O | S},
    /* 2088: cuLibraryGetModule */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 2090: cuKernelGetFunction */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 2092: cuKernelGetAttribute */
    {0, 0, 4, O | S}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 4, S},
    /* 2096: cuKernelSetAttribute */
    {0, 0, 4, S}, {4, 0, 4, S}, {8, 0, 8, 0}, {16, 0, 4, S},
    /* 2100: cuKernelSetCacheConfig */
    {0, 0, 8, 0}, {8, 0, 4, S}, {12, 0, 4, S},
    /* 2103: cuGraphExecUpdate */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, O | S}, {16, 8, 8, O},
    /* 2107: cuTensorMapEncodeTiled */
    {8, 0, 4, S}, {12, 0, 4, 0}, {16, 0, 8, 0}, {56, 0, 4, S}, {60, 0, 4, S}, {64, 0, 4, S}, {68, 0, 4, S},
    /* 2114: cuTensorMapEncodeIm2col */
    {8, 0, 4, S}, {12, 0, 4, 0}, {16, 0, 8, 0}, {56, 0, 4, 0}, {60, 0, 4, 0}, {72, 0, 4, S}, {76, 0, 4, S},
    {80, 0, 4, S}, {84, 0, 4, S},
    /* 2123: cuTensorMapReplaceAddress */
    {8, 0, 8, 0},
    /* 2124: cuCoredumpGetAttribute */
    {0, 0, 4, S}, {8, 0, 8, 0}, {16, 0, 8, O},
    /* 2127: cuMulticastCreate */
    {0, 0, 8, O}, {8, 0, 4, D}, {8, 8, 8, D}, {8, 16, 8, D}, {8, 24, 8, D},
    /* 2132: cuMulticastAddDevice */
    {0, 0, 8, 0}, {8, 0, 4, S},
    /* 2134: cuMulticastBindMem */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 2140: cuMulticastBindAddr */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 2145: cuMulticastUnbind */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 8, 0},
    /* 2149: cuMulticastGetGranularity */
    {0, 0, 8, O}, {8, 0, 4, D}, {8, 8, 8, D}, {8, 16, 8, D}, {8, 24, 8, D}, {16, 0, 4, S},
    /* 2155: cuGraphAddNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, D | S},
    /* 2159: cuGraphNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 4, D | S},
    /* 2161: cuGraphExecNodeSetParams */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, D | S},
    /* 2164: cuMemAdvise */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S}, {24, 0, 4, S},
    /* 2169: cuMemPrefetchAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 4, S}, {20, 0, 4, S}, {24, 0, 4, 0}, {32, 0, 8, 0},
    /* 2175: cuStreamBeginCaptureToGraph */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, S},
    /* 2179: cuGraphAddNode */
    {0, 0, 8, O}, {8, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 4, D | S},
    /* 2183: cuStreamGetCaptureInfo */
    {0, 0, 8, 0}, {8, 0, 4, O | S}, {16, 0, 8, O}, {24, 0, 8, O}, {48, 0, 8, O},
    /* 2188: cuKernelGetParamInfo */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, O}, {24, 0, 8, O},
    /* 2192: cuModuleGetFunctionCount */
    {0, 0, 4, O}, {8, 0, 8, 0},
    /* 2194: cuModuleEnumerateFunctions */
    {8, 0, 4, 0}, {16, 0, 8, 0},
    /* 2196: cuFuncIsLoaded */
    {0, 0, 4, O | S}, {8, 0, 8, 0},
    /* 2198: cuDeviceGetDevResource */
    {0, 0, 4, S}, {16, 0, 4, S},
    /* 2200: cuCtxGetDevResource */
    {0, 0, 8, 0}, {16, 0, 4, S},
    /* 2202: cuKernelGetLibrary */
    {0, 0, 8, O}, {8, 0, 8, 0},
    /* 2204: cuCtxCreate */
    {0, 0, 8, O}, {16, 0, 4, 0}, {20, 0, 4, S},
    /* 2207: cuGreenCtxStreamCreate */
    {0, 0, 8, O}, {8, 0, 8, 0}, {16, 0, 4, 0}, {20, 0, 4, S},
    /* 2211: cuStreamGetCtx */
    {0, 0, 8, 0}, {8, 0, 8, O}, {16, 0, 8, O},
    /* 2214: cuMemBatchDecompressAsync */
    {8, 0, 8, 0}, {16, 0, 4, 0}, {32, 0, 8, 0},
    /* 2217: cuCheckpointProcessGetRestoreThreadId */
    {0, 0, 4, S}, {8, 0, 4, O | S},
    /* 2219: cuCheckpointProcessGetState */
    {0, 0, 4, S}, {8, 0, 4, O | S},
    /* 2221: cuCheckpointProcessLock */
    {0, 0, 4, S},
    /* 2222: cuTensorMapEncodeIm2colWide */
    {8, 0, 4, S}, {12, 0, 4, 0}, {16, 0, 8, 0}, {40, 0, 4, S}, {44, 0, 4, S}, {48, 0, 4, 0}, {52, 0, 4, 0},
    {64, 0, 4, S}, {68, 0, 4, S}, {72, 0, 4, S}, {76, 0, 4, S}, {80, 0, 4, S},
    /* 2234: cuGreenCtxGetId */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 2236: cuMemGetDefaultMemPool */
    {0, 0, 8, O}, {8, 0, 4, O | S}, {8, 4, 4, O | S}, {16, 0, 4, S},
    /* 2240: cuMemSetMemPool */
    {0, 0, 4, D | S}, {0, 4, 4, D | S}, {8, 0, 4, S}, {16, 0, 8, 0},
    /* 2244: cuStreamGetDevResource */
    {0, 0, 8, 0}, {16, 0, 4, S},
    /* 2246: cuMulticastBindMem */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0}, {48, 0, 8, 0},
    /* 2253: cuMulticastBindAddr */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 2259: cuKernelGetParamCount */
    {0, 0, 8, 0}, {8, 0, 8, O},
    /* 2261: cuMemcpyWithAttributesAsync */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 4, D | S}, {24, 4, 4, D | S}, {24, 8, 4, D | S},
    {24, 12, 4, D | S}, {24, 16, 4, D | S}, {24, 20, 4, D}, {32, 0, 8, 0},
    /* 2271: cuStreamBeginRecaptureToGraph */
    {0, 0, 8, 0}, {8, 0, 4, S}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 2276: cuLogicalEndpointIdReserve */
    {0, 0, 4, O}, {8, 0, 4, 0},
    /* 2278: cuLogicalEndpointIdRelease */
    {0, 0, 4, 0}, {4, 0, 4, 0},
    /* 2280: cuLogicalEndpointCreate */
    {0, 0, 4, 0},
    /* 2281: cuLogicalEndpointAddDevice */
    {0, 0, 4, 0}, {4, 0, 4, S},
    /* 2283: cuLogicalEndpointBindAddr */
    {0, 0, 4, 0}, {4, 0, 4, S}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0},
    /* 2289: cuLogicalEndpointBindMem */
    {0, 0, 4, 0}, {4, 0, 4, S}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 8, 0}, {40, 0, 8, 0},
    /* 2296: cuLogicalEndpointUnbind */
    {0, 0, 4, 0}, {4, 0, 4, S}, {8, 0, 8, 0}, {16, 0, 8, 0},
    /* 2300: cuLogicalEndpointExport */
    {0, 0, 8, 0}, {8, 0, 4, 0}, {12, 0, 4, S},
    /* 2303: cuLogicalEndpointImport */
    {0, 0, 4, 0}, {8, 0, 8, 0}, {16, 0, 4, S},
    /* 2306: cuLogicalEndpointGetLimits */
    {0, 0, 8, O}, {8, 0, 8, O},
    /* 2308: cuLogicalEndpointQuery */
    {0, 0, 4, 0}, {4, 0, 4, 0}, {8, 0, 4, O | S},
    /* 2311: cuMemGetLocationInfo */
    {0, 0, 8, 0}, {8, 0, 8, 0}, {16, 0, 8, 0}, {24, 0, 8, 0}, {32, 0, 4, O | S}, {32, 4, 4, O | S},
    /* 2317: cuDeviceGetCliqueCount */
    {0, 0, 8, O}, {8, 0, 4, S},
    /* 2319: cuDeviceGetCliqueInfo */
    {8, 0, 8, O}, {16, 0, 4, S},
};

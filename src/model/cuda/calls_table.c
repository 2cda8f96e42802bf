/* The calls of model/cuda/calls.h.
 *
 * Made by tools/gen_cupti_tables.py from the headers of CUDA 12.0 to 13.5; don't edit. */
/* clang-format off */
#include "model/cuda/calls.h"

const char call_names[] =
    "\0"
    "cudaDriverGetVersion\0" "cudaRuntimeGetVersion\0" "cudaGetDeviceCount\0" "cudaGetDeviceProperties\0"
    "cudaChooseDevice\0" "cudaGetChannelDesc\0" "cudaCreateChannelDesc\0" "cudaConfigureCall\0"
    "cudaSetupArgument\0" "cudaGetLastError\0" "cudaPeekAtLastError\0" "cudaGetErrorString\0" "cudaLaunch\0"
    "cudaFuncSetCacheConfig\0" "cudaFuncGetAttributes\0" "cudaSetDevice\0" "cudaGetDevice\0"
    "cudaSetValidDevices\0" "cudaSetDeviceFlags\0" "cudaMalloc\0" "cudaMallocPitch\0" "cudaFree\0"
    "cudaMallocArray\0" "cudaFreeArray\0" "cudaMallocHost\0" "cudaFreeHost\0" "cudaHostAlloc\0"
    "cudaHostGetDevicePointer\0" "cudaHostGetFlags\0" "cudaMemGetInfo\0" "cudaMemcpy\0" "cudaMemcpy2D\0"
    "cudaMemcpyToArray\0" "cudaMemcpy2DToArray\0" "cudaMemcpyFromArray\0" "cudaMemcpy2DFromArray\0"
    "cudaMemcpyArrayToArray\0" "cudaMemcpy2DArrayToArray\0" "cudaMemcpyToSymbol\0" "cudaMemcpyFromSymbol\0"
    "cudaMemcpyAsync\0" "cudaMemcpyToArrayAsync\0" "cudaMemcpyFromArrayAsync\0" "cudaMemcpy2DAsync\0"
    "cudaMemcpy2DToArrayAsync\0" "cudaMemcpy2DFromArrayAsync\0" "cudaMemcpyToSymbolAsync\0"
    "cudaMemcpyFromSymbolAsync\0" "cudaMemset\0" "cudaMemset2D\0" "cudaMemsetAsync\0" "cudaMemset2DAsync\0"
    "cudaGetSymbolAddress\0" "cudaGetSymbolSize\0" "cudaBindTexture\0" "cudaBindTexture2D\0"
    "cudaBindTextureToArray\0" "cudaUnbindTexture\0" "cudaGetTextureAlignmentOffset\0"
    "cudaGetTextureReference\0" "cudaBindSurfaceToArray\0" "cudaGetSurfaceReference\0" "cudaGLSetGLDevice\0"
    "cudaGLRegisterBufferObject\0" "cudaGLMapBufferObject\0" "cudaGLUnmapBufferObject\0"
    "cudaGLUnregisterBufferObject\0" "cudaGLSetBufferObjectMapFlags\0" "cudaGLMapBufferObjectAsync\0"
    "cudaGLUnmapBufferObjectAsync\0" "cudaWGLGetDevice\0" "cudaGraphicsGLRegisterImage\0"
    "cudaGraphicsGLRegisterBuffer\0" "cudaGraphicsUnregisterResource\0" "cudaGraphicsResourceSetMapFlags\0"
    "cudaGraphicsMapResources\0" "cudaGraphicsUnmapResources\0" "cudaGraphicsResourceGetMappedPointer\0"
    "cudaGraphicsSubResourceGetMappedArray\0" "cudaVDPAUGetDevice\0" "cudaVDPAUSetVDPAUDevice\0"
    "cudaGraphicsVDPAURegisterVideoSurface\0" "cudaGraphicsVDPAURegisterOutputSurface\0"
    "cudaD3D11GetDevice\0" "cudaD3D11GetDevices\0" "cudaD3D11SetDirect3DDevice\0"
    "cudaGraphicsD3D11RegisterResource\0" "cudaD3D10GetDevice\0" "cudaD3D10GetDevices\0"
    "cudaD3D10SetDirect3DDevice\0" "cudaGraphicsD3D10RegisterResource\0" "cudaD3D10RegisterResource\0"
    "cudaD3D10UnregisterResource\0" "cudaD3D10MapResources\0" "cudaD3D10UnmapResources\0"
    "cudaD3D10ResourceSetMapFlags\0" "cudaD3D10ResourceGetSurfaceDimensions\0"
    "cudaD3D10ResourceGetMappedArray\0" "cudaD3D10ResourceGetMappedPointer\0"
    "cudaD3D10ResourceGetMappedSize\0" "cudaD3D10ResourceGetMappedPitch\0" "cudaD3D9GetDevice\0"
    "cudaD3D9GetDevices\0" "cudaD3D9SetDirect3DDevice\0" "cudaD3D9GetDirect3DDevice\0"
    "cudaGraphicsD3D9RegisterResource\0" "cudaD3D9RegisterResource\0" "cudaD3D9UnregisterResource\0"
    "cudaD3D9MapResources\0" "cudaD3D9UnmapResources\0" "cudaD3D9ResourceSetMapFlags\0"
    "cudaD3D9ResourceGetSurfaceDimensions\0" "cudaD3D9ResourceGetMappedArray\0"
    "cudaD3D9ResourceGetMappedPointer\0" "cudaD3D9ResourceGetMappedSize\0"
    "cudaD3D9ResourceGetMappedPitch\0" "cudaD3D9Begin\0" "cudaD3D9End\0" "cudaD3D9RegisterVertexBuffer\0"
    "cudaD3D9UnregisterVertexBuffer\0" "cudaD3D9MapVertexBuffer\0" "cudaD3D9UnmapVertexBuffer\0"
    "cudaThreadExit\0" "cudaSetDoubleForDevice\0" "cudaSetDoubleForHost\0" "cudaThreadSynchronize\0"
    "cudaThreadGetLimit\0" "cudaThreadSetLimit\0" "cudaStreamCreate\0" "cudaStreamDestroy\0"
    "cudaStreamSynchronize\0" "cudaStreamQuery\0" "cudaEventCreate\0" "cudaEventCreateWithFlags\0"
    "cudaEventRecord\0" "cudaEventDestroy\0" "cudaEventSynchronize\0" "cudaEventQuery\0"
    "cudaEventElapsedTime\0" "cudaMalloc3D\0" "cudaMalloc3DArray\0" "cudaMemset3D\0" "cudaMemset3DAsync\0"
    "cudaMemcpy3D\0" "cudaMemcpy3DAsync\0" "cudaThreadSetCacheConfig\0" "cudaStreamWaitEvent\0"
    "cudaD3D11GetDirect3DDevice\0" "cudaD3D10GetDirect3DDevice\0" "cudaThreadGetCacheConfig\0"
    "cudaPointerGetAttributes\0" "cudaHostRegister\0" "cudaHostUnregister\0" "cudaDeviceCanAccessPeer\0"
    "cudaDeviceEnablePeerAccess\0" "cudaDeviceDisablePeerAccess\0" "cudaPeerRegister\0"
    "cudaPeerUnregister\0" "cudaPeerGetDevicePointer\0" "cudaMemcpyPeer\0" "cudaMemcpyPeerAsync\0"
    "cudaMemcpy3DPeer\0" "cudaMemcpy3DPeerAsync\0" "cudaDeviceReset\0" "cudaDeviceSynchronize\0"
    "cudaDeviceGetLimit\0" "cudaDeviceSetLimit\0" "cudaDeviceGetCacheConfig\0" "cudaDeviceSetCacheConfig\0"
    "cudaProfilerInitialize\0" "cudaProfilerStart\0" "cudaProfilerStop\0" "cudaDeviceGetByPCIBusId\0"
    "cudaDeviceGetPCIBusId\0" "cudaGLGetDevices\0" "cudaIpcGetEventHandle\0" "cudaIpcOpenEventHandle\0"
    "cudaIpcGetMemHandle\0" "cudaIpcOpenMemHandle\0" "cudaIpcCloseMemHandle\0" "cudaArrayGetInfo\0"
    "cudaFuncSetSharedMemConfig\0" "cudaDeviceGetSharedMemConfig\0" "cudaDeviceSetSharedMemConfig\0"
    "cudaCreateTextureObject\0" "cudaDestroyTextureObject\0" "cudaGetTextureObjectResourceDesc\0"
    "cudaGetTextureObjectTextureDesc\0" "cudaCreateSurfaceObject\0" "cudaDestroySurfaceObject\0"
    "cudaGetSurfaceObjectResourceDesc\0" "cudaMallocMipmappedArray\0" "cudaGetMipmappedArrayLevel\0"
    "cudaFreeMipmappedArray\0" "cudaBindTextureToMipmappedArray\0"
    "cudaGraphicsResourceGetMappedMipmappedArray\0" "cudaStreamAddCallback\0" "cudaStreamCreateWithFlags\0"
    "cudaGetTextureObjectResourceViewDesc\0" "cudaDeviceGetAttribute\0" "cudaStreamCreateWithPriority\0"
    "cudaStreamGetPriority\0" "cudaStreamGetFlags\0" "cudaDeviceGetStreamPriorityRange\0"
    "cudaMallocManaged\0" "cudaOccupancyMaxActiveBlocksPerMultiprocessor\0" "cudaStreamAttachMemAsync\0"
    "cudaGetErrorName\0" "cudaLaunchKernel\0" "cudaGetDeviceFlags\0" "cudaLaunch_ptsz\0"
    "cudaLaunchKernel_ptsz\0" "cudaMemcpy_ptds\0" "cudaMemcpy2D_ptds\0" "cudaMemcpyToArray_ptds\0"
    "cudaMemcpy2DToArray_ptds\0" "cudaMemcpyFromArray_ptds\0" "cudaMemcpy2DFromArray_ptds\0"
    "cudaMemcpyArrayToArray_ptds\0" "cudaMemcpy2DArrayToArray_ptds\0" "cudaMemcpyToSymbol_ptds\0"
    "cudaMemcpyFromSymbol_ptds\0" "cudaMemcpyAsync_ptsz\0" "cudaMemcpyToArrayAsync_ptsz\0"
    "cudaMemcpyFromArrayAsync_ptsz\0" "cudaMemcpy2DAsync_ptsz\0" "cudaMemcpy2DToArrayAsync_ptsz\0"
    "cudaMemcpy2DFromArrayAsync_ptsz\0" "cudaMemcpyToSymbolAsync_ptsz\0" "cudaMemcpyFromSymbolAsync_ptsz\0"
    "cudaMemset_ptds\0" "cudaMemset2D_ptds\0" "cudaMemsetAsync_ptsz\0" "cudaMemset2DAsync_ptsz\0"
    "cudaStreamGetPriority_ptsz\0" "cudaStreamGetFlags_ptsz\0" "cudaStreamSynchronize_ptsz\0"
    "cudaStreamQuery_ptsz\0" "cudaStreamAttachMemAsync_ptsz\0" "cudaEventRecord_ptsz\0"
    "cudaMemset3D_ptds\0" "cudaMemset3DAsync_ptsz\0" "cudaMemcpy3D_ptds\0" "cudaMemcpy3DAsync_ptsz\0"
    "cudaStreamWaitEvent_ptsz\0" "cudaStreamAddCallback_ptsz\0" "cudaMemcpy3DPeer_ptds\0"
    "cudaMemcpy3DPeerAsync_ptsz\0" "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags\0"
    "cudaMemPrefetchAsync\0" "cudaMemPrefetchAsync_ptsz\0" "cudaMemAdvise\0" "cudaDeviceGetP2PAttribute\0"
    "cudaGraphicsEGLRegisterImage\0" "cudaEGLStreamConsumerConnect\0" "cudaEGLStreamConsumerDisconnect\0"
    "cudaEGLStreamConsumerAcquireFrame\0" "cudaEGLStreamConsumerReleaseFrame\0"
    "cudaEGLStreamProducerConnect\0" "cudaEGLStreamProducerDisconnect\0"
    "cudaEGLStreamProducerPresentFrame\0" "cudaEGLStreamProducerReturnFrame\0"
    "cudaGraphicsResourceGetMappedEglFrame\0" "cudaMemRangeGetAttribute\0" "cudaMemRangeGetAttributes\0"
    "cudaEGLStreamConsumerConnectWithFlags\0" "cudaLaunchCooperativeKernel\0"
    "cudaLaunchCooperativeKernel_ptsz\0" "cudaEventCreateFromEGLSync\0"
    "cudaLaunchCooperativeKernelMultiDevice\0" "cudaFuncSetAttribute\0" "cudaImportExternalMemory\0"
    "cudaExternalMemoryGetMappedBuffer\0" "cudaExternalMemoryGetMappedMipmappedArray\0"
    "cudaDestroyExternalMemory\0" "cudaImportExternalSemaphore\0" "cudaSignalExternalSemaphoresAsync\0"
    "cudaSignalExternalSemaphoresAsync_ptsz\0" "cudaWaitExternalSemaphoresAsync\0"
    "cudaWaitExternalSemaphoresAsync_ptsz\0" "cudaDestroyExternalSemaphore\0" "cudaLaunchHostFunc\0"
    "cudaLaunchHostFunc_ptsz\0" "cudaGraphCreate\0" "cudaGraphKernelNodeGetParams\0"
    "cudaGraphKernelNodeSetParams\0" "cudaGraphAddKernelNode\0" "cudaGraphAddMemcpyNode\0"
    "cudaGraphMemcpyNodeGetParams\0" "cudaGraphMemcpyNodeSetParams\0" "cudaGraphAddMemsetNode\0"
    "cudaGraphMemsetNodeGetParams\0" "cudaGraphMemsetNodeSetParams\0" "cudaGraphAddHostNode\0"
    "cudaGraphHostNodeGetParams\0" "cudaGraphAddChildGraphNode\0" "cudaGraphChildGraphNodeGetGraph\0"
    "cudaGraphAddEmptyNode\0" "cudaGraphClone\0" "cudaGraphNodeFindInClone\0" "cudaGraphNodeGetType\0"
    "cudaGraphGetRootNodes\0" "cudaGraphNodeGetDependencies\0" "cudaGraphNodeGetDependentNodes\0"
    "cudaGraphAddDependencies\0" "cudaGraphRemoveDependencies\0" "cudaGraphDestroyNode\0"
    "cudaGraphInstantiate\0" "cudaGraphLaunch\0" "cudaGraphLaunch_ptsz\0" "cudaGraphExecDestroy\0"
    "cudaGraphDestroy\0" "cudaStreamBeginCapture\0" "cudaStreamBeginCapture_ptsz\0"
    "cudaStreamIsCapturing\0" "cudaStreamIsCapturing_ptsz\0" "cudaStreamEndCapture\0"
    "cudaStreamEndCapture_ptsz\0" "cudaGraphHostNodeSetParams\0" "cudaGraphGetNodes\0" "cudaGraphGetEdges\0"
    "cudaStreamGetCaptureInfo\0" "cudaStreamGetCaptureInfo_ptsz\0" "cudaGraphExecKernelNodeSetParams\0"
    "cudaThreadExchangeStreamCaptureMode\0" "cudaDeviceGetNvSciSyncAttributes\0"
    "cudaOccupancyAvailableDynamicSMemPerBlock\0" "cudaStreamSetFlags\0" "cudaStreamSetFlags_ptsz\0"
    "cudaGraphExecMemcpyNodeSetParams\0" "cudaGraphExecMemsetNodeSetParams\0"
    "cudaGraphExecHostNodeSetParams\0" "cudaGraphExecUpdate\0" "cudaGetFuncBySymbol\0"
    "cudaCtxResetPersistingL2Cache\0" "cudaGraphKernelNodeCopyAttributes\0"
    "cudaGraphKernelNodeGetAttribute\0" "cudaGraphKernelNodeSetAttribute\0" "cudaStreamCopyAttributes\0"
    "cudaStreamCopyAttributes_ptsz\0" "cudaStreamGetAttribute\0" "cudaStreamGetAttribute_ptsz\0"
    "cudaStreamSetAttribute\0" "cudaStreamSetAttribute_ptsz\0" "cudaDeviceGetTexture1DLinearMaxWidth\0"
    "cudaGraphUpload\0" "cudaGraphUpload_ptsz\0" "cudaGraphAddMemcpyNodeToSymbol\0"
    "cudaGraphAddMemcpyNodeFromSymbol\0" "cudaGraphAddMemcpyNode1D\0"
    "cudaGraphMemcpyNodeSetParamsToSymbol\0" "cudaGraphMemcpyNodeSetParamsFromSymbol\0"
    "cudaGraphMemcpyNodeSetParams1D\0" "cudaGraphExecMemcpyNodeSetParamsToSymbol\0"
    "cudaGraphExecMemcpyNodeSetParamsFromSymbol\0" "cudaGraphExecMemcpyNodeSetParams1D\0"
    "cudaArrayGetSparseProperties\0" "cudaMipmappedArrayGetSparseProperties\0"
    "cudaGraphExecChildGraphNodeSetParams\0" "cudaGraphAddEventRecordNode\0"
    "cudaGraphEventRecordNodeGetEvent\0" "cudaGraphEventRecordNodeSetEvent\0" "cudaGraphAddEventWaitNode\0"
    "cudaGraphEventWaitNodeGetEvent\0" "cudaGraphEventWaitNodeSetEvent\0"
    "cudaGraphExecEventRecordNodeSetEvent\0" "cudaGraphExecEventWaitNodeSetEvent\0"
    "cudaEventRecordWithFlags\0" "cudaEventRecordWithFlags_ptsz\0" "cudaDeviceGetDefaultMemPool\0"
    "cudaMallocAsync\0" "cudaMallocAsync_ptsz\0" "cudaFreeAsync\0" "cudaFreeAsync_ptsz\0"
    "cudaMemPoolTrimTo\0" "cudaMemPoolSetAttribute\0" "cudaMemPoolGetAttribute\0" "cudaMemPoolSetAccess\0"
    "cudaArrayGetPlane\0" "cudaMemPoolGetAccess\0" "cudaMemPoolCreate\0" "cudaMemPoolDestroy\0"
    "cudaDeviceSetMemPool\0" "cudaDeviceGetMemPool\0" "cudaMemPoolExportToShareableHandle\0"
    "cudaMemPoolImportFromShareableHandle\0" "cudaMemPoolExportPointer\0" "cudaMemPoolImportPointer\0"
    "cudaMallocFromPoolAsync\0" "cudaMallocFromPoolAsync_ptsz\0"
    "cudaGraphAddExternalSemaphoresSignalNode\0" "cudaGraphExternalSemaphoresSignalNodeGetParams\0"
    "cudaGraphExternalSemaphoresSignalNodeSetParams\0" "cudaGraphAddExternalSemaphoresWaitNode\0"
    "cudaGraphExternalSemaphoresWaitNodeGetParams\0" "cudaGraphExternalSemaphoresWaitNodeSetParams\0"
    "cudaGraphExecExternalSemaphoresSignalNodeSetParams\0"
    "cudaGraphExecExternalSemaphoresWaitNodeSetParams\0" "cudaDeviceFlushGPUDirectRDMAWrites\0"
    "cudaGetDriverEntryPoint\0" "cudaGetDriverEntryPoint_ptsz\0" "cudaGraphDebugDotPrint\0"
    "cudaStreamUpdateCaptureDependencies\0" "cudaStreamUpdateCaptureDependencies_ptsz\0"
    "cudaUserObjectCreate\0" "cudaUserObjectRetain\0" "cudaUserObjectRelease\0"
    "cudaGraphRetainUserObject\0" "cudaGraphReleaseUserObject\0" "cudaGraphInstantiateWithFlags\0"
    "cudaGraphAddMemAllocNode\0" "cudaGraphMemAllocNodeGetParams\0" "cudaGraphAddMemFreeNode\0"
    "cudaGraphMemFreeNodeGetParams\0" "cudaDeviceGraphMemTrim\0" "cudaDeviceGetGraphMemAttribute\0"
    "cudaDeviceSetGraphMemAttribute\0" "cudaGraphNodeSetEnabled\0" "cudaGraphNodeGetEnabled\0"
    "cudaArrayGetMemoryRequirements\0" "cudaMipmappedArrayGetMemoryRequirements\0" "cudaLaunchKernelExC\0"
    "cudaLaunchKernelExC_ptsz\0" "cudaOccupancyMaxPotentialClusterSize\0" "cudaOccupancyMaxActiveClusters\0"
    "cudaGraphInstantiateWithParams\0" "cudaGraphInstantiateWithParams_ptsz\0" "cudaGraphExecGetFlags\0"
    "cudaGetKernel\0" "cudaStreamGetId\0" "cudaStreamGetId_ptsz\0" "cudaInitDevice\0" "cudaGraphAddNode\0"
    "cudaGraphNodeSetParams\0" "cudaGraphExecNodeSetParams\0" "cudaFuncGetName\0"
    "cudaStreamBeginCaptureToGraph\0" "cudaStreamBeginCaptureToGraph_ptsz\0"
    "cudaGraphConditionalHandleCreate\0" "cudaDeviceRegisterAsyncNotification\0"
    "cudaDeviceUnregisterAsyncNotification\0" "cudaFuncGetParamInfo\0" "cudaGetDriverEntryPointByVersion\0"
    "cudaGetDriverEntryPointByVersion_ptsz\0" "cudaLibraryLoadData\0" "cudaLibraryLoadFromFile\0"
    "cudaLibraryUnload\0" "cudaLibraryGetKernel\0" "cudaLibraryGetGlobal\0" "cudaLibraryGetManaged\0"
    "cudaLibraryGetUnifiedFunction\0" "cudaLibraryGetKernelCount\0" "cudaLibraryEnumerateKernels\0"
    "cudaKernelSetAttributeForDevice\0" "cudaStreamGetDevice\0" "cudaStreamGetDevice_ptsz\0"
    "cudaMemcpyBatchAsync\0" "cudaMemcpyBatchAsync_ptsz\0" "cudaMemcpy3DBatchAsync\0"
    "cudaMemcpy3DBatchAsync_ptsz\0" "cudaMemPrefetchBatchAsync\0" "cudaMemPrefetchBatchAsync_ptsz\0"
    "cudaMemDiscardBatchAsync\0" "cudaMemDiscardBatchAsync_ptsz\0" "cudaMemDiscardAndPrefetchBatchAsync\0"
    "cudaMemDiscardAndPrefetchBatchAsync_ptsz\0" "cudaGetExportTable\0" "__cudaRegisterFatBinary\0"
    "__cudaRegisterFatBinaryEnd\0" "__cudaUnregisterFatBinary\0" "__cudaRegisterVar\0"
    "__cudaRegisterHostVar\0" "__cudaRegisterFunction\0" "__cudaRegisterManagedVar\0" "__cudaInitModule\0"
    "__cudaPushCallConfiguration\0" "__cudaPopCallConfiguration\0" "__cudaGetKernel\0"
    "__cudaLaunchKernel\0" "__cudaLaunchKernel_ptsz\0" "__cudaRegisterUnifiedTable\0"
    "__cudaGetProcAddress\0" "cudaLogsRegisterCallback\0" "cudaLogsUnregisterCallback\0" "cudaLogsCurrent\0"
    "cudaLogsDumpToFile\0" "cudaLogsDumpToMemory\0" "cudaMemGetDefaultMemPool\0" "cudaMemGetMemPool\0"
    "cudaMemSetMemPool\0" "cudaDeviceGetHostAtomicCapabilities\0" "cudaDeviceGetP2PAtomicCapabilities\0"
    "cudaDeviceGetDevResource\0" "cudaDevSmResourceSplitByCount\0" "cudaDevResourceGenerateDesc\0"
    "cudaGreenCtxCreate\0" "cudaExecutionCtxDestroy\0" "cudaExecutionCtxGetDevResource\0"
    "cudaExecutionCtxGetDevice\0" "cudaExecutionCtxGetId\0" "cudaExecutionCtxStreamCreate\0"
    "cudaExecutionCtxSynchronize\0" "cudaStreamGetDevResource\0" "cudaStreamGetDevResource_ptsz\0"
    "cudaGraphNodeGetContainingGraph\0" "cudaGraphNodeGetLocalId\0" "cudaGraphNodeGetToolsId\0"
    "cudaGraphGetId\0" "cudaGraphExecGetId\0" "cudaExecutionCtxRecordEvent\0" "cudaExecutionCtxWaitEvent\0"
    "cudaDeviceGetExecutionCtx\0" "cudaDevSmResourceSplit\0" "cudaFuncGetParamCount\0"
    "cudaMemcpyWithAttributesAsync\0" "cudaMemcpyWithAttributesAsync_ptsz\0"
    "cudaMemcpy3DWithAttributesAsync\0" "cudaMemcpy3DWithAttributesAsync_ptsz\0" "cudaGraphNodeGetParams\0"
    "cudaStreamBeginRecaptureToGraph\0" "cudaStreamBeginRecaptureToGraph_ptsz\0" "cudaMemGetLocationInfo\0"
    "cuInit\0" "cuDriverGetVersion\0" "cuDeviceGet\0" "cuDeviceGetCount\0" "cuDeviceGetName\0"
    "cuDeviceComputeCapability\0" "cuDeviceTotalMem\0" "cuDeviceGetProperties\0" "cuDeviceGetAttribute\0"
    "cuCtxCreate\0" "cuCtxDestroy\0" "cuCtxAttach\0" "cuCtxDetach\0" "cuCtxPushCurrent\0"
    "cuCtxPopCurrent\0" "cuCtxGetDevice\0" "cuCtxSynchronize\0" "cuModuleLoad\0" "cuModuleLoadData\0"
    "cuModuleLoadDataEx\0" "cuModuleLoadFatBinary\0" "cuModuleUnload\0" "cuModuleGetFunction\0"
    "cuModuleGetGlobal\0" "cu64ModuleGetGlobal\0" "cuModuleGetTexRef\0" "cuMemGetInfo\0" "cu64MemGetInfo\0"
    "cuMemAlloc\0" "cu64MemAlloc\0" "cuMemAllocPitch\0" "cu64MemAllocPitch\0" "cuMemFree\0" "cu64MemFree\0"
    "cuMemGetAddressRange\0" "cu64MemGetAddressRange\0" "cuMemAllocHost\0" "cuMemFreeHost\0"
    "cuMemHostAlloc\0" "cuMemHostGetDevicePointer\0" "cu64MemHostGetDevicePointer\0" "cuMemHostGetFlags\0"
    "cuMemcpyHtoD\0" "cu64MemcpyHtoD\0" "cuMemcpyDtoH\0" "cu64MemcpyDtoH\0" "cuMemcpyDtoD\0"
    "cu64MemcpyDtoD\0" "cuMemcpyDtoA\0" "cu64MemcpyDtoA\0" "cuMemcpyAtoD\0" "cu64MemcpyAtoD\0"
    "cuMemcpyHtoA\0" "cuMemcpyAtoH\0" "cuMemcpyAtoA\0" "cuMemcpy2D\0" "cuMemcpy2DUnaligned\0" "cuMemcpy3D\0"
    "cu64Memcpy3D\0" "cuMemcpyHtoDAsync\0" "cu64MemcpyHtoDAsync\0" "cuMemcpyDtoHAsync\0"
    "cu64MemcpyDtoHAsync\0" "cuMemcpyDtoDAsync\0" "cu64MemcpyDtoDAsync\0" "cuMemcpyHtoAAsync\0"
    "cuMemcpyAtoHAsync\0" "cuMemcpy2DAsync\0" "cuMemcpy3DAsync\0" "cu64Memcpy3DAsync\0" "cuMemsetD8\0"
    "cu64MemsetD8\0" "cuMemsetD16\0" "cu64MemsetD16\0" "cuMemsetD32\0" "cu64MemsetD32\0" "cuMemsetD2D8\0"
    "cu64MemsetD2D8\0" "cuMemsetD2D16\0" "cu64MemsetD2D16\0" "cuMemsetD2D32\0" "cu64MemsetD2D32\0"
    "cuFuncSetBlockShape\0" "cuFuncSetSharedSize\0" "cuFuncGetAttribute\0" "cuFuncSetCacheConfig\0"
    "cuArrayCreate\0" "cuArrayGetDescriptor\0" "cuArrayDestroy\0" "cuArray3DCreate\0"
    "cuArray3DGetDescriptor\0" "cuTexRefCreate\0" "cuTexRefDestroy\0" "cuTexRefSetArray\0"
    "cuTexRefSetAddress\0" "cu64TexRefSetAddress\0" "cuTexRefSetAddress2D\0" "cu64TexRefSetAddress2D\0"
    "cuTexRefSetFormat\0" "cuTexRefSetAddressMode\0" "cuTexRefSetFilterMode\0" "cuTexRefSetFlags\0"
    "cuTexRefGetAddress\0" "cu64TexRefGetAddress\0" "cuTexRefGetArray\0" "cuTexRefGetAddressMode\0"
    "cuTexRefGetFilterMode\0" "cuTexRefGetFormat\0" "cuTexRefGetFlags\0" "cuParamSetSize\0" "cuParamSeti\0"
    "cuParamSetf\0" "cuParamSetv\0" "cuParamSetTexRef\0" "cuLaunch\0" "cuLaunchGrid\0" "cuLaunchGridAsync\0"
    "cuEventCreate\0" "cuEventRecord\0" "cuEventQuery\0" "cuEventSynchronize\0" "cuEventDestroy\0"
    "cuEventElapsedTime\0" "cuStreamCreate\0" "cuStreamQuery\0" "cuStreamSynchronize\0" "cuStreamDestroy\0"
    "cuGraphicsUnregisterResource\0" "cuGraphicsSubResourceGetMappedArray\0"
    "cuGraphicsResourceGetMappedPointer\0" "cu64GraphicsResourceGetMappedPointer\0"
    "cuGraphicsResourceSetMapFlags\0" "cuGraphicsMapResources\0" "cuGraphicsUnmapResources\0"
    "cuGetExportTable\0" "cuCtxSetLimit\0" "cuCtxGetLimit\0" "cuD3D10GetDevice\0" "cuD3D10CtxCreate\0"
    "cuGraphicsD3D10RegisterResource\0" "cuD3D10RegisterResource\0" "cuD3D10UnregisterResource\0"
    "cuD3D10MapResources\0" "cuD3D10UnmapResources\0" "cuD3D10ResourceSetMapFlags\0"
    "cuD3D10ResourceGetMappedArray\0" "cuD3D10ResourceGetMappedPointer\0" "cuD3D10ResourceGetMappedSize\0"
    "cuD3D10ResourceGetMappedPitch\0" "cuD3D10ResourceGetSurfaceDimensions\0" "cuD3D11GetDevice\0"
    "cuD3D11CtxCreate\0" "cuGraphicsD3D11RegisterResource\0" "cuD3D9GetDevice\0" "cuD3D9CtxCreate\0"
    "cuGraphicsD3D9RegisterResource\0" "cuD3D9GetDirect3DDevice\0" "cuD3D9RegisterResource\0"
    "cuD3D9UnregisterResource\0" "cuD3D9MapResources\0" "cuD3D9UnmapResources\0"
    "cuD3D9ResourceSetMapFlags\0" "cuD3D9ResourceGetSurfaceDimensions\0" "cuD3D9ResourceGetMappedArray\0"
    "cuD3D9ResourceGetMappedPointer\0" "cuD3D9ResourceGetMappedSize\0" "cuD3D9ResourceGetMappedPitch\0"
    "cuD3D9Begin\0" "cuD3D9End\0" "cuD3D9RegisterVertexBuffer\0" "cuD3D9MapVertexBuffer\0"
    "cuD3D9UnmapVertexBuffer\0" "cuD3D9UnregisterVertexBuffer\0" "cuGLCtxCreate\0"
    "cuGraphicsGLRegisterBuffer\0" "cuGraphicsGLRegisterImage\0" "cuWGLGetDevice\0" "cuGLInit\0"
    "cuGLRegisterBufferObject\0" "cuGLMapBufferObject\0" "cuGLUnmapBufferObject\0"
    "cuGLUnregisterBufferObject\0" "cuGLSetBufferObjectMapFlags\0" "cuGLMapBufferObjectAsync\0"
    "cuGLUnmapBufferObjectAsync\0" "cuVDPAUGetDevice\0" "cuVDPAUCtxCreate\0"
    "cuGraphicsVDPAURegisterVideoSurface\0" "cuGraphicsVDPAURegisterOutputSurface\0" "cuModuleGetSurfRef\0"
    "cuSurfRefCreate\0" "cuSurfRefDestroy\0" "cuSurfRefSetFormat\0" "cuSurfRefSetArray\0"
    "cuSurfRefGetFormat\0" "cuSurfRefGetArray\0" "cu64DeviceTotalMem\0"
    "cu64D3D10ResourceGetMappedPointer\0" "cu64D3D10ResourceGetMappedSize\0"
    "cu64D3D10ResourceGetMappedPitch\0" "cu64D3D10ResourceGetSurfaceDimensions\0"
    "cu64D3D9ResourceGetSurfaceDimensions\0" "cu64D3D9ResourceGetMappedPointer\0"
    "cu64D3D9ResourceGetMappedSize\0" "cu64D3D9ResourceGetMappedPitch\0" "cu64D3D9MapVertexBuffer\0"
    "cu64GLMapBufferObject\0" "cu64GLMapBufferObjectAsync\0" "cuD3D11GetDevices\0"
    "cuD3D11CtxCreateOnDevice\0" "cuD3D10GetDevices\0" "cuD3D10CtxCreateOnDevice\0" "cuD3D9GetDevices\0"
    "cuD3D9CtxCreateOnDevice\0" "cu64MemHostAlloc\0" "cuMemsetD8Async\0" "cu64MemsetD8Async\0"
    "cuMemsetD16Async\0" "cu64MemsetD16Async\0" "cuMemsetD32Async\0" "cu64MemsetD32Async\0"
    "cuMemsetD2D8Async\0" "cu64MemsetD2D8Async\0" "cuMemsetD2D16Async\0" "cu64MemsetD2D16Async\0"
    "cuMemsetD2D32Async\0" "cu64MemsetD2D32Async\0" "cu64ArrayCreate\0" "cu64ArrayGetDescriptor\0"
    "cu64Array3DCreate\0" "cu64Array3DGetDescriptor\0" "cu64Memcpy2D\0" "cu64Memcpy2DUnaligned\0"
    "cu64Memcpy2DAsync\0" "cuMemcpy\0" "cuStreamWaitEvent\0" "cuCtxGetApiVersion\0"
    "cuD3D10GetDirect3DDevice\0" "cuD3D11GetDirect3DDevice\0" "cuCtxGetCacheConfig\0"
    "cuCtxSetCacheConfig\0" "cuMemHostRegister\0" "cuMemHostUnregister\0" "cuCtxSetCurrent\0"
    "cuCtxGetCurrent\0" "cuMemcpyAsync\0" "cuLaunchKernel\0" "cuProfilerStart\0" "cuProfilerStop\0"
    "cuPointerGetAttribute\0" "cuProfilerInitialize\0" "cuDeviceCanAccessPeer\0" "cuCtxEnablePeerAccess\0"
    "cuCtxDisablePeerAccess\0" "cuMemPeerRegister\0" "cuMemPeerUnregister\0" "cuMemPeerGetDevicePointer\0"
    "cuMemcpyPeer\0" "cuMemcpyPeerAsync\0" "cuMemcpy3DPeer\0" "cuMemcpy3DPeerAsync\0" "cuIpcGetMemHandle\0"
    "cuIpcOpenMemHandle\0" "cuIpcCloseMemHandle\0" "cuDeviceGetByPCIBusId\0" "cuDeviceGetPCIBusId\0"
    "cuGLGetDevices\0" "cuIpcGetEventHandle\0" "cuIpcOpenEventHandle\0" "cuCtxSetSharedMemConfig\0"
    "cuCtxGetSharedMemConfig\0" "cuFuncSetSharedMemConfig\0" "cuTexObjectCreate\0" "cuTexObjectDestroy\0"
    "cuTexObjectGetResourceDesc\0" "cuTexObjectGetTextureDesc\0" "cuSurfObjectCreate\0"
    "cuSurfObjectDestroy\0" "cuSurfObjectGetResourceDesc\0" "cuStreamAddCallback\0"
    "cuMipmappedArrayCreate\0" "cuMipmappedArrayGetLevel\0" "cuMipmappedArrayDestroy\0"
    "cuTexRefSetMipmappedArray\0" "cuTexRefSetMipmapFilterMode\0" "cuTexRefSetMipmapLevelBias\0"
    "cuTexRefSetMipmapLevelClamp\0" "cuTexRefSetMaxAnisotropy\0" "cuTexRefGetMipmappedArray\0"
    "cuTexRefGetMipmapFilterMode\0" "cuTexRefGetMipmapLevelBias\0" "cuTexRefGetMipmapLevelClamp\0"
    "cuTexRefGetMaxAnisotropy\0" "cuGraphicsResourceGetMappedMipmappedArray\0"
    "cuTexObjectGetResourceViewDesc\0" "cuLinkCreate\0" "cuLinkAddData\0" "cuLinkAddFile\0"
    "cuLinkComplete\0" "cuLinkDestroy\0" "cuStreamCreateWithPriority\0" "cuStreamGetPriority\0"
    "cuStreamGetFlags\0" "cuCtxGetStreamPriorityRange\0" "cuMemAllocManaged\0" "cuGetErrorString\0"
    "cuGetErrorName\0" "cuOccupancyMaxActiveBlocksPerMultiprocessor\0" "cuCompilePtx\0" "cuBinaryFree\0"
    "cuStreamAttachMemAsync\0" "cuPointerSetAttribute\0" "cuOccupancyMaxPotentialBlockSize\0"
    "cuDevicePrimaryCtxRetain\0" "cuDevicePrimaryCtxRelease\0" "cuDevicePrimaryCtxSetFlags\0"
    "cuDevicePrimaryCtxReset\0" "cuGraphicsEGLRegisterImage\0" "cuCtxGetFlags\0"
    "cuDevicePrimaryCtxGetState\0" "cuEGLStreamConsumerConnect\0" "cuEGLStreamConsumerDisconnect\0"
    "cuEGLStreamConsumerAcquireFrame\0" "cuEGLStreamConsumerReleaseFrame\0" "cuMemcpyHtoD_ptds\0"
    "cuMemcpyDtoH_ptds\0" "cuMemcpyDtoD_ptds\0" "cuMemcpyDtoA_ptds\0" "cuMemcpyAtoD_ptds\0"
    "cuMemcpyHtoA_ptds\0" "cuMemcpyAtoH_ptds\0" "cuMemcpyAtoA_ptds\0" "cuMemcpy2D_ptds\0"
    "cuMemcpy2DUnaligned_ptds\0" "cuMemcpy3D_ptds\0" "cuMemcpy_ptds\0" "cuMemcpyPeer_ptds\0"
    "cuMemcpy3DPeer_ptds\0" "cuMemsetD8_ptds\0" "cuMemsetD16_ptds\0" "cuMemsetD32_ptds\0"
    "cuMemsetD2D8_ptds\0" "cuMemsetD2D16_ptds\0" "cuMemsetD2D32_ptds\0" "cuGLMapBufferObject_ptds\0"
    "cuMemcpyAsync_ptsz\0" "cuMemcpyHtoAAsync_ptsz\0" "cuMemcpyAtoHAsync_ptsz\0" "cuMemcpyHtoDAsync_ptsz\0"
    "cuMemcpyDtoHAsync_ptsz\0" "cuMemcpyDtoDAsync_ptsz\0" "cuMemcpy2DAsync_ptsz\0" "cuMemcpy3DAsync_ptsz\0"
    "cuMemcpyPeerAsync_ptsz\0" "cuMemcpy3DPeerAsync_ptsz\0" "cuMemsetD8Async_ptsz\0"
    "cuMemsetD16Async_ptsz\0" "cuMemsetD32Async_ptsz\0" "cuMemsetD2D8Async_ptsz\0"
    "cuMemsetD2D16Async_ptsz\0" "cuMemsetD2D32Async_ptsz\0" "cuStreamGetPriority_ptsz\0"
    "cuStreamGetFlags_ptsz\0" "cuStreamWaitEvent_ptsz\0" "cuStreamAddCallback_ptsz\0"
    "cuStreamAttachMemAsync_ptsz\0" "cuStreamQuery_ptsz\0" "cuStreamSynchronize_ptsz\0"
    "cuEventRecord_ptsz\0" "cuLaunchKernel_ptsz\0" "cuGraphicsMapResources_ptsz\0"
    "cuGraphicsUnmapResources_ptsz\0" "cuGLMapBufferObjectAsync_ptsz\0" "cuEGLStreamProducerConnect\0"
    "cuEGLStreamProducerDisconnect\0" "cuEGLStreamProducerPresentFrame\0"
    "cuGraphicsResourceGetMappedEglFrame\0" "cuPointerGetAttributes\0"
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags\0" "cuOccupancyMaxPotentialBlockSizeWithFlags\0"
    "cuEGLStreamProducerReturnFrame\0" "cuDeviceGetP2PAttribute\0" "cuTexRefSetBorderColor\0"
    "cuTexRefGetBorderColor\0" "cuMemAdvise\0" "cuStreamWaitValue32\0" "cuStreamWaitValue32_ptsz\0"
    "cuStreamWriteValue32\0" "cuStreamWriteValue32_ptsz\0" "cuStreamBatchMemOp\0"
    "cuStreamBatchMemOp_ptsz\0" "cuNVNbufferGetPointer\0" "cuNVNtextureGetArray\0" "cuNNSetAllocator\0"
    "cuMemPrefetchAsync\0" "cuMemPrefetchAsync_ptsz\0" "cuEventCreateFromNVNSync\0"
    "cuEGLStreamConsumerConnectWithFlags\0" "cuMemRangeGetAttribute\0" "cuMemRangeGetAttributes\0"
    "cuStreamWaitValue64\0" "cuStreamWaitValue64_ptsz\0" "cuStreamWriteValue64\0"
    "cuStreamWriteValue64_ptsz\0" "cuLaunchCooperativeKernel\0" "cuLaunchCooperativeKernel_ptsz\0"
    "cuEventCreateFromEGLSync\0" "cuLaunchCooperativeKernelMultiDevice\0" "cuFuncSetAttribute\0"
    "cuDeviceGetUuid\0" "cuStreamGetCtx\0" "cuStreamGetCtx_ptsz\0" "cuImportExternalMemory\0"
    "cuExternalMemoryGetMappedBuffer\0" "cuExternalMemoryGetMappedMipmappedArray\0"
    "cuDestroyExternalMemory\0" "cuImportExternalSemaphore\0" "cuSignalExternalSemaphoresAsync\0"
    "cuSignalExternalSemaphoresAsync_ptsz\0" "cuWaitExternalSemaphoresAsync\0"
    "cuWaitExternalSemaphoresAsync_ptsz\0" "cuDestroyExternalSemaphore\0" "cuStreamBeginCapture\0"
    "cuStreamBeginCapture_ptsz\0" "cuStreamEndCapture\0" "cuStreamEndCapture_ptsz\0" "cuStreamIsCapturing\0"
    "cuStreamIsCapturing_ptsz\0" "cuGraphCreate\0" "cuGraphAddKernelNode\0" "cuGraphKernelNodeGetParams\0"
    "cuGraphAddMemcpyNode\0" "cuGraphMemcpyNodeGetParams\0" "cuGraphAddMemsetNode\0"
    "cuGraphMemsetNodeGetParams\0" "cuGraphMemsetNodeSetParams\0" "cuGraphNodeGetType\0"
    "cuGraphGetRootNodes\0" "cuGraphNodeGetDependencies\0" "cuGraphNodeGetDependentNodes\0"
    "cuGraphInstantiate\0" "cuGraphLaunch\0" "cuGraphLaunch_ptsz\0" "cuGraphExecDestroy\0"
    "cuGraphDestroy\0" "cuGraphAddDependencies\0" "cuGraphRemoveDependencies\0"
    "cuGraphMemcpyNodeSetParams\0" "cuGraphKernelNodeSetParams\0" "cuGraphDestroyNode\0" "cuGraphClone\0"
    "cuGraphNodeFindInClone\0" "cuGraphAddChildGraphNode\0" "cuGraphAddEmptyNode\0" "cuLaunchHostFunc\0"
    "cuLaunchHostFunc_ptsz\0" "cuGraphChildGraphNodeGetGraph\0" "cuGraphAddHostNode\0"
    "cuGraphHostNodeGetParams\0" "cuDeviceGetLuid\0" "cuGraphHostNodeSetParams\0" "cuGraphGetNodes\0"
    "cuGraphGetEdges\0" "cuStreamGetCaptureInfo\0" "cuStreamGetCaptureInfo_ptsz\0"
    "cuGraphExecKernelNodeSetParams\0" "cuThreadExchangeStreamCaptureMode\0"
    "cuDeviceGetNvSciSyncAttributes\0" "cuOccupancyAvailableDynamicSMemPerBlock\0" "cuMemAddressReserve\0"
    "cuMemAddressFree\0" "cuMemCreate\0" "cuMemRelease\0" "cuMemMap\0" "cuMemUnmap\0" "cuMemSetAccess\0"
    "cuMemExportToShareableHandle\0" "cuMemImportFromShareableHandle\0" "cuMemGetAllocationGranularity\0"
    "cuMemGetAllocationPropertiesFromHandle\0" "cuMemGetAccess\0" "cuStreamSetFlags\0"
    "cuStreamSetFlags_ptsz\0" "cuGraphExecUpdate\0" "cuGraphExecMemcpyNodeSetParams\0"
    "cuGraphExecMemsetNodeSetParams\0" "cuGraphExecHostNodeSetParams\0" "cuMemRetainAllocationHandle\0"
    "cuFuncGetModule\0" "cuCtxResetPersistingL2Cache\0" "cuGraphKernelNodeCopyAttributes\0"
    "cuGraphKernelNodeGetAttribute\0" "cuGraphKernelNodeSetAttribute\0" "cuStreamCopyAttributes\0"
    "cuStreamCopyAttributes_ptsz\0" "cuStreamGetAttribute\0" "cuStreamGetAttribute_ptsz\0"
    "cuStreamSetAttribute\0" "cuStreamSetAttribute_ptsz\0" "cuDeviceGetTexture1DLinearMaxWidth\0"
    "cuGraphUpload\0" "cuGraphUpload_ptsz\0" "cuArrayGetSparseProperties\0"
    "cuMipmappedArrayGetSparseProperties\0" "cuMemMapArrayAsync\0" "cuMemMapArrayAsync_ptsz\0"
    "cuGraphExecChildGraphNodeSetParams\0" "cuEventRecordWithFlags\0" "cuEventRecordWithFlags_ptsz\0"
    "cuGraphAddEventRecordNode\0" "cuGraphAddEventWaitNode\0" "cuGraphEventRecordNodeGetEvent\0"
    "cuGraphEventWaitNodeGetEvent\0" "cuGraphEventRecordNodeSetEvent\0" "cuGraphEventWaitNodeSetEvent\0"
    "cuGraphExecEventRecordNodeSetEvent\0" "cuGraphExecEventWaitNodeSetEvent\0" "cuArrayGetPlane\0"
    "cuMemAllocAsync\0" "cuMemAllocAsync_ptsz\0" "cuMemFreeAsync\0" "cuMemFreeAsync_ptsz\0"
    "cuMemPoolTrimTo\0" "cuMemPoolSetAttribute\0" "cuMemPoolGetAttribute\0" "cuMemPoolSetAccess\0"
    "cuDeviceGetDefaultMemPool\0" "cuMemPoolCreate\0" "cuMemPoolDestroy\0" "cuDeviceSetMemPool\0"
    "cuDeviceGetMemPool\0" "cuMemAllocFromPoolAsync\0" "cuMemAllocFromPoolAsync_ptsz\0"
    "cuMemPoolExportToShareableHandle\0" "cuMemPoolImportFromShareableHandle\0" "cuMemPoolExportPointer\0"
    "cuMemPoolImportPointer\0" "cuMemPoolGetAccess\0" "cuGraphAddExternalSemaphoresSignalNode\0"
    "cuGraphExternalSemaphoresSignalNodeGetParams\0" "cuGraphExternalSemaphoresSignalNodeSetParams\0"
    "cuGraphAddExternalSemaphoresWaitNode\0" "cuGraphExternalSemaphoresWaitNodeGetParams\0"
    "cuGraphExternalSemaphoresWaitNodeSetParams\0" "cuGraphExecExternalSemaphoresSignalNodeSetParams\0"
    "cuGraphExecExternalSemaphoresWaitNodeSetParams\0" "cuGetProcAddress\0" "cuFlushGPUDirectRDMAWrites\0"
    "cuGraphDebugDotPrint\0" "cuStreamUpdateCaptureDependencies\0"
    "cuStreamUpdateCaptureDependencies_ptsz\0" "cuUserObjectCreate\0" "cuUserObjectRetain\0"
    "cuUserObjectRelease\0" "cuGraphRetainUserObject\0" "cuGraphReleaseUserObject\0"
    "cuGraphAddMemAllocNode\0" "cuGraphAddMemFreeNode\0" "cuDeviceGraphMemTrim\0"
    "cuDeviceGetGraphMemAttribute\0" "cuDeviceSetGraphMemAttribute\0" "cuGraphInstantiateWithFlags\0"
    "cuDeviceGetExecAffinitySupport\0" "cuCtxGetExecAffinity\0" "cuGraphMemAllocNodeGetParams\0"
    "cuGraphMemFreeNodeGetParams\0" "cuGraphNodeSetEnabled\0" "cuGraphNodeGetEnabled\0" "cuLaunchKernelEx\0"
    "cuLaunchKernelEx_ptsz\0" "cuArrayGetMemoryRequirements\0" "cuMipmappedArrayGetMemoryRequirements\0"
    "cuGraphInstantiateWithParams\0" "cuGraphInstantiateWithParams_ptsz\0" "cuGraphExecGetFlags\0"
    "cuGraphAddBatchMemOpNode\0" "cuGraphBatchMemOpNodeGetParams\0" "cuGraphBatchMemOpNodeSetParams\0"
    "cuGraphExecBatchMemOpNodeSetParams\0" "cuModuleGetLoadingMode\0" "cuMemGetHandleForAddressRange\0"
    "cuOccupancyMaxPotentialClusterSize\0" "cuOccupancyMaxActiveClusters\0" "cuLibraryLoadData\0"
    "cuLibraryLoadFromFile\0" "cuLibraryUnload\0" "cuLibraryGetKernel\0" "cuLibraryGetModule\0"
    "cuKernelGetFunction\0" "cuLibraryGetGlobal\0" "cuLibraryGetManaged\0" "cuKernelGetAttribute\0"
    "cuKernelSetAttribute\0" "cuKernelSetCacheConfig\0" "cuStreamGetId\0" "cuStreamGetId_ptsz\0"
    "cuCtxGetId\0" "cuTensorMapEncodeTiled\0" "cuTensorMapEncodeIm2col\0" "cuTensorMapReplaceAddress\0"
    "cuLibraryGetUnifiedFunction\0" "cuCoredumpGetAttribute\0" "cuCoredumpGetAttributeGlobal\0"
    "cuCoredumpSetAttribute\0" "cuCoredumpSetAttributeGlobal\0" "cuCtxSetFlags\0" "cuMulticastCreate\0"
    "cuMulticastAddDevice\0" "cuMulticastBindMem\0" "cuMulticastBindAddr\0" "cuMulticastUnbind\0"
    "cuMulticastGetGranularity\0" "cuGraphAddNode\0" "cuGraphNodeSetParams\0" "cuGraphExecNodeSetParams\0"
    "cuFuncGetName\0" "cuKernelGetName\0" "cuStreamBeginCaptureToGraph\0"
    "cuStreamBeginCaptureToGraph_ptsz\0" "cuGraphConditionalHandleCreate\0" "cuFuncGetParamInfo\0"
    "cuKernelGetParamInfo\0" "cuDeviceRegisterAsyncNotification\0" "cuDeviceUnregisterAsyncNotification\0"
    "cuModuleGetFunctionCount\0" "cuModuleEnumerateFunctions\0" "cuLibraryGetKernelCount\0"
    "cuLibraryEnumerateKernels\0" "cuFuncIsLoaded\0" "cuFuncLoad\0" "cuGreenCtxCreate\0"
    "cuGreenCtxDestroy\0" "cuDeviceGetDevResource\0" "cuCtxGetDevResource\0" "cuGreenCtxGetDevResource\0"
    "cuDevResourceGenerateDesc\0" "cuGreenCtxRecordEvent\0" "cuGreenCtxWaitEvent\0"
    "cuDevSmResourceSplitByCount\0" "cuStreamGetGreenCtx\0" "cuCtxFromGreenCtx\0" "cuKernelGetLibrary\0"
    "cuCtxRecordEvent\0" "cuCtxWaitEvent\0" "cuGreenCtxStreamCreate\0" "cuMemBatchDecompressAsync\0"
    "cuMemBatchDecompressAsync_ptsz\0" "cuLogsRegisterCallback\0" "cuLogsUnregisterCallback\0"
    "cuLogsCurrent\0" "cuLogsDumpToFile\0" "cuLogsDumpToMemory\0" "cuCheckpointProcessGetRestoreThreadId\0"
    "cuCheckpointProcessGetState\0" "cuCheckpointProcessLock\0" "cuCheckpointProcessCheckpoint\0"
    "cuCheckpointProcessRestore\0" "cuCheckpointProcessUnlock\0" "cuStreamGetDevice\0"
    "cuStreamGetDevice_ptsz\0" "cuMemcpyBatchAsync\0" "cuMemcpyBatchAsync_ptsz\0" "cuMemcpy3DBatchAsync\0"
    "cuMemcpy3DBatchAsync_ptsz\0" "cuTensorMapEncodeIm2colWide\0" "cuGreenCtxGetId\0"
    "cuStreamBeginCaptureToCig\0" "cuMemPrefetchBatchAsync\0" "cuMemPrefetchBatchAsync_ptsz\0"
    "cuSemaphoreCreate\0" "cuSemaphoreExport\0" "cuSemaphoreDestroy\0" "cuMemDiscardBatchAsync\0"
    "cuMemDiscardBatchAsync_ptsz\0" "cuMemDiscardAndPrefetchBatchAsync\0"
    "cuMemDiscardAndPrefetchBatchAsync_ptsz\0" "cuMultiKernelCooperativeDomainCreate\0"
    "cuMultiKernelCooperativeDomainDestroy\0" "cuMemGetDefaultMemPool\0" "cuMemGetMemPool\0"
    "cuMemSetMemPool\0" "cuDeviceGetP2PAtomicCapabilities\0" "cuDeviceGetHostAtomicCapabilities\0"
    "cuDriverGetGpuCodeIsaVersion\0" "cuStreamGetDevResource\0" "cuStreamGetDevResource_ptsz\0"
    "cuGraphNodeGetContainingGraph\0" "cuGraphNodeGetLocalId\0" "cuGraphNodeGetToolsId\0" "cuGraphGetId\0"
    "cuGraphExecGetId\0" "cuStreamBeginCaptureToCig_ptsz\0" "cuStreamEndCaptureToCig\0"
    "cuStreamEndCaptureToCig_ptsz\0" "cuGraphCreateWithArguments\0" "cuGraphNodeAddRelocation\0"
    "cuGraphLaunchWithArguments\0" "cuDevSmResourceSplit\0" "cuSubgridScheduleCreate\0"
    "cuSubgridWorkerGridCreate\0" "cuSubgridWorksetCreate\0" "cuSubgridCreate\0"
    "cuSubgridScheduleFinalize\0" "cuSubgridScheduleLaunch\0" "cuSubgridScheduleLaunch_ptsz\0"
    "cuSubgridScheduleDestroy\0" "cuFuncGetDeviceCodeInfo\0" "cuKernelGetDeviceCodeInfo\0"
    "cuFuncGetParamCount\0" "cuKernelGetParamCount\0" "cuMemcpyWithAttributesAsync\0"
    "cuMemcpyWithAttributesAsync_ptsz\0" "cuMemcpy3DWithAttributesAsync\0"
    "cuMemcpy3DWithAttributesAsync_ptsz\0" "cuGraphNodeGetParams\0" "cuCoredumpRegisterStartCallback\0"
    "cuCoredumpRegisterCompleteCallback\0" "cuCoredumpDeregisterStartCallback\0"
    "cuCoredumpDeregisterCompleteCallback\0" "cuStreamBeginRecaptureToGraph\0"
    "cuStreamBeginRecaptureToGraph_ptsz\0" "cuLogicalEndpointIdReserve\0" "cuLogicalEndpointIdRelease\0"
    "cuLogicalEndpointCreate\0" "cuLogicalEndpointAddDevice\0" "cuLogicalEndpointDestroy\0"
    "cuLogicalEndpointBindAddr\0" "cuLogicalEndpointBindMem\0" "cuLogicalEndpointUnbind\0"
    "cuLogicalEndpointExport\0" "cuLogicalEndpointImport\0" "cuLogicalEndpointGetLimits\0"
    "cuLogicalEndpointQuery\0" "cuMemGetLocationInfo\0" "cuCheckpointOperationComplete\0"
    "cuDeviceGetFabricClusterUuid\0" "cuDeviceGetCliqueCount\0" "cuDeviceGetCliqueInfo\0";

const struct attr_key call_param_keys[] = {
    ATTR_KEY("cuda.arg.active"), /* 0 */
    ATTR_KEY("cuda.arg.addr"), /* 1 */
    ATTR_KEY("cuda.arg.address_mode"), /* 2 */
    ATTR_KEY("cuda.arg.advice"), /* 3 */
    ATTR_KEY("cuda.arg.alignment"), /* 4 */
    ATTR_KEY("cuda.arg.allocation_type"), /* 5 */
    ATTR_KEY("cuda.arg.array"), /* 6 */
    ATTR_KEY("cuda.arg.array_index"), /* 7 */
    ATTR_KEY("cuda.arg.attribute"), /* 8 */
    ATTR_KEY("cuda.arg.base"), /* 9 */
    ATTR_KEY("cuda.arg.base_le_id"), /* 10 */
    ATTR_KEY("cuda.arg.bias"), /* 11 */
    ATTR_KEY("cuda.arg.bind_alignment"), /* 12 */
    ATTR_KEY("cuda.arg.block"), /* 13 */
    ATTR_KEY("cuda.arg.block_size"), /* 14 */
    ATTR_KEY("cuda.arg.block_size_limit"), /* 15 */
    ATTR_KEY("cuda.arg.block_size_to_dynamic_s_mem_size"), /* 16 */
    ATTR_KEY("cuda.arg.buffer"), /* 17 */
    ATTR_KEY("cuda.arg.byte_offset"), /* 18 */
    ATTR_KEY("cuda.arg.bytes"), /* 19 */
    ATTR_KEY("cuda.arg.cache_config"), /* 20 */
    ATTR_KEY("cuda.arg.callback"), /* 21 */
    ATTR_KEY("cuda.arg.can_access_peer"), /* 22 */
    ATTR_KEY("cuda.arg.capture_status"), /* 23 */
    ATTR_KEY("cuda.arg.channel.kind"), /* 24 */
    ATTR_KEY("cuda.arg.channel.w"), /* 25 */
    ATTR_KEY("cuda.arg.channel.x"), /* 26 */
    ATTR_KEY("cuda.arg.channel.y"), /* 27 */
    ATTR_KEY("cuda.arg.channel.z"), /* 28 */
    ATTR_KEY("cuda.arg.channels"), /* 29 */
    ATTR_KEY("cuda.arg.channels_per_pixel"), /* 30 */
    ATTR_KEY("cuda.arg.child_graph"), /* 31 */
    ATTR_KEY("cuda.arg.clone"), /* 32 */
    ATTR_KEY("cuda.arg.cloned_graph"), /* 33 */
    ATTR_KEY("cuda.arg.cluster_size"), /* 34 */
    ATTR_KEY("cuda.arg.code"), /* 35 */
    ATTR_KEY("cuda.arg.config"), /* 36 */
    ATTR_KEY("cuda.arg.config_file"), /* 37 */
    ATTR_KEY("cuda.arg.context"), /* 38 */
    ATTR_KEY("cuda.arg.context_id"), /* 39 */
    ATTR_KEY("cuda.arg.count"), /* 40 */
    ATTR_KEY("cuda.arg.cubin"), /* 41 */
    ATTR_KEY("cuda.arg.cuda_version"), /* 42 */
    ATTR_KEY("cuda.arg.d"), /* 43 */
    ATTR_KEY("cuda.arg.data_size"), /* 44 */
    ATTR_KEY("cuda.arg.default_launch_value"), /* 45 */
    ATTR_KEY("cuda.arg.depth"), /* 46 */
    ATTR_KEY("cuda.arg.desc"), /* 47 */
    ATTR_KEY("cuda.arg.destroy"), /* 48 */
    ATTR_KEY("cuda.arg.device"), /* 49 */
    ATTR_KEY("cuda.arg.device_flags"), /* 50 */
    ATTR_KEY("cuda.arg.device_node_mask"), /* 51 */
    ATTR_KEY("cuda.arg.device_ptr"), /* 52 */
    ATTR_KEY("cuda.arg.dim"), /* 53 */
    ATTR_KEY("cuda.arg.driver_status"), /* 54 */
    ATTR_KEY("cuda.arg.driver_version"), /* 55 */
    ATTR_KEY("cuda.arg.dst"), /* 56 */
    ATTR_KEY("cuda.arg.dst_array"), /* 57 */
    ATTR_KEY("cuda.arg.dst_context"), /* 58 */
    ATTR_KEY("cuda.arg.dst_device"), /* 59 */
    ATTR_KEY("cuda.arg.dst_host"), /* 60 */
    ATTR_KEY("cuda.arg.dst_location.id"), /* 61 */
    ATTR_KEY("cuda.arg.dst_location.type"), /* 62 */
    ATTR_KEY("cuda.arg.dst_lod"), /* 63 */
    ATTR_KEY("cuda.arg.dst_offset"), /* 64 */
    ATTR_KEY("cuda.arg.dst_pitch"), /* 65 */
    ATTR_KEY("cuda.arg.dst_stream"), /* 66 */
    ATTR_KEY("cuda.arg.dst_type"), /* 67 */
    ATTR_KEY("cuda.arg.dst_x"), /* 68 */
    ATTR_KEY("cuda.arg.dst_y"), /* 69 */
    ATTR_KEY("cuda.arg.dst_z"), /* 70 */
    ATTR_KEY("cuda.arg.element_bytes"), /* 71 */
    ATTR_KEY("cuda.arg.element_size_bytes"), /* 72 */
    ATTR_KEY("cuda.arg.end"), /* 73 */
    ATTR_KEY("cuda.arg.entry_func_addr"), /* 74 */
    ATTR_KEY("cuda.arg.error"), /* 75 */
    ATTR_KEY("cuda.arg.error_node"), /* 76 */
    ATTR_KEY("cuda.arg.event"), /* 77 */
    ATTR_KEY("cuda.arg.export_table"), /* 78 */
    ATTR_KEY("cuda.arg.ext_mem"), /* 79 */
    ATTR_KEY("cuda.arg.ext_sem"), /* 80 */
    ATTR_KEY("cuda.arg.fat_cubin"), /* 81 */
    ATTR_KEY("cuda.arg.file"), /* 82 */
    ATTR_KEY("cuda.arg.filter_mode"), /* 83 */
    ATTR_KEY("cuda.arg.flags"), /* 84 */
    ATTR_KEY("cuda.arg.fmt"), /* 85 */
    ATTR_KEY("cuda.arg.format"), /* 86 */
    ATTR_KEY("cuda.arg.free"), /* 87 */
    ATTR_KEY("cuda.arg.function"), /* 88 */
    ATTR_KEY("cuda.arg.global_address"), /* 89 */
    ATTR_KEY("cuda.arg.granularity"), /* 90 */
    ATTR_KEY("cuda.arg.graph"), /* 91 */
    ATTR_KEY("cuda.arg.graph_exec"), /* 92 */
    ATTR_KEY("cuda.arg.graph_id"), /* 93 */
    ATTR_KEY("cuda.arg.greatest_priority"), /* 94 */
    ATTR_KEY("cuda.arg.green_context"), /* 95 */
    ATTR_KEY("cuda.arg.green_ctx_id"), /* 96 */
    ATTR_KEY("cuda.arg.grid"), /* 97 */
    ATTR_KEY("cuda.arg.grid_height"), /* 98 */
    ATTR_KEY("cuda.arg.grid_width"), /* 99 */
    ATTR_KEY("cuda.arg.h_offset"), /* 100 */
    ATTR_KEY("cuda.arg.h_offset_dst"), /* 101 */
    ATTR_KEY("cuda.arg.h_offset_src"), /* 102 */
    ATTR_KEY("cuda.arg.handle"), /* 103 */
    ATTR_KEY("cuda.arg.handle_type"), /* 104 */
    ATTR_KEY("cuda.arg.handle_types"), /* 105 */
    ATTR_KEY("cuda.arg.height"), /* 106 */
    ATTR_KEY("cuda.arg.id"), /* 107 */
    ATTR_KEY("cuda.arg.image"), /* 108 */
    ATTR_KEY("cuda.arg.initial_refcount"), /* 109 */
    ATTR_KEY("cuda.arg.interleave"), /* 110 */
    ATTR_KEY("cuda.arg.is_enabled"), /* 111 */
    ATTR_KEY("cuda.arg.iterator"), /* 112 */
    ATTR_KEY("cuda.arg.kernel"), /* 113 */
    ATTR_KEY("cuda.arg.kind"), /* 114 */
    ATTR_KEY("cuda.arg.l2_promotion"), /* 115 */
    ATTR_KEY("cuda.arg.le_id"), /* 116 */
    ATTR_KEY("cuda.arg.least_priority"), /* 117 */
    ATTR_KEY("cuda.arg.len"), /* 118 */
    ATTR_KEY("cuda.arg.length"), /* 119 */
    ATTR_KEY("cuda.arg.level"), /* 120 */
    ATTR_KEY("cuda.arg.level_array"), /* 121 */
    ATTR_KEY("cuda.arg.library"), /* 122 */
    ATTR_KEY("cuda.arg.limit"), /* 123 */
    ATTR_KEY("cuda.arg.location.id"), /* 124 */
    ATTR_KEY("cuda.arg.location.type"), /* 125 */
    ATTR_KEY("cuda.arg.luid"), /* 126 */
    ATTR_KEY("cuda.arg.major"), /* 127 */
    ATTR_KEY("cuda.arg.max_anisotropy"), /* 128 */
    ATTR_KEY("cuda.arg.max_bytes"), /* 129 */
    ATTR_KEY("cuda.arg.max_mipmap_level_clamp"), /* 130 */
    ATTR_KEY("cuda.arg.max_size"), /* 131 */
    ATTR_KEY("cuda.arg.max_width_in_elements"), /* 132 */
    ATTR_KEY("cuda.arg.mc_handle"), /* 133 */
    ATTR_KEY("cuda.arg.mc_offset"), /* 134 */
    ATTR_KEY("cuda.arg.mem_handle"), /* 135 */
    ATTR_KEY("cuda.arg.mem_offset"), /* 136 */
    ATTR_KEY("cuda.arg.memptr"), /* 137 */
    ATTR_KEY("cuda.arg.milliseconds"), /* 138 */
    ATTR_KEY("cuda.arg.min_bytes_to_keep"), /* 139 */
    ATTR_KEY("cuda.arg.min_count"), /* 140 */
    ATTR_KEY("cuda.arg.min_grid_size"), /* 141 */
    ATTR_KEY("cuda.arg.min_mipmap_level_clamp"), /* 142 */
    ATTR_KEY("cuda.arg.minor"), /* 143 */
    ATTR_KEY("cuda.arg.mip_level"), /* 144 */
    ATTR_KEY("cuda.arg.mipmap"), /* 145 */
    ATTR_KEY("cuda.arg.mipmapped_array"), /* 146 */
    ATTR_KEY("cuda.arg.mode"), /* 147 */
    ATTR_KEY("cuda.arg.module"), /* 148 */
    ATTR_KEY("cuda.arg.name"), /* 149 */
    ATTR_KEY("cuda.arg.nb_groups"), /* 150 */
    ATTR_KEY("cuda.arg.nb_resources"), /* 151 */
    ATTR_KEY("cuda.arg.node"), /* 152 */
    ATTR_KEY("cuda.arg.node_id"), /* 153 */
    ATTR_KEY("cuda.arg.num_attributes"), /* 154 */
    ATTR_KEY("cuda.arg.num_attrs"), /* 155 */
    ATTR_KEY("cuda.arg.num_blocks"), /* 156 */
    ATTR_KEY("cuda.arg.num_channels"), /* 157 */
    ATTR_KEY("cuda.arg.num_clusters"), /* 158 */
    ATTR_KEY("cuda.arg.num_dependencies"), /* 159 */
    ATTR_KEY("cuda.arg.num_dependent_nodes"), /* 160 */
    ATTR_KEY("cuda.arg.num_devices"), /* 161 */
    ATTR_KEY("cuda.arg.num_edges"), /* 162 */
    ATTR_KEY("cuda.arg.num_ext_sems"), /* 163 */
    ATTR_KEY("cuda.arg.num_functions"), /* 164 */
    ATTR_KEY("cuda.arg.num_jit_options"), /* 165 */
    ATTR_KEY("cuda.arg.num_kernels"), /* 166 */
    ATTR_KEY("cuda.arg.num_levels"), /* 167 */
    ATTR_KEY("cuda.arg.num_library_options"), /* 168 */
    ATTR_KEY("cuda.arg.num_mipmap_levels"), /* 169 */
    ATTR_KEY("cuda.arg.num_nodes"), /* 170 */
    ATTR_KEY("cuda.arg.num_ops"), /* 171 */
    ATTR_KEY("cuda.arg.num_options"), /* 172 */
    ATTR_KEY("cuda.arg.num_packed_components"), /* 173 */
    ATTR_KEY("cuda.arg.num_params"), /* 174 */
    ATTR_KEY("cuda.arg.num_prefetch_locs"), /* 175 */
    ATTR_KEY("cuda.arg.num_root_nodes"), /* 176 */
    ATTR_KEY("cuda.arg.nv_sci_sync_attr_list"), /* 177 */
    ATTR_KEY("cuda.arg.object"), /* 178 */
    ATTR_KEY("cuda.arg.offset"), /* 179 */
    ATTR_KEY("cuda.arg.oob_fill"), /* 180 */
    ATTR_KEY("cuda.arg.option"), /* 181 */
    ATTR_KEY("cuda.arg.ordinal"), /* 182 */
    ATTR_KEY("cuda.arg.original_graph"), /* 183 */
    ATTR_KEY("cuda.arg.original_node"), /* 184 */
    ATTR_KEY("cuda.arg.os_handle"), /* 185 */
    ATTR_KEY("cuda.arg.output_file"), /* 186 */
    ATTR_KEY("cuda.arg.output_mode"), /* 187 */
    ATTR_KEY("cuda.arg.param_count"), /* 188 */
    ATTR_KEY("cuda.arg.param_index"), /* 189 */
    ATTR_KEY("cuda.arg.param_offset"), /* 190 */
    ATTR_KEY("cuda.arg.param_size"), /* 191 */
    ATTR_KEY("cuda.arg.pci_bus_id"), /* 192 */
    ATTR_KEY("cuda.arg.peer_context"), /* 193 */
    ATTR_KEY("cuda.arg.peer_dev"), /* 194 */
    ATTR_KEY("cuda.arg.peer_device"), /* 195 */
    ATTR_KEY("cuda.arg.pid"), /* 196 */
    ATTR_KEY("cuda.arg.pitch"), /* 197 */
    ATTR_KEY("cuda.arg.pixel_box_lower_corner_width"), /* 198 */
    ATTR_KEY("cuda.arg.pixel_box_upper_corner_width"), /* 199 */
    ATTR_KEY("cuda.arg.pixels_per_column"), /* 200 */
    ATTR_KEY("cuda.arg.plane_array"), /* 201 */
    ATTR_KEY("cuda.arg.plane_idx"), /* 202 */
    ATTR_KEY("cuda.arg.pool"), /* 203 */
    ATTR_KEY("cuda.arg.priority"), /* 204 */
    ATTR_KEY("cuda.arg.ptr"), /* 205 */
    ATTR_KEY("cuda.arg.query_status"), /* 206 */
    ATTR_KEY("cuda.arg.resource"), /* 207 */
    ATTR_KEY("cuda.arg.runtime_version"), /* 208 */
    ATTR_KEY("cuda.arg.sampling_granularity"), /* 209 */
    ATTR_KEY("cuda.arg.scope"), /* 210 */
    ATTR_KEY("cuda.arg.sh_handle_type"), /* 211 */
    ATTR_KEY("cuda.arg.shareable_handle"), /* 212 */
    ATTR_KEY("cuda.arg.shared_memory"), /* 213 */
    ATTR_KEY("cuda.arg.size"), /* 214 */
    ATTR_KEY("cuda.arg.src"), /* 215 */
    ATTR_KEY("cuda.arg.src_access_order"), /* 216 */
    ATTR_KEY("cuda.arg.src_array"), /* 217 */
    ATTR_KEY("cuda.arg.src_context"), /* 218 */
    ATTR_KEY("cuda.arg.src_device"), /* 219 */
    ATTR_KEY("cuda.arg.src_host"), /* 220 */
    ATTR_KEY("cuda.arg.src_location.id"), /* 221 */
    ATTR_KEY("cuda.arg.src_location.type"), /* 222 */
    ATTR_KEY("cuda.arg.src_lod"), /* 223 */
    ATTR_KEY("cuda.arg.src_offset"), /* 224 */
    ATTR_KEY("cuda.arg.src_pitch"), /* 225 */
    ATTR_KEY("cuda.arg.src_stream"), /* 226 */
    ATTR_KEY("cuda.arg.src_type"), /* 227 */
    ATTR_KEY("cuda.arg.src_x"), /* 228 */
    ATTR_KEY("cuda.arg.src_y"), /* 229 */
    ATTR_KEY("cuda.arg.src_z"), /* 230 */
    ATTR_KEY("cuda.arg.start"), /* 231 */
    ATTR_KEY("cuda.arg.state"), /* 232 */
    ATTR_KEY("cuda.arg.stream"), /* 233 */
    ATTR_KEY("cuda.arg.stream_id"), /* 234 */
    ATTR_KEY("cuda.arg.summary_granularity"), /* 235 */
    ATTR_KEY("cuda.arg.surf_object"), /* 236 */
    ATTR_KEY("cuda.arg.surf_ref"), /* 237 */
    ATTR_KEY("cuda.arg.surfref"), /* 238 */
    ATTR_KEY("cuda.arg.swizzle"), /* 239 */
    ATTR_KEY("cuda.arg.symbol"), /* 240 */
    ATTR_KEY("cuda.arg.symbol_ptr"), /* 241 */
    ATTR_KEY("cuda.arg.symbol_status"), /* 242 */
    ATTR_KEY("cuda.arg.sync_mode"), /* 243 */
    ATTR_KEY("cuda.arg.target"), /* 244 */
    ATTR_KEY("cuda.arg.tensor_data_type"), /* 245 */
    ATTR_KEY("cuda.arg.tensor_rank"), /* 246 */
    ATTR_KEY("cuda.arg.tex_object"), /* 247 */
    ATTR_KEY("cuda.arg.tex_ref"), /* 248 */
    ATTR_KEY("cuda.arg.texref"), /* 249 */
    ATTR_KEY("cuda.arg.text"), /* 250 */
    ATTR_KEY("cuda.arg.texunit"), /* 251 */
    ATTR_KEY("cuda.arg.tid"), /* 252 */
    ATTR_KEY("cuda.arg.tools_node_id"), /* 253 */
    ATTR_KEY("cuda.arg.total"), /* 254 */
    ATTR_KEY("cuda.arg.type"), /* 255 */
    ATTR_KEY("cuda.arg.update_result"), /* 256 */
    ATTR_KEY("cuda.arg.upload_stream"), /* 257 */
    ATTR_KEY("cuda.arg.usage"), /* 258 */
    ATTR_KEY("cuda.arg.user_data"), /* 259 */
    ATTR_KEY("cuda.arg.val"), /* 260 */
    ATTR_KEY("cuda.arg.value"), /* 261 */
    ATTR_KEY("cuda.arg.version"), /* 262 */
    ATTR_KEY("cuda.arg.w"), /* 263 */
    ATTR_KEY("cuda.arg.w_offset"), /* 264 */
    ATTR_KEY("cuda.arg.w_offset_dst"), /* 265 */
    ATTR_KEY("cuda.arg.w_offset_src"), /* 266 */
    ATTR_KEY("cuda.arg.width"), /* 267 */
    ATTR_KEY("cuda.arg.x"), /* 268 */
    ATTR_KEY("cuda.arg.xsize"), /* 269 */
    ATTR_KEY("cuda.arg.y"), /* 270 */
    ATTR_KEY("cuda.arg.ysize"), /* 271 */
    ATTR_KEY("cuda.arg.z"), /* 272 */
};

static const struct enum_name call_enum_names_1[] = { /* CUaddress_mode_enum */
    {0, "Wrap"}, {1, "Clamp"}, {2, "Mirror"}, {3, "Border"},
};

static const struct enum_name call_enum_names_2[] = { /* CUarray_format_enum */
    {1, "UnsignedInt8"}, {2, "UnsignedInt16"}, {3, "UnsignedInt32"}, {8, "SignedInt8"}, {9, "SignedInt16"},
    {10, "SignedInt32"}, {16, "Half"}, {32, "Float"}, {80, "UnormInt1010102"}, {81, "Uint8Packed422"},
    {82, "Uint8Packed444"}, {83, "Uint8Semiplanar420"}, {84, "Uint16Semiplanar420"},
    {85, "Uint8Semiplanar422"}, {86, "Uint16Semiplanar422"}, {87, "Uint8Semiplanar444"},
    {88, "Uint16Semiplanar444"}, {89, "Uint8Planar420"}, {90, "Uint16Planar420"}, {91, "Uint8Planar422"},
    {92, "Uint16Planar422"}, {93, "Uint8Planar444"}, {94, "Uint16Planar444"}, {145, "Bc1Unorm"},
    {146, "Bc1UnormSrgb"}, {147, "Bc2Unorm"}, {148, "Bc2UnormSrgb"}, {149, "Bc3Unorm"},
    {150, "Bc3UnormSrgb"}, {151, "Bc4Unorm"}, {152, "Bc4Snorm"}, {153, "Bc5Unorm"}, {154, "Bc5Snorm"},
    {155, "Bc6hUf16"}, {156, "Bc6hSf16"}, {157, "Bc7Unorm"}, {158, "Bc7UnormSrgb"}, {159, "P010"},
    {161, "P016"}, {162, "Nv16"}, {163, "P210"}, {164, "P216"}, {165, "Yuy2"}, {166, "Y210"}, {167, "Y216"},
    {168, "Ayuv"}, {169, "Y410"}, {176, "Nv12"}, {177, "Y416"}, {178, "Y444Planar8"}, {179, "Y444Planar10"},
    {180, "Yuv4448BitSemiPlanar"}, {181, "Yuv44416BitSemiPlanar"}, {192, "UnormInt8x1"},
    {193, "UnormInt8x2"}, {194, "UnormInt8x4"}, {195, "UnormInt16x1"}, {196, "UnormInt16x2"},
    {197, "UnormInt16x4"}, {198, "SnormInt8x1"}, {199, "SnormInt8x2"}, {200, "SnormInt8x4"},
    {201, "SnormInt16x1"}, {202, "SnormInt16x2"}, {203, "SnormInt16x4"},
};

static const struct enum_name call_enum_names_3[] = { /* CUcoredumpSettings_enum */
    {1, "EnableOnException"}, {2, "TriggerHost"}, {3, "Lightweight"}, {4, "EnableUserTrigger"}, {5, "File"},
    {6, "Pipe"}, {7, "GenerationFlags"},
};

static const struct enum_name call_enum_names_4[] = { /* CUdevResourceType */
    {0, "Invalid"}, {1, "Sm"}, {1000, "WorkqueueConfig"}, {10000, "Workqueue"},
};

static const struct enum_name call_enum_names_5[] = { /* CUdevice_P2PAttribute_enum */
    {1, "PerformanceRank"}, {2, "AccessSupported"}, {3, "NativeAtomicSupported"},
    {4, "AccessAccessSupported"}, {5, "OnlyPartialNativeAtomicSupported"},
};

static const struct enum_name call_enum_names_6[] = { /* CUdevice_attribute_enum */
    {1, "MaxThreadsPerBlock"}, {2, "MaxBlockDimX"}, {3, "MaxBlockDimY"}, {4, "MaxBlockDimZ"},
    {5, "MaxGridDimX"}, {6, "MaxGridDimY"}, {7, "MaxGridDimZ"}, {8, "MaxSharedMemoryPerBlock"},
    {9, "TotalConstantMemory"}, {10, "WarpSize"}, {11, "MaxPitch"}, {12, "MaxRegistersPerBlock"},
    {13, "ClockRate"}, {14, "TextureAlignment"}, {15, "GpuOverlap"}, {16, "MultiprocessorCount"},
    {17, "KernelExecTimeout"}, {18, "Integrated"}, {19, "CanMapHostMemory"}, {20, "ComputeMode"},
    {21, "MaximumTexture1dWidth"}, {22, "MaximumTexture2dWidth"}, {23, "MaximumTexture2dHeight"},
    {24, "MaximumTexture3dWidth"}, {25, "MaximumTexture3dHeight"}, {26, "MaximumTexture3dDepth"},
    {27, "MaximumTexture2dLayeredWidth"}, {28, "MaximumTexture2dLayeredHeight"},
    {29, "MaximumTexture2dLayeredLayers"}, {30, "SurfaceAlignment"}, {31, "ConcurrentKernels"},
    {32, "EccEnabled"}, {33, "PciBusId"}, {34, "PciDeviceId"}, {35, "TccDriver"}, {36, "MemoryClockRate"},
    {37, "GlobalMemoryBusWidth"}, {38, "L2CacheSize"}, {39, "MaxThreadsPerMultiprocessor"},
    {40, "AsyncEngineCount"}, {41, "UnifiedAddressing"}, {42, "MaximumTexture1dLayeredWidth"},
    {43, "MaximumTexture1dLayeredLayers"}, {44, "CanTex2dGather"}, {45, "MaximumTexture2dGatherWidth"},
    {46, "MaximumTexture2dGatherHeight"}, {47, "MaximumTexture3dWidthAlternate"},
    {48, "MaximumTexture3dHeightAlternate"}, {49, "MaximumTexture3dDepthAlternate"}, {50, "PciDomainId"},
    {51, "TexturePitchAlignment"}, {52, "MaximumTexturecubemapWidth"},
    {53, "MaximumTexturecubemapLayeredWidth"}, {54, "MaximumTexturecubemapLayeredLayers"},
    {55, "MaximumSurface1dWidth"}, {56, "MaximumSurface2dWidth"}, {57, "MaximumSurface2dHeight"},
    {58, "MaximumSurface3dWidth"}, {59, "MaximumSurface3dHeight"}, {60, "MaximumSurface3dDepth"},
    {61, "MaximumSurface1dLayeredWidth"}, {62, "MaximumSurface1dLayeredLayers"},
    {63, "MaximumSurface2dLayeredWidth"}, {64, "MaximumSurface2dLayeredHeight"},
    {65, "MaximumSurface2dLayeredLayers"}, {66, "MaximumSurfacecubemapWidth"},
    {67, "MaximumSurfacecubemapLayeredWidth"}, {68, "MaximumSurfacecubemapLayeredLayers"},
    {69, "MaximumTexture1dLinearWidth"}, {70, "MaximumTexture2dLinearWidth"},
    {71, "MaximumTexture2dLinearHeight"}, {72, "MaximumTexture2dLinearPitch"},
    {73, "MaximumTexture2dMipmappedWidth"}, {74, "MaximumTexture2dMipmappedHeight"},
    {75, "ComputeCapabilityMajor"}, {76, "ComputeCapabilityMinor"}, {77, "MaximumTexture1dMipmappedWidth"},
    {78, "StreamPrioritiesSupported"}, {79, "GlobalL1CacheSupported"}, {80, "LocalL1CacheSupported"},
    {81, "MaxSharedMemoryPerMultiprocessor"}, {82, "MaxRegistersPerMultiprocessor"}, {83, "ManagedMemory"},
    {84, "MultiGpuBoard"}, {85, "MultiGpuBoardGroupId"}, {86, "HostNativeAtomicSupported"},
    {87, "SingleToDoublePrecisionPerfRatio"}, {88, "PageableMemoryAccess"}, {89, "ConcurrentManagedAccess"},
    {90, "ComputePreemptionSupported"}, {91, "CanUseHostPointerForRegisteredMem"},
    {92, "CanUseStreamMemOpsV1"}, {93, "CanUse64BitStreamMemOpsV1"}, {94, "CanUseStreamWaitValueNorV1"},
    {95, "CooperativeLaunch"}, {96, "CooperativeMultiDeviceLaunch"}, {97, "MaxSharedMemoryPerBlockOptin"},
    {98, "CanFlushRemoteWrites"}, {99, "HostRegisterSupported"},
    {100, "PageableMemoryAccessUsesHostPageTables"}, {101, "DirectManagedMemAccessFromHost"},
    {102, "VirtualAddressManagementSupported"}, {103, "HandleTypePosixFileDescriptorSupported"},
    {104, "HandleTypeWin32HandleSupported"}, {105, "HandleTypeWin32KmtHandleSupported"},
    {106, "MaxBlocksPerMultiprocessor"}, {107, "GenericCompressionSupported"},
    {108, "MaxPersistingL2CacheSize"}, {109, "MaxAccessPolicyWindowSize"},
    {110, "GpuDirectRdmaWithCudaVmmSupported"}, {111, "ReservedSharedMemoryPerBlock"},
    {112, "SparseCudaArraySupported"}, {113, "ReadOnlyHostRegisterSupported"},
    {114, "TimelineSemaphoreInteropSupported"}, {115, "MemoryPoolsSupported"},
    {116, "GpuDirectRdmaSupported"}, {117, "GpuDirectRdmaFlushWritesOptions"},
    {118, "GpuDirectRdmaWritesOrdering"}, {119, "MempoolSupportedHandleTypes"}, {120, "ClusterLaunch"},
    {121, "DeferredMappingCudaArraySupported"}, {122, "CanUse64BitStreamMemOps"},
    {123, "CanUseStreamWaitValueNor"}, {124, "DmaBufSupported"}, {125, "IpcEventSupported"},
    {126, "MemSyncDomainCount"}, {127, "TensorMapAccessSupported"}, {128, "HandleTypeFabricSupported"},
    {129, "UnifiedFunctionPointers"}, {130, "NumaConfig"}, {131, "NumaId"}, {132, "MulticastSupported"},
    {133, "MpsEnabled"}, {134, "HostNumaId"}, {135, "D3d12CigSupported"},
    {136, "MemDecompressAlgorithmMask"}, {137, "MemDecompressMaximumLength"}, {138, "VulkanCigSupported"},
    {139, "GpuPciDeviceId"}, {140, "GpuPciSubsystemId"}, {141, "HostNumaVirtualMemoryManagementSupported"},
    {142, "HostNumaMemoryPoolsSupported"}, {143, "HostNumaMultinodeIpcSupported"},
    {144, "HostMemoryPoolsSupported"}, {145, "HostVirtualMemoryManagementSupported"},
    {146, "HostAllocDmaBufSupported"}, {147, "OnlyPartialHostNativeAtomicSupported"},
    {148, "AtomicReductionSupported"}, {149, "LocalityDomainCount"},
    {150, "MaxOversizedSharedMemoryPerBlock"}, {151, "D3d12CigStreamsSupported"},
    {152, "DmaBufMmapSupported"}, {153, "LogicalEndpointUnicastSupported"},
    {154, "LogicalEndpointMulticastSupported"}, {155, "LogicalEndpointCountedOpsSupported"},
    {156, "LogicalEndpointUnicastAccessOnOwnerDeviceSupported"}, {157, "LocalityDomainMultiprocessorCount"},
    {158, "LogicalEndpointSupportedHandleTypes"}, {159, "VulkanCigStreamsSupported"},
    {160, "TensorMapLargeTensorMinSize"}, {161, "GpuDirectRdmaWithLocalizedMemorySupported"},
};

static const struct enum_name call_enum_names_7[] = { /* CUdriverProcAddressQueryResult_enum */
    {0, "Success"}, {1, "SymbolNotFound"}, {2, "VersionNotSufficient"},
};

static const struct enum_name call_enum_names_8[] = { /* CUexecAffinityType_enum */
    {0, "SmCount"},
};

static const struct enum_name call_enum_names_9[] = { /* CUexternalMemoryHandleType_enum */
    {1, "OpaqueFd"}, {2, "OpaqueWin32"}, {3, "OpaqueWin32Kmt"}, {4, "D3d12Heap"}, {5, "D3d12Resource"},
    {6, "D3d11Resource"}, {7, "D3d11ResourceKmt"}, {8, "Nvscibuf"}, {9, "DmabufFd"},
};

static const struct enum_name call_enum_names_10[] = { /* CUexternalSemaphoreHandleType_enum */
    {1, "OpaqueFd"}, {2, "OpaqueWin32"}, {3, "OpaqueWin32Kmt"}, {4, "D3d12Fence"}, {5, "D3d11Fence"},
    {6, "Nvscisync"}, {7, "D3d11KeyedMutex"}, {8, "D3d11KeyedMutexKmt"}, {9, "TimelineSemaphoreFd"},
    {10, "TimelineSemaphoreWin32"},
};

static const struct enum_name call_enum_names_11[] = { /* CUfilter_mode_enum */
    {0, "Point"}, {1, "Linear"},
};

static const struct enum_name call_enum_names_12[] = { /* CUflushGPUDirectRDMAWritesScope_enum */
    {100, "Owner"}, {200, "AllDevices"},
};

static const struct enum_name call_enum_names_13[] = { /* CUflushGPUDirectRDMAWritesTarget_enum */
    {0, "CurrentCtx"},
};

static const struct enum_name call_enum_names_14[] = { /* CUfunc_cache_enum */
    {0, "None"}, {1, "Shared"}, {2, "L1"}, {3, "Equal"},
};

static const struct enum_name call_enum_names_15[] = { /* CUfunctionLoadingState_enum */
    {0, "Unloaded"}, {1, "Loaded"},
};

static const struct enum_name call_enum_names_16[] = { /* CUfunction_attribute_enum */
    {0, "MaxThreadsPerBlock"}, {1, "SharedSizeBytes"}, {2, "ConstSizeBytes"}, {3, "LocalSizeBytes"},
    {5, "PtxVersion"}, {6, "BinaryVersion"}, {7, "CacheModeCa"}, {8, "MaxDynamicSharedSizeBytes"},
    {9, "PreferredSharedMemoryCarveout"}, {10, "ClusterSizeMustBeSet"}, {11, "RequiredClusterWidth"},
    {12, "RequiredClusterHeight"}, {13, "RequiredClusterDepth"}, {14, "NonPortableClusterSizeAllowed"},
    {15, "ClusterSchedulingPolicyPreference"}, {16, "DeviceNodeUpdateSupported"}, {17, "SharedMemoryMode"},
};

static const struct enum_name call_enum_names_17[] = { /* CUgraphExecUpdateResult_enum */
    {0, "Success"}, {1, "Error"}, {2, "ErrorTopologyChanged"}, {3, "ErrorNodeTypeChanged"},
    {4, "ErrorFunctionChanged"}, {5, "ErrorParametersChanged"}, {6, "ErrorNotSupported"},
    {7, "ErrorUnsupportedFunctionChange"}, {8, "ErrorAttributesChanged"},
};

static const struct enum_name call_enum_names_18[] = { /* CUgraphMem_attribute_enum */
    {0, "UsedMemCurrent"}, {1, "UsedMemHigh"}, {2, "ReservedMemCurrent"}, {3, "ReservedMemHigh"},
};

static const struct enum_name call_enum_names_19[] = { /* CUgraphNodeType_enum */
    {0, "Kernel"}, {1, "Memcpy"}, {2, "Memset"}, {3, "Host"}, {4, "Graph"}, {5, "Empty"}, {6, "WaitEvent"},
    {7, "EventRecord"}, {8, "ExtSemasSignal"}, {9, "ExtSemasWait"}, {10, "MemAlloc"}, {11, "MemFree"},
    {12, "BatchMemOp"}, {13, "Conditional"}, {14, "MemcpyBatch"}, {16, "Reserved16"}, {17, "ExternalEngine"},
    {18, "FabricCpyBatch"},
};

static const struct enum_name call_enum_names_20[] = { /* CUjitInputType_enum */
    {0, "InputCubin"}, {1, "InputPtx"}, {2, "InputFatbinary"}, {3, "InputObject"}, {4, "InputLibrary"},
    {5, "InputNvvm"},
};

static const struct enum_name call_enum_names_21[] = { /* CUlaunchAttributeID_enum */
    {0, "Ignore"}, {1, "AccessPolicyWindow"}, {2, "Cooperative"}, {3, "SynchronizationPolicy"},
    {4, "ClusterDimension"}, {5, "ClusterSchedulingPolicyPreference"},
    {6, "ProgrammaticStreamSerialization"}, {7, "ProgrammaticEvent"}, {8, "Priority"},
    {9, "MemSyncDomainMap"}, {10, "MemSyncDomain"}, {11, "PreferredClusterDimension"},
    {12, "LaunchCompletionEvent"}, {13, "DeviceUpdatableKernelNode"}, {14, "PreferredSharedMemoryCarveout"},
    {16, "NvlinkUtilCentricScheduling"}, {17, "PortableClusterSizeMode"}, {18, "SharedMemoryMode"},
};

static const struct enum_name call_enum_names_22[] = { /* CUlimit_enum */
    {0, "StackSize"}, {1, "PrintfFifoSize"}, {2, "MallocHeapSize"}, {3, "DevRuntimeSyncDepth"},
    {4, "DevRuntimePendingLaunchCount"}, {5, "MaxL2FetchGranularity"}, {6, "PersistingL2CacheSize"},
    {7, "ShmemSize"}, {8, "CigEnabled"}, {9, "CigShmemFallbackEnabled"}, {10, "PerBlockMemorySize"},
};

static const struct enum_name call_enum_names_23[] = { /* CUlogicalEndpointIpcHandleType_enum */
    {0, "None"}, {1, "Fabric"},
};

static const struct enum_name call_enum_names_24[] = { /* CUmemAccess_flags_enum */
    {0, "None"}, {1, "Read"}, {3, "Readwrite"},
};

static const struct enum_name call_enum_names_25[] = { /* CUmemAllocationGranularity_flags_enum */
    {0, "Minimum"}, {1, "Recommended"},
};

static const struct enum_name call_enum_names_26[] = { /* CUmemAllocationHandleType_enum */
    {0, "None"}, {1, "PosixFileDescriptor"}, {2, "Win32"}, {4, "Win32Kmt"}, {8, "Fabric"},
};

static const struct enum_name call_enum_names_27[] = { /* CUmemAllocationType_enum */
    {0, "Invalid"}, {1, "Pinned"}, {2, "Managed"},
};

static const struct enum_name call_enum_names_28[] = { /* CUmemLocationType_enum */
    {0, "Invalid"}, {1, "Device"}, {2, "Host"}, {3, "HostNuma"}, {4, "HostNumaCurrent"}, {5, "Invisible"},
    {6, "DeviceLocalityDomain"},
};

static const struct enum_name call_enum_names_29[] = { /* CUmemPool_attribute_enum */
    {1, "ReuseFollowEventDependencies"}, {2, "ReuseAllowOpportunistic"},
    {3, "ReuseAllowInternalDependencies"}, {4, "ReleaseThreshold"}, {5, "ReservedMemCurrent"},
    {6, "ReservedMemHigh"}, {7, "UsedMemCurrent"}, {8, "UsedMemHigh"}, {9, "AllocationType"},
    {10, "ExportHandleTypes"}, {11, "LocationId"}, {12, "LocationType"}, {13, "MaxPoolSize"},
    {14, "HwDecompressEnabled"}, {15, "LocalityDomainId"},
};

static const struct enum_name call_enum_names_30[] = { /* CUmemRangeHandleType_enum */
    {1, "BufFd"},
};

static const struct enum_name call_enum_names_31[] = { /* CUmem_advise_enum */
    {1, "SetReadMostly"}, {2, "UnsetReadMostly"}, {3, "SetPreferredLocation"}, {4, "UnsetPreferredLocation"},
    {5, "SetAccessedBy"}, {6, "UnsetAccessedBy"},
};

static const struct enum_name call_enum_names_32[] = { /* CUmem_range_attribute_enum */
    {1, "ReadMostly"}, {2, "PreferredLocation"}, {3, "AccessedBy"}, {4, "LastPrefetchLocation"},
    {5, "PreferredLocationType"}, {6, "PreferredLocationId"}, {7, "LastPrefetchLocationType"},
    {8, "LastPrefetchLocationId"},
};

static const struct enum_name call_enum_names_33[] = { /* CUmemcpySrcAccessOrder_enum */
    {0, "Invalid"}, {1, "Stream"}, {2, "DuringApiCall"}, {3, "Any"},
};

static const struct enum_name call_enum_names_34[] = { /* CUmemorytype_enum */
    {1, "Host"}, {2, "Device"}, {3, "Array"}, {4, "Unified"},
};

static const struct enum_name call_enum_names_35[] = { /* CUmoduleLoadingMode_enum */
    {1, "EagerLoading"}, {2, "LazyLoading"},
};

static const struct enum_name call_enum_names_36[] = { /* CUmulticastGranularity_flags_enum */
    {0, "Minimum"}, {1, "Recommended"},
};

static const struct enum_name call_enum_names_37[] = { /* CUpointer_attribute_enum */
    {1, "Context"}, {2, "MemoryType"}, {3, "DevicePointer"}, {4, "HostPointer"}, {5, "P2pTokens"},
    {6, "SyncMemops"}, {7, "BufferId"}, {8, "IsManaged"}, {9, "DeviceOrdinal"},
    {10, "IsLegacyCudaIpcCapable"}, {11, "RangeStartAddr"}, {12, "RangeSize"}, {13, "Mapped"},
    {14, "AllowedHandleTypes"}, {15, "IsGpuDirectRdmaCapable"}, {16, "AccessFlags"}, {17, "MempoolHandle"},
    {18, "MappingSize"}, {19, "MappingBaseAddr"}, {20, "MemoryBlockId"}, {21, "IsHwDecompressCapable"},
    {22, "LocalityDomainOrdinal"},
};

static const struct enum_name call_enum_names_38[] = { /* CUprocessState_enum */
    {0, "Running"}, {1, "Locked"}, {2, "Checkpointed"}, {3, "Failed"}, {4, "Checkpointing"},
    {5, "Restoring"},
};

static const struct enum_name call_enum_names_39[] = { /* CUsharedconfig_enum */
    {0, "DefaultBankSize"}, {1, "FourByteBankSize"}, {2, "EightByteBankSize"},
};

static const struct enum_name call_enum_names_40[] = { /* CUstreamCaptureMode_enum */
    {0, "Global"}, {1, "ThreadLocal"}, {2, "Relaxed"},
};

static const struct enum_name call_enum_names_41[] = { /* CUstreamCaptureStatus_enum */
    {0, "None"}, {1, "Active"}, {2, "Invalidated"},
};

static const struct enum_name call_enum_names_42[] = { /* CUtensorMapDataType_enum */
    {0, "Uint8"}, {1, "Uint16"}, {2, "Uint32"}, {3, "Int32"}, {4, "Uint64"}, {5, "Int64"}, {6, "Float16"},
    {7, "Float32"}, {8, "Float64"}, {9, "Bfloat16"}, {10, "Float32Ftz"}, {11, "Tfloat32"},
    {12, "Tfloat32Ftz"}, {13, "Type16u4Align8b"}, {14, "Type16u4Align16b"}, {15, "Type16u6Align16b"},
};

static const struct enum_name call_enum_names_43[] = { /* CUtensorMapFloatOOBfill_enum */
    {0, "None"}, {1, "NanRequestZeroFma"},
};

static const struct enum_name call_enum_names_44[] = { /* CUtensorMapIm2ColWideMode_enum */
    {0, "W"}, {1, "W128"},
};

static const struct enum_name call_enum_names_45[] = { /* CUtensorMapInterleave_enum */
    {0, "None"}, {1, "Interleave16b"}, {2, "Interleave32b"},
};

static const struct enum_name call_enum_names_46[] = { /* CUtensorMapL2promotion_enum */
    {0, "None"}, {1, "L264b"}, {2, "L2128b"}, {3, "L2256b"},
};

static const struct enum_name call_enum_names_47[] = { /* CUtensorMapSwizzle_enum */
    {0, "None"}, {1, "Swizzle32b"}, {2, "Swizzle64b"}, {3, "Swizzle128b"}, {4, "Swizzle128bAtom32b"},
    {5, "Swizzle128bAtom32bFlip8b"}, {6, "Swizzle128bAtom64b"},
};

static const struct enum_name call_enum_names_48[] = { /* cudaChannelFormatKind */
    {0, "Signed"}, {1, "Unsigned"}, {2, "Float"}, {3, "None"}, {4, "Nv12"}, {5, "UnsignedNormalized8X1"},
    {6, "UnsignedNormalized8X2"}, {7, "UnsignedNormalized8X4"}, {8, "UnsignedNormalized16X1"},
    {9, "UnsignedNormalized16X2"}, {10, "UnsignedNormalized16X4"}, {11, "SignedNormalized8X1"},
    {12, "SignedNormalized8X2"}, {13, "SignedNormalized8X4"}, {14, "SignedNormalized16X1"},
    {15, "SignedNormalized16X2"}, {16, "SignedNormalized16X4"}, {17, "UnsignedBlockCompressed1"},
    {18, "UnsignedBlockCompressed1Srgb"}, {19, "UnsignedBlockCompressed2"},
    {20, "UnsignedBlockCompressed2Srgb"}, {21, "UnsignedBlockCompressed3"},
    {22, "UnsignedBlockCompressed3Srgb"}, {23, "UnsignedBlockCompressed4"}, {24, "SignedBlockCompressed4"},
    {25, "UnsignedBlockCompressed5"}, {26, "SignedBlockCompressed5"}, {27, "UnsignedBlockCompressed6H"},
    {28, "SignedBlockCompressed6H"}, {29, "UnsignedBlockCompressed7"}, {30, "UnsignedBlockCompressed7Srgb"},
    {31, "UnsignedNormalized1010102"}, {32, "Unsigned8Packed422"}, {33, "Unsigned8Packed444"},
    {34, "Unsigned8SemiPlanar420"}, {35, "Unsigned16SemiPlanar420"}, {36, "Unsigned8SemiPlanar422"},
    {37, "Unsigned16SemiPlanar422"}, {38, "Unsigned8SemiPlanar444"}, {39, "Unsigned16SemiPlanar444"},
    {40, "Unsigned8Planar420"}, {41, "Unsigned16Planar420"}, {42, "Unsigned8Planar422"},
    {43, "Unsigned16Planar422"}, {44, "Unsigned8Planar444"}, {45, "Unsigned16Planar444"},
};

static const struct enum_name call_enum_names_49[] = { /* cudaDevResourceType */
    {0, "Invalid"}, {1, "Sm"}, {1000, "WorkqueueConfig"}, {10000, "Workqueue"},
};

static const struct enum_name call_enum_names_50[] = { /* cudaDeviceAttr */
    {1, "MaxThreadsPerBlock"}, {2, "MaxBlockDimX"}, {3, "MaxBlockDimY"}, {4, "MaxBlockDimZ"},
    {5, "MaxGridDimX"}, {6, "MaxGridDimY"}, {7, "MaxGridDimZ"}, {8, "MaxSharedMemoryPerBlock"},
    {9, "TotalConstantMemory"}, {10, "WarpSize"}, {11, "MaxPitch"}, {12, "MaxRegistersPerBlock"},
    {13, "ClockRate"}, {14, "TextureAlignment"}, {15, "GpuOverlap"}, {16, "MultiProcessorCount"},
    {17, "KernelExecTimeout"}, {18, "Integrated"}, {19, "CanMapHostMemory"}, {20, "ComputeMode"},
    {21, "MaxTexture1DWidth"}, {22, "MaxTexture2DWidth"}, {23, "MaxTexture2DHeight"},
    {24, "MaxTexture3DWidth"}, {25, "MaxTexture3DHeight"}, {26, "MaxTexture3DDepth"},
    {27, "MaxTexture2DLayeredWidth"}, {28, "MaxTexture2DLayeredHeight"}, {29, "MaxTexture2DLayeredLayers"},
    {30, "SurfaceAlignment"}, {31, "ConcurrentKernels"}, {32, "EccEnabled"}, {33, "PciBusId"},
    {34, "PciDeviceId"}, {35, "TccDriver"}, {36, "MemoryClockRate"}, {37, "GlobalMemoryBusWidth"},
    {38, "L2CacheSize"}, {39, "MaxThreadsPerMultiProcessor"}, {40, "AsyncEngineCount"},
    {41, "UnifiedAddressing"}, {42, "MaxTexture1DLayeredWidth"}, {43, "MaxTexture1DLayeredLayers"},
    {45, "MaxTexture2DGatherWidth"}, {46, "MaxTexture2DGatherHeight"}, {47, "MaxTexture3DWidthAlt"},
    {48, "MaxTexture3DHeightAlt"}, {49, "MaxTexture3DDepthAlt"}, {50, "PciDomainId"},
    {51, "TexturePitchAlignment"}, {52, "MaxTextureCubemapWidth"}, {53, "MaxTextureCubemapLayeredWidth"},
    {54, "MaxTextureCubemapLayeredLayers"}, {55, "MaxSurface1DWidth"}, {56, "MaxSurface2DWidth"},
    {57, "MaxSurface2DHeight"}, {58, "MaxSurface3DWidth"}, {59, "MaxSurface3DHeight"},
    {60, "MaxSurface3DDepth"}, {61, "MaxSurface1DLayeredWidth"}, {62, "MaxSurface1DLayeredLayers"},
    {63, "MaxSurface2DLayeredWidth"}, {64, "MaxSurface2DLayeredHeight"}, {65, "MaxSurface2DLayeredLayers"},
    {66, "MaxSurfaceCubemapWidth"}, {67, "MaxSurfaceCubemapLayeredWidth"},
    {68, "MaxSurfaceCubemapLayeredLayers"}, {69, "MaxTexture1DLinearWidth"}, {70, "MaxTexture2DLinearWidth"},
    {71, "MaxTexture2DLinearHeight"}, {72, "MaxTexture2DLinearPitch"}, {73, "MaxTexture2DMipmappedWidth"},
    {74, "MaxTexture2DMipmappedHeight"}, {75, "ComputeCapabilityMajor"}, {76, "ComputeCapabilityMinor"},
    {77, "MaxTexture1DMipmappedWidth"}, {78, "StreamPrioritiesSupported"}, {79, "GlobalL1CacheSupported"},
    {80, "LocalL1CacheSupported"}, {81, "MaxSharedMemoryPerMultiprocessor"},
    {82, "MaxRegistersPerMultiprocessor"}, {83, "ManagedMemory"}, {84, "IsMultiGpuBoard"},
    {85, "MultiGpuBoardGroupId"}, {86, "HostNativeAtomicSupported"},
    {87, "SingleToDoublePrecisionPerfRatio"}, {88, "PageableMemoryAccess"}, {89, "ConcurrentManagedAccess"},
    {90, "ComputePreemptionSupported"}, {91, "CanUseHostPointerForRegisteredMem"}, {95, "CooperativeLaunch"},
    {96, "CooperativeMultiDeviceLaunch"}, {97, "MaxSharedMemoryPerBlockOptin"}, {98, "CanFlushRemoteWrites"},
    {99, "HostRegisterSupported"}, {100, "PageableMemoryAccessUsesHostPageTables"},
    {101, "DirectManagedMemAccessFromHost"}, {106, "MaxBlocksPerMultiprocessor"},
    {108, "MaxPersistingL2CacheSize"}, {109, "MaxAccessPolicyWindowSize"},
    {111, "ReservedSharedMemoryPerBlock"}, {112, "SparseCudaArraySupported"},
    {113, "HostRegisterReadOnlySupported"}, {114, "TimelineSemaphoreInteropSupported"},
    {115, "MemoryPoolsSupported"}, {116, "GpuDirectRdmaSupported"}, {117, "GpuDirectRdmaFlushWritesOptions"},
    {118, "GpuDirectRdmaWritesOrdering"}, {119, "MemoryPoolSupportedHandleTypes"}, {120, "ClusterLaunch"},
    {121, "DeferredMappingCudaArraySupported"}, {125, "IpcEventSupport"}, {126, "MemSyncDomainCount"},
    {130, "NumaConfig"}, {131, "NumaId"}, {133, "MpsEnabled"}, {134, "HostNumaId"},
    {135, "D3D12CigSupported"}, {138, "VulkanCigSupported"}, {139, "GpuPciDeviceId"},
    {140, "GpuPciSubsystemId"}, {142, "HostNumaMemoryPoolsSupported"},
    {143, "HostNumaMultinodeIpcSupported"}, {144, "HostMemoryPoolsSupported"},
    {147, "OnlyPartialHostNativeAtomicSupported"}, {148, "AtomicReductionSupported"},
    {149, "LocalityDomainCount"}, {150, "OversizedSharedMemoryPerBlock"}, {151, "CigStreamsSupported"},
    {157, "LocalityDomainMultiprocessorCount"}, {160, "TensorMapLargeTensorMinSize"},
};

static const struct enum_name call_enum_names_51[] = { /* cudaDeviceP2PAttr */
    {1, "PerformanceRank"}, {2, "AccessSupported"}, {3, "NativeAtomicSupported"},
    {4, "CudaArrayAccessSupported"}, {5, "OnlyPartialNativeAtomicSupported"},
};

static const struct enum_name call_enum_names_52[] = { /* cudaDriverEntryPointQueryResult */
    {0, "Success"}, {1, "SymbolNotFound"}, {2, "VersionNotSufficent"},
};

static const struct enum_name call_enum_names_53[] = { /* cudaExternalMemoryHandleType */
    {1, "OpaqueFd"}, {2, "OpaqueWin32"}, {3, "OpaqueWin32Kmt"}, {4, "D3D12Heap"}, {5, "D3D12Resource"},
    {6, "D3D11Resource"}, {7, "D3D11ResourceKmt"}, {8, "NvSciBuf"},
};

static const struct enum_name call_enum_names_54[] = { /* cudaExternalSemaphoreHandleType */
    {1, "OpaqueFd"}, {2, "OpaqueWin32"}, {3, "OpaqueWin32Kmt"}, {4, "D3D12Fence"}, {5, "D3D11Fence"},
    {6, "NvSciSync"}, {7, "KeyedMutex"}, {8, "KeyedMutexKmt"}, {9, "TimelineSemaphoreFd"},
    {10, "TimelineSemaphoreWin32"},
};

static const struct enum_name call_enum_names_55[] = { /* cudaFlushGPUDirectRDMAWritesScope */
    {100, "Owner"}, {200, "AllDevices"},
};

static const struct enum_name call_enum_names_56[] = { /* cudaFlushGPUDirectRDMAWritesTarget */
    {0, "CurrentDevice"},
};

static const struct enum_name call_enum_names_57[] = { /* cudaFuncAttribute */
    {8, "MaxDynamicSharedMemorySize"}, {9, "PreferredSharedMemoryCarveout"}, {10, "ClusterDimMustBeSet"},
    {11, "RequiredClusterWidth"}, {12, "RequiredClusterHeight"}, {13, "RequiredClusterDepth"},
    {14, "NonPortableClusterSizeAllowed"}, {15, "ClusterSchedulingPolicyPreference"},
    {16, "SharedMemoryMode"},
};

static const struct enum_name call_enum_names_58[] = { /* cudaFuncCache */
    {0, "None"}, {1, "Shared"}, {2, "L1"}, {3, "Equal"},
};

static const struct enum_name call_enum_names_59[] = { /* cudaGraphExecUpdateResult */
    {0, "Success"}, {1, "Error"}, {2, "ErrorTopologyChanged"}, {3, "ErrorNodeTypeChanged"},
    {4, "ErrorFunctionChanged"}, {5, "ErrorParametersChanged"}, {6, "ErrorNotSupported"},
    {7, "ErrorUnsupportedFunctionChange"}, {8, "ErrorAttributesChanged"},
};

static const struct enum_name call_enum_names_60[] = { /* cudaGraphMemAttributeType */
    {0, "UsedMemCurrent"}, {1, "UsedMemHigh"}, {2, "ReservedMemCurrent"}, {3, "ReservedMemHigh"},
};

static const struct enum_name call_enum_names_61[] = { /* cudaGraphNodeType */
    {0, "Kernel"}, {1, "Memcpy"}, {2, "Memset"}, {3, "Host"}, {4, "Graph"}, {5, "Empty"}, {6, "WaitEvent"},
    {7, "EventRecord"}, {8, "ExtSemaphoreSignal"}, {9, "ExtSemaphoreWait"}, {10, "MemAlloc"},
    {11, "MemFree"}, {13, "Conditional"}, {14, "MemcpyBatch"}, {17, "ExternalEngine"},
};

static const struct enum_name call_enum_names_62[] = { /* cudaLaunchAttributeID */
    {0, "Ignore"}, {1, "AccessPolicyWindow"}, {2, "Cooperative"}, {3, "SynchronizationPolicy"},
    {4, "ClusterDimension"}, {5, "ClusterSchedulingPolicyPreference"},
    {6, "ProgrammaticStreamSerialization"}, {7, "ProgrammaticEvent"}, {8, "Priority"},
    {9, "MemSyncDomainMap"}, {10, "MemSyncDomain"}, {11, "PreferredClusterDimension"},
    {12, "LaunchCompletionEvent"}, {13, "DeviceUpdatableKernelNode"}, {14, "PreferredSharedMemoryCarveout"},
    {16, "NvlinkUtilCentricScheduling"}, {17, "PortableClusterSizeMode"}, {18, "SharedMemoryMode"},
};

static const struct enum_name call_enum_names_63[] = { /* cudaLimit */
    {0, "StackSize"}, {1, "PrintfFifoSize"}, {2, "MallocHeapSize"}, {3, "DevRuntimeSyncDepth"},
    {4, "DevRuntimePendingLaunchCount"}, {5, "MaxL2FetchGranularity"}, {6, "PersistingL2CacheSize"},
    {10, "PerBlockMemorySize"},
};

static const struct enum_name call_enum_names_64[] = { /* cudaMemAccessFlags */
    {0, "None"}, {1, "Read"}, {3, "ReadWrite"},
};

static const struct enum_name call_enum_names_65[] = { /* cudaMemAllocationHandleType */
    {0, "None"}, {1, "PosixFileDescriptor"}, {2, "Win32"}, {4, "Win32Kmt"}, {8, "Fabric"},
};

static const struct enum_name call_enum_names_66[] = { /* cudaMemAllocationType */
    {0, "Invalid"}, {1, "Pinned"}, {2, "Managed"},
};

static const struct enum_name call_enum_names_67[] = { /* cudaMemLocationType */
    {0, "Invalid"}, {1, "Device"}, {2, "Host"}, {3, "HostNuma"}, {4, "HostNumaCurrent"}, {5, "Invisible"},
    {6, "DeviceLocalityDomain"},
};

static const struct enum_name call_enum_names_68[] = { /* cudaMemPoolAttr */
    {1, "ReuseFollowEventDependencies"}, {2, "ReuseAllowOpportunistic"},
    {3, "ReuseAllowInternalDependencies"}, {4, "AttrReleaseThreshold"}, {5, "AttrReservedMemCurrent"},
    {6, "AttrReservedMemHigh"}, {7, "AttrUsedMemCurrent"}, {8, "AttrUsedMemHigh"}, {9, "AttrAllocationType"},
    {10, "AttrExportHandleTypes"}, {11, "AttrLocationId"}, {12, "AttrLocationType"}, {13, "AttrMaxPoolSize"},
    {14, "AttrHwDecompressEnabled"}, {15, "AttrLocalityDomainId"},
};

static const struct enum_name call_enum_names_69[] = { /* cudaMemRangeAttribute */
    {1, "ReadMostly"}, {2, "PreferredLocation"}, {3, "AccessedBy"}, {4, "LastPrefetchLocation"},
    {5, "PreferredLocationType"}, {6, "PreferredLocationId"}, {7, "LastPrefetchLocationType"},
    {8, "LastPrefetchLocationId"},
};

static const struct enum_name call_enum_names_70[] = { /* cudaMemcpyKind */
    {0, "HostToHost"}, {1, "HostToDevice"}, {2, "DeviceToHost"}, {3, "DeviceToDevice"}, {4, "Default"},
};

static const struct enum_name call_enum_names_71[] = { /* cudaMemcpySrcAccessOrder */
    {0, "Invalid"}, {1, "Stream"}, {2, "DuringApiCall"}, {3, "Any"},
};

static const struct enum_name call_enum_names_72[] = { /* cudaMemoryAdvise */
    {1, "SetReadMostly"}, {2, "UnsetReadMostly"}, {3, "SetPreferredLocation"}, {4, "UnsetPreferredLocation"},
    {5, "SetAccessedBy"}, {6, "UnsetAccessedBy"},
};

static const struct enum_name call_enum_names_73[] = { /* cudaSharedMemConfig */
    {0, "Default"}, {1, "FourByte"}, {2, "EightByte"},
};

static const struct enum_name call_enum_names_74[] = { /* cudaStreamCaptureMode */
    {0, "Global"}, {1, "ThreadLocal"}, {2, "Relaxed"},
};

static const struct enum_name call_enum_names_75[] = { /* cudaStreamCaptureStatus */
    {0, "None"}, {1, "Active"}, {2, "Invalidated"},
};

const struct enum_names call_enum_names[] = {
    {0, 0},
    {4, call_enum_names_1},
    {65, call_enum_names_2},
    {7, call_enum_names_3},
    {4, call_enum_names_4},
    {5, call_enum_names_5},
    {161, call_enum_names_6},
    {3, call_enum_names_7},
    {1, call_enum_names_8},
    {9, call_enum_names_9},
    {10, call_enum_names_10},
    {2, call_enum_names_11},
    {2, call_enum_names_12},
    {1, call_enum_names_13},
    {4, call_enum_names_14},
    {2, call_enum_names_15},
    {17, call_enum_names_16},
    {9, call_enum_names_17},
    {4, call_enum_names_18},
    {18, call_enum_names_19},
    {6, call_enum_names_20},
    {18, call_enum_names_21},
    {11, call_enum_names_22},
    {2, call_enum_names_23},
    {3, call_enum_names_24},
    {2, call_enum_names_25},
    {5, call_enum_names_26},
    {3, call_enum_names_27},
    {7, call_enum_names_28},
    {15, call_enum_names_29},
    {1, call_enum_names_30},
    {6, call_enum_names_31},
    {8, call_enum_names_32},
    {4, call_enum_names_33},
    {4, call_enum_names_34},
    {2, call_enum_names_35},
    {2, call_enum_names_36},
    {22, call_enum_names_37},
    {6, call_enum_names_38},
    {3, call_enum_names_39},
    {3, call_enum_names_40},
    {3, call_enum_names_41},
    {16, call_enum_names_42},
    {2, call_enum_names_43},
    {2, call_enum_names_44},
    {3, call_enum_names_45},
    {4, call_enum_names_46},
    {7, call_enum_names_47},
    {46, call_enum_names_48},
    {4, call_enum_names_49},
    {131, call_enum_names_50},
    {5, call_enum_names_51},
    {3, call_enum_names_52},
    {8, call_enum_names_53},
    {10, call_enum_names_54},
    {2, call_enum_names_55},
    {1, call_enum_names_56},
    {9, call_enum_names_57},
    {4, call_enum_names_58},
    {9, call_enum_names_59},
    {4, call_enum_names_60},
    {15, call_enum_names_61},
    {18, call_enum_names_62},
    {8, call_enum_names_63},
    {3, call_enum_names_64},
    {5, call_enum_names_65},
    {3, call_enum_names_66},
    {7, call_enum_names_67},
    {15, call_enum_names_68},
    {8, call_enum_names_69},
    {5, call_enum_names_70},
    {4, call_enum_names_71},
    {6, call_enum_names_72},
    {3, call_enum_names_73},
    {3, call_enum_names_74},
    {3, call_enum_names_75},
};

const struct call_param call_params[] = {
    /* 0: cudaDriverGetVersion */
    {55, PARAM_INT, 0},
    /* 1: cudaRuntimeGetVersion */
    {208, PARAM_INT, 0},
    /* 2: cudaGetDeviceCount */
    {40, PARAM_INT, 0},
    /* 3: cudaGetDeviceProperties */
    {49, PARAM_INT, 0},
    /* 4: cudaChooseDevice */
    {49, PARAM_INT, 0},
    /* 5: cudaGetChannelDesc */
    {26, PARAM_INT, 0}, {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48},
    {6, PARAM_POINTER, 0},
    /* 11: cudaCreateChannelDesc */
    {268, PARAM_INT, 0}, {270, PARAM_INT, 0}, {272, PARAM_INT, 0}, {263, PARAM_INT, 0},
    {114, PARAM_ENUM, 48},
    /* 16: cudaConfigureCall */
    {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 20: cudaSetupArgument */
    {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0},
    /* 22: cudaGetErrorString */
    {75, PARAM_INT, 0},
    /* 23: cudaLaunch */
    {88, PARAM_POINTER, 0},
    /* 24: cudaFuncSetCacheConfig */
    {88, PARAM_POINTER, 0}, {20, PARAM_ENUM, 58},
    /* 26: cudaFuncGetAttributes */
    {88, PARAM_POINTER, 0},
    /* 27: cudaSetDevice */
    {49, PARAM_INT, 0},
    /* 28: cudaSetValidDevices */
    {118, PARAM_INT, 0},
    /* 29: cudaSetDeviceFlags */
    {84, PARAM_UINT, 0},
    /* 30: cudaMalloc */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 32: cudaMallocPitch */
    {205, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    /* 36: cudaFree */
    {205, PARAM_POINTER, 0},
    /* 37: cudaMallocArray */
    {6, PARAM_POINTER, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0},
    {24, PARAM_ENUM, 48}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 46: cudaFreeArray */
    {6, PARAM_POINTER, 0},
    /* 47: cudaHostAlloc */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 50: cudaHostGetDevicePointer */
    {52, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 53: cudaHostGetFlags */
    {84, PARAM_UINT, 0}, {205, PARAM_POINTER, 0},
    /* 55: cudaMemGetInfo */
    {87, PARAM_UINT, 0}, {254, PARAM_UINT, 0},
    /* 57: cudaMemcpy */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 61: cudaMemcpy2D */
    {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 68: cudaMemcpyToArray */
    {56, PARAM_POINTER, 0}, {264, PARAM_UINT, 0}, {100, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 74: cudaMemcpy2DToArray */
    {56, PARAM_POINTER, 0}, {264, PARAM_UINT, 0}, {100, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 82: cudaMemcpyFromArray */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {264, PARAM_UINT, 0}, {100, PARAM_UINT, 0},
    {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 88: cudaMemcpy2DFromArray */
    {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {264, PARAM_UINT, 0},
    {100, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 96: cudaMemcpyArrayToArray */
    {56, PARAM_POINTER, 0}, {265, PARAM_UINT, 0}, {101, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {266, PARAM_UINT, 0}, {102, PARAM_UINT, 0}, {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 104: cudaMemcpy2DArrayToArray */
    {56, PARAM_POINTER, 0}, {265, PARAM_UINT, 0}, {101, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {266, PARAM_UINT, 0}, {102, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70},
    /* 113: cudaMemcpyToSymbol */
    {240, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70},
    /* 118: cudaMemcpyFromSymbol */
    {56, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70},
    /* 123: cudaMemcpyAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    {233, PARAM_POINTER, 0},
    /* 128: cudaMemcpyToArrayAsync */
    {56, PARAM_POINTER, 0}, {264, PARAM_UINT, 0}, {100, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70}, {233, PARAM_POINTER, 0},
    /* 135: cudaMemcpyFromArrayAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {264, PARAM_UINT, 0}, {100, PARAM_UINT, 0},
    {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70}, {233, PARAM_POINTER, 0},
    /* 142: cudaMemcpy2DAsync */
    {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {114, PARAM_ENUM, 70}, {233, PARAM_POINTER, 0},
    /* 150: cudaMemcpy2DToArrayAsync */
    {56, PARAM_POINTER, 0}, {264, PARAM_UINT, 0}, {100, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    {233, PARAM_POINTER, 0},
    /* 159: cudaMemcpy2DFromArrayAsync */
    {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {264, PARAM_UINT, 0},
    {100, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    {233, PARAM_POINTER, 0},
    /* 168: cudaMemcpyToSymbolAsync */
    {240, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70}, {233, PARAM_POINTER, 0},
    /* 174: cudaMemcpyFromSymbolAsync */
    {56, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70}, {233, PARAM_POINTER, 0},
    /* 180: cudaMemset */
    {56, PARAM_POINTER, 0}, {261, PARAM_INT, 0}, {19, PARAM_UINT, 0},
    /* 183: cudaMemset2D */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_INT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 188: cudaMemsetAsync */
    {56, PARAM_POINTER, 0}, {261, PARAM_INT, 0}, {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 192: cudaMemset2DAsync */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_INT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 198: cudaGetSymbolAddress */
    {205, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0},
    /* 200: cudaGetSymbolSize */
    {19, PARAM_UINT, 0}, {240, PARAM_POINTER, 0},
    /* 202: cudaBindTexture */
    {179, PARAM_UINT, 0}, {249, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {26, PARAM_INT, 0},
    {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48}, {19, PARAM_UINT, 0},
    /* 211: cudaBindTexture2D */
    {179, PARAM_UINT, 0}, {249, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {26, PARAM_INT, 0},
    {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {197, PARAM_UINT, 0},
    /* 222: cudaBindTextureToArray */
    {249, PARAM_POINTER, 0}, {6, PARAM_POINTER, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0},
    {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48},
    /* 229: cudaUnbindTexture */
    {249, PARAM_POINTER, 0},
    /* 230: cudaGetTextureAlignmentOffset */
    {179, PARAM_UINT, 0}, {249, PARAM_POINTER, 0},
    /* 232: cudaGetTextureReference */
    {249, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0},
    /* 234: cudaBindSurfaceToArray */
    {238, PARAM_POINTER, 0}, {6, PARAM_POINTER, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0},
    {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48},
    /* 241: cudaGetSurfaceReference */
    {238, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0},
    /* 243: cudaGraphicsUnregisterResource */
    {207, PARAM_POINTER, 0},
    /* 244: cudaGraphicsResourceSetMapFlags */
    {207, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 246: cudaGraphicsMapResources */
    {40, PARAM_INT, 0}, {233, PARAM_POINTER, 0},
    /* 248: cudaGraphicsResourceGetMappedPointer */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {207, PARAM_POINTER, 0},
    /* 251: cudaGraphicsSubResourceGetMappedArray */
    {6, PARAM_POINTER, 0}, {207, PARAM_POINTER, 0}, {7, PARAM_UINT, 0}, {144, PARAM_UINT, 0},
    /* 255: cudaSetDoubleForDevice */
    {43, PARAM_DOUBLE, 0},
    /* 256: cudaThreadGetLimit */
    {261, PARAM_UINT, 0}, {123, PARAM_ENUM, 63},
    /* 258: cudaThreadSetLimit */
    {123, PARAM_ENUM, 63}, {261, PARAM_UINT, 0},
    /* 260: cudaStreamCreate */
    {233, PARAM_POINTER, 0},
    /* 261: cudaStreamDestroy */
    {233, PARAM_POINTER, 0},
    /* 262: cudaEventCreate */
    {77, PARAM_POINTER, 0},
    /* 263: cudaEventCreateWithFlags */
    {77, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 265: cudaEventRecord */
    {77, PARAM_POINTER, 0}, {233, PARAM_POINTER, 0},
    /* 267: cudaEventDestroy */
    {77, PARAM_POINTER, 0},
    /* 268: cudaEventElapsedTime */
    {138, PARAM_DOUBLE, 0}, {231, PARAM_POINTER, 0}, {73, PARAM_POINTER, 0},
    /* 271: cudaMalloc3D */
    {205, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {269, PARAM_UINT, 0}, {271, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    /* 278: cudaMalloc3DArray */
    {6, PARAM_POINTER, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0},
    {24, PARAM_ENUM, 48}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 288: cudaMemset3D */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {269, PARAM_UINT, 0}, {271, PARAM_UINT, 0},
    {261, PARAM_INT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    /* 296: cudaMemset3DAsync */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {269, PARAM_UINT, 0}, {271, PARAM_UINT, 0},
    {261, PARAM_INT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 305: cudaMemcpy3D */
    {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {230, PARAM_UINT, 0},
    {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0}, {68, PARAM_UINT, 0},
    {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 321: cudaMemcpy3DAsync */
    {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {230, PARAM_UINT, 0},
    {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0}, {68, PARAM_UINT, 0},
    {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    {233, PARAM_POINTER, 0},
    /* 338: cudaThreadSetCacheConfig */
    {20, PARAM_ENUM, 58},
    /* 339: cudaStreamWaitEvent */
    {233, PARAM_POINTER, 0}, {77, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 342: cudaThreadGetCacheConfig */
    {20, PARAM_ENUM, 58},
    /* 343: cudaPointerGetAttributes */
    {205, PARAM_POINTER, 0},
    /* 344: cudaHostRegister */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 347: cudaDeviceCanAccessPeer */
    {22, PARAM_INT, 0}, {49, PARAM_INT, 0}, {195, PARAM_INT, 0},
    /* 350: cudaDeviceEnablePeerAccess */
    {195, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    /* 352: cudaDeviceDisablePeerAccess */
    {195, PARAM_INT, 0},
    /* 353: cudaMemcpyPeer */
    {56, PARAM_POINTER, 0}, {59, PARAM_INT, 0}, {215, PARAM_POINTER, 0}, {219, PARAM_INT, 0},
    {19, PARAM_UINT, 0},
    /* 358: cudaMemcpyPeerAsync */
    {56, PARAM_POINTER, 0}, {59, PARAM_INT, 0}, {215, PARAM_POINTER, 0}, {219, PARAM_INT, 0},
    {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 364: cudaMemcpy3DPeer */
    {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {230, PARAM_UINT, 0},
    {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0}, {68, PARAM_UINT, 0},
    {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {219, PARAM_INT, 0}, {59, PARAM_INT, 0},
    /* 381: cudaMemcpy3DPeerAsync */
    {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {230, PARAM_UINT, 0},
    {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0}, {68, PARAM_UINT, 0},
    {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {219, PARAM_INT, 0}, {59, PARAM_INT, 0},
    {233, PARAM_POINTER, 0},
    /* 399: cudaProfilerInitialize */
    {37, PARAM_STRING, 0}, {186, PARAM_STRING, 0}, {187, PARAM_INT, 0},
    /* 402: cudaDeviceGetByPCIBusId */
    {49, PARAM_INT, 0}, {192, PARAM_STRING, 0},
    /* 404: cudaDeviceGetPCIBusId */
    {192, PARAM_POINTER, 0}, {118, PARAM_INT, 0}, {49, PARAM_INT, 0},
    /* 407: cudaIpcGetEventHandle */
    {77, PARAM_POINTER, 0},
    /* 408: cudaIpcOpenMemHandle */
    {205, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 410: cudaArrayGetInfo */
    {26, PARAM_INT, 0}, {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    {6, PARAM_POINTER, 0},
    /* 420: cudaFuncSetSharedMemConfig */
    {88, PARAM_POINTER, 0}, {36, PARAM_ENUM, 73},
    /* 422: cudaDeviceGetSharedMemConfig */
    {36, PARAM_ENUM, 73},
    /* 423: cudaDeviceSetSharedMemConfig */
    {36, PARAM_ENUM, 73},
    /* 424: cudaCreateTextureObject */
    {247, PARAM_POINTER, 0},
    /* 425: cudaDestroyTextureObject */
    {247, PARAM_POINTER, 0},
    /* 426: cudaGetTextureObjectResourceDesc */
    {247, PARAM_POINTER, 0},
    /* 427: cudaCreateSurfaceObject */
    {236, PARAM_POINTER, 0},
    /* 428: cudaDestroySurfaceObject */
    {236, PARAM_POINTER, 0},
    /* 429: cudaGetSurfaceObjectResourceDesc */
    {236, PARAM_POINTER, 0},
    /* 430: cudaMallocMipmappedArray */
    {146, PARAM_POINTER, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0},
    {24, PARAM_ENUM, 48}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    {167, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 441: cudaGetMipmappedArrayLevel */
    {121, PARAM_POINTER, 0}, {146, PARAM_POINTER, 0}, {120, PARAM_UINT, 0},
    /* 444: cudaFreeMipmappedArray */
    {146, PARAM_POINTER, 0},
    /* 445: cudaBindTextureToMipmappedArray */
    {249, PARAM_POINTER, 0}, {146, PARAM_POINTER, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0},
    {28, PARAM_INT, 0}, {25, PARAM_INT, 0}, {24, PARAM_ENUM, 48},
    /* 452: cudaGraphicsResourceGetMappedMipmappedArray */
    {146, PARAM_POINTER, 0}, {207, PARAM_POINTER, 0},
    /* 454: cudaStreamAddCallback */
    {233, PARAM_POINTER, 0}, {21, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 458: cudaStreamCreateWithFlags */
    {233, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 460: cudaDeviceGetAttribute */
    {261, PARAM_INT, 0}, {8, PARAM_ENUM, 50}, {49, PARAM_INT, 0},
    /* 463: cudaStreamCreateWithPriority */
    {233, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {204, PARAM_INT, 0},
    /* 466: cudaStreamGetPriority */
    {233, PARAM_POINTER, 0}, {204, PARAM_INT, 0},
    /* 468: cudaStreamGetFlags */
    {233, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 470: cudaDeviceGetStreamPriorityRange */
    {117, PARAM_INT, 0}, {94, PARAM_INT, 0},
    /* 472: cudaOccupancyMaxActiveBlocksPerMultiprocessor */
    {156, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {213, PARAM_UINT, 0},
    /* 475: cudaStreamAttachMemAsync */
    {233, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {119, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 479: cudaOccupancyMaxActiveBlocksPerMultiprocessor */
    {156, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {14, PARAM_INT, 0}, {213, PARAM_UINT, 0},
    /* 483: cudaLaunchKernel */
    {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 488: cudaGetDeviceFlags */
    {84, PARAM_UINT, 0},
    /* 489: cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags */
    {156, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {14, PARAM_INT, 0}, {213, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 494: cudaMemPrefetchAsync */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {59, PARAM_INT, 0}, {233, PARAM_POINTER, 0},
    /* 498: cudaMemAdvise */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {3, PARAM_ENUM, 72}, {49, PARAM_INT, 0},
    /* 502: cudaDeviceGetP2PAttribute */
    {261, PARAM_INT, 0}, {8, PARAM_ENUM, 51}, {219, PARAM_INT, 0}, {59, PARAM_INT, 0},
    /* 506: cudaMemRangeGetAttribute */
    {44, PARAM_UINT, 0}, {8, PARAM_ENUM, 69}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 510: cudaMemRangeGetAttributes */
    {154, PARAM_UINT, 0}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 513: cudaLaunchCooperativeKernelMultiDevice */
    {161, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 515: cudaFuncSetAttribute */
    {88, PARAM_POINTER, 0}, {8, PARAM_ENUM, 57}, {261, PARAM_INT, 0},
    /* 518: cudaImportExternalMemory */
    {79, PARAM_POINTER, 0}, {255, PARAM_ENUM, 53}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 522: cudaExternalMemoryGetMappedBuffer */
    {205, PARAM_POINTER, 0}, {79, PARAM_POINTER, 0}, {179, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 527: cudaExternalMemoryGetMappedMipmappedArray */
    {145, PARAM_POINTER, 0}, {79, PARAM_POINTER, 0},
    /* 529: cudaDestroyExternalMemory */
    {79, PARAM_POINTER, 0},
    /* 530: cudaImportExternalSemaphore */
    {80, PARAM_POINTER, 0}, {255, PARAM_ENUM, 54}, {84, PARAM_UINT, 0},
    /* 533: cudaSignalExternalSemaphoresAsync */
    {163, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 535: cudaDestroyExternalSemaphore */
    {80, PARAM_POINTER, 0},
    /* 536: cudaLaunchHostFunc */
    {233, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0},
    /* 539: cudaGraphCreate */
    {91, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 541: cudaGraphKernelNodeGetParams */
    {152, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0},
    {213, PARAM_UINT, 0},
    /* 546: cudaGraphKernelNodeSetParams */
    {152, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0},
    {213, PARAM_UINT, 0},
    /* 551: cudaGraphAddKernelNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {88, PARAM_POINTER, 0},
    {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0},
    /* 558: cudaGraphAddMemcpyNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {217, PARAM_POINTER, 0},
    {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {230, PARAM_UINT, 0}, {215, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0}, {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0},
    {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 577: cudaGraphMemcpyNodeGetParams */
    {152, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0},
    {230, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0},
    {65, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70},
    /* 594: cudaGraphMemcpyNodeSetParams */
    {152, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0},
    {230, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {57, PARAM_POINTER, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {56, PARAM_POINTER, 0},
    {65, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70},
    /* 611: cudaGraphAddMemsetNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {56, PARAM_POINTER, 0},
    {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {71, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 620: cudaGraphMemsetNodeGetParams */
    {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0},
    {71, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    /* 627: cudaGraphMemsetNodeSetParams */
    {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0},
    {71, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    /* 634: cudaGraphAddHostNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {88, PARAM_POINTER, 0},
    {259, PARAM_POINTER, 0},
    /* 639: cudaGraphHostNodeGetParams */
    {152, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0},
    /* 642: cudaGraphAddChildGraphNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {31, PARAM_POINTER, 0},
    /* 646: cudaGraphChildGraphNodeGetGraph */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0},
    /* 648: cudaGraphAddEmptyNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0},
    /* 651: cudaGraphClone */
    {32, PARAM_POINTER, 0}, {183, PARAM_POINTER, 0},
    /* 653: cudaGraphNodeFindInClone */
    {152, PARAM_POINTER, 0}, {184, PARAM_POINTER, 0}, {33, PARAM_POINTER, 0},
    /* 656: cudaGraphNodeGetType */
    {152, PARAM_POINTER, 0}, {255, PARAM_ENUM, 61},
    /* 658: cudaGraphGetRootNodes */
    {91, PARAM_POINTER, 0}, {176, PARAM_UINT, 0},
    /* 660: cudaGraphNodeGetDependencies */
    {152, PARAM_POINTER, 0}, {159, PARAM_UINT, 0},
    /* 662: cudaGraphNodeGetDependentNodes */
    {152, PARAM_POINTER, 0}, {160, PARAM_UINT, 0},
    /* 664: cudaGraphAddDependencies */
    {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0},
    /* 666: cudaGraphDestroyNode */
    {152, PARAM_POINTER, 0},
    /* 667: cudaGraphInstantiate */
    {92, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {76, PARAM_POINTER, 0},
    /* 670: cudaGraphLaunch */
    {92, PARAM_POINTER, 0}, {233, PARAM_POINTER, 0},
    /* 672: cudaGraphExecDestroy */
    {92, PARAM_POINTER, 0},
    /* 673: cudaGraphDestroy */
    {91, PARAM_POINTER, 0},
    /* 674: cudaStreamBeginCapture */
    {233, PARAM_POINTER, 0}, {147, PARAM_ENUM, 74},
    /* 676: cudaStreamIsCapturing */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 75},
    /* 678: cudaStreamEndCapture */
    {233, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0},
    /* 680: cudaGraphHostNodeSetParams */
    {152, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0},
    /* 683: cudaGraphGetNodes */
    {91, PARAM_POINTER, 0}, {170, PARAM_UINT, 0},
    /* 685: cudaGraphGetEdges */
    {91, PARAM_POINTER, 0}, {162, PARAM_UINT, 0},
    /* 687: cudaStreamGetCaptureInfo */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 75}, {107, PARAM_UINT, 0},
    /* 690: cudaGraphExecKernelNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0},
    {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0},
    /* 696: cudaThreadExchangeStreamCaptureMode */
    {147, PARAM_ENUM, 74},
    /* 697: cudaDeviceGetNvSciSyncAttributes */
    {177, PARAM_POINTER, 0}, {49, PARAM_INT, 0}, {84, PARAM_INT, 0},
    /* 700: cudaOccupancyAvailableDynamicSMemPerBlock */
    {213, PARAM_UINT, 0}, {88, PARAM_POINTER, 0}, {156, PARAM_INT, 0}, {14, PARAM_INT, 0},
    /* 704: cudaStreamSetFlags */
    {233, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 706: cudaGraphExecMemcpyNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {228, PARAM_UINT, 0},
    {229, PARAM_UINT, 0}, {230, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {225, PARAM_UINT, 0},
    {57, PARAM_POINTER, 0}, {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {70, PARAM_UINT, 0},
    {56, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {46, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 724: cudaGraphExecMemsetNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0},
    {261, PARAM_UINT, 0}, {71, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    /* 732: cudaGraphExecHostNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0},
    /* 736: cudaGraphExecUpdate */
    {92, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {256, PARAM_ENUM, 59}, {76, PARAM_POINTER, 0},
    /* 740: cudaGetFuncBySymbol */
    {88, PARAM_POINTER, 0}, {241, PARAM_POINTER, 0},
    /* 742: cudaGraphKernelNodeCopyAttributes */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0},
    /* 744: cudaGraphKernelNodeGetAttribute */
    {152, PARAM_POINTER, 0}, {8, PARAM_ENUM, 62},
    /* 746: cudaStreamCopyAttributes */
    {66, PARAM_POINTER, 0}, {226, PARAM_POINTER, 0},
    /* 748: cudaStreamGetAttribute */
    {233, PARAM_POINTER, 0}, {8, PARAM_ENUM, 62},
    /* 750: cudaDeviceGetTexture1DLinearMaxWidth */
    {132, PARAM_UINT, 0}, {26, PARAM_INT, 0}, {27, PARAM_INT, 0}, {28, PARAM_INT, 0}, {25, PARAM_INT, 0},
    {24, PARAM_ENUM, 48}, {49, PARAM_INT, 0},
    /* 757: cudaGraphAddMemcpyNodeToSymbol */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {240, PARAM_POINTER, 0},
    {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 765: cudaGraphAddMemcpyNodeFromSymbol */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {56, PARAM_POINTER, 0},
    {240, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 773: cudaGraphAddMemcpyNode1D */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {56, PARAM_POINTER, 0},
    {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 780: cudaGraphMemcpyNodeSetParamsToSymbol */
    {152, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    {179, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 786: cudaGraphMemcpyNodeSetParamsFromSymbol */
    {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    {179, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 792: cudaGraphMemcpyNodeSetParams1D */
    {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    {114, PARAM_ENUM, 70},
    /* 797: cudaGraphExecMemcpyNodeSetParamsToSymbol */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 804: cudaGraphExecMemcpyNodeSetParamsFromSymbol */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {240, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 811: cudaGraphExecMemcpyNodeSetParams1D */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {114, PARAM_ENUM, 70},
    /* 817: cudaArrayGetSparseProperties */
    {6, PARAM_POINTER, 0},
    /* 818: cudaMipmappedArrayGetSparseProperties */
    {145, PARAM_POINTER, 0},
    /* 819: cudaGraphExecChildGraphNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {31, PARAM_POINTER, 0},
    /* 822: cudaGraphAddEventRecordNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {77, PARAM_POINTER, 0},
    /* 826: cudaGraphEventRecordNodeGetEvent */
    {152, PARAM_POINTER, 0}, {77, PARAM_POINTER, 0},
    /* 828: cudaGraphEventRecordNodeSetEvent */
    {152, PARAM_POINTER, 0}, {77, PARAM_POINTER, 0},
    /* 830: cudaGraphExecEventRecordNodeSetEvent */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {77, PARAM_POINTER, 0},
    /* 833: cudaEventRecordWithFlags */
    {77, PARAM_POINTER, 0}, {233, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 836: cudaDeviceGetDefaultMemPool */
    {203, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 838: cudaMallocAsync */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 841: cudaFreeAsync */
    {205, PARAM_POINTER, 0}, {233, PARAM_POINTER, 0},
    /* 843: cudaMemPoolTrimTo */
    {203, PARAM_POINTER, 0}, {139, PARAM_UINT, 0},
    /* 845: cudaMemPoolSetAttribute */
    {203, PARAM_POINTER, 0}, {8, PARAM_ENUM, 68}, {261, PARAM_POINTER, 0},
    /* 848: cudaMemPoolSetAccess */
    {203, PARAM_POINTER, 0}, {40, PARAM_UINT, 0},
    /* 850: cudaArrayGetPlane */
    {201, PARAM_POINTER, 0}, {6, PARAM_POINTER, 0}, {202, PARAM_UINT, 0},
    /* 853: cudaMemPoolGetAccess */
    {84, PARAM_ENUM, 64}, {203, PARAM_POINTER, 0}, {125, PARAM_ENUM, 67}, {124, PARAM_INT, 0},
    /* 857: cudaMemPoolCreate */
    {203, PARAM_POINTER, 0}, {5, PARAM_ENUM, 66}, {105, PARAM_ENUM, 65}, {125, PARAM_ENUM, 67},
    {124, PARAM_INT, 0}, {129, PARAM_UINT, 0}, {258, PARAM_UINT, 0},
    /* 864: cudaMemPoolDestroy */
    {203, PARAM_POINTER, 0},
    /* 865: cudaDeviceSetMemPool */
    {49, PARAM_INT, 0}, {203, PARAM_POINTER, 0},
    /* 867: cudaMemPoolExportToShareableHandle */
    {212, PARAM_POINTER, 0}, {203, PARAM_POINTER, 0}, {104, PARAM_ENUM, 65}, {84, PARAM_UINT, 0},
    /* 871: cudaMemPoolImportFromShareableHandle */
    {203, PARAM_POINTER, 0}, {212, PARAM_POINTER, 0}, {104, PARAM_ENUM, 65}, {84, PARAM_UINT, 0},
    /* 875: cudaMemPoolImportPointer */
    {205, PARAM_POINTER, 0}, {203, PARAM_POINTER, 0},
    /* 877: cudaMallocFromPoolAsync */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {203, PARAM_POINTER, 0}, {233, PARAM_POINTER, 0},
    /* 881: cudaGraphExecExternalSemaphoresSignalNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0},
    /* 883: cudaDeviceFlushGPUDirectRDMAWrites */
    {244, PARAM_ENUM, 56}, {210, PARAM_ENUM, 55},
    /* 885: cudaGetDriverEntryPoint */
    {240, PARAM_STRING, 0}, {88, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {54, PARAM_ENUM, 52},
    /* 889: cudaGraphDebugDotPrint */
    {91, PARAM_POINTER, 0}, {82, PARAM_STRING, 0}, {84, PARAM_UINT, 0},
    /* 892: cudaStreamGetCaptureInfo */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 75}, {107, PARAM_UINT, 0}, {91, PARAM_POINTER, 0},
    {159, PARAM_UINT, 0},
    /* 897: cudaStreamUpdateCaptureDependencies */
    {233, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 900: cudaUserObjectCreate */
    {178, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {48, PARAM_POINTER, 0}, {109, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 905: cudaUserObjectRetain */
    {178, PARAM_POINTER, 0}, {40, PARAM_UINT, 0},
    /* 907: cudaGraphRetainUserObject */
    {91, PARAM_POINTER, 0}, {178, PARAM_POINTER, 0}, {40, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 911: cudaGraphReleaseUserObject */
    {91, PARAM_POINTER, 0}, {178, PARAM_POINTER, 0}, {40, PARAM_UINT, 0},
    /* 914: cudaGraphInstantiateWithFlags */
    {92, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 917: cudaGraphAddMemAllocNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    {205, PARAM_POINTER, 0}, {125, PARAM_ENUM, 67}, {124, PARAM_INT, 0},
    /* 924: cudaGraphMemAllocNodeGetParams */
    {152, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {205, PARAM_POINTER, 0}, {125, PARAM_ENUM, 67},
    {124, PARAM_INT, 0},
    /* 929: cudaGraphAddMemFreeNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {205, PARAM_POINTER, 0},
    /* 933: cudaGraphMemFreeNodeGetParams */
    {152, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0},
    /* 935: cudaDeviceGetGraphMemAttribute */
    {49, PARAM_INT, 0}, {8, PARAM_ENUM, 60}, {261, PARAM_POINTER, 0},
    /* 938: cudaGraphNodeSetEnabled */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {111, PARAM_UINT, 0},
    /* 941: cudaGraphNodeGetEnabled */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {111, PARAM_UINT, 0},
    /* 944: cudaArrayGetMemoryRequirements */
    {19, PARAM_UINT, 0}, {4, PARAM_UINT, 0}, {6, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 948: cudaMipmappedArrayGetMemoryRequirements */
    {19, PARAM_UINT, 0}, {4, PARAM_UINT, 0}, {145, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 952: cudaLaunchKernelExC */
    {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    {154, PARAM_UINT, 0}, {88, PARAM_POINTER, 0},
    /* 958: cudaOccupancyMaxPotentialClusterSize */
    {34, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0},
    {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0}, {154, PARAM_UINT, 0},
    /* 965: cudaOccupancyMaxActiveClusters */
    {158, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0},
    {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0}, {154, PARAM_UINT, 0},
    /* 972: cudaGraphInstantiateWithParams */
    {92, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {257, PARAM_POINTER, 0},
    /* 976: cudaGraphExecGetFlags */
    {92, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 978: cudaGetKernel */
    {113, PARAM_POINTER, 0}, {74, PARAM_POINTER, 0},
    /* 980: cudaStreamGetId */
    {233, PARAM_POINTER, 0}, {234, PARAM_UINT, 0},
    /* 982: cudaInitDevice */
    {49, PARAM_INT, 0}, {50, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 985: cudaGraphAddNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {255, PARAM_ENUM, 61},
    /* 989: cudaGraphNodeSetParams */
    {152, PARAM_POINTER, 0}, {255, PARAM_ENUM, 61},
    /* 991: cudaGraphExecNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {255, PARAM_ENUM, 61},
    /* 994: cudaMemAdvise */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {3, PARAM_ENUM, 72}, {125, PARAM_ENUM, 67},
    {124, PARAM_INT, 0},
    /* 999: cudaMemPrefetchAsync */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {125, PARAM_ENUM, 67}, {124, PARAM_INT, 0},
    {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1005: cudaFuncGetName */
    {149, PARAM_STRING, 0}, {88, PARAM_POINTER, 0},
    /* 1007: cudaStreamBeginCaptureToGraph */
    {233, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {147, PARAM_ENUM, 74},
    /* 1011: cudaGraphConditionalHandleCreate */
    {103, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {45, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1015: cudaGraphGetEdges */
    {91, PARAM_POINTER, 0}, {162, PARAM_UINT, 0},
    /* 1017: cudaGraphNodeGetDependencies */
    {152, PARAM_POINTER, 0}, {159, PARAM_UINT, 0},
    /* 1019: cudaGraphNodeGetDependentNodes */
    {152, PARAM_POINTER, 0}, {160, PARAM_UINT, 0},
    /* 1021: cudaGraphAddDependencies */
    {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0},
    /* 1023: cudaGraphAddNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {255, PARAM_ENUM, 61},
    /* 1027: cudaStreamGetCaptureInfo */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 75}, {107, PARAM_UINT, 0}, {91, PARAM_POINTER, 0},
    {159, PARAM_UINT, 0},
    /* 1032: cudaStreamUpdateCaptureDependencies */
    {233, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1035: cudaDeviceRegisterAsyncNotification */
    {49, PARAM_INT, 0}, {21, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0},
    /* 1038: cudaDeviceUnregisterAsyncNotification */
    {49, PARAM_INT, 0}, {21, PARAM_POINTER, 0},
    /* 1040: cudaFuncGetParamInfo */
    {88, PARAM_POINTER, 0}, {189, PARAM_UINT, 0}, {190, PARAM_UINT, 0}, {191, PARAM_UINT, 0},
    /* 1044: cudaGetDriverEntryPointByVersion */
    {240, PARAM_STRING, 0}, {88, PARAM_POINTER, 0}, {42, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    {54, PARAM_ENUM, 52},
    /* 1049: cudaLibraryLoadData */
    {122, PARAM_POINTER, 0}, {35, PARAM_POINTER, 0}, {165, PARAM_UINT, 0}, {168, PARAM_UINT, 0},
    /* 1053: cudaLibraryLoadFromFile */
    {122, PARAM_POINTER, 0}, {82, PARAM_STRING, 0}, {165, PARAM_UINT, 0}, {168, PARAM_UINT, 0},
    /* 1057: cudaLibraryUnload */
    {122, PARAM_POINTER, 0},
    /* 1058: cudaLibraryGetKernel */
    {113, PARAM_POINTER, 0}, {122, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1061: cudaLibraryGetGlobal */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {122, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1065: cudaLibraryGetUnifiedFunction */
    {88, PARAM_POINTER, 0}, {122, PARAM_POINTER, 0}, {240, PARAM_STRING, 0},
    /* 1068: cudaLibraryGetKernelCount */
    {40, PARAM_UINT, 0}, {122, PARAM_POINTER, 0},
    /* 1070: cudaLibraryEnumerateKernels */
    {166, PARAM_UINT, 0}, {122, PARAM_POINTER, 0},
    /* 1072: cudaKernelSetAttributeForDevice */
    {113, PARAM_POINTER, 0}, {8, PARAM_ENUM, 57}, {261, PARAM_INT, 0}, {49, PARAM_INT, 0},
    /* 1076: cudaStreamGetDevice */
    {233, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 1078: cudaMemcpyBatchAsync */
    {40, PARAM_UINT, 0}, {155, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1081: cudaMemcpy3DBatchAsync */
    {171, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1084: cudaMemPrefetchBatchAsync */
    {40, PARAM_UINT, 0}, {175, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1088: cudaMemDiscardBatchAsync */
    {40, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1091: cudaGetExportTable */
    {78, PARAM_POINTER, 0},
    /* 1092: cudaMemcpyBatchAsync */
    {40, PARAM_UINT, 0}, {155, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1095: cudaMemcpy3DBatchAsync */
    {171, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1098: cudaLogsRegisterCallback */
    {21, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0},
    /* 1100: cudaLogsUnregisterCallback */
    {21, PARAM_POINTER, 0},
    /* 1101: cudaLogsCurrent */
    {112, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1103: cudaLogsDumpToFile */
    {112, PARAM_UINT, 0}, {82, PARAM_STRING, 0}, {84, PARAM_UINT, 0},
    /* 1106: cudaLogsDumpToMemory */
    {112, PARAM_UINT, 0}, {17, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1110: cudaMemGetDefaultMemPool */
    {203, PARAM_POINTER, 0}, {125, PARAM_ENUM, 67}, {124, PARAM_INT, 0}, {255, PARAM_ENUM, 66},
    /* 1114: cudaMemSetMemPool */
    {125, PARAM_ENUM, 67}, {124, PARAM_INT, 0}, {255, PARAM_ENUM, 66}, {203, PARAM_POINTER, 0},
    /* 1118: cudaDeviceGetHostAtomicCapabilities */
    {40, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 1120: cudaDeviceGetP2PAtomicCapabilities */
    {40, PARAM_UINT, 0}, {219, PARAM_INT, 0}, {59, PARAM_INT, 0},
    /* 1123: cudaDeviceGetDevResource */
    {49, PARAM_INT, 0}, {255, PARAM_ENUM, 49},
    /* 1125: cudaDevSmResourceSplitByCount */
    {150, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {140, PARAM_UINT, 0},
    /* 1128: cudaDevResourceGenerateDesc */
    {47, PARAM_POINTER, 0}, {151, PARAM_UINT, 0},
    /* 1130: cudaGreenCtxCreate */
    {38, PARAM_POINTER, 0}, {47, PARAM_POINTER, 0}, {49, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    /* 1134: cudaExecutionCtxDestroy */
    {38, PARAM_POINTER, 0},
    /* 1135: cudaExecutionCtxGetDevResource */
    {38, PARAM_POINTER, 0}, {255, PARAM_ENUM, 49},
    /* 1137: cudaExecutionCtxGetDevice */
    {49, PARAM_INT, 0}, {38, PARAM_POINTER, 0},
    /* 1139: cudaExecutionCtxGetId */
    {38, PARAM_POINTER, 0}, {39, PARAM_UINT, 0},
    /* 1141: cudaExecutionCtxStreamCreate */
    {233, PARAM_POINTER, 0}, {38, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {204, PARAM_INT, 0},
    /* 1145: cudaGraphConditionalHandleCreate */
    {103, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {38, PARAM_POINTER, 0}, {45, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 1150: cudaStreamGetDevResource */
    {233, PARAM_POINTER, 0}, {255, PARAM_ENUM, 49},
    /* 1152: cudaGraphNodeGetLocalId */
    {152, PARAM_POINTER, 0}, {153, PARAM_UINT, 0},
    /* 1154: cudaGraphNodeGetToolsId */
    {152, PARAM_POINTER, 0}, {253, PARAM_UINT, 0},
    /* 1156: cudaGraphGetId */
    {91, PARAM_POINTER, 0}, {93, PARAM_UINT, 0},
    /* 1158: cudaGraphExecGetId */
    {92, PARAM_POINTER, 0}, {93, PARAM_UINT, 0},
    /* 1160: cudaExecutionCtxRecordEvent */
    {38, PARAM_POINTER, 0}, {77, PARAM_POINTER, 0},
    /* 1162: cudaDeviceGetExecutionCtx */
    {38, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 1164: cudaDevSmResourceSplit */
    {150, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1166: cudaLaunchHostFunc */
    {233, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0}, {259, PARAM_POINTER, 0}, {243, PARAM_UINT, 0},
    /* 1170: cudaFuncGetParamCount */
    {88, PARAM_POINTER, 0}, {188, PARAM_UINT, 0},
    /* 1172: cudaMemcpyWithAttributesAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {216, PARAM_ENUM, 71},
    {222, PARAM_ENUM, 67}, {221, PARAM_INT, 0}, {62, PARAM_ENUM, 67}, {61, PARAM_INT, 0},
    {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1182: cudaMemcpy3DWithAttributesAsync */
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1187: cudaStreamBeginRecaptureToGraph */
    {233, PARAM_POINTER, 0}, {147, PARAM_ENUM, 74}, {91, PARAM_POINTER, 0},
    /* 1190: cudaMemGetLocationInfo */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {235, PARAM_UINT, 0}, {209, PARAM_UINT, 0},
    {125, PARAM_ENUM, 67}, {124, PARAM_INT, 0},
    /* 1196: cuDeviceGet */
    {49, PARAM_INT, 0}, {182, PARAM_INT, 0},
    /* 1198: cuDeviceGetName */
    {149, PARAM_POINTER, 0}, {118, PARAM_INT, 0}, {49, PARAM_INT, 0},
    /* 1201: cuDeviceComputeCapability */
    {127, PARAM_INT, 0}, {143, PARAM_INT, 0}, {49, PARAM_INT, 0},
    /* 1204: cuDeviceTotalMem */
    {19, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 1206: cuDeviceGetAttribute */
    {261, PARAM_INT, 0}, {8, PARAM_ENUM, 6}, {49, PARAM_INT, 0},
    /* 1209: cuCtxCreate */
    {38, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 1212: cuCtxAttach */
    {38, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1214: cuCtxPopCurrent */
    {38, PARAM_POINTER, 0},
    /* 1215: cuModuleLoad */
    {148, PARAM_POINTER, 0}, {82, PARAM_STRING, 0},
    /* 1217: cuModuleLoadData */
    {148, PARAM_POINTER, 0}, {108, PARAM_POINTER, 0},
    /* 1219: cuModuleLoadDataEx */
    {148, PARAM_POINTER, 0}, {108, PARAM_POINTER, 0}, {172, PARAM_UINT, 0},
    /* 1222: cuModuleLoadFatBinary */
    {148, PARAM_POINTER, 0}, {81, PARAM_POINTER, 0},
    /* 1224: cuModuleUnload */
    {148, PARAM_POINTER, 0},
    /* 1225: cuModuleGetFunction */
    {88, PARAM_POINTER, 0}, {148, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1228: cuModuleGetGlobal */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {148, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1232: cuModuleGetTexRef */
    {248, PARAM_POINTER, 0}, {148, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1235: cuMemGetInfo */
    {87, PARAM_UINT, 0}, {254, PARAM_UINT, 0},
    /* 1237: cuMemAlloc */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1239: cuMemAllocPitch */
    {205, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {72, PARAM_UINT, 0},
    /* 1244: cuMemFree */
    {205, PARAM_POINTER, 0},
    /* 1245: cuMemGetAddressRange */
    {9, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {205, PARAM_POINTER, 0},
    /* 1248: cuMemAllocHost */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1250: cuMemHostGetDevicePointer */
    {52, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1253: cuMemcpyHtoD */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1256: cuMemcpyDtoH */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1259: cuMemcpyDtoD */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1262: cuMemcpyDtoA */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1266: cuMemcpyAtoD */
    {56, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    /* 1270: cuMemcpyHtoA */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1274: cuMemcpyAtoH */
    {56, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    /* 1278: cuMemcpyAtoA */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0},
    {19, PARAM_UINT, 0},
    /* 1283: cuMemcpyHtoDAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1287: cuMemcpyDtoHAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1291: cuMemcpyDtoDAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1295: cuMemcpyHtoAAsync */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1300: cuMemcpyAtoHAsync */
    {56, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1305: cuMemcpy2DAsync */
    {233, PARAM_POINTER, 0},
    /* 1306: cuMemsetD8 */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1309: cuMemsetD16 */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1312: cuMemsetD32 */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1315: cuMemsetD2D8 */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 1320: cuMemsetD2D16 */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 1325: cuMemsetD2D32 */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 1330: cuFuncSetBlockShape */
    {88, PARAM_POINTER, 0}, {268, PARAM_INT, 0}, {270, PARAM_INT, 0}, {272, PARAM_INT, 0},
    /* 1334: cuFuncSetSharedSize */
    {88, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1336: cuFuncGetAttribute */
    {261, PARAM_INT, 0}, {8, PARAM_ENUM, 16}, {88, PARAM_POINTER, 0},
    /* 1339: cuFuncSetCacheConfig */
    {88, PARAM_POINTER, 0}, {36, PARAM_ENUM, 14},
    /* 1341: cuArrayCreate */
    {103, PARAM_POINTER, 0},
    /* 1342: cuTexRefCreate */
    {248, PARAM_POINTER, 0},
    /* 1343: cuTexRefDestroy */
    {248, PARAM_POINTER, 0},
    /* 1344: cuTexRefSetArray */
    {248, PARAM_POINTER, 0}, {6, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1347: cuTexRefSetAddress */
    {18, PARAM_UINT, 0}, {248, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1351: cuTexRefSetAddress2D */
    {248, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {197, PARAM_UINT, 0},
    /* 1354: cuTexRefSetFormat */
    {248, PARAM_POINTER, 0}, {85, PARAM_ENUM, 2}, {173, PARAM_INT, 0},
    /* 1357: cuTexRefSetAddressMode */
    {248, PARAM_POINTER, 0}, {53, PARAM_INT, 0}, {2, PARAM_ENUM, 1},
    /* 1360: cuTexRefSetFilterMode */
    {248, PARAM_POINTER, 0}, {83, PARAM_ENUM, 11},
    /* 1362: cuTexRefSetFlags */
    {248, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1364: cuTexRefGetAddress */
    {205, PARAM_POINTER, 0}, {248, PARAM_POINTER, 0},
    /* 1366: cuTexRefGetArray */
    {6, PARAM_POINTER, 0}, {248, PARAM_POINTER, 0},
    /* 1368: cuTexRefGetAddressMode */
    {2, PARAM_ENUM, 1}, {248, PARAM_POINTER, 0}, {53, PARAM_INT, 0},
    /* 1371: cuTexRefGetFilterMode */
    {83, PARAM_ENUM, 11}, {248, PARAM_POINTER, 0},
    /* 1373: cuTexRefGetFormat */
    {86, PARAM_ENUM, 2}, {157, PARAM_INT, 0}, {248, PARAM_POINTER, 0},
    /* 1376: cuTexRefGetFlags */
    {84, PARAM_UINT, 0}, {248, PARAM_POINTER, 0},
    /* 1378: cuParamSeti */
    {88, PARAM_POINTER, 0}, {179, PARAM_INT, 0}, {261, PARAM_UINT, 0},
    /* 1381: cuParamSetf */
    {88, PARAM_POINTER, 0}, {179, PARAM_INT, 0}, {261, PARAM_DOUBLE, 0},
    /* 1384: cuParamSetv */
    {88, PARAM_POINTER, 0}, {179, PARAM_INT, 0}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1388: cuParamSetTexRef */
    {88, PARAM_POINTER, 0}, {251, PARAM_INT, 0}, {248, PARAM_POINTER, 0},
    /* 1391: cuLaunchGrid */
    {88, PARAM_POINTER, 0}, {99, PARAM_INT, 0}, {98, PARAM_INT, 0},
    /* 1394: cuLaunchGridAsync */
    {88, PARAM_POINTER, 0}, {99, PARAM_INT, 0}, {98, PARAM_INT, 0}, {233, PARAM_POINTER, 0},
    /* 1398: cuGraphicsResourceGetMappedPointer */
    {205, PARAM_POINTER, 0}, {214, PARAM_UINT, 0}, {207, PARAM_POINTER, 0},
    /* 1401: cuGraphicsMapResources */
    {40, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1403: cuCtxSetLimit */
    {123, PARAM_ENUM, 22}, {261, PARAM_UINT, 0},
    /* 1405: cuCtxGetLimit */
    {261, PARAM_UINT, 0}, {123, PARAM_ENUM, 22},
    /* 1407: cuModuleGetSurfRef */
    {237, PARAM_POINTER, 0}, {148, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1410: cuSurfRefSetArray */
    {237, PARAM_POINTER, 0}, {6, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1413: cuSurfRefGetArray */
    {6, PARAM_POINTER, 0}, {237, PARAM_POINTER, 0},
    /* 1415: cuMemsetD8Async */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1419: cuMemsetD16Async */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1423: cuMemsetD32Async */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1427: cuMemsetD2D8Async */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1433: cuMemsetD2D16Async */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1439: cuMemsetD2D32Async */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1445: cuModuleGetGlobal */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {148, PARAM_POINTER, 0}, {149, PARAM_STRING, 0},
    /* 1449: cuMemAllocPitch */
    {205, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {72, PARAM_UINT, 0},
    /* 1454: cuMemGetAddressRange */
    {9, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {205, PARAM_POINTER, 0},
    /* 1457: cuMemsetD8 */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1460: cuMemsetD16 */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1463: cuMemsetD32 */
    {56, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1466: cuMemsetD2D8 */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 1471: cuMemsetD2D16 */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 1476: cuMemsetD2D32 */
    {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0},
    /* 1481: cuTexRefSetAddress */
    {18, PARAM_UINT, 0}, {248, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1485: cuTexRefSetAddress2D */
    {248, PARAM_POINTER, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {86, PARAM_ENUM, 2},
    {29, PARAM_UINT, 0}, {205, PARAM_POINTER, 0}, {197, PARAM_UINT, 0},
    /* 1492: cuTexRefGetAddress */
    {205, PARAM_POINTER, 0}, {248, PARAM_POINTER, 0},
    /* 1494: cuGraphicsResourceGetMappedPointer */
    {205, PARAM_POINTER, 0}, {214, PARAM_UINT, 0}, {207, PARAM_POINTER, 0},
    /* 1497: cuDeviceTotalMem */
    {19, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 1499: cuArrayCreate */
    {103, PARAM_POINTER, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {86, PARAM_ENUM, 2},
    {29, PARAM_UINT, 0},
    /* 1504: cuArrayGetDescriptor */
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {86, PARAM_ENUM, 2}, {29, PARAM_UINT, 0},
    {6, PARAM_POINTER, 0},
    /* 1509: cuArray3DCreate */
    {103, PARAM_POINTER, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {86, PARAM_ENUM, 2},
    {29, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1516: cuArray3DGetDescriptor */
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {86, PARAM_ENUM, 2}, {29, PARAM_UINT, 0},
    {46, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {6, PARAM_POINTER, 0},
    /* 1523: cuMemcpyHtoD */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1526: cuMemcpyHtoDAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1530: cuMemcpyAtoH */
    {56, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    /* 1534: cuMemcpyAtoHAsync */
    {56, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1539: cuMemcpyDtoA */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1543: cuMemcpyAtoA */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {217, PARAM_POINTER, 0}, {224, PARAM_UINT, 0},
    {19, PARAM_UINT, 0},
    /* 1548: cuMemcpy2D */
    {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34},
    {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    /* 1564: cuMemcpy2DAsync */
    {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34},
    {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1581: cuMemcpy3D */
    {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34},
    {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {63, PARAM_UINT, 0},
    {46, PARAM_UINT, 0},
    /* 1602: cuMemcpy3DAsync */
    {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34},
    {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {63, PARAM_UINT, 0},
    {46, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1624: cuMemcpyHtoAAsync */
    {57, PARAM_POINTER, 0}, {64, PARAM_UINT, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1629: cuCtxGetApiVersion */
    {38, PARAM_POINTER, 0}, {262, PARAM_UINT, 0},
    /* 1631: cuCtxGetCacheConfig */
    {36, PARAM_ENUM, 14},
    /* 1632: cuCtxSetCacheConfig */
    {36, PARAM_ENUM, 14},
    /* 1633: cuLaunchKernel */
    {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0},
    {233, PARAM_POINTER, 0},
    /* 1638: cuPointerGetAttribute */
    {8, PARAM_ENUM, 37}, {205, PARAM_POINTER, 0},
    /* 1640: cuDeviceCanAccessPeer */
    {22, PARAM_INT, 0}, {49, PARAM_INT, 0}, {194, PARAM_INT, 0},
    /* 1643: cuCtxEnablePeerAccess */
    {193, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1645: cuCtxDisablePeerAccess */
    {193, PARAM_POINTER, 0},
    /* 1646: cuMemcpyPeer */
    {56, PARAM_POINTER, 0}, {58, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {218, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0},
    /* 1651: cuMemcpyPeerAsync */
    {56, PARAM_POINTER, 0}, {58, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {218, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1657: cuMemcpy3DPeer */
    {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34},
    {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {63, PARAM_UINT, 0},
    {46, PARAM_UINT, 0}, {218, PARAM_POINTER, 0}, {58, PARAM_POINTER, 0},
    /* 1680: cuMemcpy3DPeerAsync */
    {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0},
    {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34},
    {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0},
    {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {63, PARAM_UINT, 0},
    {46, PARAM_UINT, 0}, {218, PARAM_POINTER, 0}, {58, PARAM_POINTER, 0}, {233, PARAM_POINTER, 0},
    /* 1704: cuCtxSetSharedMemConfig */
    {36, PARAM_ENUM, 39},
    /* 1705: cuCtxGetSharedMemConfig */
    {36, PARAM_ENUM, 39},
    /* 1706: cuFuncSetSharedMemConfig */
    {88, PARAM_POINTER, 0}, {36, PARAM_ENUM, 39},
    /* 1708: cuMipmappedArrayCreate */
    {103, PARAM_POINTER, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {86, PARAM_ENUM, 2},
    {29, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {169, PARAM_UINT, 0},
    /* 1716: cuTexRefSetMipmappedArray */
    {248, PARAM_POINTER, 0}, {146, PARAM_POINTER, 0}, {84, PARAM_UINT, 0},
    /* 1719: cuTexRefSetMipmapLevelBias */
    {248, PARAM_POINTER, 0}, {11, PARAM_DOUBLE, 0},
    /* 1721: cuTexRefSetMipmapLevelClamp */
    {248, PARAM_POINTER, 0}, {142, PARAM_DOUBLE, 0}, {130, PARAM_DOUBLE, 0},
    /* 1724: cuTexRefSetMaxAnisotropy */
    {248, PARAM_POINTER, 0}, {128, PARAM_UINT, 0},
    /* 1726: cuTexRefGetMipmappedArray */
    {146, PARAM_POINTER, 0}, {248, PARAM_POINTER, 0},
    /* 1728: cuTexRefGetMipmapLevelBias */
    {11, PARAM_DOUBLE, 0}, {248, PARAM_POINTER, 0},
    /* 1730: cuTexRefGetMipmapLevelClamp */
    {142, PARAM_DOUBLE, 0}, {130, PARAM_DOUBLE, 0}, {248, PARAM_POINTER, 0},
    /* 1733: cuTexRefGetMaxAnisotropy */
    {128, PARAM_INT, 0}, {248, PARAM_POINTER, 0},
    /* 1735: cuLinkCreate */
    {172, PARAM_UINT, 0}, {232, PARAM_POINTER, 0},
    /* 1737: cuLinkAddData */
    {232, PARAM_POINTER, 0}, {255, PARAM_ENUM, 20}, {19, PARAM_UINT, 0}, {149, PARAM_STRING, 0},
    {172, PARAM_UINT, 0},
    /* 1742: cuLinkAddFile */
    {232, PARAM_POINTER, 0}, {255, PARAM_ENUM, 20}, {82, PARAM_STRING, 0}, {172, PARAM_UINT, 0},
    /* 1746: cuLinkComplete */
    {232, PARAM_POINTER, 0}, {41, PARAM_POINTER, 0}, {214, PARAM_UINT, 0},
    /* 1749: cuLinkDestroy */
    {232, PARAM_POINTER, 0},
    /* 1750: cuGetErrorString */
    {75, PARAM_INT, 0}, {250, PARAM_STRING, 0},
    /* 1752: cuPointerSetAttribute */
    {261, PARAM_POINTER, 0}, {8, PARAM_ENUM, 37}, {205, PARAM_POINTER, 0},
    /* 1755: cuOccupancyMaxPotentialBlockSize */
    {141, PARAM_INT, 0}, {14, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {16, PARAM_POINTER, 0},
    {213, PARAM_UINT, 0}, {15, PARAM_INT, 0},
    /* 1761: cuDevicePrimaryCtxSetFlags */
    {49, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    /* 1763: cuDevicePrimaryCtxGetState */
    {49, PARAM_INT, 0}, {84, PARAM_UINT, 0}, {0, PARAM_INT, 0},
    /* 1766: cuPointerGetAttributes */
    {154, PARAM_UINT, 0}, {205, PARAM_POINTER, 0},
    /* 1768: cuOccupancyMaxPotentialBlockSizeWithFlags */
    {141, PARAM_INT, 0}, {14, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {16, PARAM_POINTER, 0},
    {213, PARAM_UINT, 0}, {15, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    /* 1775: cuDeviceGetP2PAttribute */
    {261, PARAM_INT, 0}, {8, PARAM_ENUM, 5}, {219, PARAM_INT, 0}, {59, PARAM_INT, 0},
    /* 1779: cuTexRefGetBorderColor */
    {248, PARAM_POINTER, 0},
    /* 1780: cuMemAdvise */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {3, PARAM_ENUM, 31}, {49, PARAM_INT, 0},
    /* 1784: cuStreamWaitValue32 */
    {233, PARAM_POINTER, 0}, {1, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1788: cuStreamBatchMemOp */
    {233, PARAM_POINTER, 0}, {40, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1791: cuMemRangeGetAttribute */
    {44, PARAM_UINT, 0}, {8, PARAM_ENUM, 32}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1795: cuStreamWaitValue64 */
    {233, PARAM_POINTER, 0}, {1, PARAM_POINTER, 0}, {261, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1799: cuFuncSetAttribute */
    {88, PARAM_POINTER, 0}, {8, PARAM_ENUM, 16}, {261, PARAM_INT, 0},
    /* 1802: cuStreamGetCtx */
    {233, PARAM_POINTER, 0}, {38, PARAM_POINTER, 0},
    /* 1804: cuImportExternalMemory */
    {79, PARAM_POINTER, 0}, {255, PARAM_ENUM, 9}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 1808: cuImportExternalSemaphore */
    {80, PARAM_POINTER, 0}, {255, PARAM_ENUM, 10}, {84, PARAM_UINT, 0},
    /* 1811: cuStreamIsCapturing */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 41},
    /* 1813: cuGraphAddMemcpyNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {227, PARAM_ENUM, 34},
    {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {225, PARAM_UINT, 0},
    {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34}, {60, PARAM_POINTER, 0},
    {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {68, PARAM_UINT, 0},
    {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {230, PARAM_UINT, 0},
    {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0}, {63, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    {38, PARAM_POINTER, 0},
    /* 1838: cuGraphMemcpyNodeGetParams */
    {152, PARAM_POINTER, 0}, {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0},
    {217, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0},
    {67, PARAM_ENUM, 34}, {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0},
    {65, PARAM_UINT, 0}, {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0},
    {63, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    /* 1860: cuGraphAddMemsetNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {56, PARAM_POINTER, 0},
    {197, PARAM_UINT, 0}, {261, PARAM_UINT, 0}, {71, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {38, PARAM_POINTER, 0},
    /* 1870: cuGraphNodeGetType */
    {152, PARAM_POINTER, 0}, {255, PARAM_ENUM, 19},
    /* 1872: cuGraphMemcpyNodeSetParams */
    {152, PARAM_POINTER, 0}, {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0},
    {217, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0}, {229, PARAM_UINT, 0},
    {67, PARAM_ENUM, 34}, {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {57, PARAM_POINTER, 0},
    {65, PARAM_UINT, 0}, {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0}, {267, PARAM_UINT, 0},
    {106, PARAM_UINT, 0}, {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0}, {70, PARAM_UINT, 0},
    {63, PARAM_UINT, 0}, {46, PARAM_UINT, 0},
    /* 1894: cuDeviceGetLuid */
    {126, PARAM_POINTER, 0}, {51, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 1897: cuStreamGetCaptureInfo */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 41}, {107, PARAM_UINT, 0},
    /* 1900: cuStreamBeginCapture */
    {233, PARAM_POINTER, 0}, {147, PARAM_ENUM, 40},
    /* 1902: cuThreadExchangeStreamCaptureMode */
    {147, PARAM_ENUM, 40},
    /* 1903: cuMemAddressReserve */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {4, PARAM_UINT, 0}, {1, PARAM_POINTER, 0},
    {84, PARAM_UINT, 0},
    /* 1908: cuMemAddressFree */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 1910: cuMemCreate */
    {103, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {5, PARAM_ENUM, 27}, {105, PARAM_ENUM, 26},
    {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    /* 1917: cuMemRelease */
    {103, PARAM_POINTER, 0},
    /* 1918: cuMemMap */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {179, PARAM_UINT, 0}, {103, PARAM_POINTER, 0},
    {84, PARAM_UINT, 0},
    /* 1923: cuMemSetAccess */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 1926: cuMemExportToShareableHandle */
    {212, PARAM_POINTER, 0}, {103, PARAM_POINTER, 0}, {104, PARAM_ENUM, 26}, {84, PARAM_UINT, 0},
    /* 1930: cuMemImportFromShareableHandle */
    {103, PARAM_POINTER, 0}, {185, PARAM_POINTER, 0}, {211, PARAM_ENUM, 26},
    /* 1933: cuMemGetAllocationGranularity */
    {90, PARAM_UINT, 0}, {5, PARAM_ENUM, 27}, {105, PARAM_ENUM, 26}, {125, PARAM_ENUM, 28},
    {124, PARAM_INT, 0}, {181, PARAM_ENUM, 25},
    /* 1939: cuMemGetAllocationPropertiesFromHandle */
    {5, PARAM_ENUM, 27}, {105, PARAM_ENUM, 26}, {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0},
    {103, PARAM_POINTER, 0},
    /* 1944: cuMemGetAccess */
    {84, PARAM_UINT, 0}, {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0}, {205, PARAM_POINTER, 0},
    /* 1948: cuGraphExecUpdate */
    {92, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {76, PARAM_POINTER, 0}, {256, PARAM_ENUM, 17},
    /* 1952: cuGraphExecMemcpyNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {227, PARAM_ENUM, 34}, {220, PARAM_POINTER, 0},
    {215, PARAM_POINTER, 0}, {217, PARAM_POINTER, 0}, {225, PARAM_UINT, 0}, {228, PARAM_UINT, 0},
    {229, PARAM_UINT, 0}, {67, PARAM_ENUM, 34}, {60, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0},
    {57, PARAM_POINTER, 0}, {65, PARAM_UINT, 0}, {68, PARAM_UINT, 0}, {69, PARAM_UINT, 0},
    {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0}, {230, PARAM_UINT, 0}, {223, PARAM_UINT, 0},
    {70, PARAM_UINT, 0}, {63, PARAM_UINT, 0}, {46, PARAM_UINT, 0}, {38, PARAM_POINTER, 0},
    /* 1976: cuGraphExecMemsetNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {56, PARAM_POINTER, 0}, {197, PARAM_UINT, 0},
    {261, PARAM_UINT, 0}, {71, PARAM_UINT, 0}, {267, PARAM_UINT, 0}, {106, PARAM_UINT, 0},
    {38, PARAM_POINTER, 0},
    /* 1985: cuMemRetainAllocationHandle */
    {103, PARAM_POINTER, 0}, {1, PARAM_POINTER, 0},
    /* 1987: cuFuncGetModule */
    {148, PARAM_POINTER, 0}, {88, PARAM_POINTER, 0},
    /* 1989: cuGraphKernelNodeGetAttribute */
    {152, PARAM_POINTER, 0}, {8, PARAM_ENUM, 21},
    /* 1991: cuStreamGetAttribute */
    {233, PARAM_POINTER, 0}, {8, PARAM_ENUM, 21},
    /* 1993: cuDeviceGetTexture1DLinearMaxWidth */
    {132, PARAM_UINT, 0}, {86, PARAM_ENUM, 2}, {157, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 1997: cuMemMapArrayAsync */
    {40, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 1999: cuMemPoolSetAttribute */
    {203, PARAM_POINTER, 0}, {8, PARAM_ENUM, 29}, {261, PARAM_POINTER, 0},
    /* 2002: cuMemPoolCreate */
    {203, PARAM_POINTER, 0}, {5, PARAM_ENUM, 27}, {105, PARAM_ENUM, 26}, {125, PARAM_ENUM, 28},
    {124, PARAM_INT, 0}, {129, PARAM_UINT, 0}, {258, PARAM_UINT, 0},
    /* 2009: cuMemPoolExportToShareableHandle */
    {103, PARAM_POINTER, 0}, {203, PARAM_POINTER, 0}, {104, PARAM_ENUM, 26}, {84, PARAM_UINT, 0},
    /* 2013: cuMemPoolImportFromShareableHandle */
    {203, PARAM_POINTER, 0}, {103, PARAM_POINTER, 0}, {104, PARAM_ENUM, 26}, {84, PARAM_UINT, 0},
    /* 2017: cuMemPoolGetAccess */
    {84, PARAM_ENUM, 24}, {203, PARAM_POINTER, 0}, {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0},
    /* 2021: cuGetProcAddress */
    {240, PARAM_STRING, 0}, {88, PARAM_POINTER, 0}, {42, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    /* 2025: cuFlushGPUDirectRDMAWrites */
    {244, PARAM_ENUM, 13}, {210, PARAM_ENUM, 12},
    /* 2027: cuStreamGetCaptureInfo */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 41}, {107, PARAM_UINT, 0}, {91, PARAM_POINTER, 0},
    {159, PARAM_UINT, 0},
    /* 2032: cuGraphAddMemAllocNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    {205, PARAM_POINTER, 0}, {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0},
    /* 2039: cuDeviceGetGraphMemAttribute */
    {49, PARAM_INT, 0}, {8, PARAM_ENUM, 18}, {261, PARAM_POINTER, 0},
    /* 2042: cuDeviceGetExecAffinitySupport */
    {261, PARAM_INT, 0}, {255, PARAM_ENUM, 8}, {49, PARAM_INT, 0},
    /* 2045: cuCtxCreate */
    {38, PARAM_POINTER, 0}, {174, PARAM_INT, 0}, {84, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 2049: cuCtxGetExecAffinity */
    {255, PARAM_ENUM, 8},
    /* 2050: cuGraphMemAllocNodeGetParams */
    {152, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {205, PARAM_POINTER, 0}, {125, PARAM_ENUM, 28},
    {124, PARAM_INT, 0},
    /* 2055: cuGraphMemFreeNodeGetParams */
    {152, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0},
    /* 2057: cuLaunchKernelEx */
    {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0}, {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    {154, PARAM_UINT, 0}, {88, PARAM_POINTER, 0},
    /* 2063: cuModuleGetLoadingMode */
    {147, PARAM_ENUM, 35},
    /* 2064: cuMemGetHandleForAddressRange */
    {103, PARAM_POINTER, 0}, {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {104, PARAM_ENUM, 30},
    {84, PARAM_UINT, 0},
    /* 2069: cuOccupancyMaxPotentialClusterSize */
    {34, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0},
    {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0}, {154, PARAM_UINT, 0},
    /* 2076: cuOccupancyMaxActiveClusters */
    {158, PARAM_INT, 0}, {88, PARAM_POINTER, 0}, {97, PARAM_DIM3, 0}, {13, PARAM_DIM3, 0},
    {213, PARAM_UINT, 0}, {233, PARAM_POINTER, 0}, {154, PARAM_UINT, 0},
    /* 2083: cuGetProcAddress */
    {240, PARAM_STRING, 0}, {88, PARAM_POINTER, 0}, {42, PARAM_INT, 0}, {84, PARAM_UINT, 0},
    {242, PARAM_ENUM, 7},
    /* 2088: cuLibraryGetModule */
    {148, PARAM_POINTER, 0}, {122, PARAM_POINTER, 0},
    /* 2090: cuKernelGetFunction */
    {88, PARAM_POINTER, 0}, {113, PARAM_POINTER, 0},
    /* 2092: cuKernelGetAttribute */
    {261, PARAM_INT, 0}, {8, PARAM_ENUM, 16}, {113, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 2096: cuKernelSetAttribute */
    {8, PARAM_ENUM, 16}, {260, PARAM_INT, 0}, {113, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 2100: cuKernelSetCacheConfig */
    {113, PARAM_POINTER, 0}, {36, PARAM_ENUM, 14}, {49, PARAM_INT, 0},
    /* 2103: cuGraphExecUpdate */
    {92, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {256, PARAM_ENUM, 17}, {76, PARAM_POINTER, 0},
    /* 2107: cuTensorMapEncodeTiled */
    {245, PARAM_ENUM, 42}, {246, PARAM_UINT, 0}, {89, PARAM_POINTER, 0}, {110, PARAM_ENUM, 45},
    {239, PARAM_ENUM, 47}, {115, PARAM_ENUM, 46}, {180, PARAM_ENUM, 43},
    /* 2114: cuTensorMapEncodeIm2col */
    {245, PARAM_ENUM, 42}, {246, PARAM_UINT, 0}, {89, PARAM_POINTER, 0}, {30, PARAM_UINT, 0},
    {200, PARAM_UINT, 0}, {110, PARAM_ENUM, 45}, {239, PARAM_ENUM, 47}, {115, PARAM_ENUM, 46},
    {180, PARAM_ENUM, 43},
    /* 2123: cuTensorMapReplaceAddress */
    {89, PARAM_POINTER, 0},
    /* 2124: cuCoredumpGetAttribute */
    {8, PARAM_ENUM, 3}, {261, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    /* 2127: cuMulticastCreate */
    {133, PARAM_POINTER, 0}, {161, PARAM_UINT, 0}, {19, PARAM_UINT, 0}, {105, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 2132: cuMulticastAddDevice */
    {133, PARAM_POINTER, 0}, {49, PARAM_INT, 0},
    /* 2134: cuMulticastBindMem */
    {133, PARAM_POINTER, 0}, {134, PARAM_UINT, 0}, {135, PARAM_POINTER, 0}, {136, PARAM_UINT, 0},
    {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 2140: cuMulticastBindAddr */
    {133, PARAM_POINTER, 0}, {134, PARAM_UINT, 0}, {137, PARAM_POINTER, 0}, {19, PARAM_UINT, 0},
    {84, PARAM_UINT, 0},
    /* 2145: cuMulticastUnbind */
    {133, PARAM_POINTER, 0}, {49, PARAM_INT, 0}, {134, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    /* 2149: cuMulticastGetGranularity */
    {90, PARAM_UINT, 0}, {161, PARAM_UINT, 0}, {19, PARAM_UINT, 0}, {105, PARAM_UINT, 0},
    {84, PARAM_UINT, 0}, {181, PARAM_ENUM, 36},
    /* 2155: cuGraphAddNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {255, PARAM_ENUM, 19},
    /* 2159: cuGraphNodeSetParams */
    {152, PARAM_POINTER, 0}, {255, PARAM_ENUM, 19},
    /* 2161: cuGraphExecNodeSetParams */
    {92, PARAM_POINTER, 0}, {152, PARAM_POINTER, 0}, {255, PARAM_ENUM, 19},
    /* 2164: cuMemAdvise */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {3, PARAM_ENUM, 31}, {125, PARAM_ENUM, 28},
    {124, PARAM_INT, 0},
    /* 2169: cuMemPrefetchAsync */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0},
    {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 2175: cuStreamBeginCaptureToGraph */
    {233, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {147, PARAM_ENUM, 40},
    /* 2179: cuGraphAddNode */
    {152, PARAM_POINTER, 0}, {91, PARAM_POINTER, 0}, {159, PARAM_UINT, 0}, {255, PARAM_ENUM, 19},
    /* 2183: cuStreamGetCaptureInfo */
    {233, PARAM_POINTER, 0}, {23, PARAM_ENUM, 41}, {107, PARAM_UINT, 0}, {91, PARAM_POINTER, 0},
    {159, PARAM_UINT, 0},
    /* 2188: cuKernelGetParamInfo */
    {113, PARAM_POINTER, 0}, {189, PARAM_UINT, 0}, {190, PARAM_UINT, 0}, {191, PARAM_UINT, 0},
    /* 2192: cuModuleGetFunctionCount */
    {40, PARAM_UINT, 0}, {148, PARAM_POINTER, 0},
    /* 2194: cuModuleEnumerateFunctions */
    {164, PARAM_UINT, 0}, {148, PARAM_POINTER, 0},
    /* 2196: cuFuncIsLoaded */
    {232, PARAM_ENUM, 15}, {88, PARAM_POINTER, 0},
    /* 2198: cuDeviceGetDevResource */
    {49, PARAM_INT, 0}, {255, PARAM_ENUM, 4},
    /* 2200: cuCtxGetDevResource */
    {38, PARAM_POINTER, 0}, {255, PARAM_ENUM, 4},
    /* 2202: cuKernelGetLibrary */
    {122, PARAM_POINTER, 0}, {113, PARAM_POINTER, 0},
    /* 2204: cuCtxCreate */
    {38, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 2207: cuGreenCtxStreamCreate */
    {233, PARAM_POINTER, 0}, {95, PARAM_POINTER, 0}, {84, PARAM_UINT, 0}, {204, PARAM_INT, 0},
    /* 2211: cuStreamGetCtx */
    {233, PARAM_POINTER, 0}, {38, PARAM_POINTER, 0}, {95, PARAM_POINTER, 0},
    /* 2214: cuMemBatchDecompressAsync */
    {40, PARAM_UINT, 0}, {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 2217: cuCheckpointProcessGetRestoreThreadId */
    {196, PARAM_INT, 0}, {252, PARAM_INT, 0},
    /* 2219: cuCheckpointProcessGetState */
    {196, PARAM_INT, 0}, {232, PARAM_ENUM, 38},
    /* 2221: cuCheckpointProcessLock */
    {196, PARAM_INT, 0},
    /* 2222: cuTensorMapEncodeIm2colWide */
    {245, PARAM_ENUM, 42}, {246, PARAM_UINT, 0}, {89, PARAM_POINTER, 0}, {198, PARAM_INT, 0},
    {199, PARAM_INT, 0}, {30, PARAM_UINT, 0}, {200, PARAM_UINT, 0}, {110, PARAM_ENUM, 45},
    {147, PARAM_ENUM, 44}, {239, PARAM_ENUM, 47}, {115, PARAM_ENUM, 46}, {180, PARAM_ENUM, 43},
    /* 2234: cuGreenCtxGetId */
    {95, PARAM_POINTER, 0}, {96, PARAM_UINT, 0},
    /* 2236: cuMemGetDefaultMemPool */
    {203, PARAM_POINTER, 0}, {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0}, {255, PARAM_ENUM, 27},
    /* 2240: cuMemSetMemPool */
    {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0}, {255, PARAM_ENUM, 27}, {203, PARAM_POINTER, 0},
    /* 2244: cuStreamGetDevResource */
    {233, PARAM_POINTER, 0}, {255, PARAM_ENUM, 4},
    /* 2246: cuMulticastBindMem */
    {133, PARAM_POINTER, 0}, {49, PARAM_INT, 0}, {134, PARAM_UINT, 0}, {135, PARAM_POINTER, 0},
    {136, PARAM_UINT, 0}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 2253: cuMulticastBindAddr */
    {133, PARAM_POINTER, 0}, {49, PARAM_INT, 0}, {134, PARAM_UINT, 0}, {137, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 2259: cuKernelGetParamCount */
    {113, PARAM_POINTER, 0}, {188, PARAM_UINT, 0},
    /* 2261: cuMemcpyWithAttributesAsync */
    {56, PARAM_POINTER, 0}, {215, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {216, PARAM_ENUM, 33},
    {222, PARAM_ENUM, 28}, {221, PARAM_INT, 0}, {62, PARAM_ENUM, 28}, {61, PARAM_INT, 0},
    {84, PARAM_UINT, 0}, {233, PARAM_POINTER, 0},
    /* 2271: cuStreamBeginRecaptureToGraph */
    {233, PARAM_POINTER, 0}, {147, PARAM_ENUM, 40}, {91, PARAM_POINTER, 0}, {21, PARAM_POINTER, 0},
    {259, PARAM_POINTER, 0},
    /* 2276: cuLogicalEndpointIdReserve */
    {10, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 2278: cuLogicalEndpointIdRelease */
    {10, PARAM_UINT, 0}, {40, PARAM_UINT, 0},
    /* 2280: cuLogicalEndpointCreate */
    {116, PARAM_UINT, 0},
    /* 2281: cuLogicalEndpointAddDevice */
    {116, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 2283: cuLogicalEndpointBindAddr */
    {116, PARAM_UINT, 0}, {49, PARAM_INT, 0}, {179, PARAM_UINT, 0}, {205, PARAM_POINTER, 0},
    {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 2289: cuLogicalEndpointBindMem */
    {116, PARAM_UINT, 0}, {49, PARAM_INT, 0}, {179, PARAM_UINT, 0}, {135, PARAM_POINTER, 0},
    {136, PARAM_UINT, 0}, {19, PARAM_UINT, 0}, {84, PARAM_UINT, 0},
    /* 2296: cuLogicalEndpointUnbind */
    {116, PARAM_UINT, 0}, {49, PARAM_INT, 0}, {179, PARAM_UINT, 0}, {19, PARAM_UINT, 0},
    /* 2300: cuLogicalEndpointExport */
    {103, PARAM_POINTER, 0}, {116, PARAM_UINT, 0}, {104, PARAM_ENUM, 23},
    /* 2303: cuLogicalEndpointImport */
    {116, PARAM_UINT, 0}, {103, PARAM_POINTER, 0}, {104, PARAM_ENUM, 23},
    /* 2306: cuLogicalEndpointGetLimits */
    {12, PARAM_UINT, 0}, {131, PARAM_UINT, 0},
    /* 2308: cuLogicalEndpointQuery */
    {116, PARAM_UINT, 0}, {40, PARAM_UINT, 0}, {206, PARAM_INT, 0},
    /* 2311: cuMemGetLocationInfo */
    {205, PARAM_POINTER, 0}, {19, PARAM_UINT, 0}, {235, PARAM_UINT, 0}, {209, PARAM_UINT, 0},
    {125, PARAM_ENUM, 28}, {124, PARAM_INT, 0},
    /* 2317: cuDeviceGetCliqueCount */
    {40, PARAM_UINT, 0}, {49, PARAM_INT, 0},
    /* 2319: cuDeviceGetCliqueInfo */
    {40, PARAM_UINT, 0}, {49, PARAM_INT, 0},
};

const struct call_info call_table_runtime[567] = {
    [1] = {1, 0, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDriverGetVersion */
    [2] = {22, 1, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaRuntimeGetVersion */
    [3] = {44, 2, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDeviceCount */
    [4] = {63, 3, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDeviceProperties */
    [5] = {87, 4, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaChooseDevice */
    [6] = {104, 5, 6, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetChannelDesc */
    [7] = {123, 11, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaCreateChannelDesc */
    [8] = {145, 16, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaConfigureCall */
    [9] = {163, 20, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaSetupArgument */
    [10] = {181, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetLastError */
    [11] = {198, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaPeekAtLastError */
    [12] = {218, 22, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetErrorString */
    [13] = {237, 23, 1, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunch */
    [14] = {248, 24, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncSetCacheConfig */
    [15] = {271, 26, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncGetAttributes */
    [16] = {293, 27, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaSetDevice */
    [17] = {307, 4, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDevice */
    [18] = {321, 28, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaSetValidDevices */
    [19] = {341, 29, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaSetDeviceFlags */
    [20] = {360, 30, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMalloc */
    [21] = {371, 32, 4, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocPitch */
    [22] = {387, 36, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaFree */
    [23] = {396, 37, 9, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocArray */
    [24] = {412, 46, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaFreeArray */
    [25] = {426, 30, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocHost */
    [26] = {441, 36, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaFreeHost */
    [27] = {454, 47, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaHostAlloc */
    [28] = {468, 50, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaHostGetDevicePointer */
    [29] = {493, 53, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaHostGetFlags */
    [30] = {510, 55, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemGetInfo */
    [31] = {525, 57, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy */
    [32] = {536, 61, 7, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2D */
    [33] = {549, 68, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToArray */
    [34] = {567, 74, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DToArray */
    [35] = {587, 82, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromArray */
    [36] = {607, 88, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DFromArray */
    [37] = {629, 96, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyArrayToArray */
    [38] = {652, 104, 9, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DArrayToArray */
    [39] = {677, 113, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToSymbol */
    [40] = {696, 118, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromSymbol */
    [41] = {717, 123, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyAsync */
    [42] = {733, 128, 7, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToArrayAsync */
    [43] = {756, 135, 7, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromArrayAsync */
    [44] = {781, 142, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DAsync */
    [45] = {799, 150, 9, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DToArrayAsync */
    [46] = {824, 159, 9, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DFromArrayAsync */
    [47] = {851, 168, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToSymbolAsync */
    [48] = {875, 174, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromSymbolAsync */
    [49] = {901, 180, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset */
    [50] = {912, 183, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset2D */
    [51] = {925, 188, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemsetAsync */
    [52] = {941, 192, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset2DAsync */
    [53] = {959, 198, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetSymbolAddress */
    [54] = {980, 200, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetSymbolSize */
    [55] = {998, 202, 9, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaBindTexture */
    [56] = {1014, 211, 11, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaBindTexture2D */
    [57] = {1032, 222, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaBindTextureToArray */
    [58] = {1055, 229, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaUnbindTexture */
    [59] = {1073, 230, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetTextureAlignmentOffset */
    [60] = {1103, 232, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetTextureReference */
    [61] = {1127, 234, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaBindSurfaceToArray */
    [62] = {1150, 241, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetSurfaceReference */
    [63] = {1174, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLSetGLDevice */
    [64] = {1192, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLRegisterBufferObject */
    [65] = {1219, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLMapBufferObject */
    [66] = {1241, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLUnmapBufferObject */
    [67] = {1265, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLUnregisterBufferObject */
    [68] = {1294, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLSetBufferObjectMapFlags */
    [69] = {1324, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLMapBufferObjectAsync */
    [70] = {1351, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLUnmapBufferObjectAsync */
    [71] = {1380, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaWGLGetDevice */
    [72] = {1397, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsGLRegisterImage */
    [73] = {1425, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsGLRegisterBuffer */
    [74] = {1454, 243, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsUnregisterResource */
    [75] = {1485, 244, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsResourceSetMapFlags */
    [76] = {1517, 246, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsMapResources */
    [77] = {1542, 246, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsUnmapResources */
    [78] = {1569, 248, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsResourceGetMappedPointer */
    [79] = {1606, 251, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsSubResourceGetMappedArray */
    [80] = {1644, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaVDPAUGetDevice */
    [81] = {1663, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaVDPAUSetVDPAUDevice */
    [82] = {1687, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsVDPAURegisterVideoSurface */
    [83] = {1725, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsVDPAURegisterOutputSurface */
    [84] = {1764, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D11GetDevice */
    [85] = {1783, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D11GetDevices */
    [86] = {1803, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D11SetDirect3DDevice */
    [87] = {1830, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsD3D11RegisterResource */
    [88] = {1864, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10GetDevice */
    [89] = {1883, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10GetDevices */
    [90] = {1903, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10SetDirect3DDevice */
    [91] = {1930, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsD3D10RegisterResource */
    [92] = {1964, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10RegisterResource */
    [93] = {1990, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10UnregisterResource */
    [94] = {2018, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10MapResources */
    [95] = {2040, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10UnmapResources */
    [96] = {2064, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10ResourceSetMapFlags */
    [97] = {2093, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10ResourceGetSurfaceDimensions */
    [98] = {2131, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10ResourceGetMappedArray */
    [99] = {2163, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10ResourceGetMappedPointer */
    [100] = {2197, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10ResourceGetMappedSize */
    [101] = {2228, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10ResourceGetMappedPitch */
    [102] = {2260, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9GetDevice */
    [103] = {2278, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9GetDevices */
    [104] = {2297, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9SetDirect3DDevice */
    [105] = {2323, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9GetDirect3DDevice */
    [106] = {2349, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsD3D9RegisterResource */
    [107] = {2382, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9RegisterResource */
    [108] = {2407, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9UnregisterResource */
    [109] = {2434, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9MapResources */
    [110] = {2455, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9UnmapResources */
    [111] = {2478, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9ResourceSetMapFlags */
    [112] = {2506, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9ResourceGetSurfaceDimensions */
    [113] = {2543, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9ResourceGetMappedArray */
    [114] = {2574, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9ResourceGetMappedPointer */
    [115] = {2607, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9ResourceGetMappedSize */
    [116] = {2637, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9ResourceGetMappedPitch */
    [117] = {2668, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9Begin */
    [118] = {2682, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9End */
    [119] = {2694, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9RegisterVertexBuffer */
    [120] = {2723, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9UnregisterVertexBuffer */
    [121] = {2754, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9MapVertexBuffer */
    [122] = {2778, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D9UnmapVertexBuffer */
    [123] = {2804, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaThreadExit */
    [124] = {2819, 255, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaSetDoubleForDevice */
    [125] = {2842, 255, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaSetDoubleForHost */
    [126] = {2863, 0, 0, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaThreadSynchronize */
    [127] = {2885, 256, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaThreadGetLimit */
    [128] = {2904, 258, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaThreadSetLimit */
    [129] = {2923, 260, 1, CALL_GROUP_STREAM, 1, 0, 0}, /* cudaStreamCreate */
    [130] = {2940, 261, 1, CALL_GROUP_STREAM, 1, 0, 0}, /* cudaStreamDestroy */
    [131] = {2958, 261, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaStreamSynchronize */
    [132] = {2980, 261, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamQuery */
    [133] = {2996, 262, 1, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventCreate */
    [134] = {3012, 263, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventCreateWithFlags */
    [135] = {3037, 265, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventRecord */
    [136] = {3053, 267, 1, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventDestroy */
    [137] = {3070, 267, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaEventSynchronize */
    [138] = {3091, 267, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEventQuery */
    [139] = {3106, 268, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEventElapsedTime */
    [140] = {3127, 271, 7, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMalloc3D */
    [141] = {3140, 278, 10, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMalloc3DArray */
    [142] = {3158, 288, 8, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset3D */
    [143] = {3171, 296, 9, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset3DAsync */
    [144] = {3189, 305, 16, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3D */
    [145] = {3202, 321, 17, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DAsync */
    [146] = {3220, 338, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaThreadSetCacheConfig */
    [147] = {3245, 339, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaStreamWaitEvent */
    [148] = {3265, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D11GetDirect3DDevice */
    [149] = {3292, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaD3D10GetDirect3DDevice */
    [150] = {3319, 342, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaThreadGetCacheConfig */
    [151] = {3344, 343, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaPointerGetAttributes */
    [152] = {3369, 344, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaHostRegister */
    [153] = {3386, 36, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaHostUnregister */
    [154] = {3405, 347, 3, CALL_GROUP_PEER, 0, 0, 0}, /* cudaDeviceCanAccessPeer */
    [155] = {3429, 350, 2, CALL_GROUP_PEER, 1, 0, 0}, /* cudaDeviceEnablePeerAccess */
    [156] = {3456, 352, 1, CALL_GROUP_PEER, 1, 0, 0}, /* cudaDeviceDisablePeerAccess */
    [157] = {3484, 0, 0, CALL_GROUP_PEER, 1, 0, 0}, /* cudaPeerRegister */
    [158] = {3501, 0, 0, CALL_GROUP_PEER, 1, 0, 0}, /* cudaPeerUnregister */
    [159] = {3520, 0, 0, CALL_GROUP_PEER, 1, 0, 0}, /* cudaPeerGetDevicePointer */
    [160] = {3545, 353, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyPeer */
    [161] = {3560, 358, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyPeerAsync */
    [162] = {3580, 364, 17, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DPeer */
    [163] = {3597, 381, 18, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DPeerAsync */
    [164] = {3619, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceReset */
    [165] = {3635, 0, 0, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaDeviceSynchronize */
    [166] = {3657, 256, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetLimit */
    [167] = {3676, 258, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceSetLimit */
    [168] = {3695, 342, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetCacheConfig */
    [169] = {3720, 338, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceSetCacheConfig */
    [170] = {3745, 399, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaProfilerInitialize */
    [171] = {3768, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaProfilerStart */
    [172] = {3786, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaProfilerStop */
    [173] = {3803, 402, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetByPCIBusId */
    [174] = {3827, 404, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetPCIBusId */
    [175] = {3849, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGLGetDevices */
    [176] = {3866, 407, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaIpcGetEventHandle */
    [177] = {3888, 262, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaIpcOpenEventHandle */
    [178] = {3911, 343, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaIpcGetMemHandle */
    [179] = {3931, 408, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cudaIpcOpenMemHandle */
    [180] = {3952, 36, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaIpcCloseMemHandle */
    [181] = {3974, 410, 10, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaArrayGetInfo */
    [182] = {3991, 420, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncSetSharedMemConfig */
    [183] = {4018, 422, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetSharedMemConfig */
    [184] = {4047, 423, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceSetSharedMemConfig */
    [185] = {4076, 424, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaCreateTextureObject */
    [186] = {4100, 425, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDestroyTextureObject */
    [187] = {4125, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetTextureObjectResourceDesc */
    [188] = {4158, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetTextureObjectTextureDesc */
    [189] = {4190, 427, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaCreateSurfaceObject */
    [190] = {4214, 428, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDestroySurfaceObject */
    [191] = {4239, 429, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetSurfaceObjectResourceDesc */
    [192] = {4272, 430, 11, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocMipmappedArray */
    [193] = {4297, 441, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetMipmappedArrayLevel */
    [194] = {4324, 444, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaFreeMipmappedArray */
    [195] = {4347, 445, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaBindTextureToMipmappedArray */
    [196] = {4379, 452, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsResourceGetMappedMipmappedArray */
    [197] = {4423, 454, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cudaStreamAddCallback */
    [198] = {4445, 458, 2, CALL_GROUP_STREAM, 1, 0, 0}, /* cudaStreamCreateWithFlags */
    [199] = {4471, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetTextureObjectResourceViewDesc */
    [200] = {4508, 460, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetAttribute */
    [201] = {2940, 261, 1, CALL_GROUP_STREAM, 1, 0, 0}, /* cudaStreamDestroy */
    [202] = {4531, 463, 3, CALL_GROUP_STREAM, 1, 0, 0}, /* cudaStreamCreateWithPriority */
    [203] = {4560, 466, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetPriority */
    [204] = {4582, 468, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetFlags */
    [205] = {4601, 470, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetStreamPriorityRange */
    [206] = {4634, 47, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocManaged */
    [207] = {4652, 472, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaOccupancyMaxActiveBlocksPerMultiprocessor */
    [208] = {4698, 475, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamAttachMemAsync */
    [209] = {4723, 22, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetErrorName */
    [210] = {4652, 479, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaOccupancyMaxActiveBlocksPerMultiprocessor */
    [211] = {4740, 483, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchKernel */
    [212] = {4757, 488, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDeviceFlags */
    [213] = {4776, 23, 1, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunch_ptsz */
    [214] = {4792, 483, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchKernel_ptsz */
    [215] = {4814, 57, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy_ptds */
    [216] = {4830, 61, 7, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2D_ptds */
    [217] = {4848, 68, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToArray_ptds */
    [218] = {4871, 74, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DToArray_ptds */
    [219] = {4896, 82, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromArray_ptds */
    [220] = {4921, 88, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DFromArray_ptds */
    [221] = {4948, 96, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyArrayToArray_ptds */
    [222] = {4976, 104, 9, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DArrayToArray_ptds */
    [223] = {5006, 113, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToSymbol_ptds */
    [224] = {5030, 118, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromSymbol_ptds */
    [225] = {5056, 123, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyAsync_ptsz */
    [226] = {5077, 128, 7, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToArrayAsync_ptsz */
    [227] = {5105, 135, 7, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromArrayAsync_ptsz */
    [228] = {5135, 142, 8, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DAsync_ptsz */
    [229] = {5158, 150, 9, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DToArrayAsync_ptsz */
    [230] = {5188, 159, 9, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy2DFromArrayAsync_ptsz */
    [231] = {5220, 168, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyToSymbolAsync_ptsz */
    [232] = {5249, 174, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyFromSymbolAsync_ptsz */
    [233] = {5280, 180, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset_ptds */
    [234] = {5296, 183, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset2D_ptds */
    [235] = {5314, 188, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemsetAsync_ptsz */
    [236] = {5335, 192, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset2DAsync_ptsz */
    [237] = {5358, 466, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetPriority_ptsz */
    [238] = {5385, 468, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetFlags_ptsz */
    [239] = {5409, 261, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaStreamSynchronize_ptsz */
    [240] = {5436, 261, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamQuery_ptsz */
    [241] = {5457, 475, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamAttachMemAsync_ptsz */
    [242] = {5487, 265, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventRecord_ptsz */
    [243] = {5508, 288, 8, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset3D_ptds */
    [244] = {5526, 296, 9, CALL_GROUP_FILL, 1, 1, 0}, /* cudaMemset3DAsync_ptsz */
    [245] = {5549, 305, 16, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3D_ptds */
    [246] = {5567, 321, 17, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DAsync_ptsz */
    [247] = {5590, 339, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaStreamWaitEvent_ptsz */
    [248] = {5615, 454, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cudaStreamAddCallback_ptsz */
    [249] = {5642, 364, 17, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DPeer_ptds */
    [250] = {5664, 381, 18, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DPeerAsync_ptsz */
    [251] = {5691, 489, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags */
    [252] = {5746, 494, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemPrefetchAsync */
    [253] = {5767, 494, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemPrefetchAsync_ptsz */
    [254] = {5793, 498, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemAdvise */
    [255] = {5807, 502, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetP2PAttribute */
    [256] = {5833, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsEGLRegisterImage */
    [257] = {5862, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamConsumerConnect */
    [258] = {5891, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamConsumerDisconnect */
    [259] = {5923, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamConsumerAcquireFrame */
    [260] = {5957, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamConsumerReleaseFrame */
    [261] = {5991, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamProducerConnect */
    [262] = {6020, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamProducerDisconnect */
    [263] = {6052, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamProducerPresentFrame */
    [264] = {6086, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamProducerReturnFrame */
    [265] = {6119, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGraphicsResourceGetMappedEglFrame */
    [266] = {6157, 506, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemRangeGetAttribute */
    [267] = {6182, 510, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemRangeGetAttributes */
    [268] = {6208, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEGLStreamConsumerConnectWithFlags */
    [269] = {6246, 483, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchCooperativeKernel */
    [270] = {6274, 483, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchCooperativeKernel_ptsz */
    [271] = {6307, 0, 0, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventCreateFromEGLSync */
    [272] = {6334, 513, 2, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchCooperativeKernelMultiDevice */
    [273] = {6373, 515, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncSetAttribute */
    [274] = {6394, 518, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cudaImportExternalMemory */
    [275] = {6419, 522, 5, CALL_GROUP_IPC, 1, 0, 0}, /* cudaExternalMemoryGetMappedBuffer */
    [276] = {6453, 527, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cudaExternalMemoryGetMappedMipmappedArray */
    [277] = {6495, 529, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaDestroyExternalMemory */
    [278] = {6521, 530, 3, CALL_GROUP_IPC, 1, 0, 0}, /* cudaImportExternalSemaphore */
    [279] = {6549, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaSignalExternalSemaphoresAsync */
    [280] = {6583, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaSignalExternalSemaphoresAsync_ptsz */
    [281] = {6622, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaWaitExternalSemaphoresAsync */
    [282] = {6654, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaWaitExternalSemaphoresAsync_ptsz */
    [283] = {6691, 535, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaDestroyExternalSemaphore */
    [284] = {6720, 536, 3, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cudaLaunchHostFunc */
    [285] = {6739, 536, 3, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cudaLaunchHostFunc_ptsz */
    [286] = {6763, 539, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphCreate */
    [287] = {6779, 541, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphKernelNodeGetParams */
    [288] = {6808, 546, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphKernelNodeSetParams */
    [289] = {6837, 551, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddKernelNode */
    [290] = {6860, 558, 19, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemcpyNode */
    [291] = {6883, 577, 17, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemcpyNodeGetParams */
    [292] = {6912, 594, 17, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemcpyNodeSetParams */
    [293] = {6941, 611, 9, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemsetNode */
    [294] = {6964, 620, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemsetNodeGetParams */
    [295] = {6993, 627, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemsetNodeSetParams */
    [296] = {7022, 634, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddHostNode */
    [297] = {7043, 639, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphHostNodeGetParams */
    [298] = {7070, 642, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddChildGraphNode */
    [299] = {7097, 646, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphChildGraphNodeGetGraph */
    [300] = {7129, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddEmptyNode */
    [301] = {7151, 651, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphClone */
    [302] = {7166, 653, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeFindInClone */
    [303] = {7191, 656, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetType */
    [304] = {7212, 658, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphGetRootNodes */
    [305] = {7234, 660, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetDependencies */
    [306] = {7263, 662, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetDependentNodes */
    [307] = {7294, 664, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddDependencies */
    [308] = {7319, 664, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphRemoveDependencies */
    [309] = {7347, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphDestroyNode */
    [310] = {7368, 667, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphInstantiate */
    [311] = {7389, 670, 2, CALL_GROUP_LAUNCH, 1, 1, 1}, /* cudaGraphLaunch */
    [312] = {7405, 670, 2, CALL_GROUP_LAUNCH, 1, 1, 1}, /* cudaGraphLaunch_ptsz */
    [313] = {7426, 672, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphExecDestroy */
    [314] = {7447, 673, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphDestroy */
    [315] = {7464, 674, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamBeginCapture */
    [316] = {7487, 674, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamBeginCapture_ptsz */
    [317] = {7515, 676, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamIsCapturing */
    [318] = {7537, 676, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamIsCapturing_ptsz */
    [319] = {7564, 678, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamEndCapture */
    [320] = {7585, 678, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamEndCapture_ptsz */
    [321] = {7611, 680, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphHostNodeSetParams */
    [322] = {7638, 683, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphGetNodes */
    [323] = {7656, 685, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphGetEdges */
    [324] = {7674, 687, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetCaptureInfo */
    [325] = {7699, 687, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetCaptureInfo_ptsz */
    [326] = {7729, 690, 6, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecKernelNodeSetParams */
    [327] = {7762, 696, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaThreadExchangeStreamCaptureMode */
    [328] = {7798, 697, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetNvSciSyncAttributes */
    [329] = {7831, 700, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaOccupancyAvailableDynamicSMemPerBlock */
    [330] = {7873, 704, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamSetFlags */
    [331] = {7892, 704, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamSetFlags_ptsz */
    [332] = {7916, 706, 18, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecMemcpyNodeSetParams */
    [333] = {7949, 724, 8, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecMemsetNodeSetParams */
    [334] = {7982, 732, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecHostNodeSetParams */
    [335] = {8013, 736, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphExecUpdate */
    [336] = {8033, 740, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetFuncBySymbol */
    [337] = {8053, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaCtxResetPersistingL2Cache */
    [338] = {8083, 742, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphKernelNodeCopyAttributes */
    [339] = {8117, 744, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphKernelNodeGetAttribute */
    [340] = {8149, 744, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphKernelNodeSetAttribute */
    [341] = {8181, 746, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamCopyAttributes */
    [342] = {8206, 742, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamCopyAttributes_ptsz */
    [343] = {8236, 748, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetAttribute */
    [344] = {8259, 748, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetAttribute_ptsz */
    [345] = {8287, 748, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamSetAttribute */
    [346] = {8310, 748, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamSetAttribute_ptsz */
    [347] = {8338, 750, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetTexture1DLinearMaxWidth */
    [348] = {8375, 670, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphUpload */
    [349] = {8391, 670, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphUpload_ptsz */
    [350] = {8412, 757, 8, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemcpyNodeToSymbol */
    [351] = {8443, 765, 8, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemcpyNodeFromSymbol */
    [352] = {8476, 773, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemcpyNode1D */
    [353] = {8501, 780, 6, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemcpyNodeSetParamsToSymbol */
    [354] = {8538, 786, 6, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemcpyNodeSetParamsFromSymbol */
    [355] = {8577, 792, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemcpyNodeSetParams1D */
    [356] = {8608, 797, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecMemcpyNodeSetParamsToSymbol */
    [357] = {8649, 804, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecMemcpyNodeSetParamsFromSymbol */
    [358] = {8692, 811, 6, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecMemcpyNodeSetParams1D */
    [359] = {8727, 817, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaArrayGetSparseProperties */
    [360] = {8756, 818, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMipmappedArrayGetSparseProperties */
    [361] = {8794, 819, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecChildGraphNodeSetParams */
    [362] = {8831, 822, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddEventRecordNode */
    [363] = {8859, 826, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphEventRecordNodeGetEvent */
    [364] = {8892, 828, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphEventRecordNodeSetEvent */
    [365] = {8925, 822, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddEventWaitNode */
    [366] = {8951, 826, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphEventWaitNodeGetEvent */
    [367] = {8982, 828, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphEventWaitNodeSetEvent */
    [368] = {9013, 830, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecEventRecordNodeSetEvent */
    [369] = {9050, 830, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecEventWaitNodeSetEvent */
    [370] = {9085, 833, 3, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventRecordWithFlags */
    [371] = {9110, 833, 3, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaEventRecordWithFlags_ptsz */
    [372] = {9140, 836, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetDefaultMemPool */
    [373] = {9168, 838, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocAsync */
    [374] = {9184, 838, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocAsync_ptsz */
    [375] = {9205, 841, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cudaFreeAsync */
    [376] = {9219, 841, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cudaFreeAsync_ptsz */
    [377] = {9238, 843, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cudaMemPoolTrimTo */
    [378] = {9256, 845, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemPoolSetAttribute */
    [379] = {9280, 845, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemPoolGetAttribute */
    [380] = {9304, 848, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemPoolSetAccess */
    [381] = {9325, 850, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaArrayGetPlane */
    [382] = {9343, 853, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemPoolGetAccess */
    [383] = {9364, 857, 7, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMemPoolCreate */
    [384] = {9382, 864, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaMemPoolDestroy */
    [385] = {9401, 865, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceSetMemPool */
    [386] = {9422, 836, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetMemPool */
    [387] = {9443, 867, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cudaMemPoolExportToShareableHandle */
    [388] = {9478, 871, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cudaMemPoolImportFromShareableHandle */
    [389] = {9515, 343, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cudaMemPoolExportPointer */
    [390] = {9540, 875, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cudaMemPoolImportPointer */
    [391] = {9565, 877, 4, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocFromPoolAsync */
    [392] = {9589, 877, 4, CALL_GROUP_ALLOC, 1, 0, 0}, /* cudaMallocFromPoolAsync_ptsz */
    [393] = {6549, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaSignalExternalSemaphoresAsync */
    [394] = {6583, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaSignalExternalSemaphoresAsync_ptsz */
    [395] = {6622, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaWaitExternalSemaphoresAsync */
    [396] = {6654, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaWaitExternalSemaphoresAsync_ptsz */
    [397] = {9618, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddExternalSemaphoresSignalNode */
    [398] = {9659, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExternalSemaphoresSignalNodeGetParams */
    [399] = {9706, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExternalSemaphoresSignalNodeSetParams */
    [400] = {9753, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddExternalSemaphoresWaitNode */
    [401] = {9792, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExternalSemaphoresWaitNodeGetParams */
    [402] = {9837, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExternalSemaphoresWaitNodeSetParams */
    [403] = {9882, 881, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecExternalSemaphoresSignalNodeSetParams */
    [404] = {9933, 881, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecExternalSemaphoresWaitNodeSetParams */
    [405] = {9982, 883, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceFlushGPUDirectRDMAWrites */
    [406] = {10017, 885, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDriverEntryPoint */
    [407] = {10041, 885, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDriverEntryPoint_ptsz */
    [408] = {10070, 889, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphDebugDotPrint */
    [409] = {7674, 892, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetCaptureInfo */
    [410] = {7699, 892, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetCaptureInfo_ptsz */
    [411] = {10093, 897, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamUpdateCaptureDependencies */
    [412] = {10129, 897, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamUpdateCaptureDependencies_ptsz */
    [413] = {10170, 900, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaUserObjectCreate */
    [414] = {10191, 905, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaUserObjectRetain */
    [415] = {10212, 905, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaUserObjectRelease */
    [416] = {10234, 907, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphRetainUserObject */
    [417] = {10260, 911, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphReleaseUserObject */
    [418] = {10287, 914, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphInstantiateWithFlags */
    [419] = {10317, 917, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemAllocNode */
    [420] = {10342, 924, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemAllocNodeGetParams */
    [421] = {10373, 929, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddMemFreeNode */
    [422] = {10397, 933, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphMemFreeNodeGetParams */
    [423] = {10427, 27, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cudaDeviceGraphMemTrim */
    [424] = {10450, 935, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetGraphMemAttribute */
    [425] = {10481, 935, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceSetGraphMemAttribute */
    [426] = {10512, 938, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeSetEnabled */
    [427] = {10536, 941, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetEnabled */
    [428] = {10560, 944, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaArrayGetMemoryRequirements */
    [429] = {10591, 948, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMipmappedArrayGetMemoryRequirements */
    [430] = {10631, 952, 6, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchKernelExC */
    [431] = {10651, 952, 6, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cudaLaunchKernelExC_ptsz */
    [432] = {10676, 958, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaOccupancyMaxPotentialClusterSize */
    [433] = {10713, 965, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaOccupancyMaxActiveClusters */
    [434] = {4076, 424, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaCreateTextureObject */
    [435] = {4158, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetTextureObjectTextureDesc */
    [436] = {10744, 972, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphInstantiateWithParams */
    [437] = {10775, 972, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphInstantiateWithParams_ptsz */
    [438] = {10811, 976, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecGetFlags */
    [439] = {10833, 978, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetKernel */
    [440] = {63, 3, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDeviceProperties */
    [441] = {10847, 980, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetId */
    [442] = {10863, 980, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetId_ptsz */
    [443] = {7368, 914, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaGraphInstantiate */
    [444] = {10884, 982, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaInitDevice */
    [445] = {10899, 985, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddNode */
    [446] = {10916, 989, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeSetParams */
    [447] = {10939, 991, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecNodeSetParams */
    [448] = {5793, 994, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemAdvise */
    [449] = {5746, 999, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemPrefetchAsync */
    [450] = {5767, 999, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemPrefetchAsync_ptsz */
    [451] = {10966, 1005, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncGetName */
    [452] = {10982, 1007, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamBeginCaptureToGraph */
    [453] = {11012, 1007, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamBeginCaptureToGraph_ptsz */
    [454] = {11047, 1011, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphConditionalHandleCreate */
    [455] = {7656, 1015, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphGetEdges */
    [456] = {7234, 1017, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetDependencies */
    [457] = {7263, 1019, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetDependentNodes */
    [458] = {7294, 1021, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddDependencies */
    [459] = {7319, 1021, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphRemoveDependencies */
    [460] = {10899, 1023, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphAddNode */
    [461] = {7674, 1027, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetCaptureInfo */
    [462] = {7699, 1027, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetCaptureInfo_ptsz */
    [463] = {10093, 1032, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamUpdateCaptureDependencies */
    [464] = {10129, 1032, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamUpdateCaptureDependencies_ptsz */
    [465] = {11080, 1035, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceRegisterAsyncNotification */
    [466] = {11116, 1038, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceUnregisterAsyncNotification */
    [467] = {11154, 1040, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncGetParamInfo */
    [468] = {11175, 1044, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDriverEntryPointByVersion */
    [469] = {11208, 1044, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetDriverEntryPointByVersion_ptsz */
    [470] = {11246, 1049, 4, CALL_GROUP_MODULE, 1, 0, 0}, /* cudaLibraryLoadData */
    [471] = {11266, 1053, 4, CALL_GROUP_MODULE, 1, 0, 0}, /* cudaLibraryLoadFromFile */
    [472] = {11290, 1057, 1, CALL_GROUP_MODULE, 1, 0, 0}, /* cudaLibraryUnload */
    [473] = {11308, 1058, 3, CALL_GROUP_MODULE, 1, 0, 0}, /* cudaLibraryGetKernel */
    [474] = {11329, 1061, 4, CALL_GROUP_MODULE, 0, 0, 0}, /* cudaLibraryGetGlobal */
    [475] = {11350, 1061, 4, CALL_GROUP_MODULE, 0, 0, 0}, /* cudaLibraryGetManaged */
    [476] = {11372, 1065, 3, CALL_GROUP_MODULE, 0, 0, 0}, /* cudaLibraryGetUnifiedFunction */
    [477] = {11402, 1068, 2, CALL_GROUP_MODULE, 0, 0, 0}, /* cudaLibraryGetKernelCount */
    [478] = {11428, 1070, 2, CALL_GROUP_MODULE, 0, 0, 0}, /* cudaLibraryEnumerateKernels */
    [479] = {11456, 1072, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaKernelSetAttributeForDevice */
    [480] = {11488, 1076, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetDevice */
    [481] = {11508, 1076, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetDevice_ptsz */
    [482] = {11533, 1078, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyBatchAsync */
    [483] = {11554, 1078, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyBatchAsync_ptsz */
    [484] = {11580, 1081, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DBatchAsync */
    [485] = {11603, 1081, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DBatchAsync_ptsz */
    [486] = {3106, 268, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaEventElapsedTime */
    [487] = {11631, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemPrefetchBatchAsync */
    [488] = {11657, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemPrefetchBatchAsync_ptsz */
    [489] = {11688, 1088, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemDiscardBatchAsync */
    [490] = {11713, 1088, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemDiscardBatchAsync_ptsz */
    [491] = {11743, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemDiscardAndPrefetchBatchAsync */
    [492] = {11779, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemDiscardAndPrefetchBatchAsync_ptsz */
    [493] = {11820, 1091, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGetExportTable */
    [494] = {11839, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterFatBinary */
    [495] = {11863, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterFatBinaryEnd */
    [496] = {11890, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaUnregisterFatBinary */
    [497] = {11916, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterVar */
    [498] = {11934, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterHostVar */
    [499] = {11956, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterFunction */
    [500] = {11979, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterManagedVar */
    [501] = {12004, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaInitModule */
    [502] = {12021, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaPushCallConfiguration */
    [503] = {12049, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaPopCallConfiguration */
    [504] = {12076, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaGetKernel */
    [505] = {12092, 483, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* __cudaLaunchKernel */
    [506] = {12111, 483, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* __cudaLaunchKernel_ptsz */
    [507] = {12135, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaRegisterUnifiedTable */
    [508] = {12162, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* __cudaGetProcAddress */
    [509] = {11533, 1092, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyBatchAsync */
    [510] = {11554, 1092, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyBatchAsync_ptsz */
    [511] = {11580, 1095, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DBatchAsync */
    [512] = {11603, 1095, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DBatchAsync_ptsz */
    [513] = {12183, 1098, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaLogsRegisterCallback */
    [514] = {12208, 1100, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaLogsUnregisterCallback */
    [515] = {12235, 1101, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaLogsCurrent */
    [516] = {12251, 1103, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaLogsDumpToFile */
    [517] = {12270, 1106, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaLogsDumpToMemory */
    [518] = {12291, 1110, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemGetDefaultMemPool */
    [519] = {12316, 1110, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemGetMemPool */
    [520] = {12334, 1114, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemSetMemPool */
    [521] = {12352, 1118, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetHostAtomicCapabilities */
    [522] = {12388, 1120, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetP2PAtomicCapabilities */
    [523] = {12423, 1123, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetDevResource */
    [524] = {12448, 1125, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDevSmResourceSplitByCount */
    [525] = {12478, 1128, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDevResourceGenerateDesc */
    [526] = {12506, 1130, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaGreenCtxCreate */
    [527] = {12525, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaExecutionCtxDestroy */
    [528] = {12549, 1135, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaExecutionCtxGetDevResource */
    [529] = {12580, 1137, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaExecutionCtxGetDevice */
    [530] = {12606, 1139, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaExecutionCtxGetId */
    [533] = {12628, 1141, 4, CALL_GROUP_STREAM, 1, 0, 0}, /* cudaExecutionCtxStreamCreate */
    [534] = {12657, 1134, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaExecutionCtxSynchronize */
    [535] = {11047, 1145, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphConditionalHandleCreate */
    [536] = {12685, 1150, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetDevResource */
    [537] = {12710, 1150, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaStreamGetDevResource_ptsz */
    [538] = {12740, 646, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetContainingGraph */
    [539] = {12772, 1152, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetLocalId */
    [540] = {12796, 1154, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetToolsId */
    [541] = {12820, 1156, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphGetId */
    [542] = {12835, 1158, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphExecGetId */
    [543] = {12854, 1160, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cudaExecutionCtxRecordEvent */
    [544] = {12882, 1160, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cudaExecutionCtxWaitEvent */
    [548] = {12908, 1162, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDeviceGetExecutionCtx */
    [549] = {12934, 1164, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaDevSmResourceSplit */
    [550] = {6720, 1166, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cudaLaunchHostFunc */
    [551] = {6739, 1166, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cudaLaunchHostFunc_ptsz */
    [552] = {12957, 1170, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaFuncGetParamCount */
    [554] = {12979, 1172, 10, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyWithAttributesAsync */
    [555] = {13009, 1172, 10, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpyWithAttributesAsync_ptsz */
    [556] = {13044, 1182, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DWithAttributesAsync */
    [557] = {13076, 1182, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cudaMemcpy3DWithAttributesAsync_ptsz */
    [558] = {13113, 656, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cudaGraphNodeGetParams */
    [562] = {13136, 1187, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamBeginRecaptureToGraph */
    [563] = {13168, 1187, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cudaStreamBeginRecaptureToGraph_ptsz */
    [565] = {13205, 1190, 6, CALL_GROUP_OTHER, 0, 0, 0}, /* cudaMemGetLocationInfo */
};
const uint16_t call_count_runtime = 567;

const struct call_info call_table_driver[877] = {
    [1] = {13228, 29, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuInit */
    [2] = {13235, 0, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDriverGetVersion */
    [3] = {13254, 1196, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGet */
    [4] = {13266, 2, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetCount */
    [5] = {13283, 1198, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetName */
    [6] = {13299, 1201, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceComputeCapability */
    [7] = {13325, 1204, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceTotalMem */
    [8] = {13342, 3, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetProperties */
    [9] = {13364, 1206, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetAttribute */
    [10] = {13385, 1209, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxCreate */
    [11] = {13397, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxDestroy */
    [12] = {13410, 1212, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxAttach */
    [13] = {13422, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxDetach */
    [14] = {13434, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxPushCurrent */
    [15] = {13451, 1214, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxPopCurrent */
    [16] = {13467, 4, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetDevice */
    [17] = {13482, 0, 0, CALL_GROUP_SYNC, 1, 0, 0}, /* cuCtxSynchronize */
    [18] = {13499, 1215, 2, CALL_GROUP_MODULE, 1, 0, 0}, /* cuModuleLoad */
    [19] = {13512, 1217, 2, CALL_GROUP_MODULE, 1, 0, 0}, /* cuModuleLoadData */
    [20] = {13529, 1219, 3, CALL_GROUP_MODULE, 1, 0, 0}, /* cuModuleLoadDataEx */
    [21] = {13548, 1222, 2, CALL_GROUP_MODULE, 1, 0, 0}, /* cuModuleLoadFatBinary */
    [22] = {13570, 1224, 1, CALL_GROUP_MODULE, 1, 0, 0}, /* cuModuleUnload */
    [23] = {13585, 1225, 3, CALL_GROUP_MODULE, 1, 0, 0}, /* cuModuleGetFunction */
    [24] = {13605, 1228, 4, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleGetGlobal */
    [25] = {13623, 0, 0, CALL_GROUP_MODULE, 0, 0, 0}, /* cu64ModuleGetGlobal */
    [26] = {13643, 1232, 3, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleGetTexRef */
    [27] = {13661, 1235, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetInfo */
    [28] = {13674, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64MemGetInfo */
    [29] = {13689, 1237, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAlloc */
    [30] = {13700, 0, 0, CALL_GROUP_ALLOC, 1, 0, 0}, /* cu64MemAlloc */
    [31] = {13713, 1239, 5, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocPitch */
    [32] = {13729, 0, 0, CALL_GROUP_ALLOC, 1, 0, 0}, /* cu64MemAllocPitch */
    [33] = {13747, 1244, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemFree */
    [34] = {13757, 0, 0, CALL_GROUP_FREE, 1, 0, 0}, /* cu64MemFree */
    [35] = {13769, 1245, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetAddressRange */
    [36] = {13790, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64MemGetAddressRange */
    [37] = {13813, 1248, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocHost */
    [38] = {13828, 36, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemFreeHost */
    [39] = {13842, 47, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemHostAlloc */
    [40] = {13857, 1250, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemHostGetDevicePointer */
    [41] = {13883, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64MemHostGetDevicePointer */
    [42] = {13911, 53, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemHostGetFlags */
    [43] = {13929, 1253, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoD */
    [44] = {13942, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyHtoD */
    [45] = {13957, 1256, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoH */
    [46] = {13970, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyDtoH */
    [47] = {13985, 1259, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoD */
    [48] = {13998, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyDtoD */
    [49] = {14013, 1262, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoA */
    [50] = {14026, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyDtoA */
    [51] = {14041, 1266, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoD */
    [52] = {14054, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyAtoD */
    [53] = {14069, 1270, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoA */
    [54] = {14082, 1274, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoH */
    [55] = {14095, 1278, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoA */
    [56] = {14108, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2D */
    [57] = {14119, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2DUnaligned */
    [58] = {14139, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3D */
    [59] = {14150, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64Memcpy3D */
    [60] = {14163, 1283, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoDAsync */
    [61] = {14181, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyHtoDAsync */
    [62] = {14201, 1287, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoHAsync */
    [63] = {14219, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyDtoHAsync */
    [64] = {14239, 1291, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoDAsync */
    [65] = {14257, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64MemcpyDtoDAsync */
    [66] = {14277, 1295, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoAAsync */
    [67] = {14295, 1300, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoHAsync */
    [68] = {14313, 1305, 1, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2DAsync */
    [69] = {14329, 1305, 1, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DAsync */
    [70] = {14345, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64Memcpy3DAsync */
    [71] = {14363, 1306, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD8 */
    [72] = {14374, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD8 */
    [73] = {14387, 1309, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD16 */
    [74] = {14399, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD16 */
    [75] = {14413, 1312, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD32 */
    [76] = {14425, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD32 */
    [77] = {14439, 1315, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D8 */
    [78] = {14452, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD2D8 */
    [79] = {14467, 1320, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D16 */
    [80] = {14481, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD2D16 */
    [81] = {14497, 1325, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D32 */
    [82] = {14511, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD2D32 */
    [83] = {14527, 1330, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncSetBlockShape */
    [84] = {14547, 1334, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncSetSharedSize */
    [85] = {14567, 1336, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncGetAttribute */
    [86] = {14586, 1339, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncSetCacheConfig */
    [87] = {14607, 1341, 1, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuArrayCreate */
    [88] = {14621, 817, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArrayGetDescriptor */
    [89] = {14642, 46, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuArrayDestroy */
    [90] = {14657, 1341, 1, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuArray3DCreate */
    [91] = {14673, 817, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArray3DGetDescriptor */
    [92] = {14696, 1342, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefCreate */
    [93] = {14711, 1343, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefDestroy */
    [94] = {14727, 1344, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetArray */
    [95] = {14744, 1347, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetAddress */
    [96] = {14763, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64TexRefSetAddress */
    [97] = {14784, 1351, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetAddress2D */
    [98] = {14805, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64TexRefSetAddress2D */
    [99] = {14828, 1354, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetFormat */
    [100] = {14846, 1357, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetAddressMode */
    [101] = {14869, 1360, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetFilterMode */
    [102] = {14891, 1362, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetFlags */
    [103] = {14908, 1364, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetAddress */
    [104] = {14927, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64TexRefGetAddress */
    [105] = {14948, 1366, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetArray */
    [106] = {14965, 1368, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetAddressMode */
    [107] = {14988, 1371, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetFilterMode */
    [108] = {15010, 1373, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetFormat */
    [109] = {15028, 1376, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetFlags */
    [110] = {15045, 1334, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuParamSetSize */
    [111] = {15060, 1378, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuParamSeti */
    [112] = {15072, 1381, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuParamSetf */
    [113] = {15084, 1384, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuParamSetv */
    [114] = {15096, 1388, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuParamSetTexRef */
    [115] = {15113, 23, 1, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunch */
    [116] = {15122, 1391, 3, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchGrid */
    [117] = {15135, 1394, 4, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchGridAsync */
    [118] = {15153, 263, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventCreate */
    [119] = {15167, 265, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventRecord */
    [120] = {15181, 267, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEventQuery */
    [121] = {15194, 267, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cuEventSynchronize */
    [122] = {15213, 267, 1, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventDestroy */
    [123] = {15228, 268, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEventElapsedTime */
    [124] = {15247, 458, 2, CALL_GROUP_STREAM, 1, 0, 0}, /* cuStreamCreate */
    [125] = {15262, 261, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamQuery */
    [126] = {15276, 261, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamSynchronize */
    [127] = {15296, 261, 1, CALL_GROUP_STREAM, 1, 0, 0}, /* cuStreamDestroy */
    [128] = {15312, 243, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsUnregisterResource */
    [129] = {15341, 251, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsSubResourceGetMappedArray */
    [130] = {15377, 1398, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsResourceGetMappedPointer */
    [131] = {15412, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64GraphicsResourceGetMappedPointer */
    [132] = {15449, 244, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsResourceSetMapFlags */
    [133] = {15479, 1401, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsMapResources */
    [134] = {15502, 1401, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsUnmapResources */
    [135] = {15527, 1091, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGetExportTable */
    [136] = {15544, 1403, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxSetLimit */
    [137] = {15558, 1405, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetLimit */
    [138] = {15572, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10GetDevice */
    [139] = {15589, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10CtxCreate */
    [140] = {15606, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsD3D10RegisterResource */
    [141] = {15638, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10RegisterResource */
    [142] = {15662, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10UnregisterResource */
    [143] = {15688, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10MapResources */
    [144] = {15708, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10UnmapResources */
    [145] = {15730, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceSetMapFlags */
    [146] = {15757, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedArray */
    [147] = {15787, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedPointer */
    [148] = {15819, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedSize */
    [149] = {15848, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedPitch */
    [150] = {15878, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetSurfaceDimensions */
    [151] = {15914, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D11GetDevice */
    [152] = {15931, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D11CtxCreate */
    [153] = {15948, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsD3D11RegisterResource */
    [154] = {15980, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9GetDevice */
    [155] = {15996, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9CtxCreate */
    [156] = {16012, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsD3D9RegisterResource */
    [157] = {16043, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9GetDirect3DDevice */
    [158] = {16067, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9RegisterResource */
    [159] = {16090, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9UnregisterResource */
    [160] = {16115, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9MapResources */
    [161] = {16134, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9UnmapResources */
    [162] = {16155, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceSetMapFlags */
    [163] = {16181, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetSurfaceDimensions */
    [164] = {16216, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedArray */
    [165] = {16245, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedPointer */
    [166] = {16276, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedSize */
    [167] = {16304, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedPitch */
    [168] = {16333, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9Begin */
    [169] = {16345, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9End */
    [170] = {16355, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9RegisterVertexBuffer */
    [171] = {16382, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9MapVertexBuffer */
    [172] = {16404, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9UnmapVertexBuffer */
    [173] = {16428, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9UnregisterVertexBuffer */
    [174] = {16457, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLCtxCreate */
    [175] = {16471, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsGLRegisterBuffer */
    [176] = {16498, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsGLRegisterImage */
    [177] = {16524, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuWGLGetDevice */
    [178] = {16539, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLInit */
    [179] = {16548, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLRegisterBufferObject */
    [180] = {16573, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLMapBufferObject */
    [181] = {16593, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLUnmapBufferObject */
    [182] = {16615, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLUnregisterBufferObject */
    [183] = {16642, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLSetBufferObjectMapFlags */
    [184] = {16670, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLMapBufferObjectAsync */
    [185] = {16695, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLUnmapBufferObjectAsync */
    [186] = {16722, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuVDPAUGetDevice */
    [187] = {16739, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuVDPAUCtxCreate */
    [188] = {16756, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsVDPAURegisterVideoSurface */
    [189] = {16792, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsVDPAURegisterOutputSurface */
    [190] = {16829, 1407, 3, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleGetSurfRef */
    [191] = {16848, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfRefCreate */
    [192] = {16864, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfRefDestroy */
    [193] = {16881, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfRefSetFormat */
    [194] = {16900, 1410, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfRefSetArray */
    [195] = {16918, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfRefGetFormat */
    [196] = {16937, 1413, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfRefGetArray */
    [197] = {16955, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64DeviceTotalMem */
    [198] = {16974, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D10ResourceGetMappedPointer */
    [199] = {17008, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D10ResourceGetMappedSize */
    [200] = {17039, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D10ResourceGetMappedPitch */
    [201] = {17071, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D10ResourceGetSurfaceDimensions */
    [202] = {17109, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D9ResourceGetSurfaceDimensions */
    [203] = {17146, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D9ResourceGetMappedPointer */
    [204] = {17179, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D9ResourceGetMappedSize */
    [205] = {17209, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D9ResourceGetMappedPitch */
    [206] = {17240, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64D3D9MapVertexBuffer */
    [207] = {17264, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64GLMapBufferObject */
    [208] = {17286, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64GLMapBufferObjectAsync */
    [209] = {17313, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D11GetDevices */
    [210] = {17331, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D11CtxCreateOnDevice */
    [211] = {17356, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10GetDevices */
    [212] = {17374, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10CtxCreateOnDevice */
    [213] = {17399, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9GetDevices */
    [214] = {17416, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9CtxCreateOnDevice */
    [215] = {17440, 0, 0, CALL_GROUP_ALLOC, 1, 0, 0}, /* cu64MemHostAlloc */
    [216] = {17457, 1415, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD8Async */
    [217] = {17473, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD8Async */
    [218] = {17491, 1419, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD16Async */
    [219] = {17508, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD16Async */
    [220] = {17527, 1423, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD32Async */
    [221] = {17544, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD32Async */
    [222] = {17563, 1427, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D8Async */
    [223] = {17581, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD2D8Async */
    [224] = {17601, 1433, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D16Async */
    [225] = {17620, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD2D16Async */
    [226] = {17641, 1439, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D32Async */
    [227] = {17660, 0, 0, CALL_GROUP_FILL, 1, 1, 0}, /* cu64MemsetD2D32Async */
    [228] = {17681, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64ArrayCreate */
    [229] = {17697, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64ArrayGetDescriptor */
    [230] = {17720, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64Array3DCreate */
    [231] = {17738, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cu64Array3DGetDescriptor */
    [232] = {17763, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64Memcpy2D */
    [233] = {17776, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64Memcpy2DUnaligned */
    [234] = {17798, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cu64Memcpy2DAsync */
    [235] = {13385, 1209, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxCreate */
    [236] = {15589, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10CtxCreate */
    [237] = {15931, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D11CtxCreate */
    [238] = {15996, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9CtxCreate */
    [239] = {16457, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLCtxCreate */
    [240] = {16739, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuVDPAUCtxCreate */
    [241] = {13605, 1445, 4, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleGetGlobal */
    [242] = {13661, 55, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetInfo */
    [243] = {13689, 30, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAlloc */
    [244] = {13713, 1449, 5, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocPitch */
    [245] = {13747, 36, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemFree */
    [246] = {13769, 1454, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetAddressRange */
    [247] = {13857, 50, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemHostGetDevicePointer */
    [248] = {17816, 0, 0, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy */
    [249] = {14363, 1457, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD8 */
    [250] = {14387, 1460, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD16 */
    [251] = {14413, 1463, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD32 */
    [252] = {14439, 1466, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D8 */
    [253] = {14467, 1471, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D16 */
    [254] = {14497, 1476, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D32 */
    [255] = {14744, 1481, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetAddress */
    [256] = {14784, 1485, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetAddress2D */
    [257] = {14908, 1492, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetAddress */
    [258] = {15377, 1494, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsResourceGetMappedPointer */
    [259] = {13325, 1497, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceTotalMem */
    [260] = {15787, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedPointer */
    [261] = {15819, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedSize */
    [262] = {15848, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetMappedPitch */
    [263] = {15878, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10ResourceGetSurfaceDimensions */
    [264] = {16181, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetSurfaceDimensions */
    [265] = {16245, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedPointer */
    [266] = {16276, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedSize */
    [267] = {16304, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9ResourceGetMappedPitch */
    [268] = {16382, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D9MapVertexBuffer */
    [269] = {16573, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLMapBufferObject */
    [270] = {16670, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLMapBufferObjectAsync */
    [271] = {13842, 0, 0, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemHostAlloc */
    [272] = {14607, 1499, 5, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuArrayCreate */
    [273] = {14621, 1504, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArrayGetDescriptor */
    [274] = {14657, 1509, 7, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuArray3DCreate */
    [275] = {14673, 1516, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArray3DGetDescriptor */
    [276] = {13929, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoD */
    [277] = {14163, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoDAsync */
    [278] = {13957, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoH */
    [279] = {14201, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoHAsync */
    [280] = {13985, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoD */
    [281] = {14239, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoDAsync */
    [282] = {14082, 1530, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoH */
    [283] = {14295, 1534, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoHAsync */
    [284] = {14041, 1530, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoD */
    [285] = {14013, 1539, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoA */
    [286] = {14095, 1543, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoA */
    [287] = {14108, 1548, 16, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2D */
    [288] = {14119, 1548, 16, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2DUnaligned */
    [289] = {14313, 1564, 17, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2DAsync */
    [290] = {14139, 1581, 21, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3D */
    [291] = {14329, 1602, 22, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DAsync */
    [292] = {14069, 1539, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoA */
    [293] = {14277, 1624, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoAAsync */
    [294] = {13813, 30, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocHost */
    [295] = {17825, 339, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitEvent */
    [296] = {17843, 1629, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetApiVersion */
    [297] = {17862, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D10GetDirect3DDevice */
    [298] = {17887, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuD3D11GetDirect3DDevice */
    [299] = {17912, 1631, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetCacheConfig */
    [300] = {17932, 1632, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxSetCacheConfig */
    [301] = {17952, 344, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemHostRegister */
    [302] = {17970, 36, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemHostUnregister */
    [303] = {17990, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxSetCurrent */
    [304] = {18006, 1214, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetCurrent */
    [305] = {17816, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy */
    [306] = {18022, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAsync */
    [307] = {18036, 1633, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchKernel */
    [308] = {18051, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuProfilerStart */
    [309] = {18067, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuProfilerStop */
    [310] = {18082, 1638, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuPointerGetAttribute */
    [311] = {18104, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuProfilerInitialize */
    [312] = {18125, 1640, 3, CALL_GROUP_PEER, 0, 0, 0}, /* cuDeviceCanAccessPeer */
    [313] = {18147, 1643, 2, CALL_GROUP_PEER, 1, 0, 0}, /* cuCtxEnablePeerAccess */
    [314] = {18169, 1645, 1, CALL_GROUP_PEER, 1, 0, 0}, /* cuCtxDisablePeerAccess */
    [315] = {18192, 0, 0, CALL_GROUP_PEER, 1, 0, 0}, /* cuMemPeerRegister */
    [316] = {18210, 0, 0, CALL_GROUP_PEER, 1, 0, 0}, /* cuMemPeerUnregister */
    [317] = {18230, 0, 0, CALL_GROUP_PEER, 1, 0, 0}, /* cuMemPeerGetDevicePointer */
    [318] = {18256, 1646, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyPeer */
    [319] = {18269, 1651, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyPeerAsync */
    [320] = {18287, 1657, 23, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DPeer */
    [321] = {18302, 1680, 24, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DPeerAsync */
    [322] = {13397, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxDestroy */
    [323] = {13434, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxPushCurrent */
    [324] = {13451, 1214, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxPopCurrent */
    [325] = {15213, 267, 1, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventDestroy */
    [326] = {15296, 261, 1, CALL_GROUP_STREAM, 1, 0, 0}, /* cuStreamDestroy */
    [327] = {14784, 1485, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetAddress2D */
    [328] = {18322, 343, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuIpcGetMemHandle */
    [329] = {18340, 408, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cuIpcOpenMemHandle */
    [330] = {18359, 36, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuIpcCloseMemHandle */
    [331] = {18379, 402, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetByPCIBusId */
    [332] = {18401, 404, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetPCIBusId */
    [333] = {18421, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLGetDevices */
    [334] = {18436, 407, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuIpcGetEventHandle */
    [335] = {18456, 262, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuIpcOpenEventHandle */
    [336] = {18477, 1704, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxSetSharedMemConfig */
    [337] = {18501, 1705, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetSharedMemConfig */
    [338] = {18525, 1706, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncSetSharedMemConfig */
    [339] = {18550, 424, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexObjectCreate */
    [340] = {18568, 425, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexObjectDestroy */
    [341] = {18587, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexObjectGetResourceDesc */
    [342] = {18614, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexObjectGetTextureDesc */
    [343] = {18640, 427, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfObjectCreate */
    [344] = {18659, 428, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfObjectDestroy */
    [345] = {18679, 429, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSurfObjectGetResourceDesc */
    [346] = {18707, 454, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cuStreamAddCallback */
    [347] = {18727, 1708, 8, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMipmappedArrayCreate */
    [348] = {18750, 441, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMipmappedArrayGetLevel */
    [349] = {18775, 444, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMipmappedArrayDestroy */
    [350] = {18799, 1716, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetMipmappedArray */
    [351] = {18825, 1360, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetMipmapFilterMode */
    [352] = {18853, 1719, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetMipmapLevelBias */
    [353] = {18880, 1721, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetMipmapLevelClamp */
    [354] = {18908, 1724, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetMaxAnisotropy */
    [355] = {18933, 1726, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetMipmappedArray */
    [356] = {18959, 1371, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetMipmapFilterMode */
    [357] = {18987, 1728, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetMipmapLevelBias */
    [358] = {19014, 1730, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetMipmapLevelClamp */
    [359] = {19042, 1733, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetMaxAnisotropy */
    [360] = {19067, 452, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsResourceGetMappedMipmappedArray */
    [361] = {19109, 426, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexObjectGetResourceViewDesc */
    [362] = {19140, 1735, 2, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkCreate */
    [363] = {19153, 1737, 5, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkAddData */
    [364] = {19167, 1742, 4, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkAddFile */
    [365] = {19181, 1746, 3, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkComplete */
    [366] = {19196, 1749, 1, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkDestroy */
    [367] = {19210, 463, 3, CALL_GROUP_STREAM, 1, 0, 0}, /* cuStreamCreateWithPriority */
    [368] = {19237, 466, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetPriority */
    [369] = {19257, 468, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetFlags */
    [370] = {19274, 470, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetStreamPriorityRange */
    [371] = {19302, 47, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocManaged */
    [372] = {19320, 1750, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGetErrorString */
    [373] = {19337, 1750, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGetErrorName */
    [374] = {19352, 479, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyMaxActiveBlocksPerMultiprocessor */
    [375] = {19396, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCompilePtx */
    [376] = {19409, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuBinaryFree */
    [377] = {19422, 475, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamAttachMemAsync */
    [378] = {19445, 1752, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuPointerSetAttribute */
    [379] = {17952, 344, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemHostRegister */
    [380] = {15449, 244, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsResourceSetMapFlags */
    [381] = {19140, 1735, 2, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkCreate */
    [382] = {19153, 1737, 5, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkAddData */
    [383] = {19167, 1742, 4, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLinkAddFile */
    [384] = {19467, 1755, 6, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyMaxPotentialBlockSize */
    [385] = {18421, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLGetDevices */
    [386] = {19500, 1162, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxRetain */
    [387] = {19525, 27, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxRelease */
    [388] = {19551, 1761, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxSetFlags */
    [389] = {19578, 27, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxReset */
    [390] = {19602, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsEGLRegisterImage */
    [391] = {19629, 488, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetFlags */
    [392] = {19643, 1763, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxGetState */
    [393] = {19670, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamConsumerConnect */
    [394] = {19697, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamConsumerDisconnect */
    [395] = {19727, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamConsumerAcquireFrame */
    [396] = {19759, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamConsumerReleaseFrame */
    [397] = {19791, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoD_ptds */
    [398] = {19809, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoH_ptds */
    [399] = {19827, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoD_ptds */
    [400] = {19845, 1539, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoA_ptds */
    [401] = {19863, 1530, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoD_ptds */
    [402] = {19881, 1539, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoA_ptds */
    [403] = {19899, 1530, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoH_ptds */
    [404] = {19917, 1543, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoA_ptds */
    [405] = {19935, 1548, 16, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2D_ptds */
    [406] = {19951, 1548, 16, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2DUnaligned_ptds */
    [407] = {19976, 1581, 21, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3D_ptds */
    [408] = {19992, 1523, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy_ptds */
    [409] = {20006, 1646, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyPeer_ptds */
    [410] = {20024, 1657, 23, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DPeer_ptds */
    [411] = {20044, 1457, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD8_ptds */
    [412] = {20060, 1460, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD16_ptds */
    [413] = {20077, 1463, 3, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD32_ptds */
    [414] = {20094, 1466, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D8_ptds */
    [415] = {20112, 1471, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D16_ptds */
    [416] = {20131, 1476, 5, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D32_ptds */
    [417] = {20150, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLMapBufferObject_ptds */
    [418] = {20175, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAsync_ptsz */
    [419] = {20194, 1624, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoAAsync_ptsz */
    [420] = {20217, 1534, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyAtoHAsync_ptsz */
    [421] = {20240, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyHtoDAsync_ptsz */
    [422] = {20263, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoHAsync_ptsz */
    [423] = {20286, 1526, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyDtoDAsync_ptsz */
    [424] = {20309, 1564, 17, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy2DAsync_ptsz */
    [425] = {20330, 1602, 22, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DAsync_ptsz */
    [426] = {20351, 1651, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyPeerAsync_ptsz */
    [427] = {20374, 1680, 24, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DPeerAsync_ptsz */
    [428] = {20399, 1415, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD8Async_ptsz */
    [429] = {20420, 1419, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD16Async_ptsz */
    [430] = {20442, 1423, 4, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD32Async_ptsz */
    [431] = {20464, 1427, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D8Async_ptsz */
    [432] = {20487, 1433, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D16Async_ptsz */
    [433] = {20511, 1439, 6, CALL_GROUP_FILL, 1, 1, 0}, /* cuMemsetD2D32Async_ptsz */
    [434] = {20535, 466, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetPriority_ptsz */
    [435] = {20560, 468, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetFlags_ptsz */
    [436] = {20582, 339, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitEvent_ptsz */
    [437] = {20605, 454, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cuStreamAddCallback_ptsz */
    [438] = {20630, 475, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamAttachMemAsync_ptsz */
    [439] = {20658, 261, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamQuery_ptsz */
    [440] = {20677, 261, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamSynchronize_ptsz */
    [441] = {20702, 265, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventRecord_ptsz */
    [442] = {20721, 1633, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchKernel_ptsz */
    [443] = {20741, 1401, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsMapResources_ptsz */
    [444] = {20769, 1401, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsUnmapResources_ptsz */
    [445] = {20799, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGLMapBufferObjectAsync_ptsz */
    [446] = {20829, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamProducerConnect */
    [447] = {20856, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamProducerDisconnect */
    [448] = {20886, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamProducerPresentFrame */
    [449] = {20918, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGraphicsResourceGetMappedEglFrame */
    [450] = {20954, 1766, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuPointerGetAttributes */
    [451] = {20977, 489, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags */
    [452] = {21030, 1768, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyMaxPotentialBlockSizeWithFlags */
    [453] = {21072, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamProducerReturnFrame */
    [454] = {21103, 1775, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetP2PAttribute */
    [455] = {21127, 1343, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefSetBorderColor */
    [456] = {21150, 1779, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTexRefGetBorderColor */
    [457] = {21173, 1780, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemAdvise */
    [458] = {21185, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue32 */
    [459] = {21205, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue32_ptsz */
    [460] = {21230, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue32 */
    [461] = {21251, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue32_ptsz */
    [462] = {21277, 1788, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamBatchMemOp */
    [463] = {21296, 1788, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamBatchMemOp_ptsz */
    [464] = {21320, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuNVNbufferGetPointer */
    [465] = {21342, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuNVNtextureGetArray */
    [466] = {21363, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuNNSetAllocator */
    [467] = {21380, 494, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemPrefetchAsync */
    [468] = {21399, 494, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemPrefetchAsync_ptsz */
    [469] = {21423, 0, 0, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventCreateFromNVNSync */
    [470] = {21448, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEGLStreamConsumerConnectWithFlags */
    [471] = {21484, 1791, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemRangeGetAttribute */
    [472] = {21507, 510, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemRangeGetAttributes */
    [473] = {21531, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue64 */
    [474] = {21551, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue64_ptsz */
    [475] = {21576, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue64 */
    [476] = {21597, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue64_ptsz */
    [477] = {21623, 1633, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchCooperativeKernel */
    [478] = {21649, 1633, 5, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchCooperativeKernel_ptsz */
    [479] = {21680, 0, 0, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventCreateFromEGLSync */
    [480] = {21705, 513, 2, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchCooperativeKernelMultiDevice */
    [481] = {21742, 1799, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncSetAttribute */
    [482] = {21761, 3, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetUuid */
    [483] = {21777, 1802, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCtx */
    [484] = {21792, 1802, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCtx_ptsz */
    [485] = {21812, 1804, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cuImportExternalMemory */
    [486] = {21835, 522, 5, CALL_GROUP_IPC, 1, 0, 0}, /* cuExternalMemoryGetMappedBuffer */
    [487] = {21867, 527, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cuExternalMemoryGetMappedMipmappedArray */
    [488] = {21907, 529, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuDestroyExternalMemory */
    [489] = {21931, 1808, 3, CALL_GROUP_IPC, 1, 0, 0}, /* cuImportExternalSemaphore */
    [490] = {21957, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cuSignalExternalSemaphoresAsync */
    [491] = {21989, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cuSignalExternalSemaphoresAsync_ptsz */
    [492] = {22026, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cuWaitExternalSemaphoresAsync */
    [493] = {22056, 533, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cuWaitExternalSemaphoresAsync_ptsz */
    [494] = {22091, 535, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuDestroyExternalSemaphore */
    [495] = {22118, 261, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCapture */
    [496] = {22139, 261, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCapture_ptsz */
    [497] = {22165, 678, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamEndCapture */
    [498] = {22184, 678, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamEndCapture_ptsz */
    [499] = {22208, 1811, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamIsCapturing */
    [500] = {22228, 1811, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamIsCapturing_ptsz */
    [501] = {22253, 539, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphCreate */
    [502] = {22267, 551, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddKernelNode */
    [503] = {22288, 541, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeGetParams */
    [504] = {22315, 1813, 25, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddMemcpyNode */
    [505] = {22336, 1838, 22, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphMemcpyNodeGetParams */
    [506] = {22363, 1860, 10, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddMemsetNode */
    [507] = {22384, 620, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphMemsetNodeGetParams */
    [508] = {22411, 627, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphMemsetNodeSetParams */
    [509] = {22438, 1870, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetType */
    [510] = {22457, 658, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphGetRootNodes */
    [511] = {22477, 660, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetDependencies */
    [512] = {22504, 662, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetDependentNodes */
    [513] = {22533, 667, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphInstantiate */
    [514] = {22552, 670, 2, CALL_GROUP_LAUNCH, 1, 1, 1}, /* cuGraphLaunch */
    [515] = {22566, 670, 2, CALL_GROUP_LAUNCH, 1, 1, 1}, /* cuGraphLaunch_ptsz */
    [516] = {22585, 672, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphExecDestroy */
    [517] = {22604, 673, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphDestroy */
    [518] = {22619, 664, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddDependencies */
    [519] = {22642, 664, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphRemoveDependencies */
    [520] = {22668, 1872, 22, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphMemcpyNodeSetParams */
    [521] = {22695, 546, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeSetParams */
    [522] = {22722, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphDestroyNode */
    [523] = {22741, 651, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphClone */
    [524] = {22754, 653, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeFindInClone */
    [525] = {22777, 642, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddChildGraphNode */
    [526] = {22802, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddEmptyNode */
    [527] = {22822, 536, 3, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cuLaunchHostFunc */
    [528] = {22839, 536, 3, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cuLaunchHostFunc_ptsz */
    [529] = {22861, 646, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphChildGraphNodeGetGraph */
    [530] = {22891, 634, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddHostNode */
    [531] = {22910, 639, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphHostNodeGetParams */
    [532] = {22935, 1894, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetLuid */
    [533] = {22951, 680, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphHostNodeSetParams */
    [534] = {22976, 683, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphGetNodes */
    [535] = {22992, 685, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphGetEdges */
    [536] = {23008, 1897, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCaptureInfo */
    [537] = {23031, 1897, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCaptureInfo_ptsz */
    [538] = {23059, 690, 6, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecKernelNodeSetParams */
    [539] = {22118, 1900, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCapture */
    [540] = {22139, 1900, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCapture_ptsz */
    [541] = {23090, 1902, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuThreadExchangeStreamCaptureMode */
    [542] = {23124, 697, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetNvSciSyncAttributes */
    [543] = {23155, 700, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyAvailableDynamicSMemPerBlock */
    [544] = {19525, 27, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxRelease */
    [545] = {19578, 27, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxReset */
    [546] = {19551, 1761, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevicePrimaryCtxSetFlags */
    [547] = {23195, 1903, 5, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAddressReserve */
    [548] = {23215, 1908, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemAddressFree */
    [549] = {23232, 1910, 7, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemCreate */
    [550] = {23244, 1917, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemRelease */
    [551] = {23257, 1918, 5, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemMap */
    [552] = {23266, 1908, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemUnmap */
    [553] = {23277, 1923, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemSetAccess */
    [554] = {23292, 1926, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cuMemExportToShareableHandle */
    [555] = {23321, 1930, 3, CALL_GROUP_IPC, 1, 0, 0}, /* cuMemImportFromShareableHandle */
    [556] = {23352, 1933, 6, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetAllocationGranularity */
    [557] = {23382, 1939, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetAllocationPropertiesFromHandle */
    [558] = {23421, 1944, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetAccess */
    [559] = {23436, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamSetFlags */
    [560] = {23453, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamSetFlags_ptsz */
    [561] = {23475, 1948, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphExecUpdate */
    [562] = {23493, 1952, 24, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecMemcpyNodeSetParams */
    [563] = {23524, 1976, 9, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecMemsetNodeSetParams */
    [564] = {23555, 732, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecHostNodeSetParams */
    [565] = {23584, 1985, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemRetainAllocationHandle */
    [566] = {23612, 1987, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncGetModule */
    [567] = {18340, 408, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cuIpcOpenMemHandle */
    [568] = {23628, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxResetPersistingL2Cache */
    [569] = {23656, 742, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeCopyAttributes */
    [570] = {23688, 1989, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeGetAttribute */
    [571] = {23718, 1989, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeSetAttribute */
    [572] = {23748, 746, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamCopyAttributes */
    [573] = {23771, 742, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamCopyAttributes_ptsz */
    [574] = {23799, 1991, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetAttribute */
    [575] = {23820, 1991, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetAttribute_ptsz */
    [576] = {23846, 1991, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamSetAttribute */
    [577] = {23867, 1991, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamSetAttribute_ptsz */
    [578] = {22533, 667, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphInstantiate */
    [579] = {23893, 1993, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetTexture1DLinearMaxWidth */
    [580] = {23928, 670, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphUpload */
    [581] = {23942, 670, 2, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphUpload_ptsz */
    [582] = {23961, 817, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArrayGetSparseProperties */
    [583] = {23988, 818, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMipmappedArrayGetSparseProperties */
    [584] = {24024, 1997, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemMapArrayAsync */
    [585] = {24043, 1997, 2, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemMapArrayAsync_ptsz */
    [586] = {24067, 819, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecChildGraphNodeSetParams */
    [587] = {24102, 833, 3, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventRecordWithFlags */
    [588] = {24125, 833, 3, CALL_GROUP_EVENT, 1, 0, 0}, /* cuEventRecordWithFlags_ptsz */
    [589] = {24153, 822, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddEventRecordNode */
    [590] = {24179, 822, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddEventWaitNode */
    [591] = {24203, 826, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphEventRecordNodeGetEvent */
    [592] = {24234, 826, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphEventWaitNodeGetEvent */
    [593] = {24263, 828, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphEventRecordNodeSetEvent */
    [594] = {24294, 828, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphEventWaitNodeSetEvent */
    [595] = {24323, 830, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecEventRecordNodeSetEvent */
    [596] = {24358, 830, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecEventWaitNodeSetEvent */
    [597] = {24391, 850, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArrayGetPlane */
    [598] = {24407, 838, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocAsync */
    [599] = {24423, 838, 3, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocAsync_ptsz */
    [600] = {24444, 841, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemFreeAsync */
    [601] = {24459, 841, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemFreeAsync_ptsz */
    [602] = {24479, 843, 2, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemPoolTrimTo */
    [603] = {24495, 1999, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemPoolSetAttribute */
    [604] = {24517, 1999, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemPoolGetAttribute */
    [605] = {24539, 848, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemPoolSetAccess */
    [606] = {24558, 836, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetDefaultMemPool */
    [607] = {24584, 2002, 7, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemPoolCreate */
    [608] = {24600, 864, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuMemPoolDestroy */
    [609] = {24617, 865, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceSetMemPool */
    [610] = {24636, 836, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetMemPool */
    [611] = {24655, 877, 4, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocFromPoolAsync */
    [612] = {24679, 877, 4, CALL_GROUP_ALLOC, 1, 0, 0}, /* cuMemAllocFromPoolAsync_ptsz */
    [613] = {24708, 2009, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cuMemPoolExportToShareableHandle */
    [614] = {24741, 2013, 4, CALL_GROUP_IPC, 1, 0, 0}, /* cuMemPoolImportFromShareableHandle */
    [615] = {24776, 343, 1, CALL_GROUP_IPC, 1, 0, 0}, /* cuMemPoolExportPointer */
    [616] = {24799, 875, 2, CALL_GROUP_IPC, 1, 0, 0}, /* cuMemPoolImportPointer */
    [617] = {24822, 2017, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemPoolGetAccess */
    [618] = {24841, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddExternalSemaphoresSignalNode */
    [619] = {24880, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExternalSemaphoresSignalNodeGetParams */
    [620] = {24925, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExternalSemaphoresSignalNodeSetParams */
    [621] = {24970, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddExternalSemaphoresWaitNode */
    [622] = {25007, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExternalSemaphoresWaitNodeGetParams */
    [623] = {25050, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExternalSemaphoresWaitNodeSetParams */
    [624] = {25093, 881, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecExternalSemaphoresSignalNodeSetParams */
    [625] = {25142, 881, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecExternalSemaphoresWaitNodeSetParams */
    [626] = {25189, 2021, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGetProcAddress */
    [627] = {25206, 2025, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFlushGPUDirectRDMAWrites */
    [628] = {25233, 889, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphDebugDotPrint */
    [629] = {23008, 2027, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCaptureInfo */
    [630] = {23031, 2027, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCaptureInfo_ptsz */
    [631] = {25254, 897, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamUpdateCaptureDependencies */
    [632] = {25288, 897, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamUpdateCaptureDependencies_ptsz */
    [633] = {25327, 900, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuUserObjectCreate */
    [634] = {25346, 905, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuUserObjectRetain */
    [635] = {25365, 905, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuUserObjectRelease */
    [636] = {25385, 907, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphRetainUserObject */
    [637] = {25409, 911, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphReleaseUserObject */
    [638] = {25434, 2032, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddMemAllocNode */
    [639] = {25457, 929, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddMemFreeNode */
    [640] = {25479, 27, 1, CALL_GROUP_FREE, 1, 0, 0}, /* cuDeviceGraphMemTrim */
    [641] = {25500, 2039, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetGraphMemAttribute */
    [642] = {25529, 2039, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceSetGraphMemAttribute */
    [643] = {25558, 914, 3, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphInstantiateWithFlags */
    [644] = {25586, 2042, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetExecAffinitySupport */
    [645] = {13385, 2045, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxCreate */
    [646] = {25617, 2049, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetExecAffinity */
    [647] = {21761, 3, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetUuid */
    [648] = {25638, 2050, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphMemAllocNodeGetParams */
    [649] = {25667, 2055, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphMemFreeNodeGetParams */
    [650] = {25695, 938, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeSetEnabled */
    [651] = {25717, 941, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetEnabled */
    [652] = {25739, 2057, 6, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchKernelEx */
    [653] = {25756, 2057, 6, CALL_GROUP_LAUNCH, 1, 1, 0}, /* cuLaunchKernelEx_ptsz */
    [654] = {25778, 944, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuArrayGetMemoryRequirements */
    [655] = {25807, 948, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMipmappedArrayGetMemoryRequirements */
    [656] = {25845, 972, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphInstantiateWithParams */
    [657] = {25874, 972, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphInstantiateWithParams_ptsz */
    [658] = {25908, 976, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecGetFlags */
    [659] = {21185, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue32 */
    [660] = {21205, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue32_ptsz */
    [661] = {21531, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue64 */
    [662] = {21551, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWaitValue64_ptsz */
    [663] = {21230, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue32 */
    [664] = {21251, 1784, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue32_ptsz */
    [665] = {21576, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue64 */
    [666] = {21597, 1795, 4, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamWriteValue64_ptsz */
    [667] = {21277, 1788, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamBatchMemOp */
    [668] = {21296, 1788, 3, CALL_GROUP_SYNC, 1, 0, 0}, /* cuStreamBatchMemOp_ptsz */
    [669] = {25928, 648, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddBatchMemOpNode */
    [670] = {25953, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphBatchMemOpNodeGetParams */
    [671] = {25984, 666, 1, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphBatchMemOpNodeSetParams */
    [672] = {26015, 881, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecBatchMemOpNodeSetParams */
    [673] = {26050, 2063, 1, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleGetLoadingMode */
    [674] = {26073, 2064, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetHandleForAddressRange */
    [675] = {26103, 2069, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyMaxPotentialClusterSize */
    [676] = {26138, 2076, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuOccupancyMaxActiveClusters */
    [677] = {25189, 2083, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGetProcAddress */
    [678] = {26167, 1049, 4, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLibraryLoadData */
    [679] = {26185, 1053, 4, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLibraryLoadFromFile */
    [680] = {26207, 1057, 1, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLibraryUnload */
    [681] = {26223, 1058, 3, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLibraryGetKernel */
    [682] = {26242, 2088, 2, CALL_GROUP_MODULE, 1, 0, 0}, /* cuLibraryGetModule */
    [683] = {26261, 2090, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetFunction */
    [684] = {26281, 1061, 4, CALL_GROUP_MODULE, 0, 0, 0}, /* cuLibraryGetGlobal */
    [685] = {26300, 1061, 4, CALL_GROUP_MODULE, 0, 0, 0}, /* cuLibraryGetManaged */
    [686] = {26320, 2092, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetAttribute */
    [687] = {26341, 2096, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelSetAttribute */
    [688] = {26362, 2100, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelSetCacheConfig */
    [689] = {22267, 551, 7, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddKernelNode */
    [690] = {22288, 541, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeGetParams */
    [691] = {22695, 546, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphKernelNodeSetParams */
    [692] = {23059, 690, 6, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecKernelNodeSetParams */
    [693] = {26385, 980, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetId */
    [694] = {26399, 980, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetId_ptsz */
    [695] = {26418, 1139, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetId */
    [696] = {23475, 2103, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuGraphExecUpdate */
    [697] = {26429, 2107, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTensorMapEncodeTiled */
    [698] = {26452, 2114, 9, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTensorMapEncodeIm2col */
    [699] = {26476, 2123, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTensorMapReplaceAddress */
    [700] = {26502, 1065, 3, CALL_GROUP_MODULE, 0, 0, 0}, /* cuLibraryGetUnifiedFunction */
    [701] = {26530, 2124, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpGetAttribute */
    [702] = {26553, 2124, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpGetAttributeGlobal */
    [703] = {26582, 2124, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpSetAttribute */
    [704] = {26605, 2124, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpSetAttributeGlobal */
    [705] = {26634, 29, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxSetFlags */
    [706] = {26648, 2127, 5, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastCreate */
    [707] = {26666, 2132, 2, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastAddDevice */
    [708] = {26687, 2134, 6, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastBindMem */
    [709] = {26706, 2140, 5, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastBindAddr */
    [710] = {26726, 2145, 4, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastUnbind */
    [711] = {26744, 2149, 6, CALL_GROUP_PEER, 0, 0, 0}, /* cuMulticastGetGranularity */
    [712] = {26770, 2155, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddNode */
    [713] = {26785, 2159, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeSetParams */
    [714] = {26806, 2161, 3, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecNodeSetParams */
    [715] = {21173, 2164, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemAdvise */
    [716] = {21380, 2169, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemPrefetchAsync */
    [717] = {21399, 2169, 6, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemPrefetchAsync_ptsz */
    [718] = {26831, 1005, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncGetName */
    [719] = {26845, 1005, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetName */
    [720] = {26861, 2175, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCaptureToGraph */
    [721] = {26889, 2175, 4, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCaptureToGraph_ptsz */
    [722] = {26922, 1145, 5, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphConditionalHandleCreate */
    [723] = {26770, 2179, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddNode */
    [724] = {22992, 1015, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphGetEdges */
    [725] = {22477, 1017, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetDependencies */
    [726] = {22504, 1019, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetDependentNodes */
    [727] = {22619, 1021, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddDependencies */
    [728] = {22642, 1021, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphRemoveDependencies */
    [729] = {23008, 2183, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCaptureInfo */
    [730] = {23031, 2183, 5, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCaptureInfo_ptsz */
    [731] = {25254, 1032, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamUpdateCaptureDependencies */
    [732] = {25288, 1032, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamUpdateCaptureDependencies_ptsz */
    [733] = {26953, 1040, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncGetParamInfo */
    [734] = {26972, 2188, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetParamInfo */
    [735] = {26993, 1035, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceRegisterAsyncNotification */
    [736] = {27027, 1038, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceUnregisterAsyncNotification */
    [737] = {27063, 2192, 2, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleGetFunctionCount */
    [738] = {27088, 2194, 2, CALL_GROUP_MODULE, 0, 0, 0}, /* cuModuleEnumerateFunctions */
    [739] = {27115, 1068, 2, CALL_GROUP_MODULE, 0, 0, 0}, /* cuLibraryGetKernelCount */
    [740] = {27139, 1070, 2, CALL_GROUP_MODULE, 0, 0, 0}, /* cuLibraryEnumerateKernels */
    [741] = {27165, 2196, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncIsLoaded */
    [742] = {27180, 23, 1, CALL_GROUP_MODULE, 1, 0, 0}, /* cuFuncLoad */
    [743] = {27191, 1130, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGreenCtxCreate */
    [744] = {27208, 1134, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGreenCtxDestroy */
    [745] = {27226, 2198, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetDevResource */
    [746] = {27249, 2200, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetDevResource */
    [747] = {27269, 2200, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGreenCtxGetDevResource */
    [748] = {27294, 1128, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevResourceGenerateDesc */
    [749] = {27320, 1160, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cuGreenCtxRecordEvent */
    [750] = {27342, 1160, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cuGreenCtxWaitEvent */
    [751] = {27362, 1125, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevSmResourceSplitByCount */
    [752] = {27390, 1802, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetGreenCtx */
    [753] = {27410, 1214, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxFromGreenCtx */
    [754] = {27428, 2202, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetLibrary */
    [755] = {27447, 1160, 2, CALL_GROUP_EVENT, 1, 0, 0}, /* cuCtxRecordEvent */
    [756] = {27464, 1160, 2, CALL_GROUP_SYNC, 1, 0, 0}, /* cuCtxWaitEvent */
    [757] = {13385, 2204, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxCreate */
    [758] = {27479, 2207, 4, CALL_GROUP_STREAM, 1, 0, 0}, /* cuGreenCtxStreamCreate */
    [759] = {21777, 2211, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCtx */
    [760] = {21792, 2211, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetCtx_ptsz */
    [761] = {27502, 2214, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemBatchDecompressAsync */
    [762] = {27528, 2214, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemBatchDecompressAsync_ptsz */
    [763] = {27559, 1098, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogsRegisterCallback */
    [764] = {27582, 1100, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogsUnregisterCallback */
    [765] = {27607, 1101, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogsCurrent */
    [766] = {27621, 1103, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogsDumpToFile */
    [767] = {27638, 1106, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogsDumpToMemory */
    [768] = {27657, 2217, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointProcessGetRestoreThreadId */
    [769] = {27695, 2219, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointProcessGetState */
    [770] = {27723, 2221, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointProcessLock */
    [771] = {27747, 2221, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointProcessCheckpoint */
    [772] = {27777, 2221, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointProcessRestore */
    [773] = {27804, 2221, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointProcessUnlock */
    [774] = {27830, 1076, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetDevice */
    [775] = {27848, 1076, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetDevice_ptsz */
    [776] = {27871, 1078, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyBatchAsync */
    [777] = {27890, 1078, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyBatchAsync_ptsz */
    [778] = {27914, 1081, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DBatchAsync */
    [779] = {27935, 1081, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DBatchAsync_ptsz */
    [780] = {15228, 268, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuEventElapsedTime */
    [781] = {27961, 2222, 12, CALL_GROUP_OTHER, 0, 0, 0}, /* cuTensorMapEncodeIm2colWide */
    [782] = {27989, 2234, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuGreenCtxGetId */
    [783] = {28005, 261, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCaptureToCig */
    [784] = {28031, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemPrefetchBatchAsync */
    [785] = {28055, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemPrefetchBatchAsync_ptsz */
    [786] = {28084, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSemaphoreCreate */
    [787] = {28102, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSemaphoreExport */
    [788] = {28120, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSemaphoreDestroy */
    [789] = {28139, 1088, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemDiscardBatchAsync */
    [790] = {28162, 1088, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemDiscardBatchAsync_ptsz */
    [791] = {28190, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemDiscardAndPrefetchBatchAsync */
    [792] = {28224, 1084, 4, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemDiscardAndPrefetchBatchAsync_ptsz */
    [793] = {28263, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMultiKernelCooperativeDomainCreate */
    [794] = {28300, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMultiKernelCooperativeDomainDestroy */
    [795] = {13467, 1137, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCtxGetDevice */
    [796] = {27871, 1092, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyBatchAsync */
    [797] = {27890, 1092, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyBatchAsync_ptsz */
    [798] = {27914, 1095, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DBatchAsync */
    [799] = {27935, 1095, 3, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DBatchAsync_ptsz */
    [800] = {13482, 1134, 1, CALL_GROUP_SYNC, 1, 0, 0}, /* cuCtxSynchronize */
    [801] = {28338, 2236, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetDefaultMemPool */
    [802] = {28361, 2236, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetMemPool */
    [803] = {28377, 2240, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemSetMemPool */
    [804] = {28393, 1120, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetP2PAtomicCapabilities */
    [805] = {28426, 1118, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetHostAtomicCapabilities */
    [806] = {28460, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDriverGetGpuCodeIsaVersion */
    [807] = {28489, 2244, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetDevResource */
    [808] = {28512, 2244, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuStreamGetDevResource_ptsz */
    [809] = {28540, 646, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetContainingGraph */
    [810] = {28570, 1152, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetLocalId */
    [811] = {28592, 1154, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetToolsId */
    [812] = {28614, 1156, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphGetId */
    [813] = {28627, 1158, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphExecGetId */
    [814] = {28644, 261, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginCaptureToCig_ptsz */
    [815] = {28675, 261, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamEndCaptureToCig */
    [816] = {28699, 261, 1, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamEndCaptureToCig_ptsz */
    [817] = {28728, 0, 0, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphCreateWithArguments */
    [818] = {28755, 0, 0, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeAddRelocation */
    [819] = {28780, 0, 0, CALL_GROUP_LAUNCH, 1, 1, 1}, /* cuGraphLaunchWithArguments */
    [820] = {26687, 2246, 7, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastBindMem */
    [821] = {26706, 2253, 6, CALL_GROUP_PEER, 1, 0, 0}, /* cuMulticastBindAddr */
    [822] = {28807, 1164, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDevSmResourceSplit */
    [823] = {28828, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridScheduleCreate */
    [824] = {28852, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridWorkerGridCreate */
    [825] = {28878, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridWorksetCreate */
    [826] = {28901, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridCreate */
    [827] = {28917, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridScheduleFinalize */
    [828] = {28943, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridScheduleLaunch */
    [829] = {28967, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridScheduleLaunch_ptsz */
    [830] = {28996, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuSubgridScheduleDestroy */
    [831] = {22822, 1166, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cuLaunchHostFunc */
    [832] = {22839, 1166, 4, CALL_GROUP_LAUNCH, 1, 0, 0}, /* cuLaunchHostFunc_ptsz */
    [833] = {29021, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncGetDeviceCodeInfo */
    [834] = {29045, 0, 0, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetDeviceCodeInfo */
    [835] = {29071, 1170, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuFuncGetParamCount */
    [836] = {29091, 2259, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuKernelGetParamCount */
    [837] = {29113, 2261, 10, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyWithAttributesAsync */
    [838] = {29141, 2261, 10, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpyWithAttributesAsync_ptsz */
    [839] = {29174, 1182, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DWithAttributesAsync */
    [840] = {29204, 1182, 5, CALL_GROUP_COPY, 1, 1, 0}, /* cuMemcpy3DWithAttributesAsync_ptsz */
    [841] = {29239, 1870, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeGetParams */
    [842] = {29260, 1098, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpRegisterStartCallback */
    [843] = {29292, 1098, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpRegisterCompleteCallback */
    [844] = {29327, 1100, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpDeregisterStartCallback */
    [845] = {29361, 1100, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCoredumpDeregisterCompleteCallback */
    [846] = {29398, 2271, 5, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginRecaptureToGraph */
    [847] = {29428, 2271, 5, CALL_GROUP_GRAPH, 1, 0, 0}, /* cuStreamBeginRecaptureToGraph_ptsz */
    [848] = {29463, 2276, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointIdReserve */
    [849] = {29490, 2278, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointIdRelease */
    [850] = {29517, 2280, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointCreate */
    [851] = {29541, 2281, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointAddDevice */
    [852] = {29568, 2280, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointDestroy */
    [853] = {29593, 2283, 6, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointBindAddr */
    [854] = {29619, 2289, 7, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointBindMem */
    [855] = {29644, 2296, 4, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointUnbind */
    [856] = {29668, 2300, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointExport */
    [857] = {29692, 2303, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointImport */
    [858] = {29716, 2306, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointGetLimits */
    [859] = {29743, 2308, 3, CALL_GROUP_OTHER, 0, 0, 0}, /* cuLogicalEndpointQuery */
    [860] = {29766, 2311, 6, CALL_GROUP_OTHER, 0, 0, 0}, /* cuMemGetLocationInfo */
    [861] = {29787, 1917, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuCheckpointOperationComplete */
    [863] = {26770, 2179, 4, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphAddNode */
    [864] = {26785, 2159, 2, CALL_GROUP_GRAPH, 0, 0, 0}, /* cuGraphNodeSetParams */
    [865] = {29817, 3, 1, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetFabricClusterUuid */
    [866] = {29846, 2317, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetCliqueCount */
    [867] = {29869, 2319, 2, CALL_GROUP_OTHER, 0, 0, 0}, /* cuDeviceGetCliqueInfo */
};
const uint16_t call_count_driver = 877;

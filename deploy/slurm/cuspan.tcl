#%Module1.0
# cuspan's module for Environment Modules. The name of its folder selects what it does:
#   cuspan/VERSION          the command cuspan and cuspan.h
#   cuspan-trace/VERSION    the same, and traces each CUDA program that starts afterwards
# README.md beside this file says how to install it. The version is the file's name.

# Where cuspan is installed: the folder with bin/cuspan.
set prefix "/opt/cuspan"

set agent "$prefix/lib/cuspan/libcuspan.so"

module-whatis "OpenTelemetry spans for the CUDA calls and the GPU work of unchanged programs"
proc ModulesHelp {} {
    puts stderr "cuspan run PROGRAM traces one program, and cuspan help lists the commands."
    puts stderr "The module cuspan-trace traces each CUDA program that starts after it is loaded, on all nodes of a job."
}

conflict cuspan cuspan-trace
if {[module-info mode load] && ![file isfile $agent]} {
    puts stderr "there is no $agent; correct prefix in $ModulesCurrentModulefile"
    break
}

prepend-path PATH "$prefix/bin"
prepend-path CPATH "$prefix/include"

# CUDA loads one such library, and the user decides which. A value that is not ours stays, on unload too. 0: it stays.
proc inject {variable agent} {
    global env
    set present [expr {[info exists env($variable)] ? $env($variable) : ""}]
    if {$present eq "" || $present eq $agent} {
        setenv $variable $agent
        return 1
    } elseif {[module-info mode load]} {
        puts stderr "$variable names $present, so cuspan does not use it; unset it and load this module again"
    }
    return 0
}

if {[string match "cuspan-trace*" [module-info name]]} {
    if {[inject CUDA_INJECTION64_PATH $agent]} {
        prepend-path PYTHONPATH "$prefix/lib/cuspan/python.zip" ;# finds the steps of PyTorch
    }
    inject NVTX_INJECTION64_PATH $agent
    inject NCCL_PROFILER_PLUGIN $agent
}

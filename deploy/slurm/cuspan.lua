-- cuspan's module for Lmod. The name of its folder selects what it does:
--   cuspan/VERSION.lua          the command cuspan and cuspan.h
--   cuspan-trace/VERSION.lua    the same, and traces each CUDA program that starts afterwards
-- README.md beside this file says how to install it. The version is the file's name.

-- Where cuspan is installed: the folder with bin/cuspan.
local prefix = "/opt/cuspan"

local agent = pathJoin(prefix, "lib/cuspan/libcuspan.so")

whatis("Description: OpenTelemetry spans for the CUDA calls and the GPU work of unchanged programs")
whatis("Version: " .. myModuleVersion())
help([[
cuspan run PROGRAM traces one program, and cuspan help lists the commands.
The module cuspan-trace traces each CUDA program that starts after it is loaded, on all nodes of a job.
]])

family("cuspan")
if mode() == "load" and not isFile(agent) then
    LmodError("there is no " .. agent .. "; correct prefix in " .. myFileName())
end

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("CPATH", pathJoin(prefix, "include"))

-- CUDA loads one such library, and the user decides which. A value that is not ours stays, on unload too. False: it stays.
local function inject(variable)
    local present = os.getenv(variable) or ""
    if present == "" or present == agent then
        setenv(variable, agent)
        return true
    elseif mode() == "load" then
        LmodWarning(variable .. " names " .. present .. ", so cuspan does not use it; unset it and load this module again")
    end
    return false
end

if myModuleName() == "cuspan-trace" then
    if inject("CUDA_INJECTION64_PATH") then
        prepend_path("PYTHONPATH", pathJoin(prefix, "lib/cuspan/python.zip")) -- finds the steps of PyTorch
    end
    inject("NVTX_INJECTION64_PATH")
    inject("NCCL_PROFILER_PLUGIN")
end

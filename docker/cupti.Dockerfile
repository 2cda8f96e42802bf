# The agent's image with CUPTI for drivers of CUDA 12 and 13, for programs in images that have none. NVIDIA's license is in
# /opt/cuspan/lib/cuspan/cupti.
#
#   docker build -f docker/Dockerfile -t cuspan .
#   tools/get-cuda.sh cupti build/release/cupti all
#   docker build -f docker/cupti.Dockerfile -t cuspan-cupti .
ARG AGENT=cuspan
FROM ${AGENT}
COPY build/release/cupti/ /opt/cuspan/lib/cuspan/cupti/

# Vector add for the GPU, without cuspan: the agent comes from a volume (compose.yaml).
#
#   docker build -f docker/demo-gpu.Dockerfile -t cuspan-demo-gpu .
#
# A file of its own: builders without BuildKit build every stage of a file, and the agent's image needs no nvcc.
FROM ubuntu:22.04 AS build
SHELL ["/bin/bash", "-c"]
WORKDIR /src
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates g++ python3 python3-venv && \
    rm -rf /var/lib/apt/lists/*
COPY tools/ tools/
RUN tools/get-cuda.sh nvcc /opt/cuda
COPY examples/check.h examples/vector_add.cu examples/
RUN /opt/cuda/bin/nvcc -arch=all-major -o /vector_add examples/vector_add.cu

FROM ubuntu:22.04 AS demo-gpu
COPY --from=build /vector_add /usr/local/bin/vector_add
CMD ["vector_add"]
